"""What a rule requires of a call, in words, for people and models."""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, UnsetType

from app.model.constraints import Constraint, Operand, named_constraints
from app.model.quotas import Budget, RateLimit
from app.model.rules import (
    ApprovalRequired,
    Budgeted,
    DenialCounted,
    ParameterConstraint,
    ParameterSchema,
    PolicyRule,
    RateLimited,
    Sequenced,
    TimeBased,
    ToolAllowlist,
    ToolDenylist,
)
from app.model.sequences import CallSequence
from app.pdp.clauses import clipped, listed
from app.pdp.constraints import IsSecret
from app.pdp.time_windows import described

_encode = msgspec.json.encode
NOT_LISTED = "the tool is not on the policy's allowlist"


def rule_in_words(rule: PolicyRule, *, covered: bool, is_secret: IsSecret) -> str:
    """What a call of a tool must satisfy so that the rule does not fail. Requirements on secrets are left out."""
    said = "; ".join(_asked(rule, covered=covered, is_secret=is_secret))
    for word, circumstances in (("when", rule.when), ("unless", rule.unless)):
        if not isinstance(circumstances, UnsetType):
            named = named_constraints(circumstances.parameters, circumstances.context)
            held = " and ".join(_named(*each, is_secret) for each in named)
            said = f"{said}, {word} {held}"
    return said


_ALWAYS = {
    ToolAllowlist: "the tool is on the policy's allowlist",
    ToolDenylist: "the tool is on the policy's denylist",
    ApprovalRequired: "a person must approve the call",
    ParameterSchema: "the parameters must fit the rule's JSON Schema",
}


def _asked(rule: PolicyRule, *, covered: bool, is_secret: IsSecret) -> Iterator[str]:
    if not covered:
        yield NOT_LISTED
        return
    match rule:
        case ParameterConstraint():
            yield from (_named(*each, is_secret) for each in named_constraints(rule.parameters, rule.context))
        case RateLimited():
            yield _rate_limit(rule.rate_limit)
        case Budgeted():
            yield _budget(rule.budget)
        case Sequenced():
            yield from _sequence(rule.sequence)
        case DenialCounted():
            terms = rule.denial_breaker
            yield f"fewer than {terms.max_denials} calls of the agent were denied in the last {terms.window_seconds} s"
        case TimeBased():
            yield f"only in {described(rule.time_window)}"
        case _:
            yield _ALWAYS[type(rule)]


def _rate_limit(limit: RateLimit) -> str:
    calls = "1 call" if limit.max_calls == 1 else f"{limit.max_calls} calls"
    return f"at most {calls} in {limit.window_seconds} s{_per(limit)}"


def _budget(budget: Budget) -> str:
    return f'at most {budget.max} of parameter "{budget.parameter}" in {budget.window_seconds} s{_per(budget)}'


def _per(limit: RateLimit | Budget) -> str:
    return "" if limit.per is UNSET else f", for each {' and '.join(limit.per)}"


def _sequence(sequence: CallSequence) -> Iterator[str]:
    within = "" if sequence.seconds != sequence.within_seconds else f" in the last {sequence.seconds} s"
    if sequence.forbidden:
        yield f"not once the session was allowed {_tools(sequence.forbidden)}{within}"
    if sequence.required:
        yield f"only once the session was allowed {_tools(sequence.required)}{within}"


def _tools(patterns: list[str]) -> str:
    return clipped(" or ".join(f'"{pattern}"' for pattern in patterns))


def _named(of: str, name: str, constraint: Constraint, is_secret: IsSecret) -> str:
    subject = f'{"context" if of == "context" else "parameter"} "{name}"'
    if is_secret(name):
        return f"{subject} must be what the policy says"
    asked = list(_constraint(constraint))
    if constraint.required is False:
        asked.append("if given")
    return f"{subject} {', '.join(asked) if asked else 'must be given'}"


def _constraint(constraint: Constraint) -> Iterator[str]:
    """Each field of a constraint that is given, except `required`."""
    if constraint.absent is True:
        yield "must not be given"
    if constraint.type is not UNSET:
        kinds = constraint.type if isinstance(constraint.type, list) else [constraint.type]
        yield f"of type {' or '.join(kinds)}"
    for text, members in (("one of", constraint.enum), ("none of", constraint.not_enum)):
        if isinstance(members, list):
            yield f"{text} {listed(members)}"
    for text, regex in (("matches", constraint.regex), ("does not match", constraint.not_regex)):
        if isinstance(regex, str):
            yield f"{text} {clipped(regex)}"
    yield from _sizes(constraint)
    yield from _relations(constraint)
    if constraint.path is not UNSET:
        yield f"a path under {clipped(', '.join(constraint.path.under))}"
    for text, meaning in (
        ("a host of", constraint.host),
        ("a mail address in", constraint.email_domain),
        ("an address in", constraint.cidr),
    ):
        if not isinstance(meaning, UnsetType):
            yield f"{text} {clipped(', '.join(meaning.among))}"


def _relations(constraint: Constraint) -> Iterator[str]:
    for text, operand in (
        ("equal to", constraint.equals),
        ("at most", constraint.at_most),
        ("at least", constraint.at_least),
    ):
        if isinstance(operand, Operand):
            yield f'{text} {"context" if operand.of_context else "parameter"} "{operand.name}"'


def _sizes(constraint: Constraint) -> Iterator[str]:
    for text, bound, unit in (
        ("at least", constraint.min, ""),
        ("at most", constraint.max, ""),
        ("above", constraint.above, ""),
        ("below", constraint.below, ""),
        ("at least", constraint.min_length, " characters"),
        ("at most", constraint.max_length, " characters"),
        ("at least", constraint.min_items, " elements"),
        ("at most", constraint.max_items, " elements"),
    ):
        if bound is not UNSET:
            yield f"{text} {_encode(bound).decode()}{unit}"
