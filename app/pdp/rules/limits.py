"""Rate limits and budgets: how much is taken from which bucket, or why a call cannot be counted."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from app.language.spellings import Spellings
from app.language.value_paths import EACH, ValuePath
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Outcome
from app.model.plans import Quota
from app.model.quotas import MAX_AMOUNT, MICRO, Budget, RateLimit, micros_of
from app.model.rules import Budgeted, RateLimited
from app.model.times import MINUTE_US
from app.pdp.call_schemas import schema_at
from app.pdp.constraints import IsSecret
from app.pdp.costs import cost_of_reading
from app.pdp.operands import NOTHING
from app.pdp.rules.buckets import BucketReader, UnreadableError, bucket_reader, in_words, stated_values
from app.pdp.rules.calendars import counted_us
from app.pdp.rules.rule_type import (
    EITHER,
    FAIL,
    PASS,
    BeforeCalls,
    CompiledRule,
    Condition,
    Demands,
    PlacedRule,
    RuleType,
)
from app.pdp.value_schemas import ANYTHING, UNKNOWN, SchemaPart

Json = dict[str, Any]
_MAX_MICROS = MAX_AMOUNT * MICRO


class RateLimitType(RuleType[RateLimited]):
    def compile(self, placed: PlacedRule[RateLimited]) -> Demands:
        limit = placed.rule.rate_limit
        full = placed.failure(f"Rate limit reached: {_calls(limit)} {limit.in_words}")
        return _demands(placed, limit, limit.max_calls, full)

    def words(self, rule: RateLimited, is_secret: IsSecret) -> Iterator[str]:
        limit = rule.rate_limit
        yield f"at most {_calls(limit)} {limit.in_words}{in_words(limit.per)}"

    def schema(self, rule: RateLimited, is_secret: IsSecret) -> SchemaPart:
        return _schema_of_per(rule.rate_limit)

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        if known.quota is None:
            return EITHER, EITHER
        return PASS if known.has_room(known.quota) else FAIL, EITHER


class BudgetType(RuleType[Budgeted]):
    def compile(self, placed: PlacedRule[Budgeted]) -> Demands:
        budget = placed.rule.budget
        full = placed.failure(f"Budget spent: {budget.max} of {budget.amount_in_words} {budget.in_words}")
        return _demands(placed, budget, budget.max_micros, full)

    def words(self, rule: Budgeted, is_secret: IsSecret) -> Iterator[str]:
        budget = rule.budget
        what = f"parameter {budget.amount_in_words}" if budget.of == "parameters" else budget.amount_in_words
        yield f"at most {budget.max} of {what} {budget.in_words}{in_words(budget.per)}"

    def schema(self, rule: Budgeted, is_secret: IsSecret) -> SchemaPart:
        if rule.budget.of == "context":
            return _schema_of_per(rule.budget)
        if EACH in rule.budget.name:
            return UNKNOWN
        most = {"type": "number", "minimum": 0, "maximum": min(rule.budget.max, MAX_AMOUNT)}
        return SchemaPart(schema_at(rule.budget.name, most), is_exact=False)


def _schema_of_per(limit: RateLimit | Budget) -> SchemaPart:
    """What a limit demands of parameters if it counts none of their amounts."""
    return UNKNOWN if any(name.startswith("parameters.") for name in limit.per or ()) else ANYTHING


def _demands(
    placed: PlacedRule[RateLimited] | PlacedRule[Budgeted], limit: RateLimit | Budget, most: int, full: Outcome
) -> Demands:
    """The quota and, if it depends on the call, that the call states what to count."""
    window_us, refundable = limit.seconds * 1_000_000, limit.refundable is True
    quota = varying_quota(
        Quota(placed.policy.id, placed.fingerprint, most, window_us, full, refundable=refundable), limit
    )
    if isinstance(quota, Quota):
        return Demands(quotas=(quota,))
    code, cost = DecisionCode.PARAMETER_INVALID, cost_of_reading(read.name for read in placed.rule.reads())
    return Demands(Condition(placed.ref, placed.when_failed, code, checks=(quota.failed,), cost=cost), (quota,))


def shared_quota(compiled: CompiledRule, agent_id: str, tool: str) -> Quota:
    """The bucket that all of an agent's calls of the tool share, for a limit whose `per` names nothing but those."""
    [quota] = compiled.demands.quotas
    return quota.shared(agent_id, tool) if isinstance(quota, VaryingQuota) else quota  # type: ignore[return-value]


def _calls(limit: RateLimit) -> str:
    return "1 call" if limit.max_calls == 1 else f"{limit.max_calls} calls"


class VaryingQuota(Struct, frozen=True):
    """A rate limit or budget whose bucket or amount depends on the call, or which counts by a calendar.

    quota: the part common to all calls. amount: reads the millionths. per: reads the values that select the bucket.
    counted: the time under which a calendar counts the calls of a minute; None = it has a window.
    """

    quota: Quota
    amount: Callable[[Json, Json], int] | None
    per: BucketReader
    counted: Callable[[int], int] | None = None

    @property
    def when_full(self) -> Outcome:
        return self.quota.when_full

    def of(self, request: AuthorizeRequest, key_id: str, now_us: int) -> Quota | None:
        """What the call takes; None if that cannot be determined, which fails the rule."""
        held = self.quota
        try:
            bucket = self.per.bucket(request, key_id)
            amount = None if self.amount is None else self.amount(request.parameters, request.context or NOTHING)
        except UnreadableError:
            return None
        return Quota(
            held.policy_id,
            held.fingerprint,
            held.max_calls,
            held.window_us,
            when_full=held.when_full,
            amount=amount,
            bucket=bucket,
            refundable=held.refundable,
            counted_us=held.counted_us if self.counted is None else self.counted(now_us // MINUTE_US),
        )

    def shared(self, agent_id: str, tool: str) -> Quota:
        """The bucket that all calls of the tool by this agent share, if `per` names nothing but those two.

        What a call takes from a budget is not known here and is given as 0.
        """
        request = AuthorizeRequest(agent_id, tool, "", {}, b"")
        bucket = self.per.bucket(request, "")
        return replace(self.quota, bucket=bucket, amount=None if self.amount is None else 0)

    def counted_by(self, request: AuthorizeRequest, key_id: str, bucket: str) -> list[Any] | None:
        """The values that select the call's bucket; None unless it is this one."""
        return self.per.values_of(request, key_id, bucket)

    def failed(self, parameters: Json, context: Json, _spelled: Spellings) -> str | None:
        """Why the call fails the rule before anything is counted; None if it does not."""
        try:
            self.per.require(parameters, context)
            if self.amount is not None:
                self.amount(parameters, context)
        except UnreadableError as reason:
            return str(reason)
        return None


def varying_quota(quota: Quota, limit: RateLimit | Budget) -> Quota | VaryingQuota:
    """The quota of a rule with a bucket for each value, or with an amount."""
    per = bucket_reader(limit.per)
    counted = None if limit.calendar is UNSET else counted_us(limit)
    if isinstance(limit, Budget):
        # Amounts under one time are one sum: a list of all that was ever spent would have no end.
        held = replace(quota, counted_us=1) if limit.is_forever else quota
        return VaryingQuota(held, _amount_of(limit), per, counted)
    return VaryingQuota(quota, None, per, counted) if per.readers or counted else quota


def _amount_of(budget: Budget) -> Callable[[Json, Json], int]:
    path, of_context, many = ValuePath(budget.name), budget.of == "context", EACH in budget.name
    named = budget.amount_in_words if of_context else f"Parameter {budget.amount_in_words}"

    def amount(parameters: Json, context: Json) -> int:
        found = stated_values(path, context if of_context else parameters, budget.amount_in_words[1:-1])
        if not many and len(found) != 1:
            raise UnreadableError(f"{named} can mean {len(found)} values, and a budget is for one")
        total = sum(map(one, found))
        if total > _MAX_MICROS:
            raise UnreadableError(f"{named} is more than {MAX_AMOUNT}")
        return total

    def one(value: Any) -> int:
        if type(value) not in (int, float) or not 0 <= value <= MAX_AMOUNT:
            raise UnreadableError(f"{named} must be a number from 0 to {MAX_AMOUNT}")
        micros = micros_of(value)
        if micros is None:
            raise UnreadableError(f"{named} has more than six decimal places")
        return micros

    return amount
