"""Values that the constraints on one path of a call tell apart: made from what the constraints say."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from app.language.addresses import networks_of
from app.model.command_constraint import CommandConstraint, several
from app.model.constraints import Constraint, JsonType, TextKind
from app.model.meaning_constraints import HostConstraint
from app.policy_tools.compare.patterns import (
    MAX_LENGTH,
    Lengths,
    Members,
    Part,
    Unreadable,
    sample_texts,
    texts_by_match,
)

MISSING = msgspec.UNSET
"""Stands for a value that is not given."""

REQUESTED = "blue"
REQUEST = f"please send {REQUESTED} to me"
"""A text of the user's request, and the request."""

ROOT = "/home/ann/project"
"""The directory that a call's context names."""

MAX_ITEMS = 1_000
"""Longer lists are not made."""

_STRANGERS: tuple[Any, ...] = ("x", "", 0, 1, -1, 0.5, True, False, None, [], {}, ["x"], [1], {"x": "x"})
_MAX_PATTERN_STATES = 50_000
_WHOLE_BEYOND = float(1 << 52)
_encode = msgspec.json.encode


class Values(NamedTuple):
    """Values, the simplest first. are_all: True if no constraint tells any other value apart from all of them."""

    values: list[Any]
    are_all: bool


def values_for(constraints: Sequence[Constraint], meant: Sequence[Constraint] = ()) -> Values:
    """A value of each class that the constraints tell apart.

    meant: constraints on what a text means, such as `path` and `host`, from which values are taken, too.
    """
    texts, texts_are_all = _texts(constraints)
    numbers, numbers_are_all = _numbers(constraints)
    counts = _around(_counts((each.min_items, each.max_items) for each in constraints), MAX_ITEMS)
    lists: list[list[Any]] = [["x"] * count for count in counts]
    lists += [[*before, each.contains] for each in meant if each.contains is not UNSET for before in ([], ["x"])]
    found: dict[bytes, Any] = {}
    wanted = [member for each in constraints if isinstance(each.enum, list) for member in each.enum]
    for value in (MISSING, *wanted, *texts, *numbers, *_members(constraints), *_meant(meant), *lists, *_STRANGERS):
        found.setdefault(b"" if value is MISSING else _encode(value), value)
    return Values(list(found.values()), texts_are_all and numbers_are_all)


def is_too_long(constraint: Constraint) -> bool:
    """True if values on both sides of a length of it are not made."""
    texts = _counts([(constraint.min_length, constraint.max_length)])
    return any(each > MAX_LENGTH for each in texts) or any(
        each > MAX_ITEMS for each in _counts([(constraint.min_items, constraint.max_items)])
    )


def _numbers(constraints: Sequence[Constraint]) -> tuple[list[Any], bool]:
    """A number of each class: at each bound and member, whole and not whole between and beyond them."""
    points = sorted({bound for each in constraints for bound in _points(each)})
    found = [number for point in points for number in (point, point - 1, point + 1, point - 0.5, point + 0.5)]
    for low, high in zip([None, *points], [*points, None], strict=True):
        found += [*_whole_between(low, high), *_broken_between(low, high)]
    patterns = _patterns(constraints)
    if not patterns:
        return found, True
    samples, are_all = _written_numbers(patterns)
    is_told = bool(points) or any(_tells_whole(each) for each in constraints)
    return [*found, *samples], are_all and not is_told


def _tells_whole(constraint: Constraint) -> bool:
    """True if its type is that of whole numbers, but not of all."""
    types = [constraint.type] if isinstance(constraint.type, JsonType) else constraint.type or ()
    return JsonType.INTEGER in types and JsonType.NUMBER not in types


def _points(constraint: Constraint) -> Iterator[float]:
    for bound in (constraint.min, constraint.max, constraint.above, constraint.below):
        if not isinstance(bound, UnsetType):
            yield bound
    for members in (constraint.enum, constraint.not_enum):
        for member in members if isinstance(members, list) else ():
            if type(member) in (int, float):
                yield member  # type: ignore[misc]


def _whole_between(low: float | None, high: float | None) -> Iterator[int]:
    """A whole number between both, if there is one."""
    number = 0 if low is None and high is None else math.ceil(high or 0) - 1 if low is None else math.floor(low) + 1
    if high is None or number < high:
        yield number


def _broken_between(low: float | None, high: float | None) -> Iterator[float]:
    """A number with a fraction between both, if a double has one."""
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    ends = [end for end in (least, most) if abs(end) < _WHOLE_BEYOND]
    nice = [each for end in ends for each in (math.floor(end) + 0.5, math.ceil(end) - 0.5)]
    after = math.nextafter(least, math.inf) if ends and ends[0] == least else 0.5
    before = math.nextafter(most, -math.inf) if ends and ends[-1] == most else 0.5
    tight = [after, math.nextafter(after, math.inf), before, math.nextafter(before, -math.inf)]
    for number in (*nice, 0.5, *tight):
        if least < number < most and not float(number).is_integer():
            yield number
            return


_SAFE_NUMBERS = (
    "^(0|-?[1-9][0-9]{0,14})$",
    r"^-?([1-9][0-9]{0,6}[.]([0-9]{0,5}[1-9]|0)|0[.](0{0,3}[1-9]([0-9]{0,4}[1-9])?|0))$",
    "^-?[1-9]e-?(1[6-9]|[2-9][0-9])$",
)
"""Texts that are the JSON of a number as a decision sees it."""

_ANY_NUMBER = r"^-?((0|[1-9][0-9]*)([.][0-9]+)?|[1-9]([.][0-9]*[1-9])?e-?([1-9][0-9]?|[12][0-9]{2}|3[0-2][0-9]))$"


def _written_numbers(patterns: Sequence[str]) -> tuple[list[Any], bool]:
    """A number for each combination of patterns that match its JSON, and True if the others are impossible."""
    try:
        every, are_all = texts_by_match([*patterns, _ANY_NUMBER], _MAX_PATTERN_STATES)
        safe = [texts_by_match([*patterns, each], _MAX_PATTERN_STATES)[0] for each in _SAFE_NUMBERS]
    except Unreadable:
        return [], False
    wanted = {matches[:-1] for matches in every if matches[-1]}
    texts = {matches[:-1]: text for some in safe for matches, text in some.items() if matches[-1]}
    numbers = [msgspec.json.decode(text) for text in texts.values()]
    is_as_read = all(_encode(number).decode() == text for number, text in zip(numbers, texts.values(), strict=True))
    return numbers, are_all and is_as_read and wanted <= texts.keys()


def _members(constraints: Iterable[Constraint]) -> Iterator[Any]:
    for each in constraints:
        for members in (each.enum, each.not_enum):
            yield from members if isinstance(members, list) else ()


def _patterns(constraints: Iterable[Constraint]) -> list[str]:
    written = (pattern for each in constraints for pattern in (each.regex, each.not_regex))
    return list(dict.fromkeys(pattern for pattern in written if isinstance(pattern, str)))


def _texts(constraints: Sequence[Constraint]) -> tuple[list[str], bool]:
    """A text for each combination of patterns, lengths and membership, and True if the others are impossible."""
    patterns = _patterns(constraints)
    lengths = _counts((each.min_length, each.max_length) for each in constraints)
    members = [member for member in _members(constraints) if isinstance(member, str)]
    around = ["x" * count for count in _around(lengths, MAX_LENGTH)]
    if not patterns:
        longest = max(map(len, members), default=0)
        strangers = ["x" * (longest + 1)] if members else []
        if not (lengths and members):
            return [*around, *strangers], True
    parts: list[Part] = [*([Lengths(lengths)] if lengths else []), *([Members(members)] if members else [])]
    try:
        found, are_all = texts_by_match(patterns, _MAX_PATTERN_STATES, parts)
    except Unreadable:
        found, are_all = {}, False
    samples = [] if are_all else [text for each in patterns for text in sample_texts([each])]
    return [*found.values(), *around, *samples], are_all


def _counts(bounds: Iterable[tuple[int | UnsetType, int | UnsetType]]) -> list[int]:
    """The counts from which on one of some bounds (least, most) says something else."""
    found = set()
    for least, most in bounds:
        if not isinstance(least, UnsetType):
            found.add(least)
        if not isinstance(most, UnsetType):
            found.add(most + 1)
    return sorted(found - {0})


def _around(counts: Iterable[int], most: int) -> list[int]:
    """The counts on both sides of each of these, up to the most that are made."""
    return sorted({each for count in counts for each in (count - 1, count, count + 1) if each <= most})


def _lines(command: CommandConstraint) -> Iterator[str]:
    """A line of each entry, one of no entry, and one that cannot be read."""
    for entries in (command.allow, command.deny):
        for entry in () if isinstance(entries, UnsetType) else entries:
            yield " ".join(several(words)[0] for words in (entry.run, entry.first, entry.second) if several(words))
    yield from ("unknown-program", "ls $x")


def _hosts(constraint: HostConstraint) -> Iterator[str]:
    """A host of each entry, and others."""
    for host in constraint.hosts:
        plain = host.removeprefix("*.")
        yield from (plain, f"a.{plain}", f"https://{plain}/x", "evil.example")
    for networks in (constraint.networks, constraint.not_networks):
        for network in () if isinstance(networks, UnsetType) else networks:
            yield from (str(networks_of(network)[0].network_address), "8.8.8.8", "192.168.0.1", "evil.example")


_OF_KIND = {
    TextKind.CARD: "4242 4242 4242 4242",
    TextKind.IBAN: "DE89 3704 0044 0532 0130 00",
    TextKind.SECRET: "sk-0123456789abcdefghij",
}
"""A text of each kind."""


def _meant(constraints: Iterable[Constraint]) -> Iterator[str]:
    """Texts with a meaning: inside, outside, and on the edge of what a constraint names."""
    for each in constraints:
        if not isinstance(each.path, UnsetType):
            for folder in (*each.path.constant_roots, *(ROOT for _ in each.path.root_names)) or (ROOT,):
                plain = folder.rstrip("/")
                yield from (f"{plain}/x", folder, f"{plain}x/x", f"{plain.swapcase()}/x", "/etc/passwd")
                if each.path.not_among is not UNSET:
                    yield from (f"{plain}/server.key", f"{plain}/package.json", f"{plain}/.x")
        if not isinstance(each.command, UnsetType):
            yield from _lines(each.command)
        if not isinstance(each.host, UnsetType):
            yield from _hosts(each.host)
        for domain in () if isinstance(each.email_domain, UnsetType) else each.email_domain.among:
            plain = domain.removeprefix("*.")
            yield from (f"ann@{plain}", f"ann@a.{plain}", "eve@evil.example")
        for network in () if isinstance(each.cidr, UnsetType) else each.cidr.among:
            yield from (network.partition("/")[0], "203.0.113.9", "10.1.2.3")
        yield from () if isinstance(each.not_kind, UnsetType) else map(_OF_KIND.__getitem__, each.not_kind)
        if each.from_request is not UNSET:
            yield from (REQUESTED, REQUESTED.upper(), "nobody said this")
