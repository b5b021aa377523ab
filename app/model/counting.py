"""Rules that count: what each counts, and what that is called in the store."""

import hashlib
from collections.abc import Collection, Iterable

from msgspec import UNSET

from app.model.breakers import DenialBreaker
from app.model.quotas import Budget, RateLimit
from app.model.rules import Budgeted, DenialCounted, PolicyRule, RateLimited, Sequenced


def quota_fingerprints(rules: Iterable[PolicyRule]) -> list[str | None]:
    """For each rule the name of what it counts in within the policy, None if it counts nothing.

    Made of the tools (in any order), the window, what the limit is per, a budget's parameter and, among rules alike
    in all that, the place: so it stays when the maximum, the effect or anything else of the policy changes, and no
    two rules share a bucket.
    """
    seen: dict[str, int] = {}
    names: list[str | None] = []
    for rule in rules:
        limit = rule.denial_breaker if isinstance(rule, DenialCounted) else limit_of(rule)
        if limit is None:
            names.append(None)
            continue
        text = f"{limit.window_seconds}\n" + "\n".join(sorted(set(rule.tools)))
        # No pattern begins with a line feed, so none of these is taken for the tools of another rule.
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
    """Those of the rules that have a bucket of their own: rate limits and budgets."""
    names = quota_fingerprints(rules)
    return [name for rule, name in zip(rules, names, strict=True) if name is not None and limit_of(rule) is not None]


def breaker_fingerprints(rules: Collection[PolicyRule]) -> list[str]:
    """Those of the rules that count denials."""
    names = quota_fingerprints(rules)
    return [name for rule, name in zip(rules, names, strict=True) if name and isinstance(rule, DenialCounted)]


def limit_of(rule: PolicyRule) -> RateLimit | Budget | None:
    """What the rule counts; None if it counts nothing."""
    match rule:
        case RateLimited():
            return rule.rate_limit
        case Budgeted():
            return rule.budget
        case _:
            return None


def rate_limit_count(rules: Iterable[PolicyRule]) -> int:
    """How many of the rules count or look back: what one commit may have to look at for the policy, at most."""
    return sum(limit_of(rule) is not None or isinstance(rule, Sequenced | DenialCounted) for rule in rules)
