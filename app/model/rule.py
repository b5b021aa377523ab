"""A rule: the fields of every type, and the properties that each type declares."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from app.language.value_paths import ANYWHERE
from app.model.approvals import ApprovalTerms
from app.model.approved_before import ApprovedBefore
from app.model.constraints import REQUEST, Circumstances, Constraint, named_constraints
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
    """A value that a rule reads: `parameters` or `context`, and the value's name; "" for all of it.

    only_there: the rule only tests whether the value exists. but: the members that it leaves out of all.
    """

    of: str
    name: str
    only_there: bool = False
    but: tuple[str, ...] = ()


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
    when: The rule applies only to calls that meet all of these conditions, and skips the others.
    unless: The rule skips calls that meet all of these conditions, and applies to the others.
    approval: What the rule asks of people if it escalates.
    """

    code: ClassVar[DecisionCode]
    """The code of a decision that the rule denies."""
    reads_besides: ClassVar[tuple[Read, ...]] = ()
    """Values that it reads in addition to those that it names."""
    only_fails: ClassVar[bool] = False
    """True if it fails for every tool it covers, so that it never allows."""
    names_right_calls: ClassVar[bool] = False
    """True if it defines which calls are right; other rules define how often, when or in which order."""
    is_slow_to_compile: ClassVar[bool] = False
    is_conditional: ClassVar[bool] = True
    """True if it may have `when` or `unless`."""
    not_in_grants: ClassVar[str | None] = None
    not_in_guardrails: ClassVar[str | None] = None
    not_in_shadow: ClassVar[str | None] = None
    """The reason why such a policy cannot have it, or None if it can."""
    requirements: ClassVar[tuple[dict[str, Any], ...]] = ()
    """The type's cross-field requirements, as JSON Schema; `__post_init__` enforces them."""

    tools: Annotated[list[ToolPattern], Meta(min_length=1, max_length=1000)]
    when: Circumstances | UnsetType = UNSET
    unless: Circumstances | UnsetType = UNSET
    approval: ApprovalTerms | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.when is not UNSET and self.unless is not UNSET:
            raise FieldError("unless", "give when or unless, not both; two rules can say both")
        if self.approval is not UNSET and not self.can_escalate:
            message = 'only a rule that asks people has it: approval_required, or one with "effect": "escalate"'
            raise FieldError("approval", message)
        require_patterns("tools", self.tools)

    @classmethod
    def tag(cls) -> str:
        """The name of its type."""
        return str(cls.__struct_config__.tag)

    @property
    def escalates(self) -> bool:
        """True if its failure asks for a person."""
        return getattr(self, "effect", UNSET) is Effect.ESCALATE

    @property
    def can_escalate(self) -> bool:
        """True if some failure of it asks for a person."""
        return self.escalates

    @property
    def is_always(self) -> bool:
        """True if it applies to every call of its tools."""
        return self.when is UNSET and self.unless is UNSET

    @property
    def counter(self) -> RateLimit | Budget | DenialBreaker | None:
        """The limit or breaker by which it counts, or None."""
        return None

    @property
    def limit(self) -> RateLimit | Budget | None:
        """The limit by which it counts admitted calls, or None."""
        counter = self.counter
        return None if isinstance(counter, DenialBreaker) else counter

    @property
    def kept_apart(self) -> tuple[int, str] | None:
        """What sets its counter apart from those of other rules of the same tools: the window in seconds, and the rest;
        None if it has no counter.
        """
        return None if self.counter is None else (self.counter.seconds, self.counter.set_apart)

    @property
    def lookback_seconds(self) -> int:
        """The time over which it looks back on earlier calls."""
        return 0 if self.counter is None else self.counter.longest_seconds

    @property
    def remembered(self) -> Mapping[str, ApprovedBefore]:
        """The parameters whose values people can have approved before, each with how that counts."""
        return {}

    @property
    def pattern_count(self) -> int:
        """The number of patterns that must be compiled for it."""
        return sum(
            (constraint.regex is not UNSET) + (constraint.not_regex is not UNSET)
            for _, _, _, constraint in self.constraints()
        )

    def constraints(self) -> Iterator[PlacedConstraint]:
        """Yield each constraint."""
        for where, circumstances in (("when", self.when), ("unless", self.unless)):
            if not isinstance(circumstances, UnsetType):
                named = named_constraints(circumstances.parameters, circumstances.context)
                yield from ((where, *constraint) for constraint in named)

    def reads(self) -> Iterator[Read]:
        """Yield each value that it reads by name."""
        yield from constraint_reads(self.constraints())
        if isinstance(self.limit, Budget):
            yield Read(self.limit.of, self.limit.name)
        for name in (self.counter.per or ()) if self.counter is not None else ():
            of, dot, rest = name.partition(".")
            if dot:
                yield Read(of, rest)


def constraint_reads(constraints: Iterable[PlacedConstraint]) -> Iterator[Read]:
    """Yield each value that the constraints read."""
    for _, of, name, constraint in constraints:
        if name == ANYWHERE:
            yield Read(of, "", but=() if isinstance(constraint.exempt, UnsetType) else tuple(constraint.exempt))
        else:
            yield Read(of, name, {"required", "absent"}.issuperset(constraint.given))
        if constraint.from_request is not UNSET:
            yield Read("context", REQUEST)
        yield from (Read("context", directory) for directory in constraint.directories)
        for operand in (constraint.equals, constraint.at_most, constraint.at_least):
            if operand is not UNSET:
                yield Read("context" if operand.of_context else "parameters", operand.name)
