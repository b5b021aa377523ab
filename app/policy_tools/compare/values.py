"""Values that the constraints on one path of a call tell apart: made from what the constraints say."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from app.model.command_constraint import CommandConstraint, several
from app.model.constraints import Constraint
from app.policy_tools.compare.patterns import sample_texts

MISSING = msgspec.UNSET
"""Stands for a value that is not given."""

REQUESTED = "blue"
REQUEST = f"please send {REQUESTED} to me"
"""A text of the user's request, and the request."""

_STRANGERS: tuple[Any, ...] = ("x", "", 0, 1, -1, 0.5, True, False, None, [], {}, ["x"], [1], {"x": "x"})
_LONGEST = 300
_MOST = 80
_MOST_PATTERNS = 6


def values_for(constraints: Sequence[Constraint]) -> list[Any]:
    """Values of each class that the constraints tell apart, as far as their terms show; the simplest first."""
    made = [*_numbers(constraints), *_members(constraints), *_texts(constraints), *_meant(constraints)]
    lists = [["x"] * count for count in _counts((each.min_items, each.max_items) for each in constraints)]
    found: dict[bytes, Any] = {}
    for value in (MISSING, *made, *lists, *_STRANGERS):
        found.setdefault(b"" if value is MISSING else msgspec.json.encode(value), value)
    return list(found.values())[:_MOST]


def _numbers(constraints: Iterable[Constraint]) -> Iterator[Any]:
    for each in constraints:
        for bound in (each.min, each.max, each.above, each.below):
            if not isinstance(bound, UnsetType):
                yield from (bound, bound - 1, bound + 1, bound - 0.5, bound + 0.5)


def _members(constraints: Iterable[Constraint]) -> Iterator[Any]:
    for each in constraints:
        for members in (each.enum, each.not_enum):
            for member in members if isinstance(members, list) else ():
                yield member
                if isinstance(member, str):
                    yield from (member.swapcase(), f"{member}x")


def _texts(constraints: Sequence[Constraint]) -> Iterator[str]:
    """A text for each combination of patterns and lengths; a length is a pattern, too."""
    written = (pattern for each in constraints for pattern in (each.regex, each.not_regex))
    patterns = [pattern for pattern in written if isinstance(pattern, str)]
    for count in _counts((each.min_length, each.max_length) for each in constraints):
        yield "x" * count
        patterns.append(f"^(?s:.{{{count},}})$")
    kept = list(dict.fromkeys(patterns))
    if kept:
        yield from sample_texts(kept[:_MOST_PATTERNS])
        for pattern in kept[_MOST_PATTERNS:]:
            yield from sample_texts([pattern])


def _counts(bounds: Iterable[tuple[int | UnsetType, int | UnsetType]]) -> Iterator[int]:
    """The numbers on both sides of each bound, those that are not too large."""
    for bound in (each for both in bounds for each in both):
        if not isinstance(bound, UnsetType) and bound <= _LONGEST:
            yield from (number for number in (bound - 1, bound, bound + 1) if number >= 0)


def _lines(command: CommandConstraint) -> Iterator[str]:
    """A line of each entry, one of no entry, and one that cannot be read."""
    for entries in (command.allow, command.deny):
        for entry in () if isinstance(entries, UnsetType) else entries:
            yield " ".join(several(words)[0] for words in (entry.run, entry.first, entry.second) if several(words))
    yield from ("unknown-program", "ls $x")


def _meant(constraints: Iterable[Constraint]) -> Iterator[str]:
    """Texts with a meaning: inside, outside, and on the edge of what a constraint names."""
    for each in constraints:
        if not isinstance(each.path, UnsetType):
            for folder in several(each.path.under) or ("/repo",):
                plain = folder.rstrip("/")
                yield from (f"{plain}/x", folder, f"{plain}x/x", "/etc/passwd")
                if each.path.not_among is not UNSET:
                    yield from (f"{plain}/server.key", f"{plain}/package.json", f"{plain}/.x")
        if not isinstance(each.command, UnsetType):
            yield from _lines(each.command)
        for host in () if isinstance(each.host, UnsetType) else each.host.among:
            plain = host.removeprefix("*.")
            yield from (plain, f"a.{plain}", f"https://{plain}/x", "evil.example")
        for domain in () if isinstance(each.email_domain, UnsetType) else each.email_domain.among:
            plain = domain.removeprefix("*.")
            yield from (f"ann@{plain}", f"ann@a.{plain}", "eve@evil.example")
        for network in () if isinstance(each.cidr, UnsetType) else each.cidr.among:
            yield from (network.partition("/")[0], "203.0.113.9", "10.1.2.3")
        if each.from_request is not UNSET:
            yield from (REQUESTED, REQUESTED.upper(), "nobody said this")
