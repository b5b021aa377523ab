"""What policies count, by name: limits, marks and breakers."""

from collections.abc import Iterable

from app.model.counting import breaker_fingerprints, limit_fingerprints
from app.model.marks import longest_shared, marks_of, own_marks, shared_marks
from app.model.policies import Policy

Limit = tuple[str, str]
"""A policy's id and a rule's fingerprint."""


def mark_names(policies: Iterable[Policy]) -> set[str]:
    """The names of all marks that these policies need."""
    policies = list(policies)
    shared = longest_shared(frozenset[str]().union(*map(shared_marks, policies)))
    return {mark.name for mark in marks_of(shared, own_marks(policies)).values()}


def limits_of(policies: Iterable[Policy]) -> set[Limit]:
    return {(policy.id, fingerprint) for policy in policies for fingerprint in counting_rules(policy)}


def breakers_of(policies: Iterable[Policy]) -> set[Limit]:
    return {(policy.id, fingerprint) for policy in policies for fingerprint in breaker_fingerprints(policy.rules)}


def counting_rules(policy: Policy | None) -> set[str]:
    """The fingerprints of the policy's limits."""
    return set() if policy is None else set(limit_fingerprints(policy.rules))
