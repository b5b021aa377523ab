"""/v1/policies/{policy_id}/versions, …/rollback and …/divergence."""

from typing import Annotated, Any

from litestar import Response
from msgspec import Meta, Struct

from app.errors import (
    AgentNotFound,
    LimitReached,
    PolicyKeyTaken,
    PolicyNotFound,
    PolicyVersionNotFound,
    VersionConflict,
    VersionNotKept,
)
from app.http.api.policies import OwnedWrite, answer_written
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.json_array import answer_list
from app.http.openapi.described_headers import ETAG
from app.http.references import PolicyOwner, policy_in_path
from app.http.views import as_view
from app.http.views.policies import PolicyView, WrittenPolicyView
from app.http.views.policy_reviews import PolicyReviewView
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.changes import Reason
from app.model.fields import Count, Id, Timestamp, VersionNumber
from app.model.policies import PolicyMode
from app.model.policy_sets import DivergenceCount, PolicyDivergence
from app.model.query_fields import Limit
from app.model.snapshots import PolicyVersion
from app.model.times import rfc3339
from app.replica import Records, Services
from app.store.optimistic import Versions

_READ: dict[str, Any] = {"tag": "Policies", "scopes": (Scope.READ, Scope.VIEW, Scope.POLICIES)}


class PolicyVersionView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A version of a policy, and who made it.

    timestamp: When it was made, by the store's clock. This and the next three are null if the change is no longer
    known.
    actor_id: The API key that made the change, or `console`.
    actor_name: The key's name at that time, or `console`.
    reason: The reason given for the change; null if none was given.
    changed: The fields that differ from the previous version.
    policy: The whole policy, as GET showed it then.
    """

    version: VersionNumber
    timestamp: Timestamp | None
    actor_id: str | None
    actor_name: str | None
    reason: Reason | None
    changed: list[str]
    policy: PolicyView

    @classmethod
    def of(cls, version: PolicyVersion) -> "PolicyVersionView":
        change = version.change
        return cls(
            version=version.policy.version,
            timestamp=None if change is None else change.timestamp,
            actor_id=None if change is None else change.actor_id,
            actor_name=None if change is None else change.actor_name,
            reason=None if change is None else change.reason or None,
            changed=version.changed,
            policy=PolicyView.of(version.policy),
        )


class DivergenceView(Struct, frozen=True, kw_only=True, rename="camel"):
    """How often a shadow policy would have changed the result since its last change; the counts are exact.

    policy_id: The policy.
    version: The version that was counted: the current one. Every change resets the counts.
    mode: The policy's mode now; an enforced policy has no counts.
    enabled: Whether the policy is enabled; if not, nothing is counted.
    since: When it got its current version.
    total: The sum of `counts`.
    counts: By the actual result and the result that there would have been; none is zero.
    """

    policy_id: Id
    version: VersionNumber
    mode: PolicyMode
    enabled: bool
    since: Timestamp
    total: Count
    counts: list[DivergenceCount]

    @classmethod
    def of(cls, divergence: PolicyDivergence) -> "DivergenceView":
        policy = divergence.policy
        since, total = rfc3339(policy.updated_ms), sum(pair.count for pair in divergence.counts)
        return as_view(cls, policy, policy_id=policy.id, since=since, total=total, counts=list(divergence.counts))


class VersionsQuery(PolicyOwner, frozen=True):
    """Which versions of which policy to list."""

    limit: Limit | None = None


class RollBack(Body, frozen=True):
    """The version to restore.

    version: One that `GET /v1/policies/{id}/versions` lists.
    """

    version: Annotated[int, Meta(ge=1, le=10**15)]


@endpoint("GET", "/v1/policies/{policy_id}/versions", **_READ, errors=(AgentNotFound, PolicyNotFound))
async def list_versions(
    policy_id: str, params: VersionsQuery, caller: Caller, records: Records
) -> Response[list[PolicyVersionView]]:
    """List the versions of a policy, newest first.

    Who changed it, when and why, and the whole policy after the change. The last 100 are kept
    (`REMIT_POLICY_VERSIONS_MAX`), until the policy is deleted.
    """
    known = await policy_in_path(records, caller, params, policy_id)
    versions = records.policy_versions.each(caller.workspace_id, known, params.limit)
    return await answer_list(versions, PolicyVersionView.of)


@endpoint(
    "POST",
    "/v1/policies/{policy_id}/rollback",
    tag="Policies",
    scopes=(Scope.ADMIN, Scope.POLICIES),
    answer=WrittenPolicyView,
    waiting=PolicyReviewView,
    errors=(
        AgentNotFound,
        PolicyNotFound,
        PolicyVersionNotFound,
        VersionNotKept,
        LimitReached,
        PolicyKeyTaken,
        VersionConflict,
    ),
    headers=ETAG,
)
async def roll_back(
    policy_id: str,
    data: RollBack,
    params: OwnedWrite,
    caller: Caller,
    services: Services,
    if_match: Versions,
    by: ChangedBy,
) -> Response[WrittenPolicyView | PolicyReviewView]:
    """Make a former version of a policy current again.

    The policy is restored as a new version: nothing is removed from the trail. Without Change-Reason, the trail says
    `back to version …`. Rate limits whose tools and window are the same keep their counted calls.
    """
    known = await policy_in_path(services.records, caller, params, policy_id)
    policies = services.consequences.policies
    return answer_written(
        *await policies.roll_back(caller.workspace_id, known, data.version, by, if_match, strict=params.strict)
    )


@endpoint("GET", "/v1/policies/{policy_id}/divergence", **_READ, errors=(PolicyNotFound,))
async def get_divergence(policy_id: str, params: PolicyOwner, caller: Caller, records: Records) -> DivergenceView:
    """Count what a shadow policy would have changed.

    How often the policy made the difference between the actual result and the result if the shadow policies had been
    enforced. Each count rises with the entry that records it, `GET /v1/audit-logs?shadow=ID` lists those, and every
    change of the policy resets the counts.
    """
    known = await policy_in_path(records, caller, params, policy_id)
    return DivergenceView.of(await records.divergences.get(caller.workspace_id, known))
