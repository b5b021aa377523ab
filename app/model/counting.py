"""Rules that count: what each one counts, and the name of its counter in the store."""

import hashlib
from collections.abc import Collection, Iterable

from msgspec import UNSET

from app.model.quotas import Budget, DenialBreaker, RateLimit
from app.model.rules import Budgeted, DenialCounted, PolicyRule, RateLimited, Sequenced


def quota_fingerprints(rules: Iterable[PolicyRule]) -> list[str | None]:
    """For each rule, the name of its counter within the policy; None if it counts nothing.

    It is derived from the tools (in any order), the window, `per`, a budget's parameter and, among rules equal in all
    of these, the position. So it survives changes to the maximum, the effect and the rest of the policy, and no two
    rules share a bucket.
    """
    seen: dict[str, int] = {}
    names: list[str | None] = []
    for rule in rules:
        limit = rule.denial_breaker if isinstance(rule, DenialCounted) else limit_of(rule)
        if limit is None:
            names.append(None)
            continue
        text = f"{limit.window_seconds}\n" + "\n".join(sorted(set(rule.tools)))
        # Patterns never begin with a line feed, so this cannot be mistaken for another rule's tools.
        if isinstance(limit, Budget):
            text += f"\n\nbudget {limit.parameter}"
        if isinstance(limit, DenialBreaker):
            text += "\n\ndenials"
        elif limit.per is not UNSET:
            text += "\n\nper " + "\n".join(limit.per)
        nth = seen[text] = seen.get(text, -1) + 1
        names.append(hashlib.sha256(f"{nth}\n{text}".encode()).hexdigest()[:16])
    return names


def limit_fingerprints(rules: Collection[PolicyRule]) -> list[str]:
    """The fingerprints of rules with a bucket of their own: rate limits and budgets."""
    names = quota_fingerprints(rules)
    return [name for rule, name in zip(rules, names, strict=True) if name is not None and limit_of(rule) is not None]


def breaker_fingerprints(rules: Collection[PolicyRule]) -> list[str]:
    """The fingerprints of rules that count denials."""
    names = quota_fingerprints(rules)
    return [name for rule, name in zip(rules, names, strict=True) if name and isinstance(rule, DenialCounted)]


def limit_of(rule: PolicyRule) -> RateLimit | Budget | None:
    """The limit by which the rule counts; None if it counts nothing."""
    match rule:
        case RateLimited():
            return rule.rate_limit
        case Budgeted():
            return rule.budget
        case _:
            return None


def rate_limit_count(rules: Iterable[PolicyRule]) -> int:
    """How many rules count or look back; one commit may have to check all of them."""
    return sum(limit_of(rule) is not None or isinstance(rule, Sequenced | DenialCounted) for rule in rules)
