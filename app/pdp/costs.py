"""What it costs at worst to decide a call, as far as that shows before it is decided; in steps of about 4 ns."""

from collections.abc import Iterable, Mapping

from msgspec import UNSET, Struct

from app.model.decisions import Result
from app.model.keys import KEY_TYPE
from app.model.patterns import compile_regex
from app.model.policies import Constraint
from app.model.redaction import REDACTED

MAX_BYTES = 64 * 1024
"""Parameters are no longer than this."""

_QUICK_STEPS = 1_000_000
_TEST_STEPS = 100
_REASON_STEPS = 2_000
_CUT = (REDACTED.encode(), KEY_TYPE.encode())
"""What is recorded in the place of a value that may have been longer than it looks: a secret, an API key."""


class Cost(Struct, frozen=True):
    """At worst: `steps` whatever the call, and `steps_per_byte` of its parameters."""

    steps: int = 50
    steps_per_byte: int = 0


def cost_of(parameters: Mapping[str, Constraint], when_failed: Result) -> Cost:
    """The cost of looking at all of these parameters.

    RE2 is linear, but where its fast automaton runs out of memory each byte costs as many steps as the pattern has
    instructions: `.{1000}$` takes two seconds for 64 KiB. A dotted name is looked for in all the ways to split it, and
    a few bytes can make an object in which each of them leads to the next. A failure that escalates is put into words,
    and the next rule is asked all the same.
    """
    steps = _REASON_STEPS if when_failed is Result.ESCALATED else 0
    per_byte = 0
    for name, constraint in parameters.items():
        parts = name.count(".") + 1
        tests = (constraint.regex, constraint.enum, constraint.min, constraint.max)
        steps += _TEST_STEPS * (parts + sum(each is not UNSET for each in tests))
        per_byte += parts * parts // 8
        if constraint.regex is not UNSET:
            per_byte += compile_regex(constraint.regex).program_size
    return Cost(steps, per_byte)


def quick_bytes(costs: Iterable[Cost]) -> int:
    """How long parameters may be for all this to take four milliseconds at most: -1 = no length is short enough."""
    left, per_byte = _QUICK_STEPS, 0
    for cost in costs:
        left -= cost.steps
        per_byte += cost.steps_per_byte
    if left < 0:
        return -1
    return min(MAX_BYTES, left // per_byte) if per_byte else MAX_BYTES


def may_be_longer(recorded: bytes) -> bool:
    """Whether the parameters may be longer than they are recorded."""
    return any(mark in recorded for mark in _CUT)
