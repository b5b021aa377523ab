"""Rules about what runtimes reported of calls: the look-up for one call, and what it found."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, UnsetType
from msgspec.structs import replace

from app.language.spellings import Spellings
from app.language.value_paths import ValuePath
from app.model.decisions import AuthorizeRequest, Outcome, RecordRead
from app.model.plans import FieldTests, RecordCheck
from app.model.records import RecordConstraint, RecordField, digest, fits, token
from app.model.rules import ParameterConstraint
from app.pdp.clauses import clipped, listed
from app.pdp.constraints import IsSecret
from app.pdp.operands import NOTHING, Json
from app.pdp.rules.buckets import UnreadableError, stated_values
from app.pdp.rules.rule_type import PlacedRule
from app.pdp.rules.sequence import session_of
from app.redaction.credentials import REDACTED

_MAX_VALUE = 128
_SECOND_US = 1_000_000
_stored_fields = re.compile(r" ([0-9a-f]+)=(\S+)").findall


class RecordReader(Struct, frozen=True):
    """The part of the look-up that is common to all calls, and the record's name, which may have a value of the call.

    around: what stands before and after the value. of_context: where the value is. path: None = there is none.
    """

    check: RecordCheck
    around: tuple[str, str]
    of_context: bool = False
    path: ValuePath | None = None

    @property
    def when_full(self) -> Outcome:
        return self.check.when_full

    def of(self, request: AuthorizeRequest, _key_id: str, _now_us: int) -> RecordCheck | None:
        """The look-up for the call; None if its record or its session cannot be told, which fails the rule."""
        context = request.context or NOTHING
        session = session_of(context)
        try:
            name = self._name(request.parameters, context)
        except UnreadableError:
            return None
        return replace(self.check, record=digest(name), session=session) if session else None

    def failed(self, parameters: Json, context: Json, _spelled: Spellings) -> str | None:
        """Why it cannot be told which record is meant."""
        try:
            self._name(parameters, context)
        except UnreadableError as reason:
            return str(reason)
        return None

    def _name(self, parameters: Json, context: Json) -> str:
        """The record's name. Raises UnreadableError."""
        before, after = self.around
        if self.path is None:
            return before
        found = stated_values(self.path, context if self.of_context else parameters, self.path.name)
        if len(found) != 1 or type(found[0]) not in (str, int) or not 0 < len(str(found[0])) <= _MAX_VALUE:
            raise UnreadableError(
                f'"{self.path.name}" must be one text or whole number of 1 to {_MAX_VALUE} characters'
            )
        return f"{before}{found[0]}{after}"


def record_readers(placed: PlacedRule[ParameterConstraint]) -> Iterator[RecordReader]:
    """Yield the look-up of a rule that reads a record; none of another."""
    record = placed.rule.record
    if isinstance(record, UnsetType):
        return
    is_secret = placed.is_secret
    fields = tuple(FieldTests(name, each.tests, is_secret(name)) for name, each in record.fields.items())
    failed = placed.failure(f"Not {record_in_words(record, is_secret)}")
    tools = tuple(map(digest, record.from_))
    check = RecordCheck(placed.policy.id, record.of, tools, fields, record.seconds * _SECOND_US, failed)
    if record.placeholder is None:
        yield RecordReader(check, record.around)
    else:
        of, name = record.placeholder
        yield RecordReader(check, record.around, of == "context", ValuePath(name))


def record_in_words(record: RecordConstraint, is_secret: IsSecret) -> str:
    """What a record must say."""
    tools = " or ".join(f'"{tool}"' for tool in record.from_)
    fields = (
        f'"{name}" is {"as wanted" if is_secret(name) else _in_words(each)}' for name, each in record.fields.items()
    )
    return (
        f"reported of {record.of} by {clipped(tools)} in the last {record.seconds} s: {clipped(' and '.join(fields))}"
    )


def _in_words(wanted: RecordField) -> str:
    lists = (("", wanted.enum), ("not ", wanted.not_enum))
    bounds = (("at least ", wanted.min), ("at most ", wanted.max))
    said = [f"{word}{listed(many)}" for word, many in lists if not isinstance(many, UnsetType)]
    return " and ".join([*said, *(f"{word}{each}" for word, each in bounds if not isinstance(each, UnsetType))])


def read_record(check: RecordCheck, stored: str | None, now_ms: int) -> tuple[RecordRead, bool]:
    """What a rule reads of a record as it is stored, and whether it fits; the commit reads the same."""
    at, _, said = (stored or "").partition(" ")
    tool, _, fields = said.partition(" ")
    is_there = at.isdigit() and 0 <= now_ms - int(at) < check.window_us // 1000 and tool in check.tools
    if not is_there:
        return RecordRead(check.of, None), False
    values = dict(_stored_fields(f" {fields}"))
    passes, told = True, dict[str, Any]()
    for name, tests, is_secret in check.fields:
        value = values.get(digest(name))
        passes = passes and value is not None and fits(value, tests)
        if value is not None:
            told[name] = REDACTED if is_secret else msgspec.json.decode(value)
    return RecordRead(check.of, told), passes


def passed_as_read(check: RecordCheck, fields: Mapping[str, Any] | None) -> bool | None:
    """Whether a record fits of which these fields were read; None if that cannot be told."""
    if fields is None:
        return False
    wanted = [(fields.get(each.name, REDACTED), each.tests) for each in check.fields]
    if any(value == REDACTED for value, _ in wanted):
        return None
    return all(fits(token(value), tests) for value, tests in wanted)
