"""Policies in paths: named by id, or by key and owner."""

from typing import Any

from litestar import Request

from app.errors import PolicyNotFound
from app.http.agent_references import agent_in_query
from app.http.queries import Query
from app.model.api_keys import Caller
from app.model.ids import canonical_uuid
from app.model.policies import WORKSPACE, Owner
from app.model.policy_keys import is_key
from app.replica import Services

OWNER = ("agent_id", "group")
OWNER_ALIASES = {"agentId": "agent_id"}


async def policy_in_path(
    services: Services, caller: Caller, request: Request[Any, Any, Any], given: str, *more: str
) -> str:
    """The id of the policy that a path names, by its id or by the key it has among its owner's policies.

    The query names the owner: agent_id, group, or neither for the workspace. Raises PolicyNotFound, AgentNotFound,
    Invalid. more: further parameters that the query may have.
    """
    query = Query(request, known=(*OWNER, *more), aliases=OWNER_ALIASES)
    agent_id, group = await agent_in_query(services, caller, query), query.text("group")
    policy_id = canonical_uuid(given)
    if policy_id is None and is_key(given) and None in (agent_id, group):
        return await services.policies.id_of(caller.workspace_id, given, Owner(agent_id, group))
    if policy_id is None or (agent_id is not None and group is not None):
        raise PolicyNotFound("No policy has this id or key")
    if (owner := Owner(agent_id, group)) != WORKSPACE:
        policy = await services.policies.get(caller.workspace_id, policy_id)
        if policy.owner != owner:
            raise PolicyNotFound("No policy has this id or key")
    return policy_id
