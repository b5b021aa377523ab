"""A rule: what rules of every type have, and what each type says about itself."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any, ClassVar, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.approvals import ApprovalTerms
from app.model.constraints import Circumstances, Constraint, named_constraints
from app.model.decision_codes import DecisionCode
from app.model.quotas import Budget, DenialBreaker, RateLimit
from app.model.sequences import ToolPattern, require_patterns
from app.model.text import FieldError

PlacedConstraint = tuple[str, str, str, Constraint]
"""A constraint after its place in the rule ("", `when`, `unless`), its kind of value, and its name."""


class Effect(StrEnum):
    """What a constraint rule that fails asks for: `deny`, or `escalate` = ask a person."""

    DENY = "deny"
    ESCALATE = "escalate"


class Read(NamedTuple):
    """A value that a rule reads: `parameters` or `context`, and the value's name; "" = all of it.

    only_there: the rule only tests whether the value exists.
    """

    of: str
    name: str
    only_there: bool = False


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
    reads_besides: ClassVar[tuple[Read, ...]] = ()
    """What it reads besides the values that it names."""
    only_fails: ClassVar[bool] = False
    """Whether it fails for every tool it covers, so that it never allows."""
    names_right_calls: ClassVar[bool] = False
    """Whether it says which calls are right; other rules say how often, when or in which order."""
    is_slow_to_compile: ClassVar[bool] = False
    is_conditional: ClassVar[bool] = True
    """Whether it may have `when` or `unless`."""
    not_in_grants: ClassVar[str | None] = None
    not_in_shadow: ClassVar[str | None] = None
    """Why such a policy cannot have it; None = it can."""
    requirements: ClassVar[tuple[dict[str, Any], ...]] = ()
    """What the type requires across its fields, as JSON Schema; `__post_init__` enforces it."""

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

    @classmethod
    def tag(cls) -> str:
        """The name of its type."""
        return str(cls.__struct_config__.tag)

    @property
    def escalates(self) -> bool:
        """Whether its failure asks for a person."""
        return getattr(self, "effect", UNSET) is Effect.ESCALATE

    @property
    def is_always(self) -> bool:
        """Whether it applies to every call of its tools."""
        return self.when is UNSET and self.unless is UNSET

    @property
    def counter(self) -> RateLimit | Budget | DenialBreaker | None:
        """What it counts; None if it counts nothing."""
        return None

    @property
    def limit(self) -> RateLimit | Budget | None:
        """The limit by which it counts admitted calls; None if it has none."""
        counter = self.counter
        return None if isinstance(counter, DenialBreaker) else counter

    @property
    def lookback_seconds(self) -> int:
        """How far back it looks on earlier calls."""
        return 0 if self.counter is None else self.counter.window_seconds

    @property
    def pattern_count(self) -> int:
        """How many patterns must be compiled for it."""
        return sum(
            (constraint.regex is not UNSET) + (constraint.not_regex is not UNSET)
            for _, _, _, constraint in self.constraints()
        )

    def constraints(self) -> Iterator[PlacedConstraint]:
        """Yield each constraint."""
        for where, circumstances in (("when", self.when), ("unless", self.unless)):
            if not isinstance(circumstances, UnsetType):
                named = named_constraints(circumstances.parameters, circumstances.context)
                yield from ((where, *each) for each in named)

    def reads(self) -> Iterator[Read]:
        """Yield each value that it reads by name."""
        yield from constraint_reads(self.constraints())
        if isinstance(self.limit, Budget):
            yield Read("parameters", self.limit.parameter)
        for name in (self.limit.per or ()) if self.limit is not None else ():
            of, dot, rest = name.partition(".")
            if dot:
                yield Read(of, rest)


def constraint_reads(constraints: Iterable[PlacedConstraint]) -> Iterator[Read]:
    """Yield each value that the constraints read."""
    for _, of, name, constraint in constraints:
        yield Read(of, name, {"required", "absent"}.issuperset(constraint.given))
        for operand in (constraint.equals, constraint.at_most, constraint.at_least):
            if operand is not UNSET:
                yield Read("context" if operand.of_context else "parameters", operand.name)
