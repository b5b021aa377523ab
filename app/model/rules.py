"""The types of rules: what a policy says about calls. `pdp/rules/` has what each of them does.

Invalid rules cannot be constructed, so any rule can be evaluated.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, get_args

from msgspec import UNSET, Meta, UnsetType

from app.language.schemas.json_schema import SchemaError, compile_schema
from app.model.approved_before import ApprovedBefore
from app.model.constraints import (
    EITHER_KIND,
    REQUEST,
    Constraints,
    named_constraints,
    require_constraints,
    unread_apart,
)
from app.model.decision_codes import DecisionCode
from app.model.decisions import Result
from app.model.quotas import BreakerAction, Budget, DenialBreaker, RateLimit
from app.model.records import RecordConstraint
from app.model.rule import Effect, PlacedConstraint, Read, Rule
from app.model.sequences import CallSequence
from app.model.text import FieldError
from app.model.time_windows import TimeWindow

MAX_RULES = 50

MANY_PATTERNS = 8
"""More patterns than this are compiled in a thread, so that the loop stays free: the largest take 2 ms each."""


class ToolAllowlist(Rule, frozen=True, tag="tool_allowlist"):
    """Passes for the tools it covers and fails (deny) for every other."""

    code: ClassVar[DecisionCode] = DecisionCode.NOT_ALLOWLISTED
    names_right_calls: ClassVar[bool] = True


class ToolGrant(Rule, frozen=True, tag="tool_grant"):
    """Passes for the tools it covers and abstains for every other. It never fails, so that it only adds.

    A call of which it cannot be judged whether `when` or `unless` holds is not granted.
    """

    code: ClassVar[DecisionCode] = DecisionCode.DEFAULT_DENY
    names_right_calls: ClassVar[bool] = True
    not_in_guardrails: ClassVar[str | None] = (
        "a guardrail never allows; for a boundary that no grant can pass, write tool_allowlist here"
    )
    requirements: ClassVar[tuple[dict[str, Any], ...]] = (
        {"properties": {word: {"not": {"required": ["ifMissing"]}} for word in ("when", "unless")}},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for word, circumstances in (("when", self.when), ("unless", self.unless)):
            if not isinstance(circumstances, UnsetType) and circumstances.if_missing is not UNSET:
                message = "a tool_grant never grants a call that it cannot judge; leave it out, or grant in two rules"
                raise FieldError(f"{word}.ifMissing", message)


class ToolDenylist(Rule, frozen=True, tag="tool_denylist"):
    """Fails (deny) for the tools it covers and abstains for every other."""

    code: ClassVar[DecisionCode] = DecisionCode.TOOL_DENIED
    only_fails: ClassVar[bool] = True


class ApprovalRequired(Rule, frozen=True, tag="approval_required"):
    """Fails (escalate) for the tools it covers and abstains for every other."""

    code: ClassVar[DecisionCode] = DecisionCode.APPROVAL_REQUIRED
    only_fails: ClassVar[bool] = True

    @property
    def escalates(self) -> bool:
        """True: this rule always escalates."""
        return True


class ParameterConstraint(Rule, frozen=True, tag="parameter_constraint"):
    """Passes if every named value of the parameters and of the context satisfies its constraint, else fails.

    A dotted name reaches into nested objects, `[*]` into each element of an array.

    parameters: What each named parameter must be. `payment.amount` reaches into objects, `recipients[*]` is
    each element of an array, `**` every text, number and member name at any depth.
    context: The same for what the caller vouches for in `context`.
    record: What a runtime must have reported of an earlier call.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.PARAMETER_INVALID
    names_right_calls: ClassVar[bool] = True
    requirements: ClassVar[tuple[dict[str, Any], ...]] = ({"anyOf": [*EITHER_KIND["anyOf"], {"required": ["record"]}]},)

    parameters: Constraints | UnsetType = UNSET
    context: Constraints | UnsetType = UNSET
    record: RecordConstraint | UnsetType = UNSET
    effect: Effect | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        has_record = self.record is not UNSET
        require_constraints(self.parameters, self.context, remembers=self.escalates, beside=has_record)

    @property
    def can_escalate(self) -> bool:
        return self.escalates or any(
            unread_apart(constraint, asks=False)
            for _, _, constraint in named_constraints(self.parameters, self.context)
        )

    @property
    def remembered(self) -> Mapping[str, ApprovedBefore]:
        """The parameters with `approvedBefore`, each with what that says."""
        named = () if isinstance(self.parameters, UnsetType) else self.parameters.items()
        asked = ((name, each.approved_before) for name, each in named)
        return {name: each for name, each in asked if not isinstance(each, UnsetType)}

    def constraints(self) -> Iterator[PlacedConstraint]:
        """Yield each constraint, first the rule's own."""
        yield from (("", *each) for each in named_constraints(self.parameters, self.context))
        yield from super().constraints()

    def reads(self) -> Iterator[Read]:
        yield from super().reads()
        if not isinstance(self.record, UnsetType) and self.record.placeholder is not None:
            yield Read(*self.record.placeholder)


class ParameterSchema(Rule, frozen=True, tag="parameter_schema"):
    """Passes if the parameters fit a JSON Schema of 2020-12, such as the `inputSchema` of an MCP tool, else fails.

    schema: The schema. `$ref` must refer to a place in it, patterns are matched in linear time, and `format` is not
    checked.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.SCHEMA_INVALID
    names_right_calls: ClassVar[bool] = True
    reads_besides: ClassVar[tuple[Read, ...]] = (Read("parameters", ""),)
    is_slow_to_compile: ClassVar[bool] = True

    schema: dict[str, Any]
    effect: Effect | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            compile_schema(self.schema)
        except SchemaError as error:
            raise FieldError(".".join(("schema", *error.path)), error.message) from None

    @property
    def pattern_count(self) -> int:
        """A schema counts as eight patterns."""
        return MANY_PATTERNS + super().pattern_count


class RateLimited(Rule, frozen=True, tag="rate_limit"):
    """Passes if the quota has room, else fails. One quota per rule, shared by the tools it covers, or one per value.

    rate_limit: How many calls in which span.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.QUOTA_FULL

    rate_limit: RateLimit
    effect: Effect | UnsetType = UNSET

    @property
    def counter(self) -> RateLimit:
        return self.rate_limit


class Budgeted(Rule, frozen=True, tag="budget"):
    """Passes if the amount fits into what is left of the budget, else fails.

    budget: How much of which amount in which span.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.BUDGET_SPENT

    budget: Budget
    effect: Effect | UnsetType = UNSET

    @property
    def counter(self) -> Budget:
        return self.budget


class Sequenced(Rule, frozen=True, tag="sequence"):
    """Passes if what must come before the call was allowed in the session, and nothing that forbids the call was.

    The session is `context.session`, a string of 1 to 128 characters; a call without one fails.

    sequence: What must have been allowed in the session before the call, and what must not have been.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.SEQUENCE_FORBIDDEN
    reads_besides: ClassVar[tuple[Read, ...]] = (Read("context", "session"),)

    sequence: CallSequence
    effect: Effect | UnsetType = UNSET

    @property
    def kept_apart(self) -> tuple[int, str] | None:
        if self.sequence.once is not True:
            return None
        return self.sequence.seconds, "\n\nonce " + "\n".join(sorted(set(self.sequence.required)))

    @property
    def lookback_seconds(self) -> int:
        return self.sequence.seconds


class PinnedRequest(Rule, frozen=True, tag="pinned_request"):
    """Passes if `context.request` is the request that was pinned for the session, else fails.

    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.REQUEST_NOT_PINNED
    reads_besides: ClassVar[tuple[Read, ...]] = (Read("context", "session"), Read("context", REQUEST))

    effect: Effect | UnsetType = UNSET


class TimeBased(Rule, frozen=True, tag="time_based"):
    """Passes inside the window, else fails.

    time_window: When calls pass.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.OUTSIDE_HOURS

    time_window: TimeWindow
    effect: Effect | UnsetType = UNSET


class DenialCounted(Rule, frozen=True, tag="denial_breaker"):
    """Counts the denied calls of its tools, for each agent or value. Too many suspend the agent, or calls are stopped.

    Only a guardrail has it.

    denial_breaker: How many denials in which span, and what then.
    """

    code: ClassVar[DecisionCode] = DecisionCode.TOO_MANY_DENIALS
    is_conditional: ClassVar[bool] = False
    not_in_grants: ClassVar[str | None] = (
        'only a guardrail has a denial_breaker; make it a policy of its own with "kind": "guardrail"'
    )
    not_in_shadow: ClassVar[str | None] = (
        "a denial_breaker has no shadow mode, since it acts on the agent; a replay says what it would do"
    )
    requirements: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "anyOf": [
                {"not": {"required": ["approval"]}},
                {"properties": {"denialBreaker": {"properties": {"action": {"const": BreakerAction.ESCALATE.value}}}}},
            ]
        },
        {
            "properties": {
                "denialBreaker": {
                    "anyOf": [
                        {"not": {"required": ["per"]}},
                        {"not": {"properties": {"action": {"const": BreakerAction.SUSPEND.value}}}},
                    ]
                }
            }
        },
    )

    denial_breaker: DenialBreaker

    def __post_init__(self) -> None:
        for word, conditions in (("when", self.when), ("unless", self.unless)):
            if conditions is not UNSET:
                raise FieldError(word, "a denial_breaker counts every denied call of its tools; leave it out")
        super().__post_init__()

    @property
    def escalates(self) -> bool:
        """True if people are asked while the breaker is full."""
        return self.denial_breaker.action is BreakerAction.ESCALATE

    @property
    def counter(self) -> DenialBreaker:
        return self.denial_breaker


PolicyRule = (
    ToolGrant
    | ToolAllowlist
    | ToolDenylist
    | ApprovalRequired
    | ParameterConstraint
    | ParameterSchema
    | RateLimited
    | Budgeted
    | Sequenced
    | PinnedRequest
    | TimeBased
    | DenialCounted
)
TYPES: tuple[type[Rule], ...] = get_args(PolicyRule)
Rules = Annotated[tuple[PolicyRule, ...], Meta(min_length=1, max_length=MAX_RULES)]
_SLOW = tuple(f'"{kind.tag()}"' for kind in TYPES if kind.is_slow_to_compile)
_CODES: dict[str | None, DecisionCode] = {None: DecisionCode.DEFAULT_DENY, **{kind.tag(): kind.code for kind in TYPES}}
_BY_NAME = {code.value: code for code in DecisionCode}


def usual_code(result: Result, rule_type: str | None) -> DecisionCode:
    """The code of a decision whose record has none: it follows from the result and the type of the deciding rule.

    A record (an audit entry, a first answer) says its code only if that is another. `rule_failed` if this release does
    not know the type.
    """
    if result is Result.ALLOWED:
        return DecisionCode.ALLOWED
    if result is Result.ESCALATED:
        return DecisionCode.APPROVAL_REQUIRED
    return _CODES.get(rule_type, DecisionCode.RULE_FAILED)


def recorded_code(result: Result, rule_type: str | None, code: str | None) -> DecisionCode:
    """The code of a recorded decision. code: what its record says, if anything; `rule_failed` if that is unknown."""
    return _BY_NAME.get(code, DecisionCode.RULE_FAILED) if code else usual_code(result, rule_type)


def compiles_much(rules: str) -> bool:
    """True if decoding these rules, in JSON, could take milliseconds.

    Many patterns do, and any schema may: one of 500 bytes has taken 9 ms, one of 42 KB 160 ms.
    """
    return rules.count('"regex"') > MANY_PATTERNS or any(tag in rules for tag in _SLOW)
