"""Policy reviews as the API and the command line show them."""

from collections.abc import Sequence
from typing import Any

from litestar import Response
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from app.http.views import as_view
from app.http.views.policies import PlannedPolicyView, PolicyView
from app.model.agents import GroupName
from app.model.approvals import Person
from app.model.changes import Reason
from app.model.fields import AgentId, CreatedAt, Id, Timestamp
from app.model.policies import evaluation_order
from app.model.policy_reviews import PolicyReview, ReviewedPolicy, ReviewStatus
from app.model.policy_sets import PolicyChange
from app.policy_tools.lint import PolicyWarning

_YOUNGEST_MS = 1 << 52


class PolicyReviewView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of policies that waits for a second person, or did.

    agent_id: The agent that owns the policies; null for a group, or every agent of the workspace.
    group: The group of agents that owns them; null for an agent, or every agent.
    status: How it stands.
    policies: The policies that change.
    reason: Why; null if no reason was given.
    asked_by: Who asked for the change.
    expires_at: Until when it can be approved.
    ended_at: When it was applied, denied or cancelled, or found to be stale; null before.
    decided_by: Who approved, denied or cancelled it; null if nobody did.
    note: What they said.
    warnings: Only in the answer to the request that asked: what is valid in these policies but probably not meant.
    """

    id: Id
    status: ReviewStatus
    agent_id: AgentId | None
    group: GroupName | None
    policies: list[ReviewedPolicy]
    reason: Reason | None
    asked_by: Person
    created_at: CreatedAt
    expires_at: Timestamp
    ended_at: Timestamp | None
    decided_by: Person | None
    note: str
    warnings: list[PolicyWarning] | UnsetType = UNSET

    @classmethod
    def of(cls, review: PolicyReview) -> "PolicyReviewView":
        differing: dict[str, Any] = {**asdict(review.owner), "reason": review.reason or None}
        return as_view(cls, replace(review, ended_ms=review.ended_ms or None), **differing)


class PolicyToReview(ReviewedPolicy, frozen=True, rename="camel"):
    """What becomes of one policy.

    before: The policy as it was when the change was asked for; null if the change creates it.
    after: The policy as it would be; null if the change deletes it.
    """

    before: PolicyView | None
    after: PlannedPolicyView | None


class WholePolicyReviewView(PolicyReviewView, frozen=True, kw_only=True, rename="camel"):
    """A change of policies that waits for a second person, or did, with the policies.

    status: How it stands.
    policies: The policies that change, as they were and as they would be.
    after: All policies that the owner would have, in evaluation order, as `/v1/policies/compare` takes them for `after`
    and `/v1/replay` for `policies`.
    """

    policies: list[PolicyToReview]  # type: ignore[assignment]  # each has more fields than in a list of reviews
    after: list[PlannedPolicyView]

    @classmethod
    def whole(cls, review: PolicyReview, changes: Sequence[PolicyChange]) -> "WholePolicyReviewView":
        policies = [
            PolicyToReview(
                **asdict(named),
                before=None if each.before is None else PolicyView.of(each.before),
                after=None if each.after is None else PlannedPolicyView.planned(each.before, each.after),
            )
            for named, each in zip(review.policies, changes, strict=False)  # those that stay come after them
        ]
        held = {each.policy.id: each.before for each in changes}
        after = evaluation_order(
            each.after if each.before else replace(each.after, created_ms=_YOUNGEST_MS)
            for each in changes
            if each.after is not None
        )
        shown = {**asdict(PolicyReviewView.of(review)), "policies": policies}
        return cls(**shown, after=[PlannedPolicyView.planned(held[each.id], each) for each in after])


def answer_waiting(review: PolicyReview, warnings: Sequence[PolicyWarning] = ()) -> Response[Any]:
    """202: the change waits for a second person."""
    shown = replace(PolicyReviewView.of(review), warnings=list(warnings) or UNSET)
    return Response(shown, status_code=202)
