"""Who makes the changes of a test."""

from app.model.actors import COMMAND_LINE, Actor, ActorKind, ChangedBy

BY = ChangedBy(COMMAND_LINE)


def by_key(key_id: str, reason: str = "") -> ChangedBy:
    """A change made with the key."""
    return ChangedBy(the_key(key_id), reason)


def the_key(key_id: str) -> Actor:
    """The key; the scripts read its name."""
    return Actor(key_id, "", ActorKind.KEY)
