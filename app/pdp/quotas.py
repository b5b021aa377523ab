"""Which quotas stay open in a plan, and in which order a full one decides."""

from collections.abc import Sequence
from typing import Protocol

from app.model.decisions import Quota, Result


class HasQuotas(Protocol):
    """A policy as one tool sees it."""

    @property
    def quotas(self) -> tuple[Quota, ...]: ...


def open_quotas(tier: Sequence[HasQuotas], result: Result, deciding: int) -> tuple[Quota, ...]:
    """The quotas that can still change `result`, given by the policy at place `deciding` of the tier.

    A denial can only be named after an older policy's denying quota; an escalation gives way to any denying
    quota and to an older policy's escalating one; an allowance needs room in all of them.
    """
    denying = tier[:deciding] if result is Result.DENIED else tier
    escalating = tier[:deciding] if result is Result.ESCALATED else tier if result is Result.ALLOWED else ()
    return tuple(
        quota
        for candidates, full in ((denying, Result.DENIED), (escalating, Result.ESCALATED))
        for policy in candidates
        for quota in policy.quotas
        if quota.when_full.result is full
    )
