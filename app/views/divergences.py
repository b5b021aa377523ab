"""What a shadow policy would have changed, as the API and the command line show it."""

from msgspec import Struct

from app.model.fields import Count, Id, Timestamp, VersionNumber
from app.model.policies import PolicyMode
from app.model.policy_sets import DivergenceCount, PolicyDivergence
from app.model.times import rfc3339


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
    def of(cls, found: PolicyDivergence) -> "DivergenceView":
        policy = found.policy
        return cls(
            policy_id=policy.id,
            version=policy.version,
            mode=policy.mode,
            enabled=policy.enabled,
            since=rfc3339(policy.updated_ms),
            total=sum(each.count for each in found.counts),
            counts=list(found.counts),
        )
