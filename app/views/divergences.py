"""What a shadow policy would have changed, as API and console show it."""

from msgspec import Struct

from app.model.divergences import DivergenceCount, PolicyDivergence
from app.model.fields import Count, Id, Timestamp, VersionNumber
from app.model.policies import PolicyMode
from app.model.times import rfc3339


class DivergenceView(Struct, frozen=True, kw_only=True, rename="camel"):
    """How often a policy in shadow mode would have made another result, exactly, since its last change.

    policy_id: The policy.
    version: The version that was counted: the current one. A change begins the counts anew.
    mode: What the policy does now; one that enforces has no counts.
    enabled: Whether it does anything at all.
    since: When it became what it is.
    total: All of `counts` together.
    counts: By what was answered and what would have been; none that is zero.
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
