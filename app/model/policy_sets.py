"""Policy sets, the effect of writing one, and the count of results a shadow policy would have changed."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from app.model.agents import GroupName
from app.model.decisions import Result
from app.model.field_checks import require_valid_fields
from app.model.fields import AgentId, Count, CreatedAt, Id, UpdatedAt
from app.model.ids import uuid_of
from app.model.policies import (
    DEFAULTS,
    WORKSPACE,
    Owner,
    Policy,
    PolicyKind,
    evaluation_order,
    field_types,
    new_policy,
    require_kind,
    require_owner,
    struct_of,
    values_of,
)
from app.model.text import FieldError

MAX_POLICIES = 500
NO_VERSION = "0"
"""The version of a group or workspace without policies."""
_encode = msgspec.json.encode


_New: Any = struct_of("_New", field_types(bounds=True), DEFAULTS, rename="camel", forbid_unknown_fields=True)


class NewPolicy(_New):  # type: ignore[misc]  # its fields are those of PolicyFields
    """A whole policy without its owner, as files and sets have it."""

    def __post_init__(self) -> None:
        require_valid_fields(self)


class PolicyEntry(NewPolicy, kw_only=True):  # type: ignore[call-arg]
    """One policy of a set. It updates the policy with its `id`, else its key, else its name; otherwise it is new.

    id: The policy to update; it must belong to the set's owner.
    agent_id, group: As in a policy; another owner's is refused.
    version, created_at, updated_at: As in a policy; ignored, as is `managedBy`.
    """

    id: Id | None = None
    agent_id: AgentId | None = None
    group: GroupName | None = None
    version: Annotated[int, Meta(ge=1, le=10**15)] | None = None
    created_at: CreatedAt | None = None
    updated_at: UpdatedAt | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_kind(self.kind, self.mode, self.rules)
        for field, value in (("id", self.id), ("agentId", self.agent_id)):
            if value is not None and uuid_of(value) is None:
                raise FieldError(field, "must be a UUID")


Entries = Annotated[list[PolicyEntry], Meta(max_length=MAX_POLICIES)]


class PolicyChange(Struct, frozen=True):
    """The change to one policy: created if there is no `before`, deleted if there is no `after`."""

    before: Policy | None
    after: Policy | None

    @property
    def kind(self) -> str:
        """One of `created`, `updated`, `deleted` and `kept`."""
        if self.before is None:
            return "created"
        if self.after is None:
            return "deleted"
        return "kept" if self.before is self.after else "updated"

    @property
    def policy(self) -> Policy:
        """The policy after the change; before it, if the change deletes it."""
        policy = self.after or self.before
        if policy is None:
            raise ValueError("a change has a policy before it, or after it, or both")
        return policy


class PolicySet(Struct, frozen=True):
    """All policies of an owner in evaluation order, and the version that identifies this state.

    version: its owner's version token; an agent's also moves when the agent itself changes.
    """

    version: str
    policies: list[Policy]


class AppliedSet(Struct, frozen=True):
    """The set after a write, and the changes made."""

    applied: PolicySet
    changes: list[PolicyChange]


class UnknownPolicy(FieldError):
    """An entry's id belongs to none of the owner's policies."""


class KeyTaken(FieldError):
    """An entry has the key of another policy that stays."""


def require_entries(entries: Iterable[PolicyEntry], owner: Owner) -> None:
    """Raise FieldError unless each entry can be a policy of the owner."""
    seen: set[str] = set()
    keys: set[str] = set()
    for index, entry in enumerate(entries):
        path = f"policies[{index}]"
        if entry.agent_id is not None and uuid_of(entry.agent_id) != owner.agent_id:
            raise FieldError(f"{path}.agentId", "is not the owner of these policies; leave it out")
        if entry.group is not None and entry.group != owner.group:
            raise FieldError(f"{path}.group", "is not the owner of these policies; leave it out")
        if owner == WORKSPACE and entry.kind is PolicyKind.GRANT:
            message = "a policy for the whole workspace is a guardrail; a grant names an agent or a group"
            raise FieldError(f"{path}.kind", message)
        require_owner(entry.kind, owner)
        if entry.id is not None and (policy_id := uuid_of(entry.id) or "") in seen:
            raise FieldError(f"{path}.id", f"occurs twice: another entry is {policy_id}, too")
        seen.add(uuid_of(entry.id or "") or "")
        if entry.key is not None and entry.key in keys:
            raise FieldError(f"{path}.key", f'occurs twice: another entry is "{entry.key}", too')
        keys.add(entry.key or "")


def settle(
    current: Sequence[Policy], entries: Sequence[PolicyEntry], owner: Owner, *, prune: bool
) -> list[PolicyChange]:
    """The change to each policy: first the entries' in their order, then the policies without an entry.

    An entry means the policy with its id; without one, the policy with its key; without that, a policy with its name
    that has no key or, if the entry has no key, any policy with its name: if several match, one that needs no change,
    else the first in evaluation order. Policies without an entry stay, or are deleted with `prune`. A new policy has no
    id yet. Raises UnknownPolicy, KeyTaken.
    """
    left = {policy.id: policy for policy in evaluation_order(current)}
    matched = _matched(left, entries)
    changes = [
        PolicyChange(policy, new_policy(owner, entry) if policy is None else _became(policy, entry))
        for policy, entry in zip(matched, entries, strict=True)
    ]
    if not prune:
        _require_other_keys(entries, left.values())
    return changes + [PolicyChange(policy, None if prune else policy) for policy in left.values()]


def managed(entries: Iterable[PolicyEntry], source: str | None) -> list[PolicyEntry]:
    """The entries as coming from this source, whatever they say themselves; None = managed as before."""
    return [replace(entry, managed_by=source) for entry in entries]


def entries_after(changes: Iterable[PolicyChange]) -> list[PolicyEntry]:
    """Every policy after the changes, as entries of a set; existing ones carry their ids."""
    return [entry_of(change.after) for change in changes if change.after is not None]


def entry_of(policy: Policy) -> PolicyEntry:
    """The policy as an entry of a set, by its id if it has one."""
    return PolicyEntry(id=policy.id or None, **values_of(policy))


def _matched(left: dict[str, Policy], entries: Sequence[PolicyEntry]) -> list[Policy | None]:
    """The policy that each entry means, removed from those left; None for a new one."""
    matches: list[Policy | None] = [None] * len(entries)
    for index, entry in enumerate(entries):
        if entry.id is not None:
            matches[index] = left.pop(uuid_of(entry.id) or "", None)
            if matches[index] is None:
                raise UnknownPolicy(
                    f"policies[{index}].id", "is the id of no policy here; leave it out to create a new one"
                )
    by_key = {policy.key: policy for policy in left.values() if policy.key is not None}
    for index, entry in enumerate(entries):
        if entry.id is None and entry.key is not None and entry.key in by_key:
            matches[index] = left.pop(by_key[entry.key].id)
    _match_names(left, entries, matches)
    return matches


def _match_names(left: dict[str, Policy], entries: Sequence[PolicyEntry], matches: list[Policy | None]) -> None:
    """Match the remaining entries by name; each policy that one means is moved from `left` to `matches`."""
    named: dict[str, list[Policy]] = {}
    for policy in left.values():
        named.setdefault(policy.name, []).append(policy)
    for exact in (True, False):
        for index, entry in enumerate(entries):
            candidates = named.get(entry.name, [])
            if matches[index] is None and entry.id is None:
                free = [policy for policy in candidates if entry.key is None or policy.key is None]
                match = next((policy for policy in free if not exact or _became(policy, entry) is policy), None)
                if match is not None:
                    candidates.remove(match)
                    matches[index] = left.pop(match.id)


def _require_other_keys(entries: Sequence[PolicyEntry], staying: Iterable[Policy]) -> None:
    """Raise KeyTaken if an entry that names another policy by id has the key of one that stays."""
    taken = {policy.key for policy in staying}
    for index, entry in enumerate(entries):
        if entry.key is not None and entry.key in taken:
            raise KeyTaken(f"policies[{index}].key", f'another policy has the key "{entry.key}" and stays')


def _became(policy: Policy, entry: PolicyEntry) -> Policy:
    """The policy that the entry describes; the existing one if nothing differs."""
    described = replace(policy, **values_of(entry) | {"managed_by": entry.managed_by or policy.managed_by})
    # Not compared with ==: in Python, 1 == True.
    return policy if _encode(described) == _encode(policy) else described


class DivergenceCount(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many calls with one result would have had another.

    result: The actual result.
    shadow_result: The result if the shadow policies had been enforced.
    count: How many calls.
    """

    result: Result
    shadow_result: Result
    count: Count


class PolicyDivergence(Struct, frozen=True):
    """A policy, and the calls whose result it would have changed since its last change."""

    policy: Policy
    counts: tuple[DivergenceCount, ...]
