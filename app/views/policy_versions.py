"""Versions of a policy as the API and the command line show them."""

from msgspec import Struct

from app.model.changes import Reason
from app.model.fields import Timestamp, VersionNumber
from app.model.snapshots import PolicyVersion
from app.views.policies import PolicyView


class PolicyVersionView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A version of a policy, and who made it.

    timestamp: When it was made, by the store's clock. This and the next three are null if the change is no longer
    known.
    actor_id: The API key that made the change, or `console`.
    actor_name: The key's name at that time, or `console`.
    reason: The reason given for the change; null if none was given.
    changed: The fields that differ from the previous version.
    policy: The whole policy, as GET showed it then.
    """

    version: VersionNumber
    timestamp: Timestamp | None
    actor_id: str | None
    actor_name: str | None
    reason: Reason | None
    changed: list[str]
    policy: PolicyView

    @classmethod
    def of(cls, found: PolicyVersion) -> "PolicyVersionView":
        change = found.change
        return cls(
            version=found.policy.version,
            timestamp=None if change is None else change.timestamp,
            actor_id=None if change is None else change.actor_id,
            actor_name=None if change is None else change.actor_name,
            reason=None if change is None else change.reason or None,
            changed=found.changed,
            policy=PolicyView.of(found.policy),
        )
