"""The policies that governed each agent when an entry was made: today's policies with later changes undone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct

from app.model.agents import Agent, AgentStatus
from app.model.changes import Change, ResourceType
from app.model.marks import shared_marks
from app.model.past_states import Past, PastState
from app.model.policies import WORKSPACE, Owner, Policy, off_in_shadow
from app.replay.spans import EVER, LogPosition, Since, Span, counting_rules, order_of, since_of

_T = TypeVar("_T")
_S = TypeVar("_S", Agent, Policy)
_Versions = list[tuple[Since, _T | None]]


class _Status(Struct):
    """An agent's status as the trail keeps it, if it changed."""

    status: AgentStatus | None = None


class History:
    """Every version of the policies and of the agents' groups, as far back as the changes go.

    agents, policies: as they are now. changes: newest first, as far back as the replay goes.
    """

    def __init__(self, agents: Iterable[Agent], policies: Iterable[Policy], changes: Iterable[Change]) -> None:
        # Newest first while the lists are built; None = it does not exist.
        self._groups: dict[str, _Versions[tuple[str, ...]]] = defaultdict(list)
        self._versions: dict[str, _Versions[Policy]] = defaultdict(list)
        self._resumed: list[tuple[Since, str]] = []
        self._tripped: dict[str, list[tuple[Since, bool]]] = defaultdict(list)
        self._known_since = EVER
        past = Past(agents, policies)
        for change in changes:
            since = since_of(change)
            try:
                if change.resource_type is ResourceType.AGENT:
                    self._undo_agent(change, past, since)
                elif change.resource_type is ResourceType.POLICY:
                    self._undo_policy(change, past, since)
            except (msgspec.MsgspecError, KeyError, ValueError):
                self._known_since = since  # this release cannot read how the older state was recorded
                break
        for agent_id, agent in past.agents.items():
            self._groups[agent_id].append((EVER, agent.get().groups))
        for policy_id, policy in past.policies.items():
            self._versions[policy_id].append((EVER, policy.get()))
        self._owned: dict[Owner, list[str]] = defaultdict(list)
        for policy_id, versions in self._versions.items():
            # A policy in shadow mode changed no answer and took nothing from other policies' limits.
            versions[:] = [(since, policy and off_in_shadow(policy)) for since, policy in versions]
            for owner in {policy.owner for _, policy in versions if policy is not None}:
                self._owned[owner].append(policy_id)
            versions.reverse()
        for groups in self._groups.values():
            groups.reverse()
        self._marking = [
            policy_id
            for policy_id, versions in self._versions.items()
            if any(shared_marks(policy) for _, policy in versions)
        ]

    def policies(self) -> Iterable[Policy]:
        """Every version of every policy."""
        return (policy for versions in self._versions.values() for _, policy in versions if policy is not None)

    def policies_at(self, entry: LogPosition) -> list[Policy]:
        """Every policy that existed when the entry was made."""
        policies = (_at(versions, entry) for versions in self._versions.values())
        return [policy for policy in policies if policy is not None]

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

    def tripped(self, agent_id: str, entry: LogPosition) -> Since | None:
        """The time since which a breaker had suspended the agent when the entry was made; None if none had."""
        for since, by_breaker in self._tripped.get(agent_id, ()):
            if since.holds_for(entry):
                return since if by_breaker else None
        return None

    def span(self, agent_id: str, entry: LogPosition) -> Span:
        """The policies that governed the agent when the entry was made, and the span in which they did."""
        known_since = self._known_since
        if not known_since.holds_for(entry):
            return Span(EVER, known_since, (), None)
        bounds = self._bounds(agent_id)
        since = max((each for each in bounds if each.holds_for(entry)), key=order_of, default=known_since)
        until = min((each for each in bounds if not each.holds_for(entry)), key=order_of, default=None)
        groups = _at(self._groups.get(agent_id, []), entry)
        if groups is None:
            return Span(since, until, (), None)
        governing = (_at(self._versions[policy_id], entry) for policy_id in self._governing(agent_id, groups))
        marking = (_at(self._versions[policy_id], entry) for policy_id in self._marking)
        return Span(since, until, groups, _existing(governing), _existing(marking))

    def _bounds(self, agent_id: str) -> list[Since]:
        groups = self._groups.get(agent_id, [])
        ever = {name for _, names in groups if names is not None for name in names}
        policies = self._governing(agent_id, ever)
        bounds = {since for since, _ in groups} | {
            since for each in (*policies, *self._marking) for since, _ in self._versions[each]
        }
        return [each for each in bounds if self._known_since.time_ms <= each.time_ms] or [self._known_since]

    def _governing(self, agent_id: str, groups: Iterable[str]) -> list[str]:
        owners = [Owner(agent_id), WORKSPACE, *(Owner(group=name) for name in groups)]
        return [policy_id for owner in owners for policy_id in self._owned.get(owner, ())]

    def _undo_agent(self, change: Change, past: Past, since: Since) -> None:
        agent_id = change.resource_id
        now = _state(past.agents, agent_id)
        past.undo(change)
        was = _state(past.agents, agent_id)
        groups_now, groups_then = (agent.groups if agent else None for agent in (now, was))
        if groups_now != groups_then:
            self._groups[agent_id].append((since, groups_now))
        if was is None:
            self._groups[agent_id].append((EVER, None))
        if now is None or was is None:
            return
        status = msgspec.json.decode(change.after, type=_Status).status
        if status is not None:
            self._tripped[agent_id].append((since, change.tripped is not UNSET))
        if status is AgentStatus.ACTIVE:
            self._resumed.append((since, agent_id))

    def _undo_policy(self, change: Change, past: Past, since: Since) -> None:
        policy_id = change.resource_id
        versions = self._versions[policy_id]
        versions.append((since, _state(past.policies, policy_id)))
        past.undo(change)
        if _state(past.policies, policy_id) is None:
            versions.append((EVER, None))


def _state(states: Mapping[str, PastState[_S]], resource_id: str) -> _S | None:
    """The resource at that point of the undoing; None if it did not exist then."""
    return states[resource_id].get() if resource_id in states else None


def _existing(policies: Iterable[Policy | None]) -> tuple[Policy, ...]:
    return tuple(policy for policy in policies if policy is not None)


def _at(versions: _Versions[_T], entry: LogPosition) -> _T | None:
    return next((version for since, version in reversed(versions) if since.holds_for(entry)), None)
