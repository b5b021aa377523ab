"""/v1/policies, and warnings about those that are valid but probably not meant."""

from typing import Any, ClassVar

from litestar import Response
from msgspec import Struct

from app.consequences import accept
from app.errors import AgentNotFound, LimitReached, PolicyKeyTaken, PolicyNotFound, VersionConflict
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, Body, camel_aliases
from app.http.endpoint import endpoint
from app.http.headers import version_header
from app.http.json_array import answer_list
from app.http.openapi.described_headers import ETAG, MANAGED_BY
from app.http.references import PolicyOwner, agent_in_body, policy_in_path, require_references, with_agent_id
from app.http.views.policies import PolicyView, WrittenPolicyView
from app.http.views.policy_reviews import PolicyReviewView, answer_waiting
from app.model.actors import ChangedBy
from app.model.agents import AgentRef, GroupName
from app.model.api_keys import Caller, Scope
from app.model.field_checks import require_valid_fields
from app.model.policies import (
    Owner,
    Policy,
    PolicyChanges,
    PolicyFields,
    PolicyKind,
    owner_or_none,
    require_kind,
    require_owner,
)
from app.model.policy_keys import PolicyKey
from app.model.policy_reviews import PolicyReview
from app.model.policy_sets import Entries, KeyTaken, UnknownPolicy, require_entries
from app.model.query_fields import AgentFilter, Limit, Offset, QueryFields
from app.model.text import Name
from app.policy_tools.lint import PolicyWarning
from app.replica import Records, Services
from app.store.optimistic import Versions
from app.validation_messages import refusing_fields

_WRITE: dict[str, Any] = {
    "tag": "Policies",
    "scopes": (Scope.ADMIN, Scope.POLICIES),
    "waiting": PolicyReviewView,
}
_READ: dict[str, Any] = {"tag": "Policies", "scopes": (Scope.READ, Scope.VIEW, Scope.POLICIES)}


class PolicyFilters(QueryFields, frozen=True):
    """Which policies to list; all given filters must match.

    agent_id: Only those of this agent, by its id or its alias.
    group: Only policies that this group owns.
    kind: Only those of this kind.
    key: Only policies with this key.
    """

    agent_id: AgentFilter | None = None
    group: Name | None = None
    kind: PolicyKind | None = None
    key: PolicyKey | None = None
    limit: Limit | None = None
    offset: Offset = 0


class WriteQuery(QueryFields, frozen=True):
    """How policies are written.

    strict: A warning is an error (400), and nothing is written.
    """

    strict: bool = False


class OwnedWrite(PolicyOwner, frozen=True):
    """The same for a policy that a path names.

    strict: A warning is an error (400), and nothing is written.
    """

    strict: bool = False


class CreatePolicy(Body, PolicyFields, frozen=True, kw_only=True):
    """A new policy of an agent, of a group or, if neither is given, a guardrail of the whole workspace.

    agent_id: The agent that owns it, by its id or its alias.
    group: The group of agents that owns it.
    """

    aliases: ClassVar[dict[str, str]] = camel_aliases("agent_id", *PolicyFields.__struct_fields__)

    agent_id: AgentRef | None = None
    group: GroupName | None = None

    def __post_init__(self) -> None:
        require_valid_fields(self)
        require_references(self.agent_id, self.group)
        require_owner(self.kind, Owner(self.agent_id, self.group))
        require_kind(self.kind, self.mode, self.rules)


class UpdatePolicy(Body, PolicyChanges, frozen=True):
    """What to change; fields that are left out stay. `rules` replaces the whole list."""

    aliases: ClassVar[dict[str, str]] = camel_aliases(*PolicyFields.__struct_fields__)

    def __post_init__(self) -> None:
        require_valid_fields(self)


@endpoint(
    "POST",
    "/v1/policies",
    **_WRITE,
    status=201,
    answer=WrittenPolicyView,
    errors=(AgentNotFound, LimitReached, PolicyKeyTaken),
    headers=ETAG,
)
async def create_policy(
    data: CreatePolicy, params: WriteQuery, caller: Caller, services: Services, by: ChangedBy
) -> Response[WrittenPolicyView | PolicyReviewView]:
    """Create a policy.

    It governs every decision requested after the answer: for the agent or the group that it names; a guardrail that
    names neither, for every agent of the workspace.
    """
    owner = Owner(await agent_in_body(services.records, caller, data.agent_id), data.group)
    policies = services.consequences.policies
    return answer_written(*await policies.create(caller.workspace_id, owner, data, by, strict=params.strict))


@endpoint("GET", "/v1/policies", **_READ, errors=(AgentNotFound,))
async def list_policies(params: PolicyFilters, caller: Caller, records: Records) -> Response[list[PolicyView]]:
    """List policies in evaluation order."""
    params = await with_agent_id(records, caller, params)
    owner = owner_or_none(params.agent_id, params.group)
    policies = records.policies.each(
        caller.workspace_id, owner, params.limit, params.offset, kind=params.kind, key=params.key
    )
    return await answer_list(policies, PolicyView.of)


@endpoint("GET", "/v1/policies/{policy_id}", **_READ, errors=(AgentNotFound, PolicyNotFound), headers=ETAG)
async def get_policy(policy_id: str, params: PolicyOwner, caller: Caller, records: Records) -> Response[PolicyView]:
    """Read a policy."""
    known = await policy_in_path(records, caller, params, policy_id)
    policy = await records.policies.get(caller.workspace_id, known)
    return Response(PolicyView.of(policy), headers=version_header(policy.version))


@endpoint(
    "PATCH",
    "/v1/policies/{policy_id}",
    **_WRITE,
    answer=WrittenPolicyView,
    errors=(AgentNotFound, PolicyNotFound, LimitReached, PolicyKeyTaken, VersionConflict),
    headers=ETAG,
)
async def update_policy(
    policy_id: str,
    data: UpdatePolicy,
    params: OwnedWrite,
    caller: Caller,
    services: Services,
    by: ChangedBy,
    if_match: Versions,
) -> Response[WrittenPolicyView | PolicyReviewView]:
    """Change a policy.

    Only the given fields change; `{}` changes nothing. `rules` replaces the whole list. A policy's owner cannot be
    changed.
    """
    known = await policy_in_path(services.records, caller, params, policy_id)
    policies = services.consequences.policies
    return answer_written(*await policies.update(caller.workspace_id, known, data, by, if_match, strict=params.strict))


@endpoint(
    "DELETE",
    "/v1/policies/{policy_id}",
    **_WRITE,
    status=204,
    answer=None,
    errors=(AgentNotFound, PolicyNotFound, VersionConflict),
    headers=MANAGED_BY,
)
async def delete_policy(
    policy_id: str, params: PolicyOwner, caller: Caller, services: Services, by: ChangedBy, if_match: Versions
) -> Response[None]:
    """Delete a policy."""
    known = await policy_in_path(services.records, caller, params, policy_id)
    deleted = await services.consequences.policies.delete(caller.workspace_id, known, by, if_match)
    if isinstance(deleted, PolicyReview):
        return answer_waiting(deleted)
    source = deleted.managed_by
    return Response(None, headers={} if source is None else {"X-Managed-By": source})


def answer_written(
    policy: Policy | PolicyReview, warnings: list[PolicyWarning]
) -> Response[WrittenPolicyView | PolicyReviewView]:
    """The policy with its version as ETag, and the warnings about it; 202 and the review if it waits."""
    if isinstance(policy, PolicyReview):
        return answer_waiting(policy, warnings)
    return Response(WrittenPolicyView.written(policy, warnings), headers=version_header(policy.version))


class LintPolicies(Body, frozen=True):
    """Policies of an agent, of a group or, if neither is given, of the workspace, as they might be written.

    agent_id: The agent that they would govern, by its id or its alias.
    group: The group of agents that they would govern.
    policies: The policies, in the form of a set. Other stored policies of the same owner are taken into account.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id"}
    max_bytes: ClassVar[int] = MAX_SET_BYTES
    max_nested: ClassVar[int] = MAX_SET_NESTED

    policies: Entries
    agent_id: AgentRef | None = None
    group: GroupName | None = None

    def __post_init__(self) -> None:
        require_references(self.agent_id, self.group)


class PolicyWarnings(Struct, frozen=True):
    """The warnings.

    warnings: Empty if there is nothing to warn about.
    """

    warnings: list[PolicyWarning]


@endpoint(
    "POST",
    "/v1/policies/lint",
    reads_only=True,
    tag="Policies",
    scopes=(Scope.READ, Scope.VIEW, Scope.POLICIES),
    errors=(AgentNotFound, PolicyNotFound, PolicyKeyTaken),
)
async def lint_policies(data: LintPolicies, params: WriteQuery, caller: Caller, services: Services) -> PolicyWarnings:
    """Warn about rules that are valid but probably not meant.

    The policies are treated as a set to be put, without `prune`, and judged together with everything else that governs
    the same agents. Nothing is stored. Answers to writes carry the same warnings.
    """
    owner = Owner(await agent_in_body(services.records, caller, data.agent_id), data.group)
    with refusing_fields():
        require_entries(data.policies, owner)
    try:
        warnings = await services.consequences.lint.about_set(caller.workspace_id, owner, data.policies, prune=False)
    except UnknownPolicy as error:
        raise PolicyNotFound(f"{error.field} {error.message}") from None
    except KeyTaken as error:
        raise PolicyKeyTaken(f"{error.field}: {error.message}") from None
    accept(warnings, strict=params.strict)
    return PolicyWarnings(warnings)
