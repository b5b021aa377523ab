"""The log as JSON: entries, each with its code, and the result of verifying it."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from app.http.views import as_view
from app.model.checkpoints import Finding, Verification
from app.model.decisions import Result, RuleRef
from app.model.fields import Count, Ordinal
from app.model.rules import usual_code
from app.runtime.fairness.loop_turns import take_turn

_STEP_ENTRIES = 64
"""Lines processed in one step, which takes half a millisecond."""


class _Decided(Struct, frozen=True):
    result: Result | None = None
    rule: RuleRef | None = None
    code: str = ""


_decode = msgspec.json.Decoder(_Decided).decode


def with_code(line: bytes) -> bytes:
    """The line with the decision's `code` as its last field; unchanged if it says its code, or has no decision.

    The log, whose bytes the chain covers, has the code only where it is not the usual one.
    """
    decided = _decode(line)
    if decided.result is None or decided.code:
        return line
    code = usual_code(decided.result, None if decided.rule is None else decided.rule.type)
    return b'%b,"code":"%b"}' % (line[:-1], code.encode())


async def with_codes(lines: Sequence[bytes]) -> list[bytes]:
    """`with_code` of each line, a few at a time."""
    shown: list[bytes] = []
    for start in range(0, len(lines), _STEP_ENTRIES):
        await take_turn()
        shown += map(with_code, lines[start : start + _STEP_ENTRIES])
    return shown


class VerificationView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a verification.

    intact: Whether everything that was checked is intact.
    complete: Whether the newest entry was reached; if not, ask again with `checkpoint`.
    finding: The first fault; null if there is none.
    checkpoint: The state that was found intact, as a line to keep elsewhere; null if there is none.
    first_segment: The segment with which it began.
    segments: Segments that were checked.
    entries: Entries in them.
    unsealed: Entries that are not sealed and chained yet.
    changes: Changes of the trail that were checked.
    checked: What was checked, in words.
    unchecked: What was not checked, in words.
    """

    intact: bool
    complete: bool
    finding: Finding | None
    checkpoint: str | None
    first_segment: Ordinal
    segments: Count
    entries: Count
    unsealed: Count
    changes: Count
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]

    @classmethod
    def of(cls, verification: Verification) -> "VerificationView":
        checkpoint = None if verification.checkpoint is None else verification.checkpoint.line
        return as_view(cls, verification, intact=verification.finding is None, checkpoint=checkpoint)
