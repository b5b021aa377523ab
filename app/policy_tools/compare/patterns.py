r"""A shortest text for each combination of patterns that match it or do not, by a product of automata.

Each pattern becomes a nondeterministic automaton over code points (Thompson's construction). The product is walked by
breadth, so the first text of each combination is a shortest one; the alphabet is cut where a class of some pattern
begins or ends. Lengths and members of a list are automata, too. What RE2 reads and this does not raises Unreadable:
word boundaries, Unicode classes, `(?m)`, `\Q`.
"""

from collections import deque
from collections.abc import Collection, Hashable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol

Ranges = list[tuple[int, int]]
_LAST = 0x10FFFF
_MAX_STATES = 5_000
_MAX_COPIES = 1_000
MAX_LENGTH = 5_000
"""Longer texts are not made."""
_DIGITS, _WORD, _SPACE = [(48, 57)], [(48, 57), (65, 90), (95, 95), (97, 122)], [(9, 10), (12, 13), (32, 32)]
_PERL = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_POSIX = {
    "alnum": [(48, 57), (65, 90), (97, 122)],
    "alpha": [(65, 90), (97, 122)],
    "ascii": [(0, 127)],
    "blank": [(9, 9), (32, 32)],
    "digit": _DIGITS,
    "lower": [(97, 122)],
    "punct": [(33, 47), (58, 64), (91, 96), (123, 126)],
    "space": [(9, 13), (32, 32)],
    "upper": [(65, 90)],
    "word": _WORD,
    "xdigit": [(48, 57), (65, 70), (97, 102)],
}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "a": 7}
_FOLDED_BEYOND_ASCII = {"k": 0x212A, "s": 0x17F}
"""Characters that RE2 takes for these letters if case does not matter."""


class Unreadable(ValueError):
    """A pattern with a part that these automata do not have."""


class Part(Protocol):
    """One automaton of a product. A state is whatever tells apart what can still follow."""

    @property
    def cuts(self) -> Collection[int]:
        """The code points at which a class of its characters begins."""

    def begin(self) -> Hashable: ...

    def after(self, state: Any, code: int) -> Hashable: ...

    def finding(self, state: Any, *, is_begin: bool) -> Hashable:
        """What the text so far comes to: for a pattern, whether it matches."""


Findings = tuple[Hashable, ...]


def texts_by_match(
    patterns: Sequence[str], max_states: int = 20_000, more: Sequence[Part] = ()
) -> tuple[dict[Findings, str], bool]:
    """A shortest text for each combination, and True if the others are impossible. Raises Unreadable.

    more: other automata, whose findings come after those of the patterns.
    """
    parts: list[Part] = [automaton(each) for each in patterns]
    parts += more
    alphabet = _alphabet(parts)
    start = tuple(each.begin() for each in parts)
    found: dict[Findings, str] = {}
    waiting, seen = deque([(start, "")]), {(start, True)}
    while waiting:
        states, text = waiting.popleft()
        matches = tuple(each.finding(now, is_begin=not text) for each, now in zip(parts, states, strict=True))
        found.setdefault(matches, text)
        if not more and len(found) == 1 << len(parts):
            return found, True
        if len(seen) > max_states:
            return found, False
        for code in alphabet:
            after = tuple(each.after(now, code) for each, now in zip(parts, states, strict=True))
            if (after, False) not in seen:
                seen.add((after, False))
                waiting.append((after, text + chr(code)))
    return found, True


def _alphabet(parts: Sequence[Part]) -> list[int]:
    """One code point of each class that no pattern tells apart, those that are easy to read first."""
    cuts = {0, 0x30, 0x3A, 0x41, 0x5B, 0x61, 0x7B, 0x7F, 0xD800, 0xE000, _LAST + 1}
    for each in parts:
        cuts.update(each.cuts)
    bounds = sorted(cuts)
    codes = [
        next((code for code in (0x61, 0x31, 0x41, 0x5F, 0x2D) if low <= code < high), low)
        for low, high in pairwise(bounds)
        if not 0xD800 <= low < 0xE000  # noqa: PLR2004 - surrogates are no characters
    ]
    readable = [range(0x61, 0x7B), range(0x30, 0x3A), range(0x21, 0x7F)]
    return sorted(codes, key=lambda code: (*(code not in each for each in readable), code))


class Lengths:
    """Which of some lengths a text has at least; its finding is how many of them."""

    cuts: Collection[int] = ()

    def __init__(self, lengths: Collection[int]) -> None:
        self._lengths = sorted(lengths)

    def begin(self) -> int:
        return 0

    def after(self, state: int, _code: int) -> int:
        return min(state + 1, self._lengths[-1])

    def finding(self, state: int, *, is_begin: bool) -> int:  # noqa: ARG002
        return sum(state >= each for each in self._lengths)


class Members:
    """Whether a text is a member of a list."""

    def __init__(self, members: Collection[str]) -> None:
        self._members = frozenset(members)
        self._beginnings = {member[:end] for member in members for end in range(len(member) + 1)}
        self.cuts: Collection[int] = {ord(letter) + more for member in members for letter in member for more in (0, 1)}

    def begin(self) -> str | None:
        return ""

    def after(self, state: str | None, code: int) -> str | None:
        longer = None if state is None else state + chr(code)
        return longer if longer in self._beginnings else None

    def finding(self, state: str | None, *, is_begin: bool) -> bool:  # noqa: ARG002
        return state in self._members


class Automaton:
    """One pattern, found anywhere. edges: by state, (code points, next state). free: (condition, next state)."""

    def __init__(self, pattern: str) -> None:
        self.edges: list[list[tuple[Ranges, int]]] = []
        self._after: dict[tuple[frozenset[int], int], frozenset[int]] = {}
        self._matches: dict[tuple[frozenset[int], bool], bool] = {}
        self._free: list[list[tuple[str, int]]] = []
        self.start = self._new()
        self.edges[self.start].append(([(0, _LAST)], self.start))
        self._text, self._at, self._fold, self._dot_is_all = pattern, 0, False, False
        end = self._either(self.start)
        if self._at < len(pattern):
            raise Unreadable(pattern[self._at :])
        self._found = self._new()
        self.edges[self._found].append(([(0, _LAST)], self._found))
        self._free[end].append(("", self._found))

    def closed(self, states: set[int], *, is_begin: bool = False, is_end: bool = False) -> frozenset[int]:
        """The states reached without a character."""
        waiting, seen = list(states), set(states)
        while waiting:
            for condition, state in self._free[waiting.pop()]:
                holds = not condition or (is_begin if condition == "begin" else is_end)
                if holds and state not in seen:
                    seen.add(state)
                    waiting.append(state)
        return frozenset(seen)

    def begin(self) -> frozenset[int]:
        """The states before the first character."""
        return self.closed({self.start}, is_begin=True)

    @cached_property
    def cuts(self) -> Collection[int]:
        """The code points at which a class of its characters begins."""
        ranges = (ranges for edges in self.edges for ranges, _ in edges)
        return {cut for each in ranges for low, high in each for cut in (low, high + 1)}

    def finding(self, states: frozenset[int], *, is_begin: bool) -> bool:
        """True if the text so far is one that the pattern matches."""
        key = states, is_begin
        if key not in self._matches:
            self._matches[key] = self._found in self.closed(set(states), is_begin=is_begin, is_end=True)
        return self._matches[key]

    def after(self, states: frozenset[int], code: int) -> frozenset[int]:
        """The states after one more character."""
        key = states, code
        if key not in self._after:
            self._after[key] = self.closed(
                {
                    state
                    for each in states
                    for ranges, state in self.edges[each]
                    if any(low <= code <= high for low, high in ranges)
                }
            )
        return self._after[key]

    def _new(self) -> int:
        if len(self.edges) >= _MAX_STATES:
            raise Unreadable("a pattern of that size")
        self.edges.append([])
        self._free.append([])
        return len(self.edges) - 1

    def _link(self, state: int, to: int, condition: str = "") -> None:
        self._free[state].append((condition, to))

    def _linked(self, state: int) -> int:
        """A new state that follows this one without a character."""
        to = self._new()
        self._link(state, to)
        return to

    def _peek(self, *signs: str) -> bool:
        return any(self._text.startswith(sign, self._at) for sign in signs)

    def _take(self, sign: str) -> bool:
        if not self._peek(sign):
            return False
        self._at += len(sign)
        return True

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise Unreadable("the end")
        self._at += 1
        return self._text[self._at - 1]

    def _either(self, state: int) -> int:
        end = self._new()
        flags = self._fold, self._dot_is_all
        while True:
            self._link(self._sequence(state), end)
            if not self._take("|"):
                self._fold, self._dot_is_all = flags
                return end

    def _sequence(self, state: int) -> int:
        while self._at < len(self._text) and not self._peek("|", ")"):
            begin = self._at
            first = self._linked(state)
            state = self._repeated(first, self._one(first), begin)
        return state

    def _repeated(self, first: int, end: int, begin: int) -> int:
        """What stands from `begin`, made once from `first` to `end`, as often as the sign behind it says."""
        sign = self._text[self._at : self._at + 1]
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign, (1, 1))
        if sign and sign in "*+?":
            self._at += 1
        elif sign == "{" and (count := _count(self._text[self._at :])) is not None:
            low, high, length = count
            self._at += length
        else:
            return end
        self._take("?")
        if self._peek("*", "+", "?") or max(low, high or 0) > _MAX_COPIES:
            raise Unreadable(self._text[begin : self._at + 1])
        after = self._at
        out = self._new()
        if low == 0:
            self._link(first, out)
        for nth in range(1, max(low, high or 0)):
            if nth >= low:
                self._link(end, out)
            first = self._linked(end)
            end = self._again(begin, first)
        if high is None:
            self._link(end, first)
        if high != 0:
            self._link(end, out)
        self._at = after
        return out

    def _again(self, begin: int, state: int) -> int:
        """The same part once more, from another state."""
        self._at = begin
        return self._one(state)

    def _one(self, state: int) -> int:
        sign = self._next()
        if sign == "(":
            return self._group(state)
        if sign == "[":
            return self._edge(state, self._class())
        if sign == ".":
            return self._edge(state, [(0, _LAST)] if self._dot_is_all else _others([(10, 10)]))
        if sign in "^$":
            return self._assertion(state, "begin" if sign == "^" else "end")
        if sign in "*+?":
            raise Unreadable(sign)
        if sign == "\\":
            return self._escape(state)
        return self._edge(state, self._folded([(ord(sign), ord(sign))]))

    def _assertion(self, state: int, condition: str) -> int:
        to = self._new()
        self._link(state, to, condition)
        return to

    def _edge(self, state: int, ranges: Ranges) -> int:
        to = self._new()
        self.edges[state].append((ranges, to))
        return to

    def _group(self, state: int) -> int:
        flags = self._fold, self._dot_is_all
        if self._take("?P<") or self._take("?<"):
            while self._next() != ">":
                pass
        elif self._take("?"):
            is_on = True
            while (sign := self._next()) not in ":)":
                if sign not in "is-":
                    raise Unreadable(f"(?{sign}")
                is_on = is_on and sign != "-"
                self._fold = is_on if sign == "i" else self._fold
                self._dot_is_all = is_on if sign == "s" else self._dot_is_all
            if sign == ")":
                return state
        end = self._either(state)
        if not self._take(")"):
            raise Unreadable("(")
        self._fold, self._dot_is_all = flags
        return end

    def _escape(self, state: int) -> int:
        sign = self._next()
        if sign in "Az":
            return self._assertion(state, "begin" if sign == "A" else "end")
        return self._edge(state, self._folded(self._escaped(sign)))

    def _escaped(self, sign: str) -> Ranges:
        """The characters of an escape, in a class or outside."""
        if sign.lower() in _PERL:
            return _PERL[sign] if sign in _PERL else _others(_PERL[sign.lower()])
        if sign in _CONTROLS:
            return [(_CONTROLS[sign], _CONTROLS[sign])]
        if sign == "x":
            digits = ""
            if self._take("{"):
                while (digit := self._next()) != "}":
                    digits += digit
            else:
                digits = self._next() + self._next()
            try:
                return [(int(digits, 16), int(digits, 16))]
            except ValueError:
                raise Unreadable(f"\\x{digits}") from None
        if sign.isalnum():
            raise Unreadable(f"\\{sign}")
        return [(ord(sign), ord(sign))]

    def _class(self) -> Ranges:
        is_negated = self._take("^")
        ranges: Ranges = []
        is_first = True
        while is_first or not self._peek("]"):
            is_first = False
            if self._take("[:"):
                ranges += self._posix()
                continue
            low = self._member()
            if self._peek("-") and not self._peek("-]") and low[0][0] == low[-1][1]:
                self._at += 1
                high = self._member()
                if len(high) > 1 or high[0][1] < low[0][0]:
                    raise Unreadable("[")
                low = [(low[0][0], high[0][1])]
            ranges += low
        self._at += 1
        ranges = self._folded(ranges)
        return _others(ranges) if is_negated else ranges

    def _member(self) -> Ranges:
        sign = self._next()
        return self._escaped(self._next()) if sign == "\\" else [(ord(sign), ord(sign))]

    def _posix(self) -> Ranges:
        is_negated = self._take("^")
        name = ""
        while not self._take(":]"):
            name += self._next()
        if name not in _POSIX:
            raise Unreadable(f"[:{name}:]")
        return _others(_POSIX[name]) if is_negated else list(_POSIX[name])

    def _folded(self, ranges: Ranges) -> Ranges:
        """The characters in both cases, if case does not matter here."""
        if not self._fold:
            return ranges
        if any(high > 127 and not (low <= 128 and high == _LAST) for low, high in ranges):  # noqa: PLR2004 - ASCII
            raise Unreadable("(?i) with other letters than those of ASCII")
        more = []
        for lower in range(97, 123):
            both = {lower, lower - 32}
            beyond = _FOLDED_BEYOND_ASCII.get(chr(lower))
            if any(low <= code <= high for low, high in ranges for code in both):
                more += [(code, code) for code in (*both, *([beyond] if beyond else []))]
        return ranges + more


@lru_cache(maxsize=64)
def automaton(pattern: str) -> Automaton:
    """The automaton of a pattern; kept, because the rules of several tools have the same. Raises Unreadable."""
    return Automaton(pattern)


def _others(ranges: Ranges) -> Ranges:
    found, at = [], 0
    for low, high in sorted(ranges):
        if low > at:
            found.append((at, low - 1))
        at = max(at, high + 1)
    return [*found, (at, _LAST)] if at <= _LAST else found


def _count(text: str) -> tuple[int, int | None, int] | None:
    """The least and the most repetitions in `{2,5}` and the length of that; None if it is no count."""
    inside, close, _ = text[1:].partition("}")
    low, comma, high = inside.partition(",")
    if not close or not low.isdecimal() or not (high.isdecimal() or not high):
        return None
    return int(low), (int(high) if high else None) if comma else int(low), len(inside) + 2


def sample_texts(patterns: Sequence[str]) -> Iterator[str]:
    """Yield a text for each combination of the patterns that is found, taken together if that can be done."""
    try:
        yield from texts_by_match(patterns)[0].values()
    except Unreadable:
        for pattern in patterns if len(patterns) > 1 else ():
            yield from sample_texts([pattern])
