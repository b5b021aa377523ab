"""Agents and policies as they were, found by undoing changes that `snapshots.snapshots` wrote into the trail."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct
from msgspec.structs import replace

from app.model.agents import Agent, AgentFields
from app.model.changes import Change, ChangeKind, ResourceType
from app.model.ids import time_ms_of
from app.model.policies import Policy
from app.model.rules import compiles_much
from app.model.snapshots import PastPolicy
from app.model.times import parse_time_ms

_S = TypeVar("_S", Agent, Policy)


_PastAgent = defstruct(
    "_PastAgent",
    [
        (name, kind | UnsetType, UNSET)
        for name, kind in (get_type_hints(AgentFields) | {"revision": int, "created_at": str}).items()
    ],
    rename={"revision": "version", "created_at": "createdAt"},
)
"""An agent's fields as the trail keeps them; a change has only those that differ, a deletion all."""


class PastState(Generic[_S]):
    """An agent or a policy that each `undo` takes back by one change. The changes are decoded only by `get`."""

    __slots__ = ("_before", "_fields", "_state")

    def __init__(self, state: _S, fields: type[Struct]) -> None:
        self._state: _S = state
        self._fields = fields
        self._before: dict[str, Raw] = {}

    def undo(self, before: Raw) -> None:
        """Take back a change that replaced these values."""
        self._before |= msgspec.json.decode(before, type=dict[str, Raw])

    def compiles_much(self) -> bool:
        """True if `get` may have to compile more than the loop has time for."""
        return compiles_much(bytes(self._before.get("rules", b"")).decode())

    def get(self) -> _S:
        """The state after these undos, except for `updated_ms`.

        Raises MsgspecError if this release cannot read a change undone since the last `get`; the next call skips those.
        """
        if self._before:
            before, self._before = self._before, {}
            fields = msgspec.json.decode(msgspec.json.encode(before), type=self._fields)
            state: _S = replace(self._state, **_values(fields))
            self._state = state
        return self._state


def past_policy(policy: Policy) -> PastState[Policy]:
    """A policy whose changes will be undone."""
    return PastState(policy, PastPolicy)


class Past:
    """Agents and policies by id: as they are now, until changes are undone, newest first."""

    def __init__(self, agents: Iterable[Agent], policies: Iterable[Policy]) -> None:
        self.agents = {agent.id: PastState(agent, _PastAgent) for agent in agents}
        self.policies = {policy.id: past_policy(policy) for policy in policies}

    def undo(self, change: Change) -> None:
        """Take back a change of an agent or a policy. Raises KeyError if that did not exist after it."""
        if change.resource_type is ResourceType.AGENT:
            _undo(self.agents, change, _unknown_agent)
        elif change.resource_type is ResourceType.POLICY:
            _undo(self.policies, change, _unknown_policy)


def _undo(states: dict[str, PastState[_S]], change: Change, unknown: Callable[[str], PastState[_S]]) -> None:
    if change.kind is ChangeKind.CREATED:
        del states[change.resource_id]
        return
    if change.kind is ChangeKind.DELETED:
        states[change.resource_id] = unknown(change.resource_id)
    states[change.resource_id].undo(change.before)


def _unknown_agent(agent_id: str) -> PastState[Agent]:
    created_ms = time_ms_of(agent_id)
    return PastState(Agent(id=agent_id, name="", created_ms=created_ms, updated_ms=created_ms, version=""), _PastAgent)


def _unknown_policy(policy_id: str) -> PastState[Policy]:
    created_ms = time_ms_of(policy_id)
    return past_policy(Policy(id=policy_id, name="", rules=(), created_ms=created_ms, updated_ms=created_ms, version=1))


def _values(fields: Struct) -> dict[str, Any]:
    values = {name: value for name in fields.__struct_fields__ if (value := getattr(fields, name)) is not UNSET}
    created_at = values.pop("created_at", None)
    return values if created_at is None else {**values, "created_ms": parse_time_ms(created_at)}
