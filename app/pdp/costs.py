"""Estimates the worst-case cost of deciding a call beforehand, in steps of about 4 ns."""

from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType

from app.language.schemas.json_schema import Schema
from app.language.schemas.patterns import compile_regex
from app.language.value_paths import ANYWHERE, EACH, MAX_PARTS
from app.language.whole_words import MAX_PLACES
from app.model.constraints import Constraint
from app.model.decisions import Result

ANY_SIZE = 1 << 62

_QUICK_STEPS = 1_000_000
_TEST_STEPS = 100
_LOOKUP_STEPS = 20
_SEARCH_STEPS = 250
_NUMBER_STEPS = 20
_READ_STEPS = 20_000
"""The cost of parsing the longest possible host or address, if most of its letters need IDNA."""

_REASON_STEPS = 2_000
_FEW_PARTS = 5
_ELEMENT_BYTES = 2
"""An array has at most an element for every two bytes: `0,`."""

_NAME_STEPS_PER_BYTE = 1
_SCHEMA_NAME_STEPS_PER_BYTE = 16
"""For each part of a name that a rule reads, and once for a schema, the names of the objects in a call are folded."""

_TEXT_BYTES = 4
_PLACES_STEPS = 150 * MAX_PLACES
_STRING_BYTES = 6
"""A string that is looked for in a request has at least three characters, two quotes and a comma."""

_REQUEST_STEPS_PER_BYTE = 20
_PATH_STEPS_PER_BYTE = 40
_KIND_STEPS_PER_BYTE = 400
"""The cost of a text in which everything begins like the number of a card or an account."""

_LINE_STEPS = 100_000
"""The cost of judging as many words again as a line may have, in other directories."""

_LINE_STEPS_PER_BYTE = 400


class Cost(Struct, frozen=True):
    """In the worst case, `steps` for any call, and `steps_per_byte` for its parameters and context."""

    steps: int = 50
    steps_per_byte: int = 0


def cost_of(named: Iterable[tuple[str, str, Constraint]], when_failed: Result = Result.DENIED) -> Cost:
    """The cost of testing all of these values.

    RE2 is linear, but where its fast automaton runs out of memory each byte costs as many steps as the pattern has
    instructions: `.{1000}$` takes two seconds for 64 KiB. A dotted name is searched in every way to split it, and
    objects can be built in which each way leads to the next. Every element of an array is tested. A failure that
    escalates is put into words, and evaluation continues with the next rule.
    """
    steps = _REASON_STEPS if when_failed is Result.ESCALATED else 0
    per_byte = 0
    for _, name, constraint in named:
        operands = (each for each in (constraint.equals, constraint.at_most, constraint.at_least) if each is not UNSET)
        roots = () if constraint.path is UNSET else constraint.path.root_names
        reading = cost_of_reading([name, *(operand.name for operand in operands), *roots])
        tests, is_many = _TEST_STEPS * len(constraint.given), EACH in name or name == ANYWHERE
        steps += reading.steps + tests
        per_byte += reading.steps_per_byte
        for pattern in (constraint.regex, constraint.not_regex):
            if isinstance(pattern, str):
                per_byte += compile_regex(pattern).steps_per_byte
                per_byte += _SEARCH_STEPS // _ELEMENT_BYTES if is_many else 0
        if not isinstance(constraint.not_kind, UnsetType):
            per_byte += _KIND_STEPS_PER_BYTE * len(constraint.not_kind)
        if constraint.contains is not UNSET:
            per_byte += _TEST_STEPS // _ELEMENT_BYTES
        if constraint.path is not UNSET:
            per_byte += _PATH_STEPS_PER_BYTE
        if constraint.command is not UNSET:
            steps += _LINE_STEPS
            per_byte += _LINE_STEPS_PER_BYTE
        reads = sum(each is not UNSET for each in (constraint.host, constraint.email_domain, constraint.cidr))
        steps += reads * _READ_STEPS
        if constraint.from_request is not UNSET:
            steps += _PLACES_STEPS
            per_byte += _REQUEST_STEPS_PER_BYTE + (_PLACES_STEPS // _STRING_BYTES if EACH in name else 0)
        if is_many:
            per_byte += tests // _ELEMENT_BYTES + reads * _READ_STEPS // _TEXT_BYTES // 20
    return Cost(steps, per_byte)


def cost_of_reading(names: Iterable[str]) -> Cost:
    """The cost of finding the values of all these names."""
    found = [_cost_of_finding(name) for name in names]
    return Cost(sum(steps for steps, _ in found), sum(per_byte for _, per_byte in found))


def _cost_of_finding(name: str) -> tuple[int, int]:
    """Steps for any call, and steps for each of its bytes."""
    parts = name.count(".") + 1
    if parts <= _FEW_PARTS:
        return _LOOKUP_STEPS << parts, _NAME_STEPS_PER_BYTE * parts
    # Each object can have as many matching keys as there are parts left, and the shortest object that leads on has six
    # bytes.
    per_byte = _LOOKUP_STEPS * parts // 6 * (1 if parts <= MAX_PARTS else parts // MAX_PARTS)
    return _TEST_STEPS * parts, per_byte + _NAME_STEPS_PER_BYTE * parts


def cost_of_schema(schema: Schema) -> Cost:
    """Each part of a schema may have to be checked against each value, and a value takes two bytes.

    Exact comparisons of numbers take ten times as long.
    """
    per_byte = schema.parts * _TEST_STEPS // _ELEMENT_BYTES // 8 + schema.numbers * _NUMBER_STEPS
    per_byte += _SCHEMA_NAME_STEPS_PER_BYTE
    return Cost(_REASON_STEPS + _TEST_STEPS * schema.parts, per_byte)


def quick_size(costs: Iterable[Cost]) -> int:
    """The greatest size of a call for which all this takes at most four milliseconds; -1 = no size is small enough."""
    left, per_byte = _QUICK_STEPS, 0
    for cost in costs:
        left -= cost.steps
        per_byte += cost.steps_per_byte
    if left < 0:
        return -1
    return left // per_byte if per_byte else ANY_SIZE
