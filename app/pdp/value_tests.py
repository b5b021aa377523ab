"""Tests of one value: for each field of a constraint a test, and a clause for people, also of what a string means."""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from app.cancellation import raise_if_cancelled
from app.language.addresses import Network, address_in, canonical_network, networks_of, within
from app.language.ambiguous import Ambiguous
from app.language.email_domains import canonical_email_domain
from app.language.hosts import canonical_host, canonical_pattern, host_matcher, origin_of
from app.language.payment_numbers import holds_card, holds_iban
from app.language.schemas.patterns import compile_regex, may_take
from app.model.constraints import Constraint, JsonType, TextKind
from app.model.fields import Scalar
from app.model.meaning_constraints import HostConstraint
from app.pdp.clauses import Test, Unjudged, clipped, listed, scalar, shown
from app.redaction.credentials import holds_credentials

_encode = msgspec.json.encode
_NUMBERS = (int, float)


_JSON_TYPES: dict[type, JsonType] = {
    str: JsonType.STRING,
    bool: JsonType.BOOLEAN,
    type(None): JsonType.NULL,
    list: JsonType.ARRAY,
    dict: JsonType.OBJECT,
}


def value_tests(constraint: Constraint, *, secret: bool) -> Iterator[Test]:
    """The tests of every field that concerns the value alone. With `secret`, no clause says what was wanted."""
    if constraint.regex is not UNSET:
        yield _regex_test(constraint.regex, secret=secret)
    if constraint.enum is not UNSET:
        yield _enum_test(constraint.enum, secret=secret)
    if constraint.min is not UNSET or constraint.max is not UNSET:
        yield _range_test(constraint.min, constraint.max, secret=secret)
    if constraint.not_regex is not UNSET:
        yield _not_regex_test(constraint.not_regex, secret=secret)
    if constraint.not_enum is not UNSET:
        yield _not_enum_test(constraint.not_enum, secret=secret)
    if not isinstance(constraint.not_kind, UnsetType):
        yield _not_kind_test(constraint.not_kind)
    if constraint.above is not UNSET:
        yield _above_test(constraint.above, secret=secret)
    if constraint.below is not UNSET:
        yield _below_test(constraint.below, secret=secret)
    if constraint.contains is not UNSET:
        yield _contains_test(constraint.contains, secret=secret)
    yield from _type_tests(constraint)
    yield from _size_tests(constraint)
    yield from _meaning_tests(constraint, secret=secret)


def _regex_test(pattern: str, *, secret: bool) -> Test:
    compiled = compile_regex(pattern)
    failure = "which does not match the pattern" + ("" if secret else f" {clipped(pattern)}")
    quick_bytes = compiled.quick_bytes
    steps_per_byte = compiled.steps_per_byte

    def test(value: Any) -> str | None:
        # As bytes, because with a str the engine's Python side takes three times as long to convert the offsets.
        if type(value) is str:
            text = value.encode()
            if len(text) > quick_bytes:
                raise_if_cancelled()
                if not may_take(len(text) * steps_per_byte):
                    return _TOO_LONG
            return None if compiled.search(text) else failure
        if type(value) in (int, float, bool):
            return None if compiled.search(_encode(value)) else failure
        return _NO_TEXT

    return test


def _not_regex_test(pattern: str, *, secret: bool) -> Test:
    found = _regex_test(pattern, secret=secret)
    failure = "which matches the forbidden pattern" + ("" if secret else f" {clipped(pattern)}")

    def test(value: Any) -> str | None:
        said = found(value)
        return failure if said is None else said if type(said) is Unjudged else None

    return test


_HOLDS: dict[TextKind, tuple[Callable[[str], bool], str]] = {
    TextKind.CARD: (holds_card, "the number of a payment card"),
    TextKind.IBAN: (holds_iban, "an IBAN"),
    TextKind.SECRET: (lambda text: holds_credentials(text.encode()), "what looks like a credential"),
}


def _not_kind_test(kinds: list[TextKind]) -> Test:
    readers = [_HOLDS[kind] for kind in dict.fromkeys(kinds)]

    def test(value: Any) -> str | None:
        if type(value) is not str:
            if type(value) not in (int, float, bool):
                return _NO_KIND
            value = _encode(value).decode()
        return next((f"which has {found} in it" for holds, found in readers if holds(value)), None)

    return test


def _enum_test(allowed: list[Scalar], *, secret: bool) -> Test:
    members = {scalar(member) for member in allowed}
    kinds = {kind for kind, _ in members}
    failure = "not one of the allowed values"
    if not secret:
        failure = f"not one of {listed(allowed)}"
    of_another_type = Unjudged(failure)

    def test(value: Any) -> str | None:
        if type(value) not in (dict, list):
            key = scalar(value)
            if key in members:
                return None
            if key[0] in kinds:
                return failure
        return of_another_type

    return test


def _not_enum_test(forbidden: list[Scalar], *, secret: bool) -> Test:
    members = {scalar(member) for member in forbidden}
    kinds = {kind for kind, _ in members}
    failure = "one of the forbidden values" + ("" if secret else f" {listed(forbidden)}")

    def test(value: Any) -> str | None:
        if type(value) not in (dict, list):
            key = scalar(value)
            if key in members:
                return failure
            if key[0] in kinds:
                return None
        return _OTHER_TYPE

    return test


def _contains_test(wanted: Scalar, *, secret: bool) -> Test:
    key = scalar(wanted)
    failure = "which does not contain what it must" if secret else f"which does not contain {listed([wanted])}"

    def test(value: Any) -> str | None:
        if type(value) is not list:
            return _NO_ARRAY
        return None if any(type(each) not in (dict, list) and scalar(each) == key for each in value) else failure

    return test


def _range_test(least: float | UnsetType, most: float | UnsetType, *, secret: bool) -> Test:
    too_low = "below the minimum" + ("" if secret or isinstance(least, UnsetType) else f" {shown(least)}")
    too_high = "above the maximum" + ("" if secret or isinstance(most, UnsetType) else f" {shown(most)}")
    lowest = -inf if isinstance(least, UnsetType) else least
    highest = inf if isinstance(most, UnsetType) else most

    def test(value: Any) -> str | None:
        if type(value) not in _NUMBERS:
            return _NO_NUMBER
        if value < lowest:
            return too_low
        return too_high if value > highest else None

    return test


def _above_test(bound: float, *, secret: bool) -> Test:
    failure = "not above" + (" the bound" if secret else f" {shown(bound)}")

    def test(value: Any) -> str | None:
        if type(value) not in (int, float):
            return _NO_NUMBER
        return None if value > bound else failure

    return test


def _below_test(bound: float, *, secret: bool) -> Test:
    failure = "not below" + (" the bound" if secret else f" {shown(bound)}")

    def test(value: Any) -> str | None:
        if type(value) not in (int, float):
            return _NO_NUMBER
        return None if value < bound else failure

    return test


def _type_tests(constraint: Constraint) -> Iterator[Test]:
    if constraint.type is not UNSET:
        yield _type_test(constraint.type if isinstance(constraint.type, list) else [constraint.type])
    if not isinstance(constraint.approved_before, UnsetType):
        yield _origin_test if constraint.approved_before.of_host else _target_test


def _type_test(types: list[JsonType]) -> Test:
    wanted = frozenset(types)
    failure = f"not of type {' or '.join(types)}"

    def test(value: Any) -> str | None:
        kind = _JSON_TYPES.get(type(value), JsonType.NUMBER)
        if kind in wanted:
            return None
        whole = kind is JsonType.NUMBER and (type(value) is int or value.is_integer())
        return None if whole and JsonType.INTEGER in wanted else failure

    return test


def _target_test(value: Any) -> str | None:
    return None if type(value) is str else _NO_TARGET


def _origin_test(value: Any) -> str | None:
    if type(value) is not str:
        return _NO_TARGET
    try:
        origin_of(value)
    except Ambiguous as error:
        return Unjudged(f"no host that can be judged: it {error}")
    return None


def _size_tests(constraint: Constraint) -> Iterator[Test]:
    bounds = (
        (str, "character", constraint.min_length, constraint.max_length),
        (list, "item", constraint.min_items, constraint.max_items),
    )
    for kind, unit, least, most in bounds:
        if least is not UNSET or most is not UNSET:
            yield _size_test(kind, unit, 0 if least is UNSET else least, None if most is UNSET else most)


def _size_test(kind: type[str] | type[list[Any]], unit: str, least: int, most: int | None) -> Test:
    too_short = f"shorter than {least} {unit}s"
    too_long = f"longer than {most} {unit}s"
    no_such = Unjudged("not a text" if kind is str else "not an array")

    def test(value: Any) -> str | None:
        if not isinstance(value, kind):
            return no_such
        size = len(value)
        if size < least:
            return too_short
        return too_long if most is not None and size > most else None

    return test


_TOO_LONG = Unjudged("too long for its pattern, and for what a call's patterns may read in all")
_NO_TARGET = Unjudged("not a text that a person could have approved before")
_NO_ARRAY = Unjudged("not an array")
_NO_NUMBER = Unjudged("not a number")
_NO_TEXT = Unjudged("not a text, number or boolean that a pattern could match")
_NO_KIND = Unjudged("not a text, number or boolean, in which it could be found")
_OTHER_TYPE = Unjudged("of another type than the forbidden values")


def _meaning_tests(constraint: Constraint, *, secret: bool) -> Iterator[Test]:
    """The tests of what a string means to the tools that act on it."""
    if constraint.host is not UNSET:
        host = constraint.host
        yield meaning_test("host", canonical_host, _is_accepted(host), unless(secret, host.in_words))
    if constraint.email_domain is not UNSET:
        domains = constraint.email_domain.among
        yield meaning_test("mail address", canonical_email_domain, _matcher(domains), unless(secret, domains))
    if constraint.cidr is not UNSET:
        networks = constraint.cidr.among
        yield meaning_test(
            "address", canonical_network, within(map(canonical_network, networks)), unless(secret, networks)
        )


def _is_accepted(constraint: HostConstraint) -> Callable[[str], bool]:
    """True for canonical hosts that the constraint accepts. Raises Ambiguous for names that may lead anywhere."""
    has_name = _matcher(constraint.hosts)
    if constraint.networks is UNSET and constraint.not_networks is UNSET:
        return has_name
    is_open = constraint.among is UNSET and constraint.networks is UNSET
    accepts, refuses = (_in_any(each) for each in (constraint.networks, constraint.not_networks))

    def test(host: str) -> bool:
        named, address = has_name(host), address_in(host)
        if address is None and not named:
            raise Ambiguous("is a name, which may lead to any address")
        if address is None:
            return True
        return (is_open or named or accepts(address)) and not refuses(address)

    return test


def _in_any(written: list[str] | UnsetType) -> Callable[[Network], bool]:
    """A test of networks; if none is written, it is True for none."""
    return within(
        network for each in (() if isinstance(written, UnsetType) else written) for network in networks_of(each)
    )


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    return host_matcher([canonical_pattern(pattern) for pattern in patterns])


def meaning_test(
    kind: str, read: Callable[[str], Any], is_wanted: Callable[[Any], bool], wanted: str, failure: str = ""
) -> Test:
    """A test that parses the string, which must have only one reading, and tests the result."""
    failure = failure or f"no {kind} in {wanted}"
    no_text = Unjudged(f"not a text that could be a {kind}")

    def test(value: Any) -> str | None:
        if type(value) is not str:
            return no_text
        try:
            return None if is_wanted(read(value)) else failure
        except Ambiguous as error:
            return Unjudged(f"no {kind} that can be judged: it {error}")

    return test


def unless(secret: bool, wanted: Iterable[str]) -> str:
    """What was wanted, for a clause, unless that is secret."""
    return "those that are allowed" if secret else clipped(", ".join(wanted))
