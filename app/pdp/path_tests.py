"""Tests of paths: whether they lie in directories, some of which the context names, and of which kinds they are."""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from msgspec import UnsetType

from app.language.ambiguous import Ambiguous
from app.language.file_kinds import kinds_of, words_of
from app.language.paths import canonical_path, under, under_in_any_case
from app.model.constraints import Operand
from app.model.context_roots import is_home
from app.model.meaning_constraints import PathConstraint
from app.pdp.clauses import Test, Unjudged
from app.pdp.operands import Json, OtherValue
from app.pdp.value_tests import meaning_test, unless


def path_tests(constraint: PathConstraint, *, secret: bool) -> Iterator[Test]:
    """The tests of a path that lies in constant directories, or anywhere."""
    if not constraint.root_names:
        yield from _tests_in(constraint, secret, tuple(map(canonical_path, constraint.constant_roots)))


class PathRelation:
    """Tests paths in directories of which the call's context names some."""

    def __init__(self, constraint: PathConstraint, *, secret: bool) -> None:
        self._constant = tuple(map(canonical_path, constraint.constant_roots))
        self._named = [OtherValue(Operand(context=name)) for name in constraint.root_names]

        @lru_cache(maxsize=64)
        def tests(roots: tuple[str, ...]) -> tuple[Test, ...]:
            return tuple(_tests_in(constraint, secret, roots))

        self._tests = tests

    def __call__(self, parameters: Json, context: Json) -> Test:
        """The test of paths in this call."""
        roots = list(self._constant)
        for other in self._named:
            root = _root(other, parameters, context)
            if isinstance(root, Unjudged):
                return partial(_fault, root)
            roots.append(root)
        return partial(_first_failure, self._tests(tuple(roots)))


def _fault(fault: Unjudged, value: Any) -> str:
    return fault if type(value) is str else _NO_PATH


_NO_PATH = Unjudged("not a text that could be a path")


def _first_failure(tests: tuple[Test, ...], value: Any) -> str | None:
    return next((clause for test in tests if (clause := test(value)) is not None), None)


def _root(other: OtherValue, parameters: Json, context: Json) -> str:
    """The directory, or why there is none, which is Unjudged."""
    text = other.text(parameters, context)
    if isinstance(text, Unjudged):
        return text
    try:
        root = canonical_path(text)
    except Ambiguous as error:
        return Unjudged(f"to be judged in {other.subject}, which {error}")
    return Unjudged(f"to be judged in {other.subject}, which is a home or the whole disk") if is_home(root) else root


def _tests_in(constraint: PathConstraint, secret: bool, roots: tuple[str, ...]) -> Iterator[Test]:
    in_any_case = constraint.ignore_case is True
    inside = under_in_any_case if in_any_case else under
    if roots:
        yield meaning_test("path", canonical_path, inside(roots), unless(secret, constraint.roots_in_words))
    if not isinstance(constraint.not_among, UnsetType):
        refused = frozenset(constraint.not_among)
        holders = [(inside((root,)), len(root)) for root in roots if root != "/"]

        def is_other(path: str) -> bool:
            # Names above the topmost directory that was granted are the author's own.
            above = min((length for holds, length in holders if holds(path)), default=0)
            return refused.isdisjoint(kinds_of(path[above:]))

        yield meaning_test("path", canonical_path, is_other, "", f"which has {words_of(refused)}")
