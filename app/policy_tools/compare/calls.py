"""Calls of one tool that its rules tell apart: values of each path, combined by what each rule has come to.

Paths are combined one after the other. Of the calls with which each rule has come to the same (its own constraints
hold so far or not; its `when` or `unless` holds, does not, or cannot be judged), one is kept. So ten paths with ten
values each give tens of calls, not ten billion. Constraints that compare a path with another are exempt: all values of
both paths are kept apart.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, ValidationError, convert
from msgspec.structs import replace

from app.language.addresses import networks_of
from app.language.schemas.json_schema import compile_schema
from app.language.spellings import spellings_of
from app.model.command_constraint import CommandConstraint, several
from app.model.constraints import REQUEST as REQUEST_NAME
from app.model.constraints import Circumstances, Constraint, IfMissing, JsonType
from app.model.meaning_constraints import HostConstraint
from app.model.quotas import Budget
from app.model.rule import Rule
from app.model.rules import ParameterSchema
from app.model.sequences import covers
from app.pdp.constraints import compile_circumstances, compile_constraint
from app.policy_tools.compare.patterns import sample_texts

MISSING = msgspec.UNSET
"""Stands for a value that is not given."""

ROOT = "/home/ann/project"
"""What a context calls the project's directory."""

REQUESTED = "blue"
REQUEST = f"please send {REQUESTED} to me"
"""A text of the user's request, and the request."""

_STRANGERS: tuple[Any, ...] = ("x", "", 0, 1, -1, 0.5, True, False, None, [], {}, ["x"], [1], {"x": "x"})
_LONGEST = 300
_MOST = 80
_MOST_PATTERNS = 6

MAX_STATES = 1_500
"""The most combinations kept for one tool; more are left out, and the comparison says so."""

MAX_AMOUNT = 1_000_000_000
Place = tuple[str, str]
"""`parameters` or `context`, and the name of a value there."""

_encode = msgspec.json.encode


class Call(Struct, frozen=True):
    """The values of a call."""

    parameters: dict[str, Any]
    context: dict[str, Any]

    @property
    def size(self) -> int:
        return len(_encode(self.parameters)) + len(_encode(self.context))


Standing = Callable[[dict[str, Any], dict[str, Any]], int]
"""What a call's value comes to: 0 = holds, 1 = does not, 2 = is missing, 3 = cannot be judged."""


class _Read(Struct, frozen=True):
    """What a rule reads at a path: where in the rule, the constraint with its values, and what a value comes to."""

    rule: int
    where: str
    constraint: Constraint
    standing: Standing


class Calls:
    """The calls of a tool under some rules. is_whole: True if no combination was left out."""

    def __init__(self, rules: Iterable[Rule], tool: str) -> None:
        self._by_place: dict[Place, list[_Read]] = {}
        self._apart: set[Place] = set()
        self._always = dict(_ALWAYS)
        self.is_whole = True
        for index, rule in enumerate(rules):
            if covers(rule.tools, tool):
                self._read(index, rule)

    def made(self) -> list[Call]:
        """The calls, the smallest first."""
        states: dict[Any, dict[Place, Any]] = {(): {}}
        for place in sorted(self._by_place, key=lambda each: (each in self._apart, each[1].count("[*]"), each)):
            reads = self._by_place[place]
            values = values_for([each.constraint for each in reads])
            standings = [(value, self._standing(place, reads, value)) for value in values]
            after: dict[Any, dict[Place, Any]] = {}
            for state, given in states.items():
                for value, standing in standings:
                    after.setdefault(_joined(state, standing), {**given, place: value})
            if len(after) > MAX_STATES:
                self.is_whole = False
                # A call that fails one rule tells more than one that fails many.
                after = dict(sorted(after.items(), key=lambda each: _failures(each[0]))[:MAX_STATES])
            states = after
        calls = [call_of({**self._always, **given}) for given in states.values()]
        return sorted(calls, key=lambda each: each.size)

    def _standing(self, place: Place, reads: Sequence[_Read], value: Any) -> tuple[Any, ...]:
        """What each read comes to with this value, without the values of other paths."""
        call = call_of({**self._always, place: value})
        found: list[Any] = [(each.rule, each.where, each.standing(call.parameters, call.context)) for each in reads]
        if place in self._apart:
            found.append((place, b"" if value is MISSING else _encode(value)))
        return tuple(found)

    def _read(self, index: int, rule: Rule) -> None:
        for word, of, name, constraint in rule.constraints():
            alone = replace(constraint, equals=UNSET, at_most=UNSET, at_least=UNSET)
            alone = alone if alone.given else replace(alone, required=True)
            standing = _of_circumstances(of, name, alone) if word else _of_constraint(of, name, alone)
            self._add((of, name), _Read(index, word, constraint, standing))
            self._always |= {("context", directory): ROOT for directory in constraint.directories}
            for operand in (constraint.equals, constraint.at_most, constraint.at_least):
                if not isinstance(operand, UnsetType):
                    other = ("context" if operand.of_context else "parameters", operand.name)
                    self._add(other, _Read(index, "other", constraint, lambda _parameters, _context: 0))
                    self._apart |= {(of, name), other}
        limit, counter = rule.limit, rule.counter
        if isinstance(limit, Budget):
            amount = Constraint(min=0, max=min(limit.max, MAX_AMOUNT))
            self._add(("parameters", limit.parameter), _reading(index, "budget", "parameters", limit.parameter, amount))
        for name in () if counter is None or isinstance(counter.per, UnsetType) else counter.per:
            of, dot, rest = name.partition(".")
            if dot:
                self._add((of, rest), _reading(index, "per", of, rest, Constraint(type=[JsonType.STRING])))
        if isinstance(rule, ParameterSchema):
            properties = rule.schema.get("properties")
            for name, part in properties.items() if isinstance(properties, dict) else ():
                self._add(("parameters", name), _of_schema(index, rule.schema, name, part))

    def _add(self, place: Place, read: _Read) -> None:
        self._by_place.setdefault(place, []).append(read)


_ALWAYS: dict[Place, Any] = {("context", "session"): "s", ("context", REQUEST_NAME): REQUEST}


def _reading(index: int, where: str, of: str, name: str, constraint: Constraint) -> _Read:
    return _Read(index, where, constraint, _of_constraint(of, name, constraint))


def _of_constraint(of: str, name: str, constraint: Constraint) -> Standing:
    check = compile_constraint(name, constraint, secret=False)

    def standing(parameters: dict[str, Any], context: dict[str, Any]) -> int:
        both = (parameters, context) if of == "parameters" else (context, context)
        return int(check(*both, spellings_of(both[0])) is not None)

    return standing


def _of_circumstances(of: str, name: str, constraint: Constraint) -> Standing:
    named = {name: constraint}
    asked = Circumstances(parameters=named) if of == "parameters" else Circumstances(context=named)
    judge = compile_circumstances("when", asked, _no_secret)
    lenient = compile_circumstances("when", replace(asked, if_missing=IfMissing.APPLY), _no_secret)

    def standing(parameters: dict[str, Any], context: dict[str, Any]) -> int:
        verdict = judge(parameters, context)
        if verdict is True or verdict is False:
            return 0 if verdict else 1
        return 2 if lenient(parameters, context) is True else 3

    return standing


def _of_schema(index: int, whole: dict[str, Any], name: str, part: Any) -> _Read:
    """A property of a schema: the values around what it says, and whether one fits it."""
    alone = {"properties": {name: part}, **{word: whole[word] for word in ("$defs",) if word in whole}}
    schema = compile_schema(alone)

    def standing(parameters: dict[str, Any], _context: dict[str, Any]) -> int:
        return int(schema.first_failure(parameters) is not None)

    given = {field: part[word] for word, field in _TERMS.items() if word in part} if isinstance(part, dict) else {}
    try:
        constraint = convert(given or {"required": True}, Constraint)
    except ValidationError:  # bounds that exclude each other, or members that are no scalars
        constraint = Constraint(required=True)
    return _Read(index, f"schema {name}", constraint, standing)


_TERMS = {
    "minimum": "min",
    "maximum": "max",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "minLength": "minLength",
    "maxLength": "maxLength",
    "minItems": "minItems",
    "maxItems": "maxItems",
    "pattern": "regex",
    "enum": "enum",
}
"""Keywords of a schema, and the field of a constraint that means the same."""


def call_of(given: dict[Place, Any]) -> Call:
    """The call in which these places have these values; those that lie inside others are put into them."""
    call = Call({}, {})
    for (of, name), value in sorted(given.items(), key=lambda each: len(each[0][1])):
        if value is not MISSING:
            _put(call.parameters if of == "parameters" else call.context, name, deepcopy(value))
    return call


def _put(holder: dict[str, Any], name: str, value: Any) -> None:
    """Put the value where the name leads: into objects at dots, into each element of an array at `[*]`."""
    head, each, rest = name.partition("[*]")
    *steps, last = head.split(".")
    for step in steps:
        inner = holder.get(step)
        holder[step] = holder = inner if isinstance(inner, dict) else {}
    if not each:
        holder[last] = value
        return
    held = holder.get(last)
    elements = held if isinstance(held, list) and held else [None]
    rest = rest.removeprefix(".")
    for index, element in enumerate(elements):
        if not rest:
            elements[index] = value
            continue
        inside = element if isinstance(element, dict) else {}
        _put(inside, rest, deepcopy(value))
        elements[index] = inside
    holder[last] = elements


def _joined(state: tuple[Any, ...], standing: tuple[Any, ...]) -> tuple[Any, ...]:
    """What each rule has come to with one path more: the worst of its constraints in each place."""
    worst = {(rule, word): rank for rule, word, rank in (each for each in state if len(each) == 3)}  # noqa: PLR2004
    apart = [each for each in state if len(each) != 3]  # noqa: PLR2004
    for each in standing:
        if len(each) == 3:  # noqa: PLR2004
            rule, word, rank = each
            worst[rule, word] = max(worst.get((rule, word), 0), rank)
        else:
            apart.append(each)
    return (*((rule, word, rank) for (rule, word), rank in sorted(worst.items())), *apart)


def _failures(state: tuple[Any, ...]) -> int:
    return sum(each[2] for each in state if len(each) == 3)  # noqa: PLR2004


def _no_secret(_name: str) -> bool:
    return False


def values_for(constraints: Sequence[Constraint]) -> list[Any]:
    """Values of each class that the constraints tell apart, as far as their terms show; the simplest first."""
    made = [*_numbers(constraints), *_members(constraints), *_texts(constraints), *_meant(constraints)]
    lists = [[*before, each.contains] for each in constraints if each.contains is not UNSET for before in ([], ["x"])]
    lists += [["x"] * count for count in _counts((each.min_items, each.max_items) for each in constraints)]
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


def _hosts(constraint: HostConstraint) -> Iterator[str]:
    """A host of each entry, and others."""
    for host in constraint.hosts:
        plain = host.removeprefix("*.")
        yield from (plain, f"a.{plain}", f"https://{plain}/x", "evil.example")
    for networks in (constraint.networks, constraint.not_networks):
        for network in () if isinstance(networks, UnsetType) else networks:
            yield from (str(networks_of(network)[0].network_address), "8.8.8.8", "192.168.0.1", "evil.example")


def _meant(constraints: Iterable[Constraint]) -> Iterator[str]:
    """Texts with a meaning: inside, outside, and on the edge of what a constraint names."""
    for each in constraints:
        if not isinstance(each.path, UnsetType):
            for folder in (*each.path.constant_roots, *(ROOT for _ in each.path.root_names)) or ("/repo",):
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
        if each.from_request is not UNSET:
            yield from (REQUESTED, REQUESTED.upper(), "nobody said this")
