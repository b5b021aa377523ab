"""Audit entries as the API and the command line show them: as logged, with the derived code added."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from app.fairness.loop_turns import take_turn
from app.model.decisions import Result, RuleRef
from app.model.logged_codes import code_from

_STEP_ENTRIES = 64
"""How many lines are processed in one step; this many take half a millisecond."""


class _Decided(Struct, frozen=True):
    result: Result | None = None
    rule: RuleRef | None = None
    reason: str = ""


_decode = msgspec.json.Decoder(_Decided).decode


def with_code(line: bytes) -> bytes:
    """The line with the decision's `code` as its last field; unchanged if it holds no decision.

    The code is not in the log, whose bytes the chain covers; it is derived from the other fields.
    """
    decided = _decode(line)
    if decided.result is None:
        return line
    code = code_from(decided.result, None if decided.rule is None else decided.rule.type, decided.reason)
    return b'%b,"code":"%b"}' % (line[:-1], code.encode())


async def with_codes(lines: Sequence[bytes]) -> list[bytes]:
    """The same for many lines, a few at a time."""
    shown: list[bytes] = []
    for start in range(0, len(lines), _STEP_ENTRIES):
        await take_turn()
        shown += map(with_code, lines[start : start + _STEP_ENTRIES])
    return shown
