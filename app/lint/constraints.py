"""Constraints that admit too much: a pattern that may match anywhere, a number without a lower bound."""

import re
from collections.abc import Iterator

from msgspec import UNSET

from app.lint.warnings import Code, PolicyWarning
from app.model.constraints import Constraint
from app.model.rules import PolicyRule, constraints_of

_PATH_WORDS = frozenset({"path", "file", "filename", "filepath", "dir", "directory", "folder"})
_HOST_WORDS = frozenset({"url", "uri", "host", "hostname", "domain", "endpoint", "link"})
_AMOUNT_WORDS = frozenset(
    {"amount", "amounts", "price", "sum", "total", "quantity", "count", "number", "size", "limit", "nights", "days"}
    | {"cost", "fee", "refund", "credit", "payment", "passengers", "bags", "units", "hours", "minutes", "seconds"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LOWER_BOUNDS = ("min", "above", "at_least", "enum", "equals", "path", "host")


def constraint_warnings(place: str, rule: PolicyRule) -> Iterator[PolicyWarning]:
    """The warnings about the constraints of one rule; `place` is the rule's JSON path."""
    for where, of, name, constraint in constraints_of(rule):
        if not where:  # a `when` only selects calls; it does not admit them
            yield from _about(f"{place}.{of}.{name}", name, constraint)


def _about(place: str, name: str, constraint: Constraint) -> Iterator[PolicyWarning]:
    words = {word.lower() for word in _WORD.findall(name.rpartition(".")[2])}
    # Next to a constraint such as `path` or `host`, a pattern can only narrow further.
    if constraint.regex is not UNSET and constraint.path is UNSET and constraint.host is UNSET:
        yield from _about_regex(f"{place}.regex", words, constraint.regex)
    has_most = any(getattr(constraint, bound, UNSET) is not UNSET for bound in ("max", "below", "at_most"))
    has_least = any(getattr(constraint, bound, UNSET) is not UNSET for bound in _LOWER_BOUNDS)
    if has_most and not has_least and words & _AMOUNT_WORDS:
        message = f'"{name}" may be negative, and -1000000 is below every maximum; give it a min'
        yield PolicyWarning(Code.MIN_MISSING, place, message)


def _about_regex(place: str, words: set[str], regex: str) -> Iterator[PolicyWarning]:
    for meant, kind, example in (
        (_PATH_WORDS, "path", '{"path": {"under": ["/repo"]}}; `^/repo/` lets /repo/../etc/passwd pass'),
        (_HOST_WORDS, "host", '{"host": {"in": ["*.corp.com"]}}; a regex is passed by user@, ports and odd spellings'),
    ):
        if words & meant:
            message = f"a regex does not know what a {kind} means; say {example}"
            yield PolicyWarning(Code.REGEX_ON_PATH_OR_HOST, place, message)
            return
    if not (regex.startswith(("^", "\\A", "(?i)^", "(?s)^")) and regex.endswith(("$", "\\z"))):
        message = "is found anywhere in the text, so any text around a match passes; anchor it with ^ and $"
        yield PolicyWarning(Code.REGEX_UNANCHORED, place, message)
