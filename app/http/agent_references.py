"""Agents in requests: named by id or by alias."""

from functools import lru_cache

from app.errors import AgentNotFound, Invalid
from app.http.paths import name_in_path
from app.http.queries import Query
from app.model.agents import ALIAS_RULES, MAX_ALIAS, is_alias
from app.model.api_keys import Caller
from app.model.ids import canonical_uuid
from app.model.text import FieldError, require_visible
from app.replica import Services

REFERENCE_RULES = f"must be an agent's id, a UUID, or its alias, {ALIAS_RULES}"


def agent_reference(given: str) -> str | None:
    """The agent's id in canonical form, or its alias; None if the string can be neither."""
    return _reference(given) if len(given) <= MAX_ALIAS else None  # longer ones are not worth the memory


@lru_cache(maxsize=4096)
def _reference(given: str) -> str | None:
    return canonical_uuid(given) or (given if is_alias(given) else None)


def require_references(agent_id: str | None, group: str | None) -> None:
    """Raise FieldError unless a body may name this agent and this group."""
    if agent_id is not None and agent_reference(agent_id) is None:
        raise FieldError("agent_id", REFERENCE_RULES)
    if group is not None:
        require_visible("group", group)


async def agent_in_path(services: Services, caller: Caller, given: str) -> str:
    """The id of the agent that a path names. Raises AgentNotFound."""
    called = agent_reference(name_in_path(given))
    if called is None:
        raise AgentNotFound("No agent has this id or alias")
    return await services.agents.id_of(caller.workspace_id, called)


async def agent_in_query(services: Services, caller: Caller, query: Query) -> str | None:
    """The id of the agent that the parameter agent_id names; None without it. Raises Invalid, AgentNotFound."""
    called = reference_in_query(query)
    return None if called is None else await services.agents.id_of(caller.workspace_id, called)


def reference_in_query(query: Query) -> str | None:
    """The id or alias in the parameter agent_id; None without it. Raises Invalid."""
    given = query.given("agent_id")
    called = None if given is None else agent_reference(given)
    if given is not None and called is None:
        raise Invalid.at("agent_id", REFERENCE_RULES)
    return called
