"""Rules that ask for a person, their terms, and the parts of a call's context they read."""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from app.model.approvals import DEFAULT_TERMS, ApprovalTerms
from app.model.constraints import REQUEST
from app.model.rule import Rule

_OF_CONTEXT = "context"


class Escalation(Struct, frozen=True):
    """One rule that asks for a person.

    fingerprint: of its policy and of the rule's content; it changes whenever the rule does.
    """

    fingerprint: str
    terms: ApprovalTerms
    policy_id: str


def escalation_of(policy_id: str, rule: Rule) -> Escalation:
    """The request that a rule of a policy makes when it escalates."""
    digest = hashlib.sha256(policy_id.encode() + msgspec.json.encode(rule, order="sorted")).hexdigest()[:16]
    return Escalation(digest, DEFAULT_TERMS if rule.approval is UNSET else rule.approval, policy_id)


def together(escalations: tuple[Escalation, ...]) -> ApprovalTerms:
    """The combined terms: as many people as the strictest demands, for the shortest time and the fewest calls."""
    return ApprovalTerms(
        expires_seconds=min(escalation.terms.expires_seconds for escalation in escalations),
        approvals=max(escalation.terms.approvals for escalation in escalations),
        valid_seconds=min(escalation.terms.valid_seconds for escalation in escalations),
        max_uses=min(escalation.terms.max_uses for escalation in escalations),
    )


def names_in_context(rule: Any) -> Iterator[str]:
    """Every context path that a rule, given as plain values, reads; possibly too many, never too few."""
    if isinstance(rule, dict):
        for name, inner in rule.items():
            if name == _OF_CONTEXT and isinstance(inner, dict):
                yield from inner
            elif name == _OF_CONTEXT and isinstance(inner, str):
                yield inner
            elif name == "fromRequest":
                yield REQUEST
            yield from names_in_context(inner)
    elif isinstance(rule, list):
        for inner in rule:
            yield from names_in_context(inner)
    elif isinstance(rule, str) and rule.startswith(f"{_OF_CONTEXT}."):
        yield rule.removeprefix(f"{_OF_CONTEXT}.")
