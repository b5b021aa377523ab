"""Denial breakers that have no effect, or a stronger one than was probably meant."""

from collections.abc import Iterable, Iterator, Sequence

from app.lint.tool_patterns import first_not_within
from app.lint.warnings import Code, PolicyWarning
from app.model.policies import Policy
from app.model.quotas import BreakerAction
from app.model.rules import DenialCounted

_Placed = tuple[str, int, DenialCounted]
"""A policy's id, and a breaker with its place in it."""


def breaker_warnings(policy: Policy, enabled: Sequence[Policy]) -> Iterator[PolicyWarning]:
    """The warnings about the policy's breakers, judged together with those that govern the same agents."""
    placed = list(_breakers((*(each for each in enabled if each.id != policy.id), policy)))
    names = {each.id: each.name for each in (*enabled, policy)}
    for own in placed:
        policy_id, index, rule = own
        if policy_id != policy.id:
            continue
        terms = rule.denial_breaker
        if terms.max_denials == 1 and terms.action is BreakerAction.SUSPEND:
            message = (
                "the first denial suspends the agent, be it a typing error or a limit that is full for a moment; let "
                "it have more, or escalate"
            )
            yield PolicyWarning(Code.BREAKER_ON_FIRST_DENIAL, f"$.rules[{index}].denialBreaker.maxDenials", message)
        sooner = next((other for other in placed if other != own and _suspends_before(other, own, placed)), None)
        if sooner is not None:
            where = "another breaker of this policy" if sooner[0] == policy.id else f'that of "{names[sooner[0]]}"'
            message = f"{where} suspends the agent before this one is full, so it never acts"
            yield PolicyWarning(Code.BREAKER_NEVER_FULL, f"$.rules[{index}].denialBreaker", message)


def _suspends_before(other: _Placed, own: _Placed, placed: Sequence[_Placed]) -> bool:
    """Whether the other breaker is always full before this one; of two equal breakers, the later never acts."""
    theirs, ours = other[2].denial_breaker, own[2].denial_breaker
    if theirs.action is not BreakerAction.SUSPEND or first_not_within(own[2].tools, other[2].tools) is not None:
        return False
    if theirs.max_denials > ours.max_denials or theirs.window_seconds < ours.window_seconds:
        return False
    is_alike = ours.action is BreakerAction.SUSPEND and (theirs.max_denials, theirs.window_seconds) == (
        ours.max_denials,
        ours.window_seconds,
    )
    covers_no_more = first_not_within(other[2].tools, own[2].tools) is None
    return not (is_alike and covers_no_more) or placed.index(other) < placed.index(own)


def _breakers(policies: Iterable[Policy]) -> Iterator[_Placed]:
    for policy in policies:
        for index, rule in enumerate(policy.rules):
            if isinstance(rule, DenialCounted):
                yield policy.id, index, rule
