"""Find records by id or by a unique name; agents also by alias, keys also by their first characters."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, TypeVar

from app.errors import AgentNotFound, ApiKeyNotFound, Invalid, PolicyNotFound
from app.model.agents import Agent
from app.model.api_keys import KEY_TYPE, ApiKey
from app.model.ids import canonical_uuid

if TYPE_CHECKING:
    from app.model.policies import Policy
    from app.replica import Services

T = TypeVar("T", Agent, ApiKey, "Policy")
_SHOWN = 5


async def find_agent(services: "Services", workspace_id: str, called: str) -> Agent:
    """The agent with this id, this alias or, if only one has it, this name. Raises AgentNotFound, Invalid."""
    if (agent_id := canonical_uuid(called)) is not None:
        return await services.records.agents.get(workspace_id, agent_id)
    async for agent in services.records.agents.each(workspace_id, alias=called):
        return agent
    agents = services.records.agents.each(workspace_id)
    found = await _only(agents, lambda agent: agent.name == called, f'agents are called "{called}"')
    if found is None:
        raise AgentNotFound(f'No agent is called "{called}"; `remit agents list` shows all of them')
    return found


async def find_agent_id(services: "Services", workspace_id: str, called: str) -> str:
    """The id of the agent that `find_agent` finds; an id is returned unchanged, whether or not the agent exists."""
    return canonical_uuid(called) or (await find_agent(services, workspace_id, called)).id


async def find_policy(
    services: "Services", workspace_id: str, called: str, agent: str | None = None, group: str | None = None
) -> "Policy":
    """The policy with this id or, if only one has it, this key or else this name. Raises PolicyNotFound, Invalid.

    agent, group: search only the policies of this agent or group.
    """
    if (policy_id := canonical_uuid(called)) is not None:
        return await services.records.policies.get(workspace_id, policy_id)
    from app.model.policies import owner_or_none

    agent_id = None if agent is None else await find_agent_id(services, workspace_id, agent)
    for is_meant in (lambda policy: policy.key == called, lambda policy: policy.name == called):
        policies = services.records.policies.each(workspace_id, owner_or_none(agent_id, group))
        found: Policy | None = await _only(policies, is_meant, f'policies are called "{called}"')
        if found is not None:
            return found
    raise PolicyNotFound(f'No policy is called "{called}"; `remit policies list` shows all of them')


async def find_key(services: "Services", workspace_id: str, called: str) -> ApiKey:
    """The key with this id, with these first characters (`svc_1f3a…`) or, if only one has it, this name.

    Raises ApiKeyNotFound, Invalid.
    """
    prefix = called.rstrip("…")

    def is_meant(key: ApiKey) -> bool:
        if canonical_uuid(called) is not None:
            return key.id == canonical_uuid(called)
        begins = prefix.startswith(KEY_TYPE) and len(prefix) > len(KEY_TYPE) and key.prefix.startswith(prefix)
        return begins or key.name == called

    found = await _only(
        services.records.api_keys.each(workspace_id), is_meant, f'keys are called "{called}" or begin so'
    )
    if found is None:
        sentence = f'No API key has the id, beginning or name "{called}"; `remit keys list` shows all of them'
        raise ApiKeyNotFound(sentence)
    return found


async def _only(each: AsyncIterator[T], is_meant: Callable[[T], bool], many: str) -> T | None:
    found = [one async for one in each if is_meant(one)]
    if len(found) > 1:
        shown = ", ".join(one.id for one in found[:_SHOWN])
        raise Invalid(f"{len(found)} {many}; say which by its id: {shown}{', …' if len(found) > _SHOWN else ''}")
    return found[0] if found else None
