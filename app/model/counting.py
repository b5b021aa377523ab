"""The names that the counters of rules have in the store."""

import hashlib
from collections.abc import Collection, Iterable

from app.model.quotas import DenialBreaker
from app.model.rules import PolicyRule


def quota_fingerprints(rules: Iterable[PolicyRule]) -> list[str | None]:
    """For each rule, the name of its counter within the policy; None if it counts nothing.

    It is derived from the tools (in any order), the window, `per`, a budget's parameter, what must come before each
    call and, among rules equal in all of these, the position. So it survives changes to the maximum, the effect and the
    rest of the policy, and no two rules share a bucket.
    """
    seen: dict[str, int] = {}
    names: list[str | None] = []
    for rule in rules:
        apart = rule.kept_apart
        if apart is None:
            names.append(None)
            continue
        seconds, rest = apart
        # Patterns never begin with a line feed, so what sets it apart cannot be mistaken for another rule's tools.
        text = f"{seconds}\n" + "\n".join(sorted(set(rule.tools))) + rest
        nth = seen[text] = seen.get(text, -1) + 1
        names.append(hashlib.sha256(f"{nth}\n{text}".encode()).hexdigest()[:16])
    return names


def limit_fingerprints(rules: Collection[PolicyRule]) -> list[str]:
    """The fingerprints of the rate limits and budgets: the rules that have a bucket."""
    names = quota_fingerprints(rules)
    return [name for rule, name in zip(rules, names, strict=True) if name is not None and rule.limit is not None]


def breaker_fingerprints(rules: Collection[PolicyRule]) -> list[str]:
    """The fingerprints of rules that count denials."""
    names = quota_fingerprints(rules)
    return [name for rule, name in zip(rules, names, strict=True) if name and isinstance(rule.counter, DenialBreaker)]


def rate_limit_count(rules: Iterable[PolicyRule]) -> int:
    """The number of rules that count, look back or remember; one commit may have to check all of them."""
    return sum(rule.lookback_seconds > 0 or bool(rule.remembered) for rule in rules)
