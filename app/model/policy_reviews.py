"""Policy reviews: changes of policies that a second person approves before they are made."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from msgspec import Struct, field

from app.model.approvals import Person
from app.model.changes import ChangeKind
from app.model.fields import Uuid
from app.model.policies import Owner, Policy, PolicyKind
from app.model.policy_sets import PolicyChange
from app.model.query_fields import AgentFilter, IdFilter, PageLimit, QueryFields, several
from app.model.text import Name


class ReviewStatus(StrEnum):
    """How a review stands. `applied`: approved, and the policies are written. `stale`: policies that it was compared
    with have changed since; ask again.
    """

    PENDING = "pending"
    APPLIED = "applied"
    DENIED = "denied"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    STALE = "stale"


class ReviewedPolicy(Struct, frozen=True, rename="camel"):
    """A policy that a review would change.

    kind: What would become of it.
    policy_id: Its id, also before it exists.
    name: Its name after the change; before it, if the change deletes it.
    """

    kind: ChangeKind
    policy_id: Uuid
    name: str


class PolicyReview(Struct, frozen=True, kw_only=True):
    """A change of policies of one owner, and how it stands.

    ended_ms: 0 while it is pending. decided_by: who approved, denied or cancelled it; None if nobody did.
    """

    id: str
    status: ReviewStatus
    owner: Owner
    policies: list[ReviewedPolicy]
    reason: str
    asked_by: Person
    created_ms: int
    expires_ms: int
    ended_ms: int = 0
    decided_by: Person | None = None
    note: str = ""


class ReviewFilters(QueryFields, frozen=True):
    """Filters on reviews; all that are given must match.

    status: Only those in this state, or in one of several, comma-separated.
    agent_id: Only those of policies of this agent, by its id or its alias.
    group: Only those of policies of this group.
    """

    status: Annotated[tuple[ReviewStatus, ...], several(ReviewStatus)] | None = None
    agent_id: AgentFilter | None = None
    group: Name | None = None

    def takes(self, review: PolicyReview) -> bool:
        """True if the review matches."""
        return (
            (self.status is None or review.status in self.status)
            and self.agent_id in (None, review.owner.agent_id)
            and self.group in (None, review.owner.group)
        )


class ReviewQuery(ReviewFilters, frozen=True):
    """One page of the reviews, newest first.

    limit: The most to return.
    before: X-Next-Cursor of the page before: pages chained by it neither repeat nor skip a review. A page with this
    header may have fewer reviews than the limit, or none: it looks through at most 1,000.
    """

    limit: PageLimit = 100
    before: IdFilter | None = field(name="cursor", default=None)


def id_of_waiting(member: bytes) -> str:
    """The id of a review that waits, as it stands there: after the root of whoever asked."""
    return member.decode(errors="replace").rpartition(" ")[2]


def waits(changes: Iterable[PolicyChange]) -> bool:
    """True unless, whatever is called, none of these changes can make an answer more permissive than it was.

    A policy that does not decide answers nothing. A guardrail that begins to decide can only deny or ask.
    """
    return any(
        (change.before is not None and change.before.decides) or (change.after is not None and _permits(change.after))
        for change in changes
        if change.kind != "kept"
    )


def _permits(policy: Policy) -> bool:
    return policy.decides and policy.kind is not PolicyKind.GUARDRAIL
