"""The results that are possible, given the possible effects of each rule."""

from collections.abc import Iterator, Sequence

from app.model.decisions import Result
from app.pdp.call_schemas import either, together
from app.pdp.rule_reach import ABSTAIN, FAIL, PASS, Reach
from app.pdp.value_schemas import SchemaPart


def can_be_silent(outcomes: Sequence[int]) -> bool:
    return all(each & ABSTAIN for each in outcomes)


def possible_results(
    tiers: Sequence[Sequence[Reach]], guardrails: Sequence[Reach], *, is_now: bool
) -> frozenset[Result]:
    """The results that are possible."""
    found: set[Result] = set()
    restricted = _PossibleResults(guardrails, is_now=is_now)
    for tier in tiers:
        possible = _PossibleResults(tier, is_now=is_now)
        if possible.can_allow and not restricted.must_fail:
            found.add(Result.ALLOWED)
        can_ask = possible.can_escalate or (possible.can_allow and restricted.can_fail_escalating)
        if can_ask and not restricted.must_deny:
            found.add(Result.ESCALATED)
        if possible.can_deny or restricted.can_deny:
            found.add(Result.DENIED)
        if not possible.can_be_silent:
            return frozenset(found)
    return frozenset(found | {Result.DENIED})


class _PossibleResults:
    """The possible results of rules that are evaluated together."""

    def __init__(self, reaches: Sequence[Reach], *, is_now: bool) -> None:
        outcomes = [(each.now if is_now else each.ever, each.rule.compiled.when_failed) for each in reaches]
        denying = [outcome for outcome, when_failed in outcomes if when_failed is Result.DENIED]
        self.can_be_silent = all(outcome & ABSTAIN for outcome, _ in outcomes)
        self.must_fail = any(outcome == FAIL for outcome, _ in outcomes)
        self.must_deny = FAIL in denying
        self.can_deny = any(outcome & FAIL for outcome in denying)
        self.can_fail_escalating = any(
            outcome & FAIL for outcome, when_failed in outcomes if when_failed is Result.ESCALATED
        )
        self.can_allow = not self.must_fail and any(outcome & PASS for outcome, _ in outcomes)
        self.can_escalate = self.can_fail_escalating and not self.must_deny


def possible_parameters(tiers: Sequence[Sequence[Reach]], guardrails: Sequence[Reach]) -> SchemaPart:
    """The schema of the parameters of a call that is not denied."""
    by_tier = [together(_denying(tier)) for tier in tiers]
    possible = either([part for part in by_tier if part.schema is not False])
    is_certain = len(tiers) == 1 and not can_be_silent([each.ever for each in tiers[0]])
    whole = together([possible, *_denying(guardrails)])
    return SchemaPart(whole.schema, whole.is_exact and (is_certain or not tiers or whole.schema is False))


def _denying(reaches: Sequence[Reach]) -> Iterator[SchemaPart]:
    return (
        each.rule.parameters(covered=each.covered)
        for each in reaches
        if each.rule.compiled.when_failed is Result.DENIED
    )
