"""The authors of changes, by which way they come, and the reasons they give."""

from enum import StrEnum

from msgspec import Struct


class Via(StrEnum):
    """How somebody makes a request: in a session of a browser (`console`) or of a program (`cli`), with a `key`, or in
    `slack`, where whoever has signed in elsewhere decides.
    """

    CONSOLE = "console"
    CLI = "cli"
    KEY = "key"
    SLACK = "slack"


class ActorKind(StrEnum):
    """Kinds of actors. Only a key has a record, and a change made with it needs that record."""

    KEY = "key"
    CONSOLE = "console"
    BREAKER = "breaker"


class Actor(Struct, frozen=True):
    """The author of a change, as the trail and the log name it.

    id: of the API key; of an actor without a record, its kind.
    name: of the key when it authenticated; the scripts read it again.
    via, person: of a session, where it is used and the id of who signed in with the identity provider; "" = nobody.
    """

    id: str
    name: str
    kind: ActorKind
    via: Via = Via.KEY
    person: str = ""


COMMAND_LINE = Actor("console", "console", ActorKind.CONSOLE)
"""A change made with `remit` or by a setting, without a key. Stored as `console`."""

BREAKER = Actor("breaker", "breaker", ActorKind.BREAKER)
"""A denial breaker, which suspends agents."""

UNRECORDED = {actor.id: actor for actor in (COMMAND_LINE, BREAKER)}
"""Every actor without a record, by id."""


MAX_REASON = 500
"""Characters."""


class ChangedBy(Struct, frozen=True):
    """The author of a change and the reason given for it, or ""."""

    actor: Actor
    reason: str = ""
