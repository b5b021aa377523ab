"""Versions of a policy, and what a shadow policy would have changed, as the API and the command line show them."""

from msgspec import Struct

from app.http.views import as_view
from app.http.views.policies import PolicyView
from app.model.changes import Reason
from app.model.fields import Count, Id, Timestamp, VersionNumber
from app.model.policies import PolicyMode
from app.model.policy_sets import DivergenceCount, PolicyDivergence
from app.model.snapshots import PolicyVersion
from app.model.times import rfc3339


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
    def of(cls, version: PolicyVersion) -> "PolicyVersionView":
        change = version.change
        return cls(
            version=version.policy.version,
            timestamp=None if change is None else change.timestamp,
            actor_id=None if change is None else change.actor_id,
            actor_name=None if change is None else change.actor_name,
            reason=None if change is None else change.reason or None,
            changed=version.changed,
            policy=PolicyView.of(version.policy),
        )


class DivergenceView(Struct, frozen=True, kw_only=True, rename="camel"):
    """How often a shadow policy would have changed the result since its last change; the counts are exact.

    policy_id: The policy.
    version: The version that was counted: the current one. Every change resets the counts.
    mode: The policy's mode now; an enforced policy has no counts.
    enabled: Whether the policy is enabled; if not, nothing is counted.
    since: When it got its current version.
    total: The sum of `counts`.
    counts: By the actual result and the result that there would have been; none is zero.
    """

    policy_id: Id
    version: VersionNumber
    mode: PolicyMode
    enabled: bool
    since: Timestamp
    total: Count
    counts: list[DivergenceCount]

    @classmethod
    def of(cls, divergence: PolicyDivergence) -> "DivergenceView":
        policy = divergence.policy
        since, total = rfc3339(policy.updated_ms), sum(pair.count for pair in divergence.counts)
        return as_view(cls, policy, policy_id=policy.id, since=since, total=total, counts=list(divergence.counts))
