"""Denial breakers: too many denied calls suspend the agent, or calls are denied or escalated for a while."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from app.language.spellings import Spellings
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Outcome
from app.model.plans import DenialCount
from app.model.quotas import BreakerAction
from app.model.rules import DenialCounted
from app.pdp.constraints import IsSecret
from app.pdp.costs import cost_of_reading
from app.pdp.rules.buckets import BucketReader, Json, UnreadableError, bucket_reader, in_words
from app.pdp.rules.rule_type import Condition, Demands, PlacedRule, RuleType
from app.pdp.value_schemas import ANYTHING, UNKNOWN, SchemaPart


class VaryingBreaker(Struct, frozen=True):
    """A breaker that counts separately for each value of what `per` names. breaker: the part common to all calls."""

    breaker: DenialCount
    per: BucketReader

    @property
    def when_full(self) -> Outcome:
        return self.breaker.when_full

    @property
    def suspends(self) -> bool:
        """False: a suspension would concern every value."""
        return False

    def of(self, request: AuthorizeRequest, key_id: str, _now_us: int = 0) -> DenialCount | None:
        """What counts the call; None if the call does not state the values, which fails the rule."""
        try:
            return replace(self.breaker, bucket=self.per.bucket(request, key_id))
        except UnreadableError:
            return None

    def counted_by(self, request: AuthorizeRequest, key_id: str, bucket: str) -> list[Any] | None:
        """The values that select the call's bucket; None unless it is this one."""
        return self.per.values_of(request, key_id, bucket)

    def failed(self, parameters: Json, context: Json, _spelled: Spellings) -> str | None:
        """Why it cannot be told where the call would count; None if it can."""
        try:
            self.per.require(parameters, context)
        except UnreadableError as reason:
            return str(reason)
        return None


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
        per = bucket_reader(terms.per)
        if not per.readers:
            return Demands(None, () if breaker.suspends else (breaker,), breaker)
        varying = VaryingBreaker(breaker, per)
        code, cost = DecisionCode.PARAMETER_INVALID, cost_of_reading(read.name for read in placed.rule.reads())
        condition = Condition(placed.ref, placed.when_failed, code, checks=(varying.failed,), cost=cost)
        return Demands(condition, (varying,), varying)

    def words(self, rule: DenialCounted, is_secret: IsSecret) -> Iterator[str]:
        terms = rule.denial_breaker
        counted = f"fewer than {terms.max_denials} calls of the agent were denied in the last {terms.window_seconds} s"
        yield counted + in_words(terms.per)

    def schema(self, rule: DenialCounted, is_secret: IsSecret) -> SchemaPart:
        per = rule.denial_breaker.per or ()
        return UNKNOWN if any(name.startswith("parameters.") for name in per) else ANYTHING
