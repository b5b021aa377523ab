"""Which policies governed each agent when an entry was made: today's policies with later changes undone.

`store/policy_history.py` does the same for one agent, from records that it decodes only when needed; a test compares
the two.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from app.model.agents import Agent, AgentStatus
from app.model.changes import Change, ChangeKind, ResourceType
from app.model.ids import time_ms_of
from app.model.marks import shared_marks
from app.model.policies import Policy, PolicyKind, PolicyMode, off_in_shadow
from app.model.rules import PolicyRule
from app.model.times import parse_time_ms
from app.replay.counted import counting_rules
from app.replay.spans import EVER, Place, Since, Span, order_of

_T = TypeVar("_T")
_Versions = list[tuple[Since, _T | None]]


class _Fields(Struct, rename="camel"):
    """A policy's fields as the trail keeps them; a change has only those that differ."""

    agent_id: str | None = None
    group: str | None = None
    kind: PolicyKind | None = None
    name: str | None = None
    rules: tuple[PolicyRule, ...] | None = None
    priority: int | None = None
    enabled: bool | None = None
    mode: PolicyMode | None = None
    version: int = 1
    created_at: str | None = None


class _Groups(Struct):
    """An agent's groups as the trail keeps them."""

    groups: tuple[str, ...] | None = None


class _Status(Struct):
    """An agent's status as the trail keeps it, if it changed."""

    status: AgentStatus | None = None


class History:
    """Every version of the policies and of the agents' groups, as far back as the changes go.

    agents, policies: as they are now. changes: newest first, as far back as the replay goes.
    """

    def __init__(self, agents: Iterable[Agent], policies: Iterable[Policy], changes: Iterable[Change]) -> None:
        # Newest first while they are built; None = it does not exist.
        self._groups: dict[str, _Versions[tuple[str, ...]]] = defaultdict(list)
        self._versions: dict[str, _Versions[Policy]] = defaultdict(list)
        self._resumed: list[tuple[Since, str]] = []
        self._tripped: dict[str, list[tuple[Since, bool]]] = defaultdict(list)
        self._known_since = EVER
        groups: dict[str, tuple[str, ...]] = {agent.id: agent.groups for agent in agents}
        held = {policy.id: policy for policy in policies}
        for change in changes:
            since = Since(parse_time_ms(change.timestamp), None if change.sequence is UNSET else change.sequence)
            try:
                if change.resource_type is ResourceType.AGENT:
                    self._undo_agent(change, groups, since)
                elif change.resource_type is ResourceType.POLICY:
                    self._undo_policy(change, held, since)
            except (msgspec.MsgspecError, KeyError, ValueError):
                self._known_since = since  # this release cannot read how the older state was recorded
                break
        for agent_id, names in groups.items():
            self._groups[agent_id].append((EVER, names))
        for policy in held.values():
            self._versions[policy.id].append((EVER, policy))
        self._owned: dict[tuple[str, str], list[str]] = defaultdict(list)
        for policy_id, versions in self._versions.items():
            # A policy in shadow mode changed no answer and took from no other policy's limit.
            versions[:] = [(since, policy and off_in_shadow(policy)) for since, policy in versions]
            owner = next(policy for _, policy in versions if policy is not None)
            self._owned[owner_of(owner)].append(policy_id)
            versions.reverse()
        for known in self._groups.values():
            known.reverse()
        self._marking = [
            policy_id
            for policy_id, versions in self._versions.items()
            if any(shared_marks(held) for _, held in versions)
        ]

    def policies(self) -> Iterable[Policy]:
        """Every version of every policy."""
        return (policy for versions in self._versions.values() for _, policy in versions if policy is not None)

    def policies_at(self, entry: Place) -> list[Policy]:
        """Every policy that existed when the entry was made."""
        found = (_at(versions, entry) for versions in self._versions.values())
        return [policy for policy in found if policy is not None]

    def drops(self) -> list[tuple[Since, str, str]]:
        """When policies lost a limit and its counts, with policy id and fingerprint; oldest first."""
        lost = []
        for policy_id, versions in self._versions.items():
            for (_, old), (since, new) in pairwise(versions):
                gone = counting_rules(old) - counting_rules(new)
                lost += [(since, policy_id, fingerprint) for fingerprint in gone]
        return sorted(lost, key=lambda each: order_of(each[0]))

    def resumed(self) -> list[tuple[Since, str]]:
        """When agents were made active again, with their ids; oldest first."""
        return sorted(self._resumed, key=lambda each: order_of(each[0]))

    def tripped(self, agent_id: str, entry: Place) -> Since | None:
        """Since when a breaker had suspended the agent at the time of the entry; None if none had."""
        for since, by_breaker in self._tripped.get(agent_id, ()):
            if since.holds_for(entry):
                return since if by_breaker else None
        return None

    def span(self, agent_id: str, entry: Place) -> Span:
        """The policies that governed the agent when the entry was made, and since and until when they did."""
        known = self._known_since
        if not known.holds_for(entry):
            return Span(EVER, known, (), None)
        bounds = self._bounds(agent_id)
        since = max((each for each in bounds if each.holds_for(entry)), key=order_of, default=known)
        until = min((each for each in bounds if not each.holds_for(entry)), key=order_of, default=None)
        groups = _at(self._groups.get(agent_id, []), entry)
        if groups is None:
            return Span(since, until, (), None)
        found = (_at(self._versions[policy_id], entry) for policy_id in self._governing(agent_id, groups))
        marking = (_at(self._versions[policy_id], entry) for policy_id in self._marking)
        return Span(since, until, groups, _existing(found), _existing(marking))

    def _bounds(self, agent_id: str) -> list[Since]:
        known = self._groups.get(agent_id, [])
        ever = {name for _, names in known if names is not None for name in names}
        policies = self._governing(agent_id, ever)
        bounds = {since for since, _ in known} | {
            since for each in (*policies, *self._marking) for since, _ in self._versions[each]
        }
        return [each for each in bounds if self._known_since.time_ms <= each.time_ms] or [self._known_since]

    def _governing(self, agent_id: str, groups: Iterable[str]) -> list[str]:
        owners = [("agent", agent_id), ("workspace", ""), *(("group", name) for name in groups)]
        return [policy_id for owner in owners for policy_id in self._owned.get(owner, ())]

    def _undo_agent(self, change: Change, groups: dict[str, tuple[str, ...]], since: Since) -> None:
        agent_id = change.resource_id
        if change.kind is ChangeKind.DELETED:
            self._groups[agent_id].append((since, None))
            groups[agent_id] = msgspec.json.decode(change.before, type=_Groups).groups or ()
            return
        if change.kind is ChangeKind.CREATED:
            self._groups[agent_id] += ((since, groups.pop(agent_id, ())), (EVER, None))
            return
        status = msgspec.json.decode(change.after, type=_Status).status
        if status is not None:
            self._tripped[agent_id].append((since, change.tripped is not UNSET))
        if status is AgentStatus.ACTIVE:
            self._resumed.append((since, agent_id))
        before = msgspec.json.decode(change.before, type=_Groups).groups
        if before is not None:
            self._groups[agent_id].append((since, groups[agent_id]))
            groups[agent_id] = before

    def _undo_policy(self, change: Change, held: dict[str, Policy], since: Since) -> None:
        policy_id = change.resource_id
        versions = self._versions[policy_id]
        if change.kind is ChangeKind.DELETED:
            versions.append((since, None))
            held[policy_id] = _policy(policy_id, msgspec.json.decode(change.before, type=_Fields))
            return
        if change.kind is ChangeKind.CREATED:
            versions += ((since, held.pop(policy_id)), (EVER, None))
            return
        now = held[policy_id]
        versions.append((since, now))
        held[policy_id] = _undone(now, msgspec.json.decode(change.before, type=_Fields))


def owner_of(policy: Policy) -> tuple[str, str]:
    """The owner of a policy: an agent, a group, or the whole workspace."""
    if policy.agent_id is not None:
        return "agent", policy.agent_id
    return ("workspace", "") if policy.group is None else ("group", policy.group)


def _existing(policies: Iterable[Policy | None]) -> tuple[Policy, ...]:
    return tuple(policy for policy in policies if policy is not None)


def _at(versions: _Versions[_T], entry: Place) -> _T | None:
    return next((held for since, held in reversed(versions) if since.holds_for(entry)), None)


def _policy(policy_id: str, fields: _Fields) -> Policy:
    """A deleted policy, as the trail keeps it."""
    return Policy(
        id=policy_id,
        agent_id=fields.agent_id,
        group=fields.group,
        kind=fields.kind or PolicyKind.GRANT,
        name=fields.name or "",
        rules=fields.rules or (),
        priority=fields.priority or 0,
        enabled=fields.enabled is not False,
        mode=fields.mode or PolicyMode.ENFORCE,
        created_ms=time_ms_of(policy_id) if fields.created_at is None else parse_time_ms(fields.created_at),
        updated_ms=0,
        version=fields.version,
    )


def _undone(policy: Policy, before: _Fields) -> Policy:
    return replace(
        policy,
        kind=before.kind or policy.kind,
        name=policy.name if before.name is None else before.name,
        rules=policy.rules if before.rules is None else before.rules,
        priority=policy.priority if before.priority is None else before.priority,
        enabled=policy.enabled if before.enabled is None else before.enabled,
        mode=before.mode or policy.mode,
        version=before.version,
    )
