"""/v1/agents/{id}/policies, /v1/groups/{group}/policies, /v1/workspace/policies: all policies of one owner at once."""

from functools import partial
from typing import Any, ClassVar

from litestar import Request, Response, get, put
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, UnsetType

from app.errors import Invalid
from app.http.agent_references import REFERENCE_RULES, agent_in_path, agent_reference
from app.http.authentication import requires
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, Body
from app.http.change_reasons import provide_changed_by
from app.http.etag import Tags, provide_if_match_tags, version_header
from app.http.litestar_bodies import BodyDTO
from app.http.paths import name_in_path
from app.http.policy_warnings import STRICT, is_strict, require_none, with_set_paths
from app.http.queries import Query
from app.lint import PolicyWarning
from app.model.agents import AgentRef, GroupName
from app.model.api_keys import Caller, Scope
from app.model.policies import WORKSPACE, Owner
from app.model.policy_sets import Entries, require_entries, settle
from app.model.text import FieldError, require_visible
from app.replica import Services
from app.validation_messages import refusing_fields
from app.views.policy_sets import AppliedSetView, PolicySetView, SetVersion
from app.workspace_lint import warnings_about

_GROUP_CHARACTERS = 64
_READ, _WRITE = requires(Scope.READ, Scope.POLICIES), requires(Scope.ADMIN, Scope.POLICIES)


class PutPolicies(Body, frozen=True):
    """All policies of an agent, of a group or of the workspace; the answer to GET is accepted unchanged.

    policies: The policies. Other stored policies stay, or are deleted with `prune`.
    version: As GET shows it. If given, and the current version is another one, nothing is changed and the answer is
    412.
    agent_id, group: As GET shows them; another owner's is refused.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id"}
    max_bytes: ClassVar[int] = MAX_SET_BYTES
    max_nested: ClassVar[int] = MAX_SET_NESTED

    policies: Entries
    version: SetVersion | UnsetType = UNSET
    agent_id: AgentRef | None = None
    group: GroupName | None = None

    def __post_init__(self) -> None:
        if self.agent_id is not None and agent_reference(self.agent_id) is None:
            raise FieldError("agent_id", REFERENCE_RULES)

    def require_owner(self, named_agent: str | None, owner: Owner) -> None:
        """Raise Invalid unless the body's owner is this one. named_agent: the id of the agent that the body names."""
        for field, named in (("agent_id", named_agent), ("group", self.group)):
            if named not in (None, getattr(owner, field)):
                raise Invalid.at(
                    f"$.{field}", "is not the owner of these policies; leave it out, or use the path of that owner"
                )
        with refusing_fields():
            require_entries(self.policies, owner)


@get("/v1/agents/{agent_id:str}/policies", guards=[_READ])
async def get_agent_policies(
    agent_id: FromPath[str], caller: Handed[Caller], services: Handed[Services]
) -> Response[PolicySetView]:
    """The agent's own policies, read at one moment."""
    return await _shown(services, caller, Owner(await agent_in_path(services, caller, agent_id)))


@put("/v1/agents/{agent_id:str}/policies", guards=[_WRITE], dto=BodyDTO)
async def put_agent_policies(
    agent_id: FromPath[str],
    data: JSONBody[PutPolicies],
    request: Request[Any, Any, Any],
    caller: Handed[Caller],
    services: Handed[Services],
) -> Response[AppliedSetView]:
    """Replace the agent's own policies, from one decision to the next."""
    return await _applied(services, caller, request, data, agent=agent_id)


@get("/v1/groups/{group:str}/policies", guards=[_READ])
async def get_group_policies(
    group: FromPath[str], caller: Handed[Caller], services: Handed[Services]
) -> Response[PolicySetView]:
    """The group's policies, read at one moment."""
    return await _shown(services, caller, Owner(group=_group(group)))


@put("/v1/groups/{group:str}/policies", guards=[_WRITE], dto=BodyDTO)
async def put_group_policies(
    group: FromPath[str],
    data: JSONBody[PutPolicies],
    request: Request[Any, Any, Any],
    caller: Handed[Caller],
    services: Handed[Services],
) -> Response[AppliedSetView]:
    """Replace the group's policies, from one decision to the next."""
    return await _applied(services, caller, request, data, group=_group(group))


@get("/v1/workspace/policies", guards=[_READ])
async def get_workspace_policies(caller: Handed[Caller], services: Handed[Services]) -> Response[PolicySetView]:
    """The workspace's guardrails, read at one moment."""
    return await _shown(services, caller)


@put("/v1/workspace/policies", guards=[_WRITE], dto=BodyDTO)
async def put_workspace_policies(
    data: JSONBody[PutPolicies],
    request: Request[Any, Any, Any],
    caller: Handed[Caller],
    services: Handed[Services],
) -> Response[AppliedSetView]:
    """Replace the workspace's guardrails, from one decision to the next."""
    return await _applied(services, caller, request, data)


async def _shown(services: Services, caller: Caller, owner: Owner = WORKSPACE) -> Response[PolicySetView]:
    held = await services.policy_sets.get(caller.workspace_id, owner)
    return Response(PolicySetView.of(held, owner), headers=version_header(held.version))


async def _applied(
    services: Services,
    caller: Caller,
    request: Request[Any, Any, Any],
    data: PutPolicies,
    agent: str | None = None,
    group: str | None = None,
) -> Response[AppliedSetView]:
    query = Query(request, known=("prune", STRICT))
    prune, strict = query.choice("prune", ("true", "false")) == "true", is_strict(query)
    owner = Owner(None if agent is None else await agent_in_path(services, caller, agent), group)
    called = None if data.agent_id is None else agent_reference(data.agent_id)
    named = None if called is None else await services.agents.id_of(caller.workspace_id, called)
    data.require_owner(named, owner)
    warnings = await _warnings(services, caller, data, owner, prune=prune)
    if strict:
        require_none(warnings)
    done = await services.policy_sets.put(
        caller.workspace_id,
        owner,
        data.policies,
        prune=prune,
        if_match=_wanted_versions(request, data.version),
        by=provide_changed_by(request),
    )
    if any(change.kind == "deleted" for change in done.changes):
        await services.approval_reaper.end_soon(caller.workspace_id)
    return Response(AppliedSetView.applied(done, owner, warnings), headers=version_header(done.applied.version))


async def _warnings(
    services: Services, caller: Caller, data: PutPolicies, owner: Owner, *, prune: bool
) -> list[PolicyWarning]:
    """The warnings about the entries and the policies that stay; none for a set that the script will refuse."""
    held = await services.policy_sets.get(caller.workspace_id, owner)
    try:
        settled = partial(settle, held.policies, data.policies, owner, prune=prune)
        changes = await services.pool.run(caller.workspace_id, settled)
    except FieldError:
        return []
    gone = [change.policy for change in changes if change.kind == "deleted"]
    written = [change.policy for change in changes[: len(data.policies)]]
    found = await warnings_about(services, caller.workspace_id, written, owner, gone)
    return with_set_paths(found)


def _wanted_versions(request: Request[Any, Any, Any], version: str | UnsetType) -> Tags:
    """The versions that the header and the body both accept."""
    tags = provide_if_match_tags(request)
    if version is UNSET:
        return tags
    return frozenset({version} if tags is None or version in tags else ())


def _group(given: str) -> str:
    group = name_in_path(given)
    if not 1 <= len(group) <= _GROUP_CHARACTERS:
        raise Invalid.at("group", f"must have 1 to {_GROUP_CHARACTERS} characters")
    with refusing_fields(""):
        require_visible("group", group)
    return group
