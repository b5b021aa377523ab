"""Rules that ask for a person, their terms, and the parts of a call's context they read."""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.language.spellings import folded
from app.model.approvals import DEFAULT_TERMS, ApprovalTerms, Approvers
from app.model.constraints import REQUEST
from app.model.context_roots import CWD
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


class JointTerms(Struct, frozen=True, kw_only=True):
    """What several rules demand together: as many people as the strictest, for the shortest time and the fewest calls.

    approvers: a person who decides meets all of them. fresh: None = no rule demands a sign-in.
    """

    expires_seconds: int = DEFAULT_TERMS.expires_seconds
    approvals: int = DEFAULT_TERMS.approvals
    valid_seconds: int = DEFAULT_TERMS.valid_seconds
    max_uses: int = DEFAULT_TERMS.max_uses
    approvers: tuple[Approvers, ...] = ()
    fresh: int | None = None


def together(escalations: tuple[Escalation, ...]) -> JointTerms:
    """The combined terms."""
    terms = [escalation.terms for escalation in escalations]
    return JointTerms(
        expires_seconds=min(each.expires_seconds for each in terms),
        approvals=max(each.approvals for each in terms),
        valid_seconds=min(each.valid_seconds for each in terms),
        max_uses=min(each.max_uses for each in terms),
        approvers=tuple(each.approvers for each in terms if each.approvers is not UNSET),
        fresh=min((each.fresh for each in terms if each.fresh is not UNSET), default=None),
    )


def descriptive_names(asking: Iterable[Rule], reading: Collection[Rule]) -> frozenset[str]:
    """The parameters of a tool whose texts an approval does not bind: all rules that ask name them, none reads them.

    asking: the rules that can ask about the tool. reading: all that cover it.
    """
    named = [set(descriptive_in(rule)) for rule in asking]
    names = set.intersection(*named) if named else set()
    return frozenset(name for name in names if not any(reads_parameter(rule, name) for rule in reading))


def descriptive_in(rule: Rule) -> list[str]:
    """The parameters that the rule itself calls descriptive."""
    if isinstance(rule.approval, UnsetType) or isinstance(rule.approval.descriptive, UnsetType):
        return []
    return rule.approval.descriptive


def reads_parameter(rule: Rule, name: str) -> bool:
    """True if the rule reads the parameter, in any spelling of its name, something in it, or all parameters."""
    read = (each for each in (*rule.reads(), *rule.reads_besides) if each.of == "parameters")
    return any(
        folded(re.split(r"[.\[]", each.name)[0]) == folded(name) if each.name else name not in each.but for each in read
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
            elif name == "command":
                yield CWD
            yield from names_in_context(inner)
    elif isinstance(rule, list):
        for inner in rule:
            yield from names_in_context(inner)
    elif isinstance(rule, str) and rule.startswith(f"{_OF_CONTEXT}."):
        yield rule.removeprefix(f"{_OF_CONTEXT}.")
