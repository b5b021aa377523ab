"""What is unusual about a call: its values, compared with those of earlier calls."""

import json
from collections import Counter
from collections.abc import Sequence
from decimal import MAX_EMAX, Context, Decimal
from itertools import islice
from statistics import median_low
from typing import Any

from msgspec import UNSET, Raw

from app.audit.log import AuditLog
from app.cancellation import raise_if_cancelled
from app.model.approvals import Approval
from app.model.audit import AuditQuery
from app.model.call_values import general, values_in
from app.model.canonical_call import decode_exact
from app.model.decisions import Result
from app.model.usual import Number, Usual, UsualText, UsualValue
from app.replay.calls import decode_call, is_hidden
from app.runtime.fairness.thread_pool import FairThreadPool

_VALUES_MAX = 200
_READ_MAX = 1_000
"""Values of each earlier call that count, the first."""
_TOP, _TOP_CHARACTERS = 5, 200
_SHOWN = 40
_MORE_FACTORS = 10
"""From here on, a factor is said in whole numbers."""
_FACTOR_MAX = 1_000_000
_TYPICAL_SHARE = 3
"""A value is called usual if at least every third one is the same."""

_roughly = Context(prec=6, Emax=MAX_EMAX, traps=[])


def usual_of(parameters: Raw, earlier: Sequence[Raw]) -> Usual:
    """The values of a call beside those of earlier calls. No value that the log hides is compared or shown."""
    own = list(values_in(decode_exact(parameters)))
    wanted = {general(path) for path, _ in own[:_VALUES_MAX]}
    seen = {path: _Seen() for path in wanted}
    for index, call in enumerate(earlier):
        raise_if_cancelled()
        for path, value in islice(values_in(decode_exact(call)), _READ_MAX):
            if (place := seen.get(general(path))) is not None:
                place.add(index, value)
    values = [seen[general(path)].beside(path, value, len(earlier)) for path, value in own[:_VALUES_MAX]]
    return Usual(len(earlier), values, max(0, len(own) - _VALUES_MAX))


class _Seen:
    """What earlier calls had at one place."""

    def __init__(self) -> None:
        self._calls = set[int]()
        self._numbers: list[int | Decimal] = []
        self._others = Counter[str]()

    def add(self, call: int, value: Any) -> None:
        self._calls.add(call)
        if is_hidden(value):
            return
        if _is_number(value):
            self._numbers.append(value)
        else:
            self._others[_text(value)] += 1

    def beside(self, path: str, value: Any, of: int) -> UsualValue:
        """The value at `path`, with what `of` earlier calls had there."""
        if is_hidden(value):  # by today's rules, this place is hidden; the log may be older than they are
            return UsualValue(path=path, calls=len(self._calls))
        numbers = self._numbers
        listed = [(text, count) for text, count in self._others.most_common() if len(text) <= _TOP_CHARACTERS]
        return UsualValue(
            path=path,
            calls=len(self._calls),
            unusual=(self._unusual(value) or UNSET) if of else UNSET,
            least=_json(min(numbers)) if numbers else UNSET,
            median=_json(median_low(numbers)) if numbers else UNSET,
            most=_json(max(numbers)) if numbers else UNSET,
            top=[UsualText(text, count) for text, count in listed[:_TOP]],
        )

    def _unusual(self, value: Any) -> str:
        """What is unusual about the value, in words; "" if nothing is."""
        if not self._calls:
            return "never given before"
        if _is_number(value) and self._numbers:
            return self._beyond(value)
        text = _text(value)
        if text in self._others or not self._others:
            return ""
        usual, count = self._others.most_common(1)[0]
        # A place whose values all differ, such as an order's number, has no usual value.
        is_typical = count > 1 and count * _TYPICAL_SHARE >= self._others.total() + len(self._numbers)
        return f"new; usual: {_shortened(usual)}" if is_typical else ""

    def _beyond(self, value: int | Decimal) -> str:
        least, median, most = min(self._numbers), median_low(self._numbers), max(self._numbers)
        if value < least:
            return f"the least so far was {_number(least)}"
        if value <= most:
            return ""
        factor = f"{_factor(value, median)} times the usual {_number(median)}; " if median > 0 else ""
        return f"{factor}the most so far was {_number(most)}"


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is Decimal


def _text(value: Any) -> str:
    return value if type(value) is str else json.dumps(value, ensure_ascii=False, default=str)


def _json(number: int | Decimal) -> Number:
    return Raw(str(number).encode())


def _number(number: int | Decimal) -> str:
    text = str(number)
    return text if len(text) <= _SHOWN else f"{_roughly.create_decimal(number):E}"


def _factor(value: int | Decimal, median: int | Decimal) -> str:
    factor = _roughly.divide(Decimal(value), Decimal(median))
    if not factor < _FACTOR_MAX:
        return "more than a million"
    return f"{factor:,.0f}" if factor >= _MORE_FACTORS else f"{factor:.1f}"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_COMPARED = 50
_SEGMENTS_MAX = 256
"""Segments of the log that one comparison reads, at most: those in which the index has the agent and the tool."""


class UsualCalls:
    """Compares calls with the log of one store."""

    def __init__(self, audit: AuditLog, pool: FairThreadPool) -> None:
        self._audit = audit
        self._pool = pool

    async def beside(self, workspace_id: str, approval: Approval) -> Usual:
        """The approval's call beside the latest allowed ones, its own not among them."""
        query = AuditQuery(
            agent_id=approval.agent_id,
            tool_name=approval.tool_name,
            result=Result.ALLOWED,
            limit=_COMPARED + len(approval.decisions),
        )
        lines = await self._audit.latest(workspace_id, query, _SEGMENTS_MAX)
        return await self._pool.run(workspace_id, _beside, approval, lines)


def _beside(approval: Approval, lines: list[bytes]) -> Usual:
    own = set(approval.decisions)
    calls = [call.parameters for call in map(decode_call, lines) if call.id not in own]
    return usual_of(approval.parameters, calls[:_COMPARED])
