"""Tests of what a string means to the tools that act on it: the file, host, mailbox or network that it names."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import UNSET, UnsetType

from app.language.addresses import canonical_network, within
from app.language.ambiguous import Ambiguous
from app.language.email_domains import canonical_email_domain
from app.language.file_kinds import kinds_of, words_of
from app.language.hosts import canonical_domain, canonical_host, canonical_pattern, host_matcher
from app.language.paths import canonical_path, under
from app.model.canonical_constraints import PathConstraint
from app.model.constraints import Constraint
from app.pdp.clauses import Test, Unjudged, clipped


def canonical_tests(constraint: Constraint, *, secret: bool) -> Iterator[Test]:
    """The tests of what a string means to the tools that act on it."""
    if constraint.path is not UNSET:
        yield from _path_tests(constraint.path, secret=secret)
    if constraint.host is not UNSET:
        hosts = constraint.host.among
        yield _meaning_test("host", canonical_host, _matcher(hosts), _unless(secret, hosts))
    if constraint.email_domain is not UNSET:
        domains = constraint.email_domain.among
        yield _meaning_test("mail address", canonical_email_domain, _domain_matcher(domains), _unless(secret, domains))
    if constraint.cidr is not UNSET:
        networks = constraint.cidr.among
        yield _meaning_test(
            "address", canonical_network, within(map(canonical_network, networks)), _unless(secret, networks)
        )


def _path_tests(constraint: PathConstraint, *, secret: bool) -> Iterator[Test]:
    roots = () if isinstance(constraint.under, UnsetType) else tuple(map(canonical_path, constraint.under))
    if roots:
        yield _meaning_test(
            "path",
            canonical_path,
            under(roots),
            _unless(secret, () if isinstance(constraint.under, UnsetType) else constraint.under),
        )
    if not isinstance(constraint.not_among, UnsetType):
        refused = frozenset(constraint.not_among)

        def is_other(path: str) -> bool:
            # Names above the topmost directory that was granted are the author's own.
            above = min((len(root) for root in roots if root != "/" and under((root,))(path)), default=0)
            return refused.isdisjoint(kinds_of(path[above:]))

        yield _meaning_test("path", canonical_path, is_other, "", f"which has {words_of(refused)}")


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    return host_matcher([canonical_pattern(pattern) for pattern in patterns])


def _domain_matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Also accepts addresses, which policies of older releases may name; they match no mailbox."""
    stars = ("*." if pattern.startswith("*.") else "" for pattern in patterns)
    return host_matcher(
        [star + canonical_domain(pattern.removeprefix("*.")) for star, pattern in zip(stars, patterns, strict=True)]
    )


def _meaning_test(
    kind: str, read: Callable[[str], Any], is_wanted: Callable[[Any], bool], wanted: str, failure: str = ""
) -> Test:
    """Parses the string, which must have only one reading, and tests the result."""
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


def _unless(secret: bool, wanted: Iterable[str]) -> str:
    return "those that are allowed" if secret else clipped(", ".join(wanted))
