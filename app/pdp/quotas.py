"""Selects the quotas that stay open in a plan, and the order in which a full one decides."""

from collections.abc import Sequence
from typing import Protocol

from app.model.decisions import AuthorizeRequest, Outcome, Result
from app.model.plans import Check, DenialCount, Plan, Quota


class CallQuota(Protocol):
    """A quota that depends on the call: on its bucket, its amount or its session."""

    @property
    def when_full(self) -> Outcome: ...

    def of(self, request: AuthorizeRequest, key_id: str, now_us: int) -> Check | None:
        """The quota for one call; None if that cannot be determined, which fails the rule."""


OpenQuota = Quota | DenialCount | CallQuota
"""A question that only the store can answer: whether a limit has room, what a session was allowed, what was denied."""


class CallBreaker(Protocol):
    """A denial breaker that counts separately for each value of something in the call."""

    @property
    def suspends(self) -> bool: ...

    def of(self, request: AuthorizeRequest, key_id: str) -> DenialCount | None:
        """What counts one call; None if the call does not state the value."""


OpenBreaker = DenialCount | CallBreaker


class HasQuotas(Protocol):
    """A policy as seen by one tool."""

    @property
    def quotas(self) -> tuple[OpenQuota, ...]: ...


def open_quotas(asked: Sequence[HasQuotas], result: Result, deciding: int) -> tuple[OpenQuota, ...]:
    """The quotas that can still change `result`, given by the policy at index `deciding` of those evaluated.

    A denial can only be replaced by an earlier policy's denying quota; an escalation by any denying quota or an earlier
    policy's escalating one; an allowance needs room in all of them.
    """
    denying = asked[:deciding] if result is Result.DENIED else asked
    escalating = asked[:deciding] if result is Result.ESCALATED else asked if result is Result.ALLOWED else ()
    return tuple(
        quota
        for candidates, full in ((denying, Result.DENIED), (escalating, Result.ESCALATED))
        for policy in candidates
        for quota in policy.quotas
        if quota.when_full.result is full
    )


def plan_of(outcome: Outcome, quotas: tuple[Check, ...], breakers: tuple[DenialCount, ...] = ()) -> Plan:
    """The plan; it records whether a person may be asked, so most decisions need not check again."""
    asks = outcome.result is Result.ESCALATED
    if quotas and not asks:
        asks = any(quota.when_full.result is Result.ESCALATED for quota in quotas)
    return Plan(outcome, quotas, may_escalate=asks, breakers=breakers)


def settled_breakers(
    breakers: Sequence[OpenBreaker], request: AuthorizeRequest, key_id: str
) -> tuple[DenialCount, ...]:
    """The breakers that count one call; not those that cannot tell where, whose rule has failed."""
    found = (each if isinstance(each, DenialCount) else each.of(request, key_id) for each in breakers)
    return tuple(each for each in found if each is not None)


def settled_quotas(
    quotas: Sequence[OpenQuota], request: AuthorizeRequest, key_id: str, now_us: int
) -> tuple[Check, ...]:
    """The quotas for one call, each with its bucket, amount or session; if that is unknown, its rule has failed.

    now_us: the store's time, for calendars.
    """
    found = (quota if isinstance(quota, Quota | DenialCount) else quota.of(request, key_id, now_us) for quota in quotas)
    return tuple(quota for quota in found if quota is not None)
