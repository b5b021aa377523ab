"""The types of rules: what a policy says about calls.

Invalid rules cannot be constructed, so any rule can be evaluated.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.approvals import ApprovalTerms
from app.model.constraints import Circumstances, Constraint, Constraints, named_constraints, require_constraints
from app.model.decision_codes import DecisionCode
from app.model.quotas import BreakerAction, Budget, DenialBreaker, RateLimit
from app.model.sequences import CallSequence, ToolPattern, require_patterns
from app.model.text import FieldError
from app.model.time_windows import TimeWindow
from app.schemas.json_schema import SchemaError, compile_schema

MAX_RULES = 50

MANY_PATTERNS = 8
"""More patterns than this are compiled in a thread, so that the loop stays free: the largest take 2 ms each."""


def compiles_much(rules: str) -> bool:
    """Whether decoding these rules, in JSON, could take milliseconds.

    Many patterns do, and any schema may: one of 500 bytes has taken 9 ms, one of 42 KB 160 ms.
    """
    return rules.count('"regex"') > MANY_PATTERNS or '"parameter_schema"' in rules


class Effect(StrEnum):
    """What a constraint rule that fails asks for: `deny`, or `escalate` = ask a person."""

    DENY = "deny"
    ESCALATE = "escalate"


class Rule(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="type",
    forbid_unknown_fields=True,
):
    """One typed condition on the tools it covers, for all calls or for those that `when` or `unless` selects.

    tools: Which tools: names, `prefix*`, or `*` for all; case-sensitive.
    when: The rule applies only to calls in which all of this holds, and skips the others.
    unless: The rule skips calls in which all of this holds, and applies to the others.
    approval: What the rule asks of people if it escalates.
    """

    code: ClassVar[DecisionCode]
    """Of a decision that the rule denies."""

    tools: Annotated[list[ToolPattern], Meta(min_length=1, max_length=1000)]
    when: Circumstances | UnsetType = UNSET
    unless: Circumstances | UnsetType = UNSET
    approval: ApprovalTerms | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.when is not UNSET and self.unless is not UNSET:
            raise FieldError("unless", "give when or unless, not both; two rules can say both")
        if self.approval is not UNSET and not self.escalates:
            message = 'only a rule that asks people has it: approval_required, or one with "effect": "escalate"'
            raise FieldError("approval", message)
        require_patterns("tools", self.tools)

    @property
    def escalates(self) -> bool:
        """Whether its failure asks for a person."""
        return getattr(self, "effect", UNSET) is Effect.ESCALATE


class ToolAllowlist(Rule, frozen=True, tag="tool_allowlist"):
    """Passes for the tools it covers and fails (deny) for every other."""

    code: ClassVar[DecisionCode] = DecisionCode.NOT_ALLOWLISTED


class ToolDenylist(Rule, frozen=True, tag="tool_denylist"):
    """Fails (deny) for the tools it covers and abstains for every other."""

    code: ClassVar[DecisionCode] = DecisionCode.TOOL_DENIED


class ApprovalRequired(Rule, frozen=True, tag="approval_required"):
    """Fails (escalate) for the tools it covers and abstains for every other."""

    code: ClassVar[DecisionCode] = DecisionCode.APPROVAL_REQUIRED

    @property
    def escalates(self) -> bool:
        """True: this rule always escalates."""
        return True


class ParameterConstraint(Rule, frozen=True, tag="parameter_constraint"):
    """Passes if every named value of the parameters and of the context satisfies its constraint, else fails.

    A dotted name reaches into nested objects, `[*]` into each element of an array.

    parameters: For each named parameter what it must be. `payment.amount` reaches into objects, `recipients[*]` is
    each element of an array.
    context: The same for what the caller vouches for in `context`.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.PARAMETER_INVALID

    parameters: Constraints | UnsetType = UNSET
    context: Constraints | UnsetType = UNSET
    effect: Effect | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        require_constraints(self.parameters, self.context)


class ParameterSchema(Rule, frozen=True, tag="parameter_schema"):
    """Passes if the parameters fit a JSON Schema of 2020-12, such as the `inputSchema` of an MCP tool, else fails.

    schema: The schema. `$ref` must refer to a place in it, patterns are matched in linear time, and `format` is not
    checked.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.SCHEMA_INVALID

    schema: dict[str, Any]
    effect: Effect | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            compile_schema(self.schema)
        except SchemaError as error:
            raise FieldError(".".join(("schema", *error.path)), error.message) from None


class RateLimited(Rule, frozen=True, tag="rate_limit"):
    """Passes if the quota has room, else fails. One quota per rule, shared by the tools it covers, or one per value.

    rate_limit: How many calls in which span.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.QUOTA_FULL

    rate_limit: RateLimit
    effect: Effect | UnsetType = UNSET


class Budgeted(Rule, frozen=True, tag="budget"):
    """Passes if the amount fits into what is left of the budget, else fails.

    budget: How much of which parameter in which span.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.BUDGET_SPENT

    budget: Budget
    effect: Effect | UnsetType = UNSET


class Sequenced(Rule, frozen=True, tag="sequence"):
    """Passes if what must come before the call was allowed in the session, and nothing that forbids the call was.

    The session is `context.session`, a text of 1 to 128 characters; a call without one fails.

    sequence: What must have been allowed in the session before the call, and what must not have been.
    effect: What a failure asks for; `deny` if left out.
    """

    code: ClassVar[DecisionCode] = DecisionCode.SEQUENCE_FORBIDDEN

    sequence: CallSequence
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
    """Counts the denied calls of its tools, separately for each agent. Too many suspend the agent, or people are asked.

    Only a guardrail has it.

    denial_breaker: How many denials in which span, and what then.
    """

    code: ClassVar[DecisionCode] = DecisionCode.APPROVAL_REQUIRED

    denial_breaker: DenialBreaker

    def __post_init__(self) -> None:
        for word, given in (("when", self.when), ("unless", self.unless)):
            if given is not UNSET:
                raise FieldError(word, "a denial_breaker counts every denied call of its tools; leave it out")
        super().__post_init__()

    @property
    def escalates(self) -> bool:
        """Whether people are asked while the breaker is full."""
        return self.denial_breaker.action is BreakerAction.ESCALATE


PolicyRule = (
    ToolAllowlist
    | ToolDenylist
    | ApprovalRequired
    | ParameterConstraint
    | ParameterSchema
    | RateLimited
    | Budgeted
    | Sequenced
    | TimeBased
    | DenialCounted
)


Rules = Annotated[tuple[PolicyRule, ...], Meta(min_length=1, max_length=MAX_RULES)]


def constraints_of(rule: Rule) -> Iterator[tuple[str, str, str, Constraint]]:
    """Yield each constraint of a rule, after its place ("", `when`, `unless`), its kind of value, and its name."""
    own = rule if isinstance(rule, ParameterConstraint) else UNSET
    for where, holder in (("", own), ("when", rule.when), ("unless", rule.unless)):
        if not isinstance(holder, UnsetType):
            yield from ((where, *each) for each in named_constraints(holder.parameters, holder.context))
