"""Records: what runtimes report of the results of calls, and what a rule demands of it."""

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.model.constraints import Scalars, require_name
from app.model.fields import Scalar
from app.model.text import FieldError, ToolName, require_tool_name, require_visible

MAX_RECORDS = 16
"""The most records in one report, and of one agent in one session; the oldest go."""
MAX_BYTES = 4096
"""The most bytes of JSON in one report."""
KEPT_SECONDS = 86_400
"""How long a session's records are kept after the last report."""
_HOUR = 3600
_EXACT = 2**53

RecordName = Annotated[str, Meta(min_length=1, max_length=255)]
FieldName = Annotated[str, Meta(min_length=1, max_length=64)]
Fields = Annotated[dict[FieldName, Scalar], Meta(max_length=16)]
Reported = Annotated[dict[RecordName, Fields], Meta(max_length=MAX_RECORDS)]

_template = re.compile(r"([^{}]*)(?:\{(parameters|context)\.([^{}]+)\}([^{}]*))?").fullmatch


class RecordField(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What one field of a record must be.

    enum: One of these, in type and value.
    not_enum: Of the type of these, and none of them.
    min: A number from this on.
    max: A number up to this.
    """

    enum: Scalars | UnsetType = UNSET
    not_enum: Scalars | UnsetType = UNSET
    min: int | float | UnsetType = UNSET
    max: int | float | UnsetType = UNSET

    def __post_init__(self) -> None:
        if all(getattr(self, name) is UNSET for name in self.__struct_fields__):
            raise FieldError("", "needs at least one of enum, notEnum, min and max")
        if not isinstance(self.min, UnsetType) and not isinstance(self.max, UnsetType) and self.min > self.max:
            raise FieldError("min", f"no number is at least {self.min} and at most {self.max}")

    @property
    def tests(self) -> tuple[str, ...]:
        """What a field must pass, each as a sign and a value in the form of `token`."""
        lists = (("=", self.enum), ("!", self.not_enum))
        bounds = ((">", self.min), ("<", self.max))
        found = [f"{sign}{token(each)}" for sign, many in lists if not isinstance(many, UnsetType) for each in many]
        return (*found, *(f"{sign}{token(each)}" for sign, each in bounds if not isinstance(each, UnsetType)))


class RecordConstraint(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a runtime must have reported, in the call's session, of the result of an earlier call of the agent.

    of: The record's name; `{parameters.NAME}` or `{context.NAME}` in it stands for a value of the call: a text or whole
    number of at most 128 characters.
    from_: The tools whose results it may come from.
    fields: What each of its fields must be; a field that is missing fails.
    within_seconds: How old it may be, 1 to 86,400 seconds (a day); an hour if left out.
    """

    of: RecordName
    from_: Annotated[list[ToolName], Meta(min_length=1, max_length=16)] = field(name="from")
    fields: Annotated[dict[FieldName, RecordField], Meta(min_length=1, max_length=16)]
    within_seconds: Annotated[int, Meta(ge=1, le=KEPT_SECONDS)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_visible("of", self.of)
        if _template(self.of) is None:
            raise FieldError("of", "`{` and `}` stand once, around `parameters.NAME` or `context.NAME`")
        if self.placeholder is not None:
            require_name("of", self.placeholder[1])
        for index, tool in enumerate(self.from_):
            require_tool_name(f"from[{index}]", tool)
        for name in self.fields:
            require_visible("fields", name)

    @property
    def placeholder(self) -> tuple[str, str] | None:
        """`parameters` or `context`, and the name of the value that stands in the record's name; None if none does."""
        found = _template(self.of)
        return None if found is None or found[2] is None else (found[2], found[3])

    @property
    def around(self) -> tuple[str, str]:
        """What stands before and after that value; all of it before, if there is none."""
        found = _template(self.of)
        return ("", "") if found is None else (found[1], found[4] or "")

    @property
    def seconds(self) -> int:
        return _HOUR if isinstance(self.within_seconds, UnsetType) else self.within_seconds


def require_reported(records: Mapping[str, Mapping[str, Scalar]]) -> None:
    """Raise FieldError if these records are too large together, or have a number that not all readers have exactly."""
    if len(msgspec.json.encode(records)) > MAX_BYTES:
        raise FieldError("records", f"must be at most {MAX_BYTES} bytes of JSON")
    for name, fields in records.items():
        for each, value in fields.items():
            if type(value) in (int, float) and not -_EXACT < value < _EXACT:  # type: ignore[operator]
                raise FieldError(f"records.{name}.{each}", "is a number that not all readers have exactly; give a text")


def digest(text: str) -> str:
    """What a name, of a record, a field or a tool, is in the store."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def token(value: Scalar) -> str:
    """The value as JSON, the same for all spellings of it, without spaces."""
    if type(value) is float and value.is_integer() and math.isfinite(value):
        value = int(value)
    return msgspec.json.encode(value).decode().replace(" ", "\\u0020")


def stored(tool: str, fields: Mapping[str, Scalar]) -> str:
    """What the store has of a record, after the time of its report and a space: `<tool> <field>=<value> …`."""
    return digest(tool) + "".join(f" {digest(name)}={token(value)}" for name, value in fields.items())


def fits(said: str, tests: tuple[str, ...]) -> bool:
    """True if a value passes all tests; `records.lua` says the same. said: in the form of `token`."""
    for sign in "=!":
        members = [test[1:] for test in tests if test[0] == sign]
        if members and (_kind(said) not in map(_kind, members) or (said in members) is not (sign == "=")):
            return False
    bounds = [test for test in tests if test[0] in "<>"]
    if not bounds:
        return True
    if _kind(said) != "0":
        return False
    number = float(said)
    return all(number >= float(test[1:]) if test[0] == ">" else number <= float(test[1:]) for test in bounds)


def _kind(said: str) -> str:
    """What the values of one type have in common."""
    return {"t": "f", '"': '"', "n": "n", "f": "f"}.get(said[0], "0")
