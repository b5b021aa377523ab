"""What is unusual about a call: its values, compared with those of earlier calls."""

import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from decimal import MAX_EMAX, Context, Decimal
from itertools import islice
from statistics import median_low
from typing import Any, NamedTuple

from msgspec import UNSET, Raw
from msgspec.structs import replace

from app.audit.log import AuditLog
from app.cancellation import raise_if_cancelled
from app.errors import PolicyNotFound
from app.explain.paired_values import Pairs, Partner
from app.explain.usual_lines import SeenLines
from app.language.confusables import EDITS_MAX, edits, mixed_scripts, skeleton
from app.model.approvals import Approval
from app.model.audit import AuditQuery
from app.model.bound_call import decode_exact
from app.model.call_values import general, values_in
from app.model.decisions import Result
from app.model.rules import ParameterConstraint
from app.model.text import counted
from app.model.usual import Difference, Number, Usual, UsualText, UsualValue
from app.replay.calls import LoggedCall, decode_call, is_hidden
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.policies import Policies

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
_ASKED_MIN = 3
"""From so many calls on that people approved, numbers and new values are compared with these alone."""
_NOTEWORTHY, _OTHER_UNIT = 2, 100
"""A number is `more` from twice the most so far, and of another unit from 100 times the usual."""
_TEXT_MAX = 1_024
_SHORT, _MEDIUM, _LONG = 4, 5, 10
"""Lengths from which one edit, two that touch a letter, and any two make a look-alike; chance makes shorter ones."""
_DIGITS_OF_COUNTERS = 6
_CROWDED = 10
"""A place is crowded if more than one in so many of its values is as near to another: versions, dates, numbers."""
_UNIT_VALUES, _UNIT_LENGTH = 3, 5

_roughly = Context(prec=6, Emax=MAX_EMAX, traps=[])
_closely = Context(prec=64, Emax=MAX_EMAX, traps=[])
_amount = re.compile(r"-?\d{1,15}\.\d{1,8}", re.ASCII).fullmatch
_currency = re.compile(
    "AED|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|MXN|MYR|NOK|NZD|PEN|PHP|PLN|"
    "RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
).fullmatch
_unit = re.compile(r"currency|ccy|units?|uom|asset|denomination", re.IGNORECASE | re.ASCII).search
_WORDS = {1: "one character differs", 2: "two characters differ"}


def usual_of(
    parameters: Raw,
    earlier: Sequence[Raw],
    asked: Sequence[Raw] = (),
    said: Collection[str] = (),
    lines: Collection[str] = (),
) -> Usual:
    """The values of a call beside those of earlier calls. No value that the log hides is compared or shown.

    asked: Those of the earlier calls that the same rule asked about and people approved.
    said: Parameters of which the rule that asks says itself that they are unusual.
    lines: Parameters that are shell lines, compared by their programs and flags.
    """
    own = list(values_in(decode_exact(parameters)))
    places = {general(path): _Seen(is_line=general(path) in lines) for path, _ in own[:_VALUES_MAX]}
    of_asked = {place: _Seen() for place in places}
    calls = [*asked, *earlier]
    pairs = Pairs(own[:_VALUES_MAX])
    for index, call in enumerate(calls):
        raise_if_cancelled()
        values = [*islice(values_in(decode_exact(call)), _READ_MAX)]
        pairs.add(values)
        for path, value in values:
            for held in (places, of_asked) if index < len(asked) else (places,):
                if (seen := held.get(general(path))) is not None:
                    seen.add(index, value)
    rows: list[UsualValue] = []
    for path, value in own[:_VALUES_MAX]:
        raise_if_cancelled()
        place = general(path)
        seen = places[place]
        alike = of_asked[place] if len(asked) >= _ASKED_MIN else seen
        # What a rule asks about is no news, unless it is compared with what people have approved of that.
        says = bool(calls) and (alike is not seen or not _is_named(place, said))
        found = None if is_hidden(value) else seen.judged(value) or _other_pairing(pairs.other(path, value))
        if found is None and not seen.knows(value):
            found = alike.other_unit(place, value) or (alike.new_or_more(value) if says else None)
        row = seen.beside(path, value)
        if found is not None:
            row = replace(row, unusual=found.words, difference=found.kind, nearest=found.nearest or UNSET)
        rows.append(row)
    return Usual(len(calls), len(asked), rows, max(0, len(own) - _VALUES_MAX))


class _Found(NamedTuple):
    kind: Difference
    words: str
    nearest: UsualText | None = None


def _mixed(value: Any) -> _Found | None:
    """Scripts mixed within a word, which no earlier call needs to show."""
    found = mixed_scripts(value) if type(value) is str and len(value) <= _TEXT_MAX else []
    if not found:
        return None
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return _Found(Difference.LOOK_ALIKE, f"a letter of another script within a word: {_coded(found[0])}{more}")


class _Seen:
    """What earlier calls had at one place. is_line: texts there are shell lines."""

    def __init__(self, *, is_line: bool = False) -> None:
        self._lines = SeenLines() if is_line else None
        self._calls = set[int]()
        self._numbers: list[int | Decimal] = []
        self._others = Counter[str]()
        self._types = Counter[str]()
        self._skeletons: dict[str, str] | None = None

    def add(self, call: int, value: Any) -> None:
        self._calls.add(call)
        if is_hidden(value):
            return
        self._types[_type_of(value)] += 1
        if _is_number(value):
            self._numbers.append(value)
        else:
            self._others[_text(value)] += 1
            if self._lines is not None and type(value) is str:
                self._lines.add(value)

    def beside(self, path: str, value: Any) -> UsualValue:
        """The value at `path`, with what earlier calls had there."""
        if is_hidden(value):  # by today's rules, this place is hidden; the log may be older than they are
            return UsualValue(path=path, calls=len(self._calls))
        numbers = self._numbers
        listed = [(text, count) for text, count in self._others.most_common() if len(text) <= _TOP_CHARACTERS]
        return UsualValue(
            path=path,
            calls=len(self._calls),
            least=_json(min(numbers)) if numbers else UNSET,
            median=_json(median_low(numbers)) if numbers else UNSET,
            most=_json(max(numbers)) if numbers else UNSET,
            top=[UsualText(text, count) for text, count in listed[:_TOP]],
        )

    def knows(self, value: Any) -> bool:
        """True if nothing more is compared: an earlier call had this very text here, it is a line, or it is hidden."""
        return is_hidden(value) or self._has_text(value) or (self._lines is not None and type(value) is str)

    def judged(self, value: Any) -> _Found | None:
        """What is unusual about a text by itself: of a line its programs and flags, otherwise what it looks like."""
        if self._lines is None or type(value) is not str:
            return self.look_alike(value) or _mixed(value)
        found = self._lines.beside(value)
        return _mixed(value) or (None if found is None else _Found(*found))

    def _has_text(self, value: Any) -> bool:
        return type(value) is str and value in self._others

    def look_alike(self, value: Any) -> _Found | None:
        """The earlier text that the value could be taken for."""
        if type(value) is not str or self._has_text(value) or not 0 < len(value) <= _TEXT_MAX:
            return None
        if self._skeletons is None:
            self._skeletons = {skeleton(text): text for text, _ in reversed(self._texts())}
        twin = self._skeletons.get(skeleton(value))
        if twin is not None:
            return self._like(twin, _exchanged(value, twin))
        nearest = [(apart, text) for text, _ in self._texts() if (apart := _apart(value, text)) is not None]
        if not nearest:
            return None
        apart, text = min(nearest, key=lambda each: (each[0], -self._others[each[1]]))
        return None if self._counts_up(value, text) or self._is_crowded(apart) else self._like(text, _WORDS[apart])

    def other_unit(self, place: str, value: Any) -> _Found | None:
        """Another type or sign, another currency or unit, or a number of another size."""
        kind = _type_of(value)
        if kind == "nothing" or not self._types:
            return None
        if kind not in self._types:
            usual, count = self._types.most_common(1)[0]
            if usual == "nothing":
                return None
            return _Found(Difference.OTHER_UNIT, f"{kind}; {counted(count, 'call')} had {usual} here")
        if type(value) is str and not _amount(value):
            return self._other_label(place, value)
        numbers = self._amounts
        if not numbers or not (_is_number(value) or _amount(str(value))):
            return None
        number = Decimal(value) if type(value) is str else value
        median, most, least = median_low(numbers), max(numbers), min(numbers)
        if number < 0 <= least:
            return _Found(Difference.OTHER_UNIT, f"negative; the least so far was {_number(least)}")
        if median > 0 and number >= _times(_OTHER_UNIT, median) and number >= _times(_NOTEWORTHY, most):
            return _Found(Difference.OTHER_UNIT, self._beyond(number, median, most))
        if number > 0 and _times(_OTHER_UNIT, number) <= least:
            return _Found(Difference.OTHER_UNIT, f"less than a hundredth of the least so far, {_number(least)}")
        return None

    def new_or_more(self, value: Any) -> _Found | None:
        """In no earlier call, or far more than in any."""
        if not self._calls:
            return _Found(Difference.NEW, "never given before")
        numbers = self._amounts
        if numbers and (_is_number(value) or (type(value) is str and _amount(value))):
            number = Decimal(value) if type(value) is str else value
            most = max(numbers)
            if number > most and number >= _times(_NOTEWORTHY, most):
                return _Found(Difference.MORE, self._beyond(number, median_low(numbers), most))
            return None
        text = _text(value)
        if text in self._others or not self._others:
            return None
        usual, count = self._others.most_common(1)[0]
        # A place whose values all differ, such as an order's number, has no usual value.
        is_typical = count > 1 and count * _TYPICAL_SHARE >= self._others.total() + len(self._numbers)
        return _Found(Difference.NEW, f"new; usual: {_shortened(usual)}") if is_typical else None

    def _other_label(self, place: str, value: str) -> _Found | None:
        if value in self._others or not 1 <= len(self._others) <= _UNIT_VALUES or self._numbers:
            return None
        names_unit = _unit(place) is not None and all(len(each) <= _UNIT_LENGTH for each in (value, *self._others))
        if not names_unit and not all(_currency(each) for each in (value, *self._others)):
            return None
        usual, count = self._others.most_common(1)[0]
        return _Found(Difference.OTHER_UNIT, f"{counted(count, 'call')} had {usual} here", UsualText(usual, count))

    @property
    def _amounts(self) -> list[int | Decimal]:
        """The numbers, and texts with a decimal point if there is no other text."""
        if self._numbers:
            return self._numbers
        return [Decimal(text) for text in self._others] if all(_amount(text) for text in self._others) else []

    def _beyond(self, number: int | Decimal, median: int | Decimal, most: int | Decimal) -> str:
        factor = f"{_factor(number, median)} times the usual {_number(median)}; " if median > 0 else ""
        return f"{factor}the most so far was {_number(most)}"

    def _texts(self) -> list[tuple[str, int]]:
        return [each for each in self._others.most_common() if len(each[0]) <= _TEXT_MAX]

    def _like(self, text: str, how: str) -> _Found:
        count = self._others[text]
        words = f"looks like {_shortened(text)} ({counted(count, 'call')}), {how}"
        return _Found(Difference.LOOK_ALIKE, words, UsualText(text, count))

    def _counts_up(self, value: str, text: str) -> bool:
        """True if every call had another short number here: the next one is near to one of them."""
        if self._others.total() > len(self._others) or re.sub(r"\d", "", value) != re.sub(r"\d", "", text):
            return False
        return sum(map(str.isdigit, value)) <= _DIGITS_OF_COUNTERS or re.search(r"\d{4}-\d\d-\d\d", value) is not None

    def _is_crowded(self, apart: int) -> bool:
        """True if many of the values here are as near to each other."""
        texts, near = [text for text, _ in self._texts()], 0
        for text in texts:
            near += any(other != text and edits(text, other, apart) is not None for other in texts)
            if near * _CROWDED > len(texts):
                return True
        return False


def _other_pairing(usual: Partner | None) -> _Found | None:
    if usual is None:
        return None
    had = f"which had {_shortened(usual.usual)} ({counted(usual.calls, 'call')})"
    words = f"never with {usual.place} {_shortened(usual.text)}, {had}"
    return _Found(Difference.OTHER_PAIRING, words, UsualText(usual.usual, usual.calls))


def _apart(value: str, text: str) -> int | None:
    """How many edits are between them, if so few are more than chance."""
    length = min(len(value), len(text))
    if length < _SHORT:
        return None
    apart = edits(value, text, EDITS_MAX if length >= _MEDIUM else 1)
    if apart == EDITS_MAX and length < _LONG and re.sub(r"\d", "", value) == re.sub(r"\d", "", text):
        return None
    return apart or None


def _exchanged(value: str, twin: str) -> str:
    """Which characters are exchanged, in words."""
    if len(value) == len(twin):
        pairs = [(has, had) for has, had in zip(value, twin, strict=True) if has != had]
        has, had = pairs[0]
        more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
        return f"{_coded(has)} for {_coded(had)}{more}"
    return "other characters that look the same"


def _coded(character: str) -> str:
    return f'"{character}"' if character.isascii() and character.isprintable() else f"U+{ord(character):04X}"


def _is_named(place: str, said: Collection[str]) -> bool:
    return any(place == name or place.startswith((f"{name}.", f"{name}[")) for name in said)


def _type_of(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "nothing"
    if _is_number(value):
        return "a number"
    return "a text" if type(value) is str else "true or false" if type(value) is bool else "something else"


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is Decimal


def _text(value: Any) -> str:
    return value if type(value) is str else json.dumps(value, ensure_ascii=False, default=str)


def _times(factor: int, number: int | Decimal) -> Decimal:
    return _closely.multiply(Decimal(factor), Decimal(number))


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
"""Segments of the log that one search reads, at most: those in which the index has the agent and the tool."""


class UsualCalls:
    """Compares calls with the log of one store."""

    def __init__(self, audit: AuditLog, policies: Policies, pool: FairThreadPool) -> None:
        self._audit = audit
        self._policies = policies
        self._pool = pool

    async def beside(self, workspace_id: str, approval: Approval) -> Usual:
        """The approval's call beside the latest allowed ones and those that people approved, without its own."""
        query = AuditQuery(
            agent_id=approval.agent_id,
            tool_name=approval.tool_name,
            result=Result.ALLOWED,
            limit=_COMPARED + len(approval.decisions),
        )
        lines = await self._audit.latest(workspace_id, query, _SEGMENTS_MAX)
        if approval.policy_id is None or approval.rule is None:
            return await self._pool.run(workspace_id, _beside, approval, lines, [], ((), ()))
        of_rule = replace(query, policy_id=approval.policy_id, rule_type=approval.rule.type)
        asked = await self._audit.latest(workspace_id, of_rule, _SEGMENTS_MAX)
        said = await self._said(workspace_id, approval)
        return await self._pool.run(workspace_id, _beside, approval, lines, asked, said)

    async def _said(self, workspace_id: str, approval: Approval) -> tuple[Collection[str], Collection[str]]:
        """The parameters that the rule which asks is about, and those that its policy reads as shell lines."""
        by_name = ["command"] if approval.commands else []  # a rule of another policy reads one, most probably this
        try:
            policy = await self._policies.get(workspace_id, approval.policy_id or "")
        except PolicyNotFound:
            return (), by_name
        index = -1 if approval.rule is None else approval.rule.index
        of_rules = [
            {} if not isinstance(rule, ParameterConstraint) or rule.parameters is UNSET else rule.parameters
            for rule in policy.rules
        ]
        said = of_rules[index] if 0 <= index < len(of_rules) else {}
        lines = [name for named in of_rules for name, test in named.items() if test.command is not UNSET]
        return [general(name) for name in said], [general(name) for name in [*lines, *by_name]]


def _beside(
    approval: Approval,
    lines: list[bytes],
    of_rule: list[bytes],
    said: tuple[Collection[str], Collection[str]],
) -> Usual:
    own = set(approval.decisions)
    found: dict[str, LoggedCall] = {
        call.id: call for call in map(decode_call, [*of_rule, *lines]) if call.id not in own
    }
    asked = [call for call in found.values() if call.approval_id is not UNSET][:_COMPARED]
    others = [call for call in found.values() if call.approval_id is UNSET][:_COMPARED]
    return usual_of(
        approval.parameters, [each.parameters for each in others], [each.parameters for each in asked], *said
    )
