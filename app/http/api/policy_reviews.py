"""/v1/policy-reviews: changes of policies that wait for a second person."""

from typing import Annotated, Any

from litestar import Response
from msgspec import Meta

from app.errors import (
    AgentNotFound,
    LimitReached,
    OwnPolicyReview,
    PolicyReviewDecided,
    PolicyReviewNotFound,
    PolicyReviewStale,
)
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.openapi.described_headers import NEXT_CURSOR
from app.http.references import id_in_path, with_agent_id
from app.http.views.policy_reviews import PolicyReviewView, WholePolicyReviewView
from app.model.actors import MAX_REASON
from app.model.api_keys import Caller, Scope
from app.model.policy_reviews import ReviewQuery, ReviewStatus
from app.model.text import VisibleLines, require_visible
from app.replica import Records, Services

_READ: dict[str, Any] = {"tag": "Policies", "scopes": (Scope.READ, Scope.VIEW, Scope.POLICIES)}
_WRITE: dict[str, Any] = {"tag": "Policies", "scopes": (Scope.ADMIN, Scope.POLICIES)}
_DECIDING = (PolicyReviewNotFound, PolicyReviewDecided, OwnPolicyReview)


class ReviewNote(Body, frozen=True):
    """A note given with a verdict.

    note: For the trail of changes and for whoever asked; may contain line breaks.
    """

    note: Annotated[VisibleLines, Meta(max_length=MAX_REASON)] = ""

    def __post_init__(self) -> None:
        require_visible("note", self.note, lines=True)


@endpoint("GET", "/v1/policy-reviews", **_READ, errors=(AgentNotFound,), headers=NEXT_CURSOR)
async def list_policy_reviews(
    params: ReviewQuery, caller: Caller, records: Records
) -> Response[list[PolicyReviewView]]:
    """List changes of policies that wait for a second person, or did, newest first.

    There are some only with `REMIT_REVIEW=policies`. Each is kept for 30 days after its end.
    """
    params = await with_agent_id(records, caller, params)
    found, before = await records.policy_reviews.page(caller.workspace_id, params)
    headers = {} if before is None else {"X-Next-Cursor": before}
    return Response([PolicyReviewView.of(each) for each in found], headers=headers)


@endpoint("GET", "/v1/policy-reviews/{review_id}", **_READ, errors=(PolicyReviewNotFound,))
async def get_policy_review(review_id: str, caller: Caller, records: Records) -> WholePolicyReviewView:
    """Read one change of policies, with the policies before and after it.

    What it means for calls: send `after` to `POST /v1/policies/compare`, and for those of the log to `POST /v1/replay`.
    """
    known, reviews = _known(review_id), records.policy_reviews
    review = await reviews.get(caller.workspace_id, known)
    return WholePolicyReviewView.whole(review, await reviews.changes(caller.workspace_id, known))


@endpoint(
    "POST",
    "/v1/policy-reviews/{review_id}/approve",
    **_WRITE,
    errors=(*_DECIDING, PolicyReviewStale, LimitReached, AgentNotFound),
)
async def approve_policy_review(
    review_id: str, data: ReviewNote, caller: Caller, services: Services
) -> PolicyReviewView:
    """Approve a change of policies, and make it in the same step.

    It is made only as it was shown: if any policy changed since that is judged with these, or an agent's groups, the
    review is stale. Whoever asked can never approve, nor with a key that counts as the same person: rotated keys, and
    keys of which one made the other.
    """
    writes = services.consequences.policies
    return PolicyReviewView.of(await writes.approve(caller.workspace_id, _known(review_id), caller.actor, data.note))


@endpoint("POST", "/v1/policy-reviews/{review_id}/deny", **_WRITE, errors=_DECIDING)
async def deny_policy_review(review_id: str, data: ReviewNote, caller: Caller, records: Records) -> PolicyReviewView:
    """Deny a change of policies: it is not made."""
    return await _ended(records, caller, review_id, ReviewStatus.DENIED, data)


@endpoint("POST", "/v1/policy-reviews/{review_id}/cancel", **_WRITE, errors=_DECIDING)
async def cancel_policy_review(review_id: str, data: ReviewNote, caller: Caller, records: Records) -> PolicyReviewView:
    """Withdraw a change of policies, with the key that asked, or one that was rotated from it or into it."""
    return await _ended(records, caller, review_id, ReviewStatus.CANCELLED, data)


async def _ended(
    records: Records, caller: Caller, review_id: str, verdict: ReviewStatus, data: ReviewNote
) -> PolicyReviewView:
    reviews = records.policy_reviews
    review = await reviews.end(caller.workspace_id, _known(review_id), verdict, caller.actor, data.note)
    return PolicyReviewView.of(review)


def _known(given: str) -> str:
    return id_in_path(given, PolicyReviewNotFound("No policy review has this id"))
