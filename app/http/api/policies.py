"""/v1/policies."""

from typing import Any, ClassVar

from litestar import Request, Response, delete, get, patch, post
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath, JSONBody

from app.http.agent_references import agent_in_query, agent_reference, require_references
from app.http.authentication import requires
from app.http.bodies import Body, camel_aliases
from app.http.etag import version_header
from app.http.json_array import answer_list
from app.http.litestar_bodies import BodyDTO
from app.http.policy_references import OWNER, OWNER_ALIASES, policy_in_path
from app.http.policy_warnings import STRICT, accepted_warnings, is_strict
from app.http.queries import Query
from app.lint import PolicyWarning
from app.model.actors import ChangedBy
from app.model.agents import AgentRef, GroupName
from app.model.api_keys import Caller, Scope
from app.model.new_policy_checks import require_writable_fields
from app.model.policies import (
    Owner,
    Policy,
    PolicyChanges,
    PolicyFields,
    PolicyKind,
    is_empty,
    new_policy,
    owner_or_none,
    require_kind,
    require_owner,
    with_changes,
)
from app.model.policy_keys import MAX_KEY
from app.replica import Services
from app.store.optimistic import Versions
from app.views.policies import PolicyView, WrittenPolicyView


class CreatePolicy(Body, PolicyFields, frozen=True, kw_only=True):
    """A new policy of an agent, of a group or, if neither is given, a guardrail of the whole workspace.

    agent_id: The agent that owns it, by its id or its alias.
    group: The group of agents that owns it.
    """

    aliases: ClassVar[dict[str, str]] = camel_aliases("agent_id", *PolicyFields.__struct_fields__)

    agent_id: AgentRef | None = None
    group: GroupName | None = None

    def __post_init__(self) -> None:
        require_writable_fields(self)
        require_references(self.agent_id, self.group)
        require_owner(self.kind, Owner(self.agent_id, self.group))
        require_kind(self.kind, self.mode, self.rules)


class UpdatePolicy(Body, PolicyChanges, frozen=True):
    """What to change; fields that are left out stay. `rules` replaces the whole list."""

    aliases: ClassVar[dict[str, str]] = camel_aliases(*PolicyFields.__struct_fields__)

    def __post_init__(self) -> None:
        require_writable_fields(self)


@post("/v1/policies", guards=[requires(Scope.ADMIN, Scope.POLICIES)], dto=BodyDTO)
async def create_policy(
    data: JSONBody[CreatePolicy],
    request: Request[Any, Any, Any],
    caller: Handed[Caller],
    services: Handed[Services],
    by: Handed[ChangedBy],
) -> Response[WrittenPolicyView]:
    """Create a policy; it applies from the next decision on."""
    strict = is_strict(Query(request, known=(STRICT,)))
    called = None if data.agent_id is None else agent_reference(data.agent_id)
    agent_id = None if called is None else await services.agents.id_of(caller.workspace_id, called)
    owner = Owner(agent_id, data.group)
    warnings = await accepted_warnings(services, caller, new_policy(owner, data), strict=strict)
    policy = await services.policies.create(caller.workspace_id, owner, data, by=by)
    return answer_written(policy, warnings)


@get("/v1/policies", guards=[requires(Scope.READ, Scope.POLICIES)])
async def list_policies(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[Any]:
    """The workspace's policies that match every filter, in evaluation order."""
    query = Query(request, known=("agent_id", "group", "kind", "key", "limit", "offset"), aliases=OWNER_ALIASES)
    group, named = query.text("group"), query.choice("kind", tuple(PolicyKind))
    agent_id = await agent_in_query(services, caller, query)
    kind = None if named is None else PolicyKind(named)
    owner, limit, offset = owner_or_none(agent_id, group), query.limit(), query.offset()
    key = query.text("key", most=MAX_KEY)
    policies = services.policies.each(caller.workspace_id, owner, limit, offset, kind=kind, key=key)
    return await answer_list(policies, PolicyView.of)


@get("/v1/policies/{policy_id:str}", guards=[requires(Scope.READ, Scope.POLICIES)])
async def get_policy(
    policy_id: FromPath[str], request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[PolicyView]:
    """One policy as it is now."""
    known = await policy_in_path(services, caller, request, policy_id)
    return answer_policy(await services.policies.get(caller.workspace_id, known))


@patch("/v1/policies/{policy_id:str}", guards=[requires(Scope.ADMIN, Scope.POLICIES)], dto=BodyDTO)
async def update_policy(
    policy_id: FromPath[str],
    data: JSONBody[UpdatePolicy],
    request: Request[Any, Any, Any],
    caller: Handed[Caller],
    services: Handed[Services],
    by: Handed[ChangedBy],
    if_match: Handed[Versions],
) -> Response[WrittenPolicyView]:
    """Change the given fields of the policy; every later decision applies them."""
    known = await policy_in_path(services, caller, request, policy_id, STRICT)
    strict = is_strict(Query(request, known=(*OWNER, STRICT), aliases=OWNER_ALIASES))
    held = await services.policies.get(caller.workspace_id, known)
    warnings = []
    if not is_empty(data):
        warnings = await accepted_warnings(services, caller, with_changes(held, data), strict=strict)
    policy = await services.policies.update(caller.workspace_id, known, data, if_match=if_match, by=by)
    return answer_written(policy, warnings)


@delete("/v1/policies/{policy_id:str}", guards=[requires(Scope.ADMIN, Scope.POLICIES)])
async def delete_policy(
    policy_id: FromPath[str],
    request: Request[Any, Any, Any],
    caller: Handed[Caller],
    services: Handed[Services],
    by: Handed[ChangedBy],
    if_match: Handed[Versions],
) -> None:
    """Delete the policy and its quotas."""
    known = await policy_in_path(services, caller, request, policy_id)
    await services.policies.delete(caller.workspace_id, known, if_match=if_match, by=by)
    await services.approval_reaper.end_soon(caller.workspace_id)


def answer_policy(policy: Policy) -> Response[PolicyView]:
    """The policy with its version as ETag."""
    return Response(PolicyView.of(policy), headers=version_header(policy.version))


def answer_written(policy: Policy, warnings: list[PolicyWarning]) -> Response[WrittenPolicyView]:
    """The policy with its version as ETag, and the warnings about it."""
    return Response(WrittenPolicyView.written(policy, warnings), headers=version_header(policy.version))
