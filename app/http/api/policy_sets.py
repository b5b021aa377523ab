"""/v1/agents/{id}/policies, /v1/groups/{group}/policies, /v1/workspace/policies: all policies of one owner at once."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from litestar import Request, Response
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from app.errors import AgentNotFound, Invalid, LimitReached, PolicyKeyTaken, PolicyNotFound, VersionConflict
from app.http.authentication import provide_changed_by
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, Body
from app.http.endpoint import endpoint
from app.http.headers import Tags, provide_if_match_tags, version_header
from app.http.openapi.described_headers import CHANGE_REASON, ETAG, IF_MATCH_SET
from app.http.references import agent_in_body, agent_in_path, name_in_path
from app.http.views.policies import PolicyView
from app.http.views.policy_reviews import PolicyReviewView, answer_waiting
from app.model.agents import REFERENCE_RULES, AgentRef, GroupName, agent_reference
from app.model.api_keys import Caller, Scope
from app.model.fields import AgentId, Uuid
from app.model.policies import WORKSPACE, ManagedBy, Owner, require_source
from app.model.policy_reviews import PolicyReview
from app.model.policy_sets import AppliedSet, Entries, PolicyChange, PolicySet, require_entries
from app.model.query_fields import QueryFields
from app.model.text import FieldError, require_visible
from app.policy_tools.lint import PolicyWarning
from app.replica import Records, Services
from app.validation_messages import refusing_fields

SetVersion = Annotated[
    str, Meta(description="Changes with every change of these policies; the same string as in ETag.")
]


_GROUP_CHARACTERS = 64
_GET: dict[str, Any] = {
    "tag": "Policies",
    "scopes": (Scope.READ, Scope.VIEW, Scope.POLICIES),
    "headers": ETAG,
    "description": "Read at one moment. The answer can be sent back with PUT.",
}
_REFUSALS = (PolicyNotFound, LimitReached, PolicyKeyTaken, VersionConflict)


class PolicySetView(Struct, frozen=True, kw_only=True, rename="camel"):
    """All policies of an agent, of a group or of the workspace. It can be sent back unchanged.

    agent_id: The agent that owns them; null for a group, or every agent of the workspace.
    group: The group of agents that owns them; null for an agent, or every agent.
    policies: The policies, in evaluation order.
    """

    agent_id: AgentId | None
    group: GroupName | None
    version: SetVersion
    policies: list[PolicyView]

    @classmethod
    def of(cls, policy_set: PolicySet, owner: Owner) -> Self:
        policies = [PolicyView.of(policy) for policy in policy_set.policies]
        return cls(**asdict(owner), version=policy_set.version, policies=policies)


class AppliedSetView(PolicySetView, frozen=True, kw_only=True, rename="camel"):
    """All policies of an owner after a write, and the ids of those that it changed.

    created: Ids of new policies.
    updated: Ids of policies that were changed.
    deleted: Ids of policies that were deleted.
    warnings: What is valid but probably not meant in the policies that were sent.
    """

    created: list[Uuid]
    updated: list[Uuid]
    deleted: list[Uuid]
    warnings: list[PolicyWarning]

    @classmethod
    def applied(cls, done: AppliedSet, owner: Owner, warnings: Sequence[PolicyWarning]) -> Self:
        return cls(
            **asdict(PolicySetView.of(done.applied, owner)),
            created=_ids(done.changes, "created"),
            updated=_ids(done.changes, "updated"),
            deleted=_ids(done.changes, "deleted"),
            warnings=list(warnings),
        )


def _ids(changes: Sequence[PolicyChange], kind: str) -> list[str]:
    return [change.policy.id for change in changes if change.kind == kind]


_PUT: dict[str, Any] = {
    "tag": "Policies",
    "scopes": (Scope.ADMIN, Scope.POLICIES),
    "headers": ETAG,
    "answer": AppliedSetView,
    "waiting": PolicyReviewView,
    "request_headers": (IF_MATCH_SET, CHANGE_REASON),
    "description": (
        "All or nothing: each decision sees either the previous policies or the new ones, never a mixture. An entry "
        "updates the policy with its `id`; without `id` the one with its `key`, else with its name; otherwise it "
        "creates one. Unchanged policies keep their version, and rate limits whose tools and window stay keep their "
        "counted calls. `managedBy` in the body is ignored: `managed_by` in the query sets it."
    ),
}


class SetWrite(QueryFields, frozen=True):
    """How a set of policies is written.

    prune: Delete the policies that are not in the body; otherwise they stay.
    strict: A warning is an error (400), and nothing is written.
    managed_by: Where the policies in the body are managed from now on; if left out, as before. They, and policies that
    `prune` deletes, are changed without the warning `managed_elsewhere` if they were managed there already.
    """

    prune: bool = False
    strict: bool = False
    managed_by: ManagedBy | None = None

    def __post_init__(self) -> None:
        if self.managed_by is not None:
            require_source("managed_by", self.managed_by)


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


@endpoint("GET", "/v1/agents/{agent_id}/policies", **_GET, errors=(AgentNotFound,))
async def get_agent_policies(agent_id: str, caller: Caller, records: Records) -> Response[PolicySetView]:
    """Read all policies of an agent."""
    return await _shown(records, caller, Owner(await agent_in_path(records, caller, agent_id)))


@endpoint("PUT", "/v1/agents/{agent_id}/policies", **_PUT, errors=(AgentNotFound, *_REFUSALS))
async def put_agent_policies(
    agent_id: str,
    data: PutPolicies,
    request: Request[Any, Any, Any],
    params: SetWrite,
    caller: Caller,
    services: Services,
) -> Response[AppliedSetView | PolicyReviewView]:
    """Write all policies of an agent at once."""
    return await _applied(services, caller, request, params, data, agent=agent_id)


@endpoint("GET", "/v1/groups/{group}/policies", **_GET)
async def get_group_policies(group: str, caller: Caller, records: Records) -> Response[PolicySetView]:
    """Read all policies of a group."""
    return await _shown(records, caller, Owner(group=_group(group)))


@endpoint("PUT", "/v1/groups/{group}/policies", **_PUT, errors=_REFUSALS)
async def put_group_policies(
    group: str, data: PutPolicies, request: Request[Any, Any, Any], params: SetWrite, caller: Caller, services: Services
) -> Response[AppliedSetView | PolicyReviewView]:
    """Write all policies of a group at once."""
    return await _applied(services, caller, request, params, data, group=_group(group))


@endpoint("GET", "/v1/workspace/policies", **_GET)
async def get_workspace_policies(caller: Caller, records: Records) -> Response[PolicySetView]:
    """Read all policies of the whole workspace."""
    return await _shown(records, caller)


@endpoint("PUT", "/v1/workspace/policies", **_PUT, errors=_REFUSALS)
async def put_workspace_policies(
    data: PutPolicies, request: Request[Any, Any, Any], params: SetWrite, caller: Caller, services: Services
) -> Response[AppliedSetView | PolicyReviewView]:
    """Write all policies of the whole workspace at once."""
    return await _applied(services, caller, request, params, data)


async def _shown(records: Records, caller: Caller, owner: Owner = WORKSPACE) -> Response[PolicySetView]:
    held = await records.policy_sets.get(caller.workspace_id, owner)
    return Response(PolicySetView.of(held, owner), headers=version_header(held.version))


async def _applied(
    services: Services,
    caller: Caller,
    request: Request[Any, Any, Any],
    params: SetWrite,
    data: PutPolicies,
    agent: str | None = None,
    group: str | None = None,
) -> Response[AppliedSetView | PolicyReviewView]:
    owner = Owner(None if agent is None else await agent_in_path(services.records, caller, agent), group)
    data.require_owner(await agent_in_body(services.records, caller, data.agent_id), owner)
    done, warnings = await services.consequences.policies.put(
        caller.workspace_id,
        owner,
        data.policies,
        provide_changed_by(request),
        prune=params.prune,
        strict=params.strict,
        source=params.managed_by,
        if_match=_accepted_versions(request, data.version),
    )
    if isinstance(done, PolicyReview):
        return answer_waiting(done, warnings)
    return Response(AppliedSetView.applied(done, owner, warnings), headers=version_header(done.applied.version))


def _accepted_versions(request: Request[Any, Any, Any], version: str | UnsetType) -> Tags:
    """The versions that the header and the body both accept."""
    tags = provide_if_match_tags(request)
    if version is UNSET:
        return tags
    return frozenset({version} if tags is None or version in tags else ())


def _group(path: str) -> str:
    group = name_in_path(path)
    if not 1 <= len(group) <= _GROUP_CHARACTERS:
        raise Invalid.at("group", f"must have 1 to {_GROUP_CHARACTERS} characters")
    with refusing_fields(""):
        require_visible("group", group)
    return group
