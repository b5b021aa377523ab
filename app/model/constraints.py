"""Constraints: what a value of a call must be, and in which calls a rule applies. Every instance is valid."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from app.language.schemas.patterns import MAX_REGEX_LENGTH, compile_regex
from app.language.value_paths import ANYWHERE, EACH, require_path
from app.model.approved_before import ApprovedBefore
from app.model.command_constraint import CommandConstraint
from app.model.context_roots import CWD
from app.model.fields import Scalar
from app.model.meaning_constraints import CidrConstraint, EmailDomainConstraint, HostConstraint, PathConstraint
from app.model.text import FieldError, Name, require_visible

MAX_COUNT = 1 << 20
Pattern = Annotated[str, Meta(max_length=MAX_REGEX_LENGTH, extra_json_schema={"format": "re2"})]
Scalars = Annotated[list[Scalar], Meta(min_length=1, max_length=100)]
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]


class JsonType(StrEnum):
    """The types of JSON; `integer` is a number without a fraction, including 1.0."""

    STRING = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    NULL = "null"
    ARRAY = "array"
    OBJECT = "object"


REQUEST = "request"
"""The name in `context` of what the user asked for: the texts of the user's turns, as one string."""

MAX_REQUEST_BYTES = 32 * 1024


class TextKind(StrEnum):
    """What a text has in it: the number of a payment card, an IBAN, or what looks like a credential."""

    CARD = "card"
    IBAN = "iban"
    SECRET = "secret"  # noqa: S105 - a kind, and none itself


class FromRequest(StrEnum):
    """How a value must stand in the user's request: with equal code points, or in any ASCII case and white space."""

    EXACT = "exact"
    TEXT = "text"


class Operand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another value of the same call, by name.

    parameter: A parameter's name; it may reach into objects.
    context: The name of a value in `context`.
    """

    parameter: Name | UnsetType = UNSET
    context: Name | UnsetType = UNSET

    @property
    def name(self) -> str:
        return self.context if isinstance(self.context, str) else str(self.parameter)

    @property
    def of_context(self) -> bool:
        return self.context is not UNSET

    def __post_init__(self) -> None:
        if (self.parameter is UNSET) is (self.context is UNSET):
            raise FieldError("parameter", "give either parameter or context")
        field = "context" if self.of_context else "parameter"
        require_name(field, self.name)
        if EACH in self.name:
            raise FieldError(field, f"`{EACH}` stands for many values; name one to compare with")


class Constraint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What one value must be; every field that is given must hold.

    regex: RE2 pattern, found anywhere in a string or in the JSON of a number or boolean; anchor it with ^ and $.
    enum: The values it may have, equal in type and value; JSON scalars.
    min: The lowest allowed number, inclusive; numbers only.
    max: The highest allowed number, inclusive; numbers only.
    required: false allows the value to be missing; true if left out.
    not_regex: RE2 pattern that must not be found in it; anything but a string, number or boolean fails.
    not_enum: Values that it must not have; it must have the JSON type of one of them.
    not_kind: What must not be found in it; anything but a string, number or boolean fails.
    above: It must be more than this; numbers only.
    below: It must be less than this; numbers only.
    min_length: The fewest code points of a string.
    max_length: The most code points of a string.
    min_items: The fewest elements of an array.
    max_items: The most elements of an array.
    contains: A scalar that one element of an array must equal in type and value.
    type: Its JSON type, or the types it may have; 1.0 is an integer, too.
    absent: true = it must not be given at all. Excludes every other field.
    equals: Another value of the call that it must equal in type and value.
    at_most: Another value of the call that it must not exceed: two numbers, dates or times (RFC 3339).
    at_least: Another value of the call that it must not fall below: two numbers, dates or times (RFC 3339).
    path: A directory that it must lie in, as an absolute POSIX path.
    host: Hosts that it must name, itself or as a URL.
    email_domain: Domains in which it must be a mail address.
    cidr: Networks in which it must be an address or network.
    from_request: It must stand in the user's request (`request` in `context`) as whole words: `exact` = with equal code
    points, at least three; `text` = in any ASCII case and white space. Strings only.
    command: It must be a shell line all of whose commands may run.
    exempt: Parameters that `**` leaves out, with all that is in them.
    approved_before: A person must have approved a call of this agent and tool with the same value of this parameter.
    Strings only, and only in a rule that escalates.
    """

    regex: Pattern | UnsetType = UNSET
    enum: Scalars | UnsetType = UNSET
    min: int | float | UnsetType = UNSET
    max: int | float | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    not_regex: Pattern | UnsetType = UNSET
    not_enum: Scalars | UnsetType = UNSET
    not_kind: Annotated[list[TextKind], Meta(min_length=1, max_length=3)] | UnsetType = UNSET
    above: int | float | UnsetType = UNSET
    below: int | float | UnsetType = UNSET
    min_length: Count | UnsetType = UNSET
    max_length: Count | UnsetType = UNSET
    min_items: Count | UnsetType = UNSET
    max_items: Count | UnsetType = UNSET
    contains: Scalar | UnsetType = UNSET
    type: JsonType | Annotated[list[JsonType], Meta(min_length=1, max_length=7)] | UnsetType = UNSET
    absent: bool | UnsetType = UNSET
    equals: Operand | UnsetType = UNSET
    at_most: Operand | UnsetType = UNSET
    at_least: Operand | UnsetType = UNSET
    path: PathConstraint | UnsetType = UNSET
    host: HostConstraint | UnsetType = UNSET
    email_domain: EmailDomainConstraint | UnsetType = UNSET
    cidr: CidrConstraint | UnsetType = UNSET
    from_request: FromRequest | UnsetType = UNSET
    command: CommandConstraint | UnsetType = UNSET
    approved_before: ApprovedBefore | UnsetType = UNSET
    exempt: Annotated[list[Name], Meta(min_length=1, max_length=100)] | UnsetType = msgspec.field(
        name="except", default=UNSET
    )

    @property
    def given(self) -> list[str]:
        """The names of the fields that are given."""
        return [name for name in self.__struct_fields__ if getattr(self, name) is not UNSET]

    @property
    def directories(self) -> list[str]:
        """The names in `context` of the directories in which it judges."""
        found = [] if isinstance(self.path, UnsetType) else self.path.root_names
        if isinstance(self.command, UnsetType) or not self.command.needs_root:
            return found
        return [*found, CWD, *filter(None, [self.command.root_name])]


Constraints = Annotated[dict[Name, Constraint], Meta(min_length=1, max_length=100)]


class IfMissing(StrEnum):
    """What happens to a rule whose `when` or `unless` reads a missing value."""

    SKIP = "skip"
    APPLY = "apply"


EITHER_KIND: dict[str, Any] = {"anyOf": [{"required": ["parameters"]}, {"required": ["context"]}]}
"""As JSON Schema, what `require_constraints` requires."""


class Circumstances(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Conditions that hold if every named value satisfies its constraint. If one cannot be judged, the rule fails with
    its effect.

    parameters: What each named parameter must be; `**` is every text, number and member name in them.
    context: What each named value of `context` must be.
    if_missing: What happens to the rule if a value is missing: it is skipped or applies; it fails if left out.
    """

    parameters: Constraints | UnsetType = UNSET
    context: Constraints | UnsetType = UNSET
    if_missing: IfMissing | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_constraints(self.parameters, self.context)
        for field, name, constraint in named_constraints(self.parameters, self.context):
            if not isinstance(constraint.command, UnsetType) and constraint.command.unread is not UNSET:
                message = "only the constraints of a rule have it: here, such a line cannot be judged"
                raise FieldError(f"{field}.{name}.command.unread", message)


def require_constraints(
    parameters: Mapping[str, Constraint] | UnsetType,
    context: Any,
    *,
    remembers: bool = False,
    beside: bool = False,
) -> None:
    """Raise FieldError unless at least one of the two is given and everything in them can be evaluated.

    remembers: whether parameters can have `approvedBefore`. beside: whether the rule has something else, so that it may
    have neither.
    """
    if parameters is UNSET and context is UNSET and not beside:
        raise FieldError("parameters", "give parameters, context or both")
    for field, name, constraint in named_constraints(parameters, context):
        if constraint.approved_before is not UNSET and not (remembers and field == "parameters"):
            raise FieldError(f"{field}.{name}.approvedBefore", _NOT_REMEMBERED)
        try:
            _require_in_place(field, name, constraint)
            _require_constraint(constraint)
        except FieldError as error:
            path = f"{field}.{name}.{error.field}" if error.field else f"{field}.{name}"
            raise FieldError(path, error.message) from None


def named_constraints(
    parameters: Mapping[str, Constraint] | UnsetType, context: Mapping[str, Constraint] | UnsetType
) -> Iterator[tuple[str, str, Constraint]]:
    """Yield (`parameters` or `context`, name, constraint) for each constraint."""
    for field, constraints in (("parameters", parameters), ("context", context)):
        if not isinstance(constraints, UnsetType):
            yield from ((field, name, constraint) for name, constraint in constraints.items())


def unread_apart(constraint: Constraint, *, asks: bool) -> bool:
    """True if a shell line that cannot be read does something else than the rule says; asks: if that is to ask."""
    if isinstance(constraint.command, UnsetType) or isinstance(constraint.command.unread, UnsetType):
        return False
    return (constraint.command.unread == "escalate") is not asks


_NOT_REMEMBERED = (
    'only parameters of a rule with "effect": "escalate" have it, outside `when` and `unless`: people are asked first'
)


def require_name(field: str, name: str) -> None:
    """Raise FieldError unless the name is visible and well-formed."""
    require_visible(field, name)
    try:
        require_path(name)
    except ValueError as error:
        raise FieldError(field, str(error)) from None


def _require_constraint(constraint: Constraint) -> None:
    """Raise FieldError unless some value can satisfy it; the field is "" for the constraint itself."""
    given = constraint.given
    if not given:
        raise FieldError("", "needs at least one field, such as regex, enum, min, max or required")
    if constraint.absent is not UNSET and (not constraint.absent or len(given) > 1):
        raise FieldError("absent", "must be true, and the only field; use `required: true` to demand a value")
    for name, text in (("regex", constraint.regex), ("notRegex", constraint.not_regex)):
        if isinstance(text, str):
            try:
                compile_regex(text)
            except ValueError as refusal:
                raise FieldError(name, str(refusal)) from None
    for name, asked in (
        ("fromRequest", constraint.from_request),
        ("approvedBefore", constraint.approved_before),
        ("command", constraint.command),
    ):
        if asked is not UNSET:
            _require_strings(name, constraint)
    lowest = (("min", constraint.min), ("above", constraint.above))
    highest = (("max", constraint.max), ("below", constraint.below))
    for lower, least in lowest:
        for upper, most in highest:
            _require_order(lower, least, upper, most)
    _require_order("minLength", constraint.min_length, "maxLength", constraint.max_length)
    _require_order("minItems", constraint.min_items, "maxItems", constraint.max_items)


_ANYWHERE_FIELDS = ("regex", "not_regex", "not_kind", "exempt")


def _require_in_place(field: str, name: str, constraint: Constraint) -> None:
    """Raise FieldError unless such a name can have such a constraint."""
    if name != ANYWHERE:
        if constraint.exempt is not UNSET:
            raise FieldError(
                "except", f"goes with the name `{ANYWHERE}` alone, for all values but those in some parameters"
            )
        return
    if field != "parameters":
        raise FieldError("", f"`{ANYWHERE}` is every value of the parameters; in `context`, name the value")
    if not set(constraint.given) <= set(_ANYWHERE_FIELDS) or constraint.given == ["exempt"]:
        raise FieldError("", f"`{ANYWHERE}` can have regex, notRegex and notKind, and except")


_OF_OTHERS = {"min": "min", "max": "max", "above": "above", "below": "below"} | {
    "min_items": "minItems",
    "max_items": "maxItems",
    "contains": "contains",
}
"""Fields that accept no string, as they are written."""


def _require_strings(field: str, constraint: Constraint) -> None:
    """Raise FieldError if another field than this one accepts no string."""
    other = next((_OF_OTHERS[name] for name in constraint.given if name in _OF_OTHERS), None)
    if constraint.type is not UNSET and JsonType.STRING not in constraint.type:
        other = "type"
    if isinstance(constraint.enum, list) and not any(isinstance(each, str) for each in constraint.enum):
        other = "enum"
    if other is not None:
        raise FieldError(field, f"passes only strings, and `{other}` accepts none; leave one of them out")


_EXCLUSIVE = {("min", "below"), ("above", "max"), ("above", "below")}


def _require_order(lower: str, least: Any, upper: str, most: Any) -> None:
    exclusive = (lower, upper) in _EXCLUSIVE
    if least is not UNSET and most is not UNSET and (least > most or (exclusive and least == most)):
        relation = "is not below" if exclusive else "is above"
        raise FieldError("", f"`{lower}` {least} {relation} `{upper}` {most}; nothing can satisfy it")
