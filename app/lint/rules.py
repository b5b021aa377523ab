"""Rules that probably do something else than meant: constraints that admit too much, breakers that never act."""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET

from app.lint.overlaps import first_not_within
from app.lint.warnings import Code, PolicyWarning
from app.model.constraints import Constraint
from app.model.policies import Policy
from app.model.quotas import BreakerAction
from app.model.rules import DenialCounted, PolicyRule

_PATH_WORDS = frozenset({"path", "file", "filename", "filepath", "dir", "directory", "folder"})
_HOST_WORDS = frozenset({"url", "uri", "host", "hostname", "domain", "endpoint", "link"})
_AMOUNT_WORDS = frozenset(
    {"amount", "amounts", "price", "sum", "total", "quantity", "count", "number", "size", "limit", "nights", "days"}
    | {"cost", "fee", "refund", "credit", "payment", "passengers", "bags", "units", "hours", "minutes", "seconds"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LOWER_BOUNDS = ("min", "above", "at_least", "enum", "equals", "path", "host")


def constraint_warnings(place: str, rule: PolicyRule, policies: Sequence[Policy]) -> Iterator[PolicyWarning]:
    """The warnings about the constraints of one rule. place: its JSON path. policies: those whose rules a call must
    pass, too, the rule's own among them.
    """
    for where, of, name, constraint in rule.constraints():
        if where:  # a `when` only selects calls; it does not admit them
            continue
        for warning in _about(f"{place}.{of}.{name}", name, constraint):
            if warning.code is not Code.MIN_MISSING or not _has_least_elsewhere(rule, (of, name), policies):
                yield warning


def _has_least_elsewhere(rule: PolicyRule, named: tuple[str, str], policies: Sequence[Policy]) -> bool:
    """True if another rule bounds the value from below in every call that the rule covers."""
    return any(
        (of, name) == named and not where and _has_any(constraint, _LOWER_BOUNDS)
        for policy in policies
        for other in policy.rules
        if other.is_always and first_not_within(rule.tools, other.tools) is None
        for where, of, name, constraint in other.constraints()
    )


def _has_any(constraint: Constraint, bounds: Iterable[str]) -> bool:
    return any(getattr(constraint, bound, UNSET) is not UNSET for bound in bounds)


def _about(place: str, name: str, constraint: Constraint) -> Iterator[PolicyWarning]:
    words = {word.lower() for word in _WORD.findall(name.rpartition(".")[2])}
    # Next to a constraint such as `path` or `host`, a pattern can only narrow further.
    if constraint.regex is not UNSET and constraint.path is UNSET and constraint.host is UNSET:
        yield from _about_regex(f"{place}.regex", words, constraint.regex)
    if (
        _has_any(constraint, ("max", "below", "at_most"))
        and not _has_any(constraint, _LOWER_BOUNDS)
        and (words & _AMOUNT_WORDS)
    ):
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


_Placed = tuple[str, int, DenialCounted]
"""(policy id, index of the rule in the policy, breaker)."""


def breaker_warnings(policy: Policy, enabled: Sequence[Policy]) -> Iterator[PolicyWarning]:
    """The warnings about the policy's breakers, judged together with those that govern the same agents."""
    placed = list(_breakers((*(each for each in enabled if each.id != policy.id), policy)))
    names = {each.id: each.name for each in (*enabled, policy)}
    for own in placed:
        policy_id, index, rule = own
        if policy_id != policy.id:
            continue
        terms = rule.denial_breaker
        if terms.max_denials == 1 and terms.action is not BreakerAction.ESCALATE:
            what = "suspends the agent" if terms.action is BreakerAction.SUSPEND else "stops calls for a while"
            message = (
                f"the first denial {what}, be it a typing error or a limit that is full for a moment; let it have "
                "more, or escalate"
            )
            yield PolicyWarning(Code.BREAKER_ON_FIRST_DENIAL, f"$.rules[{index}].denialBreaker.maxDenials", message)
        sooner = next((other for other in placed if other != own and _suspends_before(other, own, placed)), None)
        if sooner is not None:
            where = "another breaker of this policy" if sooner[0] == policy.id else f'that of "{names[sooner[0]]}"'
            message = f"{where} suspends the agent before this one is full, so it never acts"
            yield PolicyWarning(Code.BREAKER_NEVER_FULL, f"$.rules[{index}].denialBreaker", message)


def _suspends_before(other: _Placed, own: _Placed, placed: Sequence[_Placed]) -> bool:
    """True if the other breaker is always full before this one; of two equal breakers, the later never acts."""
    theirs, ours = other[2].denial_breaker, own[2].denial_breaker
    if theirs.action is not BreakerAction.SUSPEND or first_not_within(own[2].tools, other[2].tools) is not None:
        return False
    if theirs.max_denials > ours.max_denials or theirs.window_seconds < ours.window_seconds:
        return False
    is_alike = ours.action is BreakerAction.SUSPEND and (theirs.max_denials, theirs.window_seconds) == (
        ours.max_denials,
        ours.window_seconds,
    )
    covers_no_more = first_not_within(other[2].tools, own[2].tools) is None
    return not (is_alike and covers_no_more) or placed.index(other) < placed.index(own)


def _breakers(policies: Iterable[Policy]) -> Iterator[_Placed]:
    for policy in policies:
        for index, rule in enumerate(policy.rules):
            if isinstance(rule, DenialCounted):
                yield policy.id, index, rule
