"""Workspaces for benchmarks: keys, agents and policies, created through the store's own classes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.api_keys import Scope
from app.model.policies import Owner, PolicyFields, PolicyKind, PolicyMode
from app.model.rules import PolicyRule
from app.replica import Services, open_alone
from app.settings import Settings
from bench.harness.closed_loop import Call

PATH = "/v1/authorize"
TOOL = "payments.refund"
ENOUGH = {"maxCalls": 1_000_000, "windowSeconds": 10}
"""A quota so large that no benchmark fills it, although every decision counts in it."""
HOT_RULES = [
    {
        "type": "parameter_constraint",
        "tools": ["payments.*"],
        "parameters": {"amount": {"min": 0, "max": 500}, "currency": {"regex": "^[A-Z]{3}$"}},
    },
    {"type": "rate_limit", "tools": ["payments.*"], "rateLimit": ENOUGH},
]
"""Two conditions on one tool and one quota."""

Made = TypeVar("Made")


class Place(Struct, frozen=True):
    """An agent, and the key that asks for its decisions."""

    workspace_id: str
    raw_key: str
    agent_id: str
    policy_ids: tuple[str, ...]
    admin_key: str


class PolicySketch(Struct, frozen=True):
    """A policy to create."""

    rules: Sequence[dict[str, Any]]
    priority: int = 0
    kind: PolicyKind = PolicyKind.GRANT
    mode: PolicyMode = PolicyMode.ENFORCE


def populate(store_url: str, make: Callable[[Services], Awaitable[Made]]) -> Made:
    """The result of `make`, called with a replica's services on this store."""

    async def run() -> Made:
        async with open_alone(Settings(redis_url=store_url, store_timeout_ms=10_000)) as services:
            return await make(services)

    return asyncio.run(run())


def make_place(store_url: str, name: str, policies: Sequence[PolicySketch]) -> Place:
    """A workspace with one agent that has these policies; asked with a read key, as a PEP would."""

    async def make(services: Services) -> Place:
        workspace_id, admin_key = await services.records.workspaces.create(name)
        _, raw_key = await services.records.api_keys.create(
            workspace_id, "pep", (Scope.READ,), by=ChangedBy(COMMAND_LINE)
        )
        agent_id, policy_ids = await add_agent(services, workspace_id, policies)
        return Place(workspace_id, raw_key, agent_id, policy_ids, admin_key)

    return populate(store_url, make)


def hot_place(store_url: str, name: str = "hot") -> Place:
    """One agent with one policy, which allows `hot_call`."""
    return make_place(store_url, name, [PolicySketch(HOT_RULES)])


def hot_call(place: Place) -> Call:
    """A call that satisfies both conditions and takes one quota."""
    return authorize_call(place.raw_key, place.agent_id, TOOL)


def authorize_call(raw_key: str, agent_id: str, tool: str) -> Call:
    """A call of a tool with the parameters of a refund; about 180 bytes of body."""
    body = {
        "agent_id": agent_id,
        "tool_name": tool,
        "action": "call",
        "parameters": {"amount": 120, "currency": "EUR", "order": "A-10293", "note": "damaged on arrival"},
    }
    return Call(PATH, msgspec.json.encode(body), raw_key)


async def add_agent(
    services: Services, workspace_id: str, policies: Iterable[PolicySketch]
) -> tuple[str, tuple[str, ...]]:
    """Create an agent; return its id and its policies' ids."""
    agent = await services.records.agents.create(workspace_id, "benchmark", None, by=ChangedBy(COMMAND_LINE))
    made = [
        await services.records.policies.create(
            workspace_id,
            Owner(agent.id),
            PolicyFields(
                name=f"policy {number}",
                rules=rules_of(sketch.rules),
                priority=sketch.priority,
                kind=sketch.kind,
                mode=sketch.mode,
            ),
            by=ChangedBy(COMMAND_LINE),
        )
        for number, sketch in enumerate(policies)
    ]
    return agent.id, tuple(policy.id for policy in made)


def rules_of(rules: Sequence[dict[str, Any]]) -> tuple[PolicyRule, ...]:
    """Rules as they stand in a request body."""
    return msgspec.convert(rules, tuple[PolicyRule, ...])
