"""Policies: the fields an author sets, their owners, and the order of evaluation. Rules are in `rules`."""

import re
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_type_hints

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import asdict, fields, replace

from app.model.fields import AgentMessage, DisplayName
from app.model.policy_keys import PolicyKey
from app.model.rules import PolicyRule, Rules
from app.model.text import FieldError
from app.model.written_rules import require_writable

MAX_PRIORITY = 1000
SHADOW_BUCKET = "-shadow"
"""The suffix of bucket names in shadow mode, kept apart from what the policy counts when enforced."""

Priority = Annotated[int, Meta(ge=0, le=MAX_PRIORITY)]
_LINE = re.compile(r"[!-~]([ -~]*[!-~])?", re.ASCII)


def require_source(field: str, text: str) -> None:
    """Raise FieldError unless the text fits into a header: visible ASCII, with spaces only inside."""
    if not _LINE.fullmatch(text):
        raise FieldError(field, "must be printable ASCII characters, without a space at the beginning or the end")


ManagedBy = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        description="Where the policy is managed: the files or the repository that `remit policy apply` named.",
        extra_json_schema={"pattern": f"^{_LINE.pattern}$"},
        extra={"check": require_source},
    ),
]


class PolicyKind(StrEnum):
    """A `grant` allows, denies or escalates, by tiers. A `guardrail` is evaluated for every call and never allows."""

    GRANT = "grant"
    GUARDRAIL = "guardrail"


class PolicyMode(StrEnum):
    """An `enforce` policy decides. A `shadow` policy never changes an answer: the log says where it would have."""

    ENFORCE = "enforce"
    SHADOW = "shadow"


class Owner(Struct, frozen=True, rename="camel"):
    """The owner of policies: an agent, a group of agents or, with neither, the whole workspace."""

    agent_id: str | None = None
    group: str | None = None

    def governs(self, agent_id: str, groups: Collection[str]) -> bool:
        """True if its policies govern an agent in these groups."""
        if self.agent_id is not None:
            return self.agent_id == agent_id
        return self.group is None or self.group in groups


WORKSPACE = Owner()


def owner_or_none(agent_id: str | None, group: str | None) -> Owner | None:
    """The agent or the group that a filter names, or None."""
    return Owner(agent_id, group) if (agent_id, group) != (None, None) else None


class PolicyFields(Struct, frozen=True, kw_only=True):
    """The fields that an author sets; records, the trail of changes, bodies, files and answers are derived from them.

    kind: A grant decides by tiers. A guardrail is evaluated on every call and never allows.
    rules: The rules, in order. Any that denies denies; else any that escalates escalates.
    priority: Higher values are evaluated first; policies of equal priority decide together.
    enabled: A policy that is not enabled is skipped.
    mode: `enforce` decides; `shadow` changes no answer, and the log says where it would have.
    keeps_requests: Entries of the agents that it governs have the user's request (`request` in `context`), kept as
    other texts are, in place of its MAC. A policy in shadow mode keeps none.
    """

    name: DisplayName
    rules: Annotated[Rules, Meta(extra={"check": require_writable})]
    kind: PolicyKind = PolicyKind.GRANT
    priority: Priority = 0
    enabled: bool = True
    mode: PolicyMode = PolicyMode.ENFORCE
    key: PolicyKey | None = None
    agent_message: AgentMessage | None = None
    managed_by: ManagedBy | None = None
    keeps_requests: bool = False


DEFAULTS = {field.name: field.default for field in fields(PolicyFields) if field.default is not NODEFAULT}


def field_types(*, bounds: bool) -> dict[str, Any]:
    """The type of each field by its name, with or without bounds; stored policies may predate today's bounds."""
    types = get_type_hints(PolicyFields, include_extras=bounds)
    return {name: types[name] for name in PolicyFields.__struct_fields__}


def answered(types: Mapping[str, Any]) -> dict[str, Any]:
    """The fields in the order of answers and of the trail of changes."""
    return {"key": types["key"], "kind": types["kind"], **types}


def optional(types: Mapping[str, Any]) -> dict[str, Any]:
    """The types, each also allowing UNSET."""
    return {name: kind | UnsetType for name, kind in types.items()}


def struct_of(
    name: str, types: Mapping[str, Any], defaults: Mapping[str, Any] = MappingProxyType({}), **config: Any
) -> Any:
    """A struct with these fields, whose descriptions are those of PolicyFields; optional ones are UNSET by default."""
    rows: list[Any] = [
        (field, kind, UNSET)
        if UnsetType in get_args(kind)
        else (field, kind, *([defaults[field]] if field in defaults else []))
        for field, kind in types.items()
    ]
    return defstruct(
        name, rows, frozen=True, kw_only=True, module=__name__, namespace={"__doc__": PolicyFields.__doc__}, **config
    )


_Changes: Any = struct_of("_Changes", optional(field_types(bounds=True)))


class PolicyChanges(_Changes):  # type: ignore[misc]  # its fields are those of PolicyFields
    """Changes to a policy; fields that are UNSET stay."""


class Policy(PolicyFields, frozen=True, kw_only=True):
    """A prioritised list of rules for an agent, a group of agents or the whole workspace. Higher priorities come first.

    agent_id, group: its owner, one of the two; a guardrail with neither governs every agent of the workspace.
    created_ms, updated_ms, version: 0 until it is stored; then the version is 1, and incremented by every change.
    remembers: for each memory of its rules (`model.memories`), the version that began it.
    """

    id: str
    agent_id: str | None = None
    group: str | None = None
    created_ms: int = 0
    updated_ms: int = 0
    version: int = 0
    remembers: dict[str, int] = {}

    @property
    def owner(self) -> Owner:
        return Owner(self.agent_id, self.group)

    @property
    def decides(self) -> bool:
        """True if it is enabled and enforced."""
        return self.enabled and self.mode is PolicyMode.ENFORCE

    @property
    def in_shadow(self) -> bool:
        """True if it is enabled and in shadow mode."""
        return self.enabled and self.mode is PolicyMode.SHADOW


def off_in_shadow(policy: Policy) -> Policy:
    """The policy as it affects answers: one in shadow mode is disabled."""
    return replace(policy, enabled=False) if policy.in_shadow else policy


def values_of(authored: PolicyFields) -> dict[str, Any]:
    """The values of the author's fields by name, without any other field of a policy or entry."""
    return {name: getattr(authored, name) for name in PolicyFields.__struct_fields__}


def new_policy(owner: Owner, authored: PolicyFields, policy_id: str = "") -> Policy:
    """A policy that is not stored yet."""
    return Policy(id=policy_id, **asdict(owner), **values_of(authored))


def with_changes(policy: Policy, changes: PolicyChanges) -> Policy:
    """The policy with every field of `changes` that is not UNSET replaced."""
    changed = ((name, getattr(changes, name)) for name in PolicyFields.__struct_fields__)
    return replace(policy, **{name: value for name, value in changed if value is not UNSET})


def is_empty(changes: PolicyChanges) -> bool:
    """True if nothing is to change."""
    return all(getattr(changes, name) is UNSET for name in PolicyFields.__struct_fields__)


def require_owner(kind: PolicyKind, owner: Owner) -> None:
    """Raise FieldError unless such a policy can have the owner."""
    if owner.agent_id is not None and owner.group is not None:
        raise FieldError("group", "a policy governs an agent or a group; leave out group or agent_id")
    if kind is PolicyKind.GRANT and owner == WORKSPACE:
        message = "is missing: a grant names agent_id or group; a guardrail with neither governs the whole workspace"
        raise FieldError("agent_id", message)


def require_kind(kind: PolicyKind, mode: PolicyMode, rules: Iterable[PolicyRule]) -> None:
    """Raise FieldError unless a policy of this kind and mode can have all of these rules."""
    for index, rule in enumerate(rules):
        not_here = rule.not_in_guardrails if kind is PolicyKind.GUARDRAIL else rule.not_in_grants
        message = not_here or (rule.not_in_shadow if mode is PolicyMode.SHADOW else None)
        if message is not None:
            raise FieldError(f"rules[{index}].type", message)
        for where, of, name, constraint in rule.constraints() if kind is not PolicyKind.GUARDRAIL else ():
            if not isinstance(constraint.command, UnsetType) and constraint.command.allow is UNSET:
                path = ".".join(filter(None, (f"rules[{index}]", where, of, name, "command.deny")))
                raise FieldError(path, "allows every other command in a grant; add `allow`, or make it a guardrail")


def evaluation_order(policies: Iterable[Policy]) -> list[Policy]:
    """Highest priority first; within one priority the oldest first."""
    return sorted(policies, key=lambda policy: (-policy.priority, policy.created_ms, policy.id))
