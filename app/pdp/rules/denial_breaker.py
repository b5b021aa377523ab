"""Denial breakers: too many denied calls suspend the agent, or people are asked."""

from collections.abc import Iterator

from app.model.decisions import DenialCount
from app.model.quotas import BreakerAction
from app.model.rules import DenialCounted
from app.pdp.constraints import IsSecret
from app.pdp.rules.rule_type import Demands, PlacedRule, RuleType


class DenialBreakerType(RuleType[DenialCounted]):
    def compile(self, placed: PlacedRule[DenialCounted]) -> Demands:
        terms = placed.rule.denial_breaker
        breaker = DenialCount(
            policy_id=placed.policy.id,
            fingerprint=placed.fingerprint,
            max_denials=terms.max_denials,
            window_us=terms.window_seconds * 1_000_000,
            when_full=placed.failure(terms.reached),
            suspends=terms.action is BreakerAction.SUSPEND,
            since=placed.active_since,
        )
        return Demands(None, () if breaker.suspends else (breaker,), breaker)

    def words(self, rule: DenialCounted, is_secret: IsSecret) -> Iterator[str]:
        terms = rule.denial_breaker
        yield f"fewer than {terms.max_denials} calls of the agent were denied in the last {terms.window_seconds} s"
