"""Policies: the agents that each governs, its kind, and the order of evaluation. `rules` has their rules."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from app.model.rules import DenialCounted, PolicyRule
from app.model.text import FieldError

MAX_PRIORITY = 1000
SHADOW_BUCKET = "-shadow"
"""The suffix of bucket names in shadow mode, kept apart from what the policy counts when enforced."""

Priority = Annotated[int, Meta(ge=0, le=MAX_PRIORITY)]


class PolicyKind(StrEnum):
    """A `grant` allows, denies or escalates, by tiers. A `guardrail` is evaluated for every call and never allows."""

    GRANT = "grant"
    GUARDRAIL = "guardrail"


class PolicyMode(StrEnum):
    """An `enforce` policy decides. A `shadow` policy never changes an answer: the log says where it would have."""

    ENFORCE = "enforce"
    SHADOW = "shadow"


class Policy(Struct, frozen=True, kw_only=True):
    """A prioritised list of rules for an agent, a group of agents or the whole workspace. Higher priorities come first.

    agent_id, group: its owner, one of the two; a guardrail with neither governs every agent of the workspace.
    key: its name for programs, unique among its owner's policies.
    mode: what it does while enabled; a disabled policy is off, whatever its mode.
    agent_message: what an agent is told when the policy does not allow.
    version: 1 on creation, incremented by every change.
    """

    id: str
    agent_id: str | None = None
    group: str | None = None
    key: str | None = None
    kind: PolicyKind = PolicyKind.GRANT
    name: str
    rules: tuple[PolicyRule, ...]
    priority: int = 0
    enabled: bool = True
    mode: PolicyMode = PolicyMode.ENFORCE
    agent_message: str | None = None
    created_ms: int
    updated_ms: int
    version: int

    @property
    def decides(self) -> bool:
        """Whether it is enabled and enforced."""
        return self.enabled and self.mode is PolicyMode.ENFORCE

    @property
    def in_shadow(self) -> bool:
        """Whether it is enabled and in shadow mode."""
        return self.enabled and self.mode is PolicyMode.SHADOW


def off_in_shadow(policy: Policy) -> Policy:
    """The policy as it affects answers: one in shadow mode is disabled."""
    return replace(policy, enabled=False) if policy.in_shadow else policy


def with_changes(policy: Policy, given: Mapping[str, Any]) -> Policy:
    """The policy with the fields that are given; those that are UNSET stay as they are."""
    changed = replace(policy, **{name: value for name, value in given.items() if value is not UNSET})
    return replace(changed, rules=tuple(changed.rules))


def require_owner(kind: PolicyKind, agent_id: str | None, group: str | None) -> None:
    """Raise FieldError unless such a policy can have the owner it names."""
    if agent_id is not None and group is not None:
        raise FieldError("group", "a policy governs an agent or a group; leave out group or agent_id")
    if kind is PolicyKind.GRANT and agent_id is None and group is None:
        message = "is missing: a grant names agent_id or group; a guardrail with neither governs the whole workspace"
        raise FieldError("agent_id", message)


def require_kind(kind: PolicyKind, mode: PolicyMode, rules: Iterable[PolicyRule]) -> None:
    """Raise FieldError unless a policy of this kind and mode can have all of these rules."""
    for index, rule in enumerate(rules):
        if isinstance(rule, DenialCounted) and kind is not PolicyKind.GUARDRAIL:
            message = 'only a guardrail has a denial_breaker; make it a policy of its own with "kind": "guardrail"'
            raise FieldError(f"rules[{index}].type", message)
        if isinstance(rule, DenialCounted) and mode is PolicyMode.SHADOW:
            message = "a denial_breaker has no shadow mode, since it acts on the agent; a replay says what it would do"
            raise FieldError(f"rules[{index}].type", message)


def evaluation_order(policies: Iterable[Policy]) -> list[Policy]:
    """Highest priority first; within one priority the oldest first."""
    return sorted(policies, key=lambda policy: (-policy.priority, policy.created_ms, policy.id))
