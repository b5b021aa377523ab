"""Find records by id or by a unique name; agents also by alias, keys also by their first characters."""

from typing import Any

from app.cli.api import Api, segment
from app.errors import AgentNotFound, ApiKeyNotFound, Invalid, PolicyNotFound
from app.model.agents import agent_reference
from app.model.ids import uuid_of

_KEY_TYPE = "svc_"
_SHOWN = 5


def find_agent(api: Api, called: str) -> dict[str, Any]:
    """The agent with this id, this alias or, if only one has it, this name. Raises AgentNotFound, Invalid, Refused."""
    if (agent_id := uuid_of(called)) is not None:
        found: dict[str, Any] = api.get(f"/v1/agents/{agent_id}")
        return found
    agents = api.get("/v1/agents", alias=called) if agent_reference(called) is not None else []
    one = _only(agents or api.get("/v1/agents", name=called), f'agents are called "{called}"')
    if one is None:
        raise AgentNotFound(f'No agent is called "{called}"; `remit agents list` shows all of them')
    return one


def find_agent_id(api: Api, called: str) -> str:
    """The id of the agent that `find_agent` finds; an id is returned unchanged, whether or not the agent exists."""
    return uuid_of(called) or str(find_agent(api, called)["id"])


def agent_path(api: Api, called: str) -> str:
    """The path of the agent that `find_agent` finds."""
    return f"/v1/agents/{find_agent_id(api, called)}"


def find_policy(api: Api, called: str, agent: str | None = None, group: str | None = None) -> dict[str, Any]:
    """The policy with this id or, if only one has it, this key or else this name.

    agent, group: search only the policies of this agent or group. Raises PolicyNotFound, Invalid, Refused.
    """
    if (policy_id := uuid_of(called)) is not None:
        found: dict[str, Any] = api.get(f"/v1/policies/{policy_id}")
        return found
    agent_id = None if agent is None else find_agent_id(api, agent)
    policies = api.get("/v1/policies", agent_id=agent_id, group=group)
    for field in ("key", "name"):
        meant = [each for each in policies if each[field] == called]
        one = _only(meant, f'policies are called "{called}"')
        if one is not None:
            return one
    raise PolicyNotFound(f'No policy is called "{called}"; `remit policies list` shows all of them')


def find_key(api: Api, called: str) -> dict[str, Any]:
    """The key with this id, with these first characters (`svc_1f3a…`) or, if only one has it, this name.

    Raises ApiKeyNotFound, Invalid, Refused.
    """
    prefix, key_id = called.rstrip("…"), uuid_of(called)

    def is_meant(key: dict[str, Any]) -> bool:
        if key_id is not None:
            return bool(key["id"] == key_id)
        begins = prefix.startswith(_KEY_TYPE) and len(prefix) > len(_KEY_TYPE) and key["prefix"].startswith(prefix)
        return begins or bool(key["name"] == called)

    found = _only([*filter(is_meant, api.get("/v1/api-keys"))], f'keys are called "{called}" or begin so')
    if found is None:
        sentence = f'No API key has the id, beginning or name "{called}"; `remit keys list` shows all of them'
        raise ApiKeyNotFound(sentence)
    return found


def tool_path(tool: str) -> str:
    """The path of a tool of the catalogue."""
    return f"/v1/catalog/tool/{segment(tool)}"


def _only(found: list[dict[str, Any]], many: str) -> dict[str, Any] | None:
    if len(found) > 1:
        shown = ", ".join(one["id"] for one in found[:_SHOWN])
        raise Invalid(f"{len(found)} {many}; say which by its id: {shown}{', …' if len(found) > _SHOWN else ''}")
    return found[0] if found else None
