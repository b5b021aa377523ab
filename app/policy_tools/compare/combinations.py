"""What the rules of a tool can come to, in all calls: the combinations, with a call for each that could be made.

Paths are combined one after the other. Of the calls with which each rule has come to the same (its constraints hold so
far or not; its `when` or `unless` holds, does not, is missing, or cannot be judged), one is kept, and once all that a
policy reads is known, only what it says: so ten paths with ten values each give tens of calls, not ten billion.

What is compared by meaning (a path, another value, a schema) is taken to hold and not to hold beside whatever else it
can stand with. Then calls are made and judged: if each combination was seen in one of them, there are no others.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby, product
from math import prod
from time import thread_time
from typing import Any

import msgspec
from msgspec import UnsetType

from app.language.value_paths import EACH
from app.model.constraints import REQUEST as REQUEST_NAME
from app.model.policies import Policy
from app.model.rule import Rule
from app.policy_tools.compare.calls import RESPELLED, TIME, Call, Many, Place, call_of, readings, respelled
from app.policy_tools.compare.known import by_meaning, two_spellings, unknown_in, unknown_in_policy
from app.policy_tools.compare.reads import FAILS, HOLDS, UNJUDGED, Read, Standing, reads_of
from app.policy_tools.compare.tiers import Rank, Said, Tiers, failures
from app.policy_tools.compare.values import MISSING, REQUEST, ROOT, values_for

MAX_STATES = 1_000_000
MAX_CPU_SECONDS = 10.0
MAX_TRIED = 1_500
"""The most combinations of values that are compared with one another for one tool."""

_MAX_VECTORS = 500
"""The most combinations of what the reads of one place come to."""


class TooMuch(Exception):
    """The comparison would take more than it may."""


class Effort:
    """What a comparison may still take. clock: CPU seconds."""

    def __init__(
        self, states: int = MAX_STATES, seconds: float = MAX_CPU_SECONDS, clock: Callable[[], float] = thread_time
    ) -> None:
        self._states = states
        self._clock = clock
        self._end = clock() + seconds

    def spend(self, states: int) -> None:
        """Count so many states. Raises TooMuch with the reason if there are more than there may be."""
        self._states -= states
        if self._states < 0:
            raise TooMuch("there are more combinations than are compared")
        if self._clock() > self._end:
            raise TooMuch("comparing took longer than it may")


State = tuple[tuple[Rank | None, ...], Said, tuple[Any, ...]]
"""By rule, its rank, or None if that no longer matters; what the policies say; and values that are kept apart."""

Vector = tuple[tuple[int, bool, int], ...]
"""(rule, whether it is about its `when` or `unless`, rank) of each read of a place."""

_Class = tuple[Vector, Any]
"""What the reads of a place come to, and a value with which they do."""

_Given = tuple[Any, Place, Any] | None
"""Values of places, as a list linked backwards."""


ReadRules = dict[bytes, tuple[list[str], list[Read]]]
"""By rule, as JSON, why it is not compared completely, and what it reads; kept for all tools of a comparison."""


class Combinations:
    """The combinations of a tool under some policies, of one side and of the other.

    reasons: why `calls` may have missed one; empty if they have not. classes: how many there are.
    """

    def __init__(
        self, sides: Sequence[Sequence[Policy]], tool: str, times: Sequence[int], effort: Effort, read: ReadRules
    ) -> None:
        self._times, self._effort, self._read = times, effort, read
        self._reads: list[Read] = []
        self._numbers: dict[bytes, int] = {}
        self._reasons: dict[str, None] = {}
        self.classes = 0
        for policy in (policy for side in sides for policy in side):
            self._doubt(unknown_in_policy(policy))
        self._tiers = Tiers(sides, tool, self._numbered)
        self._by_place: dict[Place, list[Read]] = {}
        for each in self._reads:
            self._by_place.setdefault(each.place, []).append(each)
        for of in ("parameters", "context"):
            self._doubt(two_spellings(name for at, name in self._by_place if at == of))

    @property
    def reasons(self) -> list[str]:
        return list(self._reasons)

    def calls(self) -> Iterator[Call]:
        """Yield the calls, for each combination a small one. Raises TooMuch."""
        possible = self._combined(self._vectors)
        self.classes = len(possible)
        seen: set[Said] = set()
        inexact = [each for each in self._reads if not each.is_exact]
        tried = self._combined(self._tried, MAX_TRIED).values() if inexact else ()
        for given in chain(possible.values(), tried):
            call = self._call(given)
            seen.add(self._said(self._ranks(call)))
            yield call
        if possible.keys() <= seen:
            return
        self._doubt(each.doubt for each in inexact if not each.is_hint)
        if not inexact and not self._reasons:
            self._doubt(["not every combination of values could be made"])

    def _doubt(self, reasons: Iterable[str]) -> None:
        self._reasons |= dict.fromkeys(reasons)

    def _numbered(self, rule: Rule) -> int:
        key = _encode(rule)
        if key not in self._numbers:
            number = self._numbers[key] = len(self._numbers)
            if key not in self._read:
                self._read[key] = list(unknown_in(rule)), list(reads_of(rule))
            reasons, reads = self._read[key]
            self._doubt(reasons)
            self._reads += [each.of_rule(number) for each in reads]
        return self._numbers[key]

    @cached_property
    def _places(self) -> list[Place]:
        """The places in the order of their rules, but those inside one array follow each other, and those that are
        compared with one another come last.
        """
        order = list(self._by_place)
        first: dict[Place, int] = {}
        for index, place in enumerate(order):
            first.setdefault(_array(place), index)
        last = {_array(place) for place in self._apart}
        return sorted(order, key=lambda place: (_array(place) in last, first[_array(place)], order.index(place)))

    @cached_property
    def _settled(self) -> dict[Place, tuple[list[int], list[int], frozenset[int]]]:
        """By place, the policies of which everything is known after it, the rules that no longer matter, and tiers.

        Policies that read nothing are those of the first place.
        """
        last: dict[int, int] = {}
        for index, place in enumerate(self._places):
            last |= {read.rule: index for read in self._by_place[place]}
        units = self._tiers.units
        ends = [max((last.get(number, 0) for number in unit), default=0) for unit, _ in units]
        needed: dict[int, int] = {}
        tiers = dict.fromkeys(range(self._tiers.count), -1)
        for (unit, places), end in zip(units, ends, strict=True):
            needed |= {number: max(end, needed.get(number, 0)) for number in unit}
            tiers |= {tier: max(end, tiers[tier]) for tier in places}
        return {
            place: (
                [unit for unit, end in enumerate(ends) if end == index],
                [number for number, end in needed.items() if end == index],
                frozenset(tier for tier, end in tiers.items() if end <= index),
            )
            for index, place in enumerate(self._places)
        }

    def _combined(self, classes: "Callable[[Place], list[_Class]]", most: int | None = None) -> "dict[Said, _Given]":
        """What the policies can say, each with values with which they do. most: more than so many are left out."""
        if not self._places:
            return {self._said(()): None}
        states: dict[State, _Given] = {((None,) * 2 * len(self._numbers), self._tiers.nothing, ()): None}
        for array, group in groupby(self._places, key=_array):
            places = list(group)
            after = states
            for place in places:
                after = self._after(after, place, classes(place), apart=most is not None and place in self._apart)
            if array[1].endswith(EACH) and len(places) > 1:
                for place in places:
                    states = self._after(states, place, [self._as_given(place, Many())])
                after = {**states, **after}
            if (
                most is not None
                and self._apart
                and self._apart.isdisjoint(self._places[self._places.index(places[-1]) + 1 :])
            ):
                after = self._told_apart(after)
            if most is not None and len(after) > most:
                # A call that fails one rule tells more than one that fails many.
                after = dict(sorted(after.items(), key=lambda each: _failures(each[0]))[:most])
            states = after
        return {(*said, *kept, *filter(None, ranks)): given for (ranks, said, kept), given in states.items()}

    def _told_apart(self, states: "dict[State, _Given]") -> "dict[State, _Given]":
        """The states, of those that differ only in values that compare alike, one."""
        compared = [each for each in self._reads if each.is_compared and not each.is_hint]
        known: dict[Any, tuple[Any, ...]] = {}
        found: dict[State, _Given] = {}
        for (ranks, said, kept), given in states.items():
            if kept not in known:
                call = self._call(given)
                known[kept] = tuple(each.standing(call) for each in compared)
            found.setdefault((ranks, said, known[kept]), given)
        return found

    def _after(
        self, states: "dict[State, _Given]", place: Place, classes: "list[_Class]", *, apart: bool = False
    ) -> "dict[State, _Given]":
        """The states with one place more. apart: states with different values of it are different."""
        self._effort.spend(len(states) * len(classes))
        units, forgotten, final = self._settled[place]
        after: dict[State, _Given] = {}
        for (ranks, said, kept), given in states.items():
            for vector, value in classes:
                now = list(ranks)
                for number, is_about, rank in vector:
                    demanded, asked = now[number] or (HOLDS, HOLDS)
                    now[number] = (demanded, max(asked, rank)) if is_about else (max(demanded, rank), asked)
                words = self._tiers.said(said, units, now, final)
                for number in forgotten:
                    now[number] = None
                held = (*kept, _encoded(value)) if apart else kept
                after.setdefault((tuple(now), words, held), (given, place, value))
        return after

    def _vectors(self, place: Place) -> "list[_Class]":
        """All that the reads of a place can come to together, whatever the other places have."""
        reads = [each for each in self._by_place[place] if not each.is_hint]
        if place[0] == "schema":
            return [(tuple((each.rule, False, rank) for each in reads), MISSING) for rank in (HOLDS, FAILS)]
        if not reads:
            return [((), MISSING)]
        if place == TIME:
            return list({self._as_given(place, at_us)[0]: at_us for at_us in reversed(self._times)}.items())[::-1]
        values = [self._placed(place, value) for value in self._values(place, reads)]
        many = EACH in place[1]
        found: dict[Vector, Any] = {}
        for value in values:
            found.setdefault(*self._as_given(place, value))
        for value in values:
            for vector in self._alternatives(place, value):
                found.setdefault(vector, value)
        self._close(place, found)
        if many and sum(_array(each) == _array(place) for each in self._by_place) == 1:
            found.setdefault(*self._as_given(place, Many()))
        worst = tuple((each.rule, bool(each.part), UNJUDGED if each.part else FAILS) for each in reads)
        last = [each for each in place[1].split(EACH) if each][-1].removeprefix(".")
        if respelled(last) is None:
            self._doubt([by_meaning(place[1])])
        found.setdefault(worst, Many([RESPELLED]) if many and not place[1].endswith(EACH) else RESPELLED)
        return list(found.items())

    def _values(self, place: Place, reads: Sequence[Read]) -> list[Any]:
        distinct = list({each.same: each for each in reads}.values())
        values, are_all = values_for([each.classed for each in distinct], [each.meant for each in distinct])
        if not are_all:
            self._doubt([by_meaning(place[1])])
        return values

    def _placed(self, place: Place, value: Any) -> Any:
        """The value, in an array if the place lies in one."""
        return Many([value]) if EACH in place[1] and value is not MISSING else value

    def _as_given(self, place: Place, value: Any) -> "_Class":
        """What the reads of a place come to with this value and no other."""
        call = call_of({**self._always, place: value}, self._times[0])
        reads = (each for each in self._by_place[place] if not each.is_hint)
        return tuple((each.rule, bool(each.part), each.standing(call)) for each in reads), value

    def _alternatives(self, place: Place, value: Any) -> Iterator[Vector]:
        """What the reads can come to with such a value; those that compare by meaning, whatever is not excluded."""
        reads = [each for each in self._by_place[place] if not each.is_hint]
        call = call_of({**self._always, place: value}, self._times[0])
        ranks = {}
        for each in reads:
            least = each.alone(call)
            is_text = all(isinstance(one, str) for one in _several(value))
            is_free = not each.is_exact and value is not MISSING and (is_text or not each.is_of_texts)
            ranks[each.same] = [rank for rank in each.ranks if rank >= least] if is_free else [each.standing(call)]
        self._effort.spend(prod(map(len, ranks.values())))
        for chosen in product(*ranks.values()):
            by_read = dict(zip(ranks, chosen, strict=True))
            yield tuple((each.rule, bool(each.part), by_read[each.same]) for each in reads)

    def _close(self, place: Place, found: dict[Vector, Any]) -> None:
        """Add what several values under one name come to: each read, to the worst of them."""
        name = place[1]
        many = EACH in name
        rounds = _MAX_VECTORS if many else readings(name) - 1
        is_list = name.count(EACH) == 1 and name.endswith(EACH) and "." not in name
        ones = {vector: value for vector, value in found.items() if value is not MISSING or (many and not is_list)}
        newest = dict(ones)
        while newest and rounds > 0:
            rounds -= 1
            self._effort.spend(len(newest) * len(ones))
            further: dict[Vector, Any] = {}
            for (one, some), (other, more) in product(newest.items(), ones.items()):
                worst = tuple((*each[:2], max(each[2], also[2])) for each, also in zip(one, other, strict=True))
                if worst not in found and worst not in further:
                    further[worst] = Many([*_several(some), *_several(more)])
            found |= further
            newest = further
            if len(found) > _MAX_VECTORS:
                raise TooMuch(f'"{name}" has more combinations of values than are compared')

    def _tried(self, place: Place) -> "list[_Class]":
        """The values of a place that are tried beside those of others."""
        if place[0] == "schema":
            return [((), MISSING)]
        if place == TIME:
            return self._vectors(place)
        reads = self._by_place[place]
        found: dict[Any, _Class] = {}
        for value in self._values(place, reads)[:_MAX_VALUES]:
            given = self._placed(place, value)
            call = call_of({**self._always, place: given}, self._times[0])
            vector = tuple(
                # What is only a hint is kept apart from what the rule has come to.
                (each.rule + each.is_hint * len(self._numbers), bool(each.part), _alone(each)(call))
                for each in reads
            )
            found.setdefault((vector, _encoded(value) if place in self._apart else b""), (vector, given))
        return list(found.values())

    @cached_property
    def _apart(self) -> set[Place]:
        """The places whose values are compared with one another."""
        return {each.place for each in self._reads if each.is_compared}

    @cached_property
    def _always(self) -> dict[Place, Any]:
        """What each call has, unless a place says otherwise: a session, the user's request, and where commands run."""
        found: dict[Place, Any] = {("context", "session"): "s", ("context", REQUEST_NAME): REQUEST}
        for read in self._reads:
            command = read.meant.command
            root = ROOT if isinstance(command, UnsetType) or not isinstance(command.root, str) else command.root
            found |= {("context", name): root for name in read.meant.directories}
        return found

    def _call(self, given: "_Given") -> Call:
        values: dict[Place, Any] = {}
        while given is not None:
            given, place, value = given
            values[place] = value
        return call_of({**self._always, **values}, self._times[0])

    def _ranks(self, call: Call) -> list[Rank]:
        """What each rule comes to with a whole call."""
        ranks: list[Rank] = [(HOLDS, HOLDS)] * len(self._numbers)
        for read in self._reads:
            if not read.is_hint:
                demanded, asked = ranks[read.rule]
                rank = read.standing(call)
                ranks[read.rule] = (demanded, max(asked, rank)) if read.part else (max(demanded, rank), asked)
        return ranks

    def _said(self, ranks: Sequence[Rank]) -> Said:
        everything = frozenset(range(self._tiers.count))
        return self._tiers.said(self._tiers.nothing, range(len(self._tiers.units)), ranks, everything)


_encode = msgspec.json.encode
_MAX_VALUES = 80


def _array(place: Place) -> Place:
    """The array in which the place lies; itself if it lies in none."""
    head, each, _ = place[1].partition(EACH)
    return place[0], head + each


def _several(value: Any) -> Many:
    return value if isinstance(value, Many) else Many([value])


def _alone(read: Read) -> Standing:
    return read.alone if read.is_compared else read.standing


def _encoded(value: Any) -> bytes:
    return b"" if value is MISSING else _encode(value)


def _failures(state: State) -> int:
    return sum(max(rank) for rank in state[0] if rank is not None) + failures(state[1])
