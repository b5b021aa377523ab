"""Which parts of the language are compared completely. What is not named here is compared by meaning: by trying.

A type, a field or a form of a name that is new to the language is in none of these lists, so a comparison of rules
that have it never claims to be complete.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from app.language.spellings import folded
from app.language.value_paths import EACH
from app.model.approvals import ApprovalTerms
from app.model.constraints import Circumstances, Constraint
from app.model.policies import Policy
from app.model.quotas import Budget, DenialBreaker, RateLimit
from app.model.rule import Rule
from app.model.rules import (
    ApprovalRequired,
    Budgeted,
    DenialCounted,
    ParameterConstraint,
    ParameterSchema,
    PinnedRequest,
    RateLimited,
    Sequenced,
    TimeBased,
    ToolAllowlist,
    ToolDenylist,
    ToolGrant,
)
from app.model.sequences import CallSequence
from app.model.time_windows import OpenSpan, TimeWindow
from app.policy_tools.compare.patterns import Unreadable, automaton
from app.policy_tools.compare.values import is_too_long

BY_CLASS = frozenset(
    {"regex", "not_regex", "enum", "not_enum", "min", "max", "above", "below", "required", "absent", "type"}
    | {"min_length", "max_length", "min_items", "max_items"}
)
"""Fields of a constraint for which a value of each class is made."""

BY_MEANING = frozenset(
    {"equals", "at_most", "at_least", "path", "host", "email_domain", "cidr", "from_request", "command"} | {"not_kind"}
)
"""Fields of a constraint that hold or do not, for which values are tried until both were seen."""

OF_TEXTS = BY_MEANING - {"equals", "at_most", "at_least", "not_kind"}
"""Those that only a text can satisfy."""

_ALWAYS = frozenset({"tools", "when", "unless", "approval"})
_FIELDS: Mapping[type[Struct], frozenset[str]] = {
    ToolGrant: _ALWAYS,
    ToolAllowlist: _ALWAYS,
    ToolDenylist: _ALWAYS,
    ApprovalRequired: _ALWAYS,
    ParameterConstraint: _ALWAYS | {"parameters", "context", "effect"},
    ParameterSchema: _ALWAYS | {"schema", "effect"},
    RateLimited: _ALWAYS | {"rate_limit", "effect"},
    Budgeted: _ALWAYS | {"budget", "effect"},
    Sequenced: _ALWAYS | {"sequence", "effect"},
    PinnedRequest: _ALWAYS | {"effect"},
    TimeBased: _ALWAYS | {"time_window", "effect"},
    DenialCounted: _ALWAYS | {"denial_breaker"},
    Circumstances: frozenset({"parameters", "context", "if_missing"}),
    RateLimit: frozenset({"max_calls", "window_seconds", "per", "refundable"}),
    Budget: frozenset({"parameter", "context", "max", "window_seconds", "per", "refundable"}),
    DenialBreaker: frozenset({"max_denials", "window_seconds", "action", "per"}),
    CallSequence: frozenset({"forbidden_after", "requires_before", "within_seconds"}),
    TimeWindow: frozenset({"allowed_hours", "allowed_days", "windows", "excepted", "timezone"}),
    OpenSpan: frozenset({"start", "end", "days"}),
    Constraint: BY_CLASS | BY_MEANING,
}
_POLICY_FIELDS = frozenset(
    {"id", "agent_id", "group", "version", "created_ms", "updated_ms", "name", "rules", "kind", "priority", "enabled"}
    | {"mode", "key", "agent_message", "managed_by", "keeps_requests", "remembers"}
)


def unknown_in_policy(policy: Policy) -> Iterator[str]:
    """Yield each field of a policy that is not known, in words."""
    for name in policy.__struct_fields__:
        if name not in _POLICY_FIELDS and getattr(policy, name) not in (UNSET, None, False):
            yield by_meaning(name)


def unknown_in(rule: Rule) -> Iterator[str]:
    """Yield why calls that the rule covers are not compared completely, whatever is tried."""
    if type(rule) not in _FIELDS:
        yield by_meaning(rule.tag())
        return
    yield from _unknown_fields(rule)
    for pattern in rule.tools:
        if "*" in pattern[:-1]:
            yield by_meaning(pattern)
    for _, _, name, constraint in rule.constraints():
        command = constraint.command
        if (
            (not isinstance(command, UnsetType) and command.unread is not UNSET)
            or "*" in name.replace(EACH, "")
            or not _FIELDS[Constraint].issuperset(constraint.given)
        ):
            yield by_meaning(name)


def _unknown_fields(struct: Struct) -> Iterator[str]:
    """Yield each field that is given and not known, of the struct and of those in it."""
    known = _FIELDS[type(struct)]
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if value is UNSET or isinstance(value, ApprovalTerms):
            continue
        inside = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Struct)]
        if name not in known or any(type(each) not in _FIELDS for each in inside):
            yield by_meaning(name)
            continue
        for each in inside:
            yield from _unknown_fields(each)


def by_meaning(name: str) -> str:
    """The reason why a comparison is not complete."""
    return f'"{name}" is compared by meaning'


def by_class(constraint: Constraint) -> tuple[Constraint, bool]:
    """The part of a constraint for which classes of values can be made, and True if that is all of it."""
    apart = [name for name in constraint.given if name not in BY_CLASS]
    for name in ("regex", "not_regex"):
        pattern = getattr(constraint, name)
        if isinstance(pattern, str) and not _is_read(pattern):
            apart.append(name)
    if is_too_long(constraint):
        apart += ["min_length", "max_length", "min_items", "max_items"]
    if not apart:
        return constraint, True
    rest = replace(constraint, **dict.fromkeys(apart, UNSET))
    return (rest if rest.given else replace(rest, required=True)), False


def _is_read(pattern: str) -> bool:
    try:
        automaton(pattern)
    except Unreadable:
        return False
    return True


def two_spellings(names: Iterable[str]) -> Iterator[str]:
    """Yield why calls cannot be told apart by names that are read as one another."""
    spelled: dict[str, str] = {}
    for name in names:
        for end in [*(at for at, sign in enumerate(name) if sign in ".["), len(name)]:
            other = spelled.setdefault(folded(name[:end]), name[:end])
            if other != name[:end]:
                yield f'"{other}" and "{name[:end]}" are two spellings of a name'
                return
