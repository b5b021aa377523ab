"""What paths and queries name: agents by id or alias, policies by id or key. A path has exactly one accepted spelling,
so a proxy that checks it and the router that serves it agree.
"""

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from app.authorize.authorizer import BOUND_ELSEWHERE
from app.errors import AgentNotFound, AppError, InsufficientScope, PolicyNotFound
from app.model.agents import REFERENCE_RULES, agent_reference
from app.model.api_keys import Caller, Scope
from app.model.ids import uuid_of
from app.model.policies import WORKSPACE, Owner
from app.model.policy_keys import is_key
from app.model.query_fields import AgentFilter, QueryFields
from app.model.text import FieldError, Name, require_visible
from app.replica import Records

_QueryT = TypeVar("_QueryT", bound=QueryFields)
_ENCODED_SLASHES = (b"%2f", b"%5c")
_CALLED_BY_NAME = (b"/v1/agents/", b"/v1/groups/", b"/v1/catalog/tool/", b"/v1/sessions/")
"""The segment after these may be an agent's alias, a group, a tool or a session, which may contain a slash, written
`%2F`, so that it stays one segment.
"""
_SLASH = "%2F"
_READ_AGENTS = (Scope.READ, Scope.VIEW, Scope.POLICIES)


_MAY_END_SO = ("/", "/console/")
"""The page of the console, which people type, may end with a slash; it checks nothing and shows nothing."""


def served_path(path: str, raw_path: bytes) -> str | None:
    """The path for the router, or None if no path may be written so: an empty or dot segment, a hidden or last slash.

    The router would merge slashes and a proxy resolve dots, so a check made before either would see another path. A
    slash in the name of an agent, a group, a tool or a session stays `%2F`, and nothing else decodes to that.
    path: decoded once. raw_path: as it was sent.
    """
    if not path.startswith("/") or "//" in path or "\\" in path or (path.endswith("/") and path not in _MAY_END_SO):
        return None
    if "/." in path and not {".", ".."}.isdisjoint(path.split("/")):
        return None
    if b"%" not in raw_path:
        return path
    if _SLASH in path:  # sent as %252F, which would be a second spelling of the name kept below
        return None
    if not any(each in raw_path.lower() for each in _ENCODED_SLASHES):
        return path
    return _with_slash_kept(path, raw_path)


def _with_slash_kept(path: str, raw_path: bytes) -> str | None:
    """The path with the name as one segment; None if an encoded slash occurs anywhere else."""
    before = next((each for each in _CALLED_BY_NAME if raw_path.startswith(each)), None)
    if before is None:
        return None
    name, slash, rest = raw_path.removeprefix(before).partition(b"/")
    if any(each in rest.lower() for each in _ENCODED_SLASHES) or b"%5c" in name.lower():
        return None
    start = len(before)
    # Any other percent-encoding is decoded in `path`, which has as many slashes after the name as `raw_path`.
    called = path[start:] if not slash else path[start:].rsplit("/", rest.count(b"/") + 1)[0]
    return f"{path[:start]}{called.replace('/', _SLASH)}{path[start + len(called) :]}"


def id_in_path(given: str, missing: AppError) -> str:
    """The id in lower case. Raises `missing` if it is not an id."""
    uuid = uuid_of(given)
    if uuid is None:
        raise missing
    return uuid


def name_in_path(given: str) -> str:
    """An alias or other name, with `%2F` decoded."""
    return given.replace(_SLASH, "/")


def require_references(agent_id: str | None, group: str | None) -> None:
    """Raise FieldError unless a body may name this agent, or this group, or neither."""
    if agent_id is not None and group is not None:
        raise FieldError("group", "give agent_id or group, not both")
    if agent_id is not None and agent_reference(agent_id) is None:
        raise FieldError("agent_id", REFERENCE_RULES)
    if group is not None:
        require_visible("group", group)


async def agent_in_path(records: Records, caller: Caller, given: str) -> str:
    """The id of the agent that a path names. Raises AgentNotFound."""
    called = agent_reference(name_in_path(given))
    if called is None:
        raise AgentNotFound("No agent has this id or alias")
    return await records.agents.id_of(caller.workspace_id, called)


async def agent_in_body(records: Records, caller: Caller, given: str | None) -> str | None:
    """The id of the agent that a body names; None if it names none. Raises AgentNotFound."""
    called = None if given is None else agent_reference(given)
    return None if called is None else await records.agents.id_of(caller.workspace_id, called)


async def agents_named(records: Records, caller: Caller, given: Iterable[str]) -> list[str]:
    """The ids of the agents that a body lists by id or alias, each once. Raises AgentNotFound."""
    called = [agent_reference(each) or each for each in given]
    return list(dict.fromkeys([await records.agents.id_of(caller.workspace_id, each) for each in called]))


async def asked_about(records: Records, caller: Caller, given: str) -> str:
    """The id of the agent that a path names, if the key may ask what this agent may call.

    Raises AgentNotFound; InsufficientScope for a key that reads no agents and is bound to others.
    """
    reads_all = caller.has_any(_READ_AGENTS)
    try:
        agent_id = await agent_in_path(records, caller, given)
    except AgentNotFound:
        if reads_all or caller.asks_for_all:
            raise
        raise InsufficientScope(BOUND_ELSEWHERE) from None
    if not reads_all and not caller.may_ask_for(agent_id):
        raise InsufficientScope(BOUND_ELSEWHERE)
    return agent_id


async def with_agent_id(records: Records, caller: Caller, query: _QueryT) -> _QueryT:
    """The query with the id of the agent that it names, if it names one. Raises AgentNotFound."""
    called = getattr(query, "agent_id", None)
    return query if called is None else replace(query, agent_id=await records.agents.id_of(caller.workspace_id, called))


class PolicyOwner(QueryFields, frozen=True):
    """The owner of a policy that a path names.

    agent_id: The agent that owns the policy; needed if it is named by its key.
    group: The group that owns the policy; if neither is given, the workspace owns it.
    """

    agent_id: AgentFilter | None = None
    group: Name | None = None


async def policy_in_path(records: Records, caller: Caller, query: PolicyOwner, given: str) -> str:
    """The id of the policy that a path names, by its id or by the key it has among its owner's policies.

    The query names the owner: agent_id, group, or neither for the workspace. Raises PolicyNotFound, AgentNotFound.
    """
    named = await with_agent_id(records, caller, query)
    agent_id, group = named.agent_id, named.group
    policy_id = uuid_of(given)
    if policy_id is None and is_key(given) and None in (agent_id, group):
        return await records.policies.id_of(caller.workspace_id, given, Owner(agent_id, group))
    if policy_id is None or (agent_id is not None and group is not None):
        raise PolicyNotFound("No policy has this id or key")
    if (owner := Owner(agent_id, group)) != WORKSPACE:
        policy = await records.policies.get(caller.workspace_id, policy_id)
        if policy.owner != owner:
            raise PolicyNotFound("No policy has this id or key")
    return policy_id
