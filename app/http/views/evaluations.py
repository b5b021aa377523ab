"""The answer to an AuthZEN evaluation, and its JSON."""

from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from app.http.views.decisions import OutcomeFrames
from app.model.approvals import ApprovalStatus
from app.model.decisions import ApprovalRef, Decision, Result
from app.model.fields import Timestamp, Uuid
from app.model.times import rfc3339

ALLOWED, REFUSED = "200", "403"
"""The keys of a reason, in the place of status codes, as AuthZEN's own examples have them."""

_encode = msgspec.json.Encoder().encode


class EvaluationError(Struct, frozen=True):
    """Why an evaluation of a batch was not decided.

    status: As the HTTP status of a single evaluation would be.
    message: For people.
    """

    status: int
    message: str


class EvaluationApproval(Struct, frozen=True):
    """The approval of the request.

    id: Its id.
    status: Its current state.
    expires_at: When it can no longer be decided or, once approved, used.
    approved_until: The latter, if it is approved.
    """

    id: Uuid
    status: str
    expires_at: Timestamp
    approved_until: Timestamp | UnsetType = UNSET

    @classmethod
    def of(cls, approval: ApprovalRef) -> "EvaluationApproval":
        until = approval.expires_at if approval.status == ApprovalStatus.APPROVED else UNSET
        return cls(approval.id, approval.status, approval.expires_at, until)


class Requestable(Struct, frozen=True):
    """Access can be requested: submit an access request.

    endpoint: Where.
    expires_at: Until when.
    template: What for; the same as the reason of the first denial.
    """

    endpoint: str
    expires_at: Timestamp
    template: str


class EvaluationContext(Struct, frozen=True, kw_only=True):
    """Why it was decided so.

    evaluation_id: The id of the decision's entry in the audit log; left out if nothing was decided.
    evaluated_at: When it was decided, by the store's clock.
    reason: Why, for programs: a decision's code, or `unknown_subject`.
    reason_admin: Why, for administrators: a sentence, under "200" if the decision is true and "403" otherwise.
    to_agent: The message to the agent from the policy that gave the result; left out if it has none.
    next_action: Of a denial although the request carried an approval: `request` = submit the access request of this
    answer, `retry` = ask the same again later, `none` = neither will help.
    retry_after: The seconds after which the same request may be answered differently.
    approval: The approval that waits for a person, or that made it true.
    access_request: How to request the access that was denied; left out if it cannot be requested.
    error: Why there is no decision; only in batches.
    """

    evaluation_id: str | UnsetType = UNSET
    evaluated_at: Timestamp | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    reason_admin: dict[str, str] | UnsetType = UNSET
    to_agent: dict[str, str] | UnsetType = field(name="reason_user", default=UNSET)
    next_action: Literal["request", "retry", "none"] | UnsetType = UNSET
    retry_after: int | UnsetType = UNSET
    approval: EvaluationApproval | UnsetType = UNSET
    access_request: Requestable | UnsetType = UNSET
    error: EvaluationError | UnsetType = UNSET


class EvaluationView(Struct, frozen=True, kw_only=True):
    """An AuthZEN decision; only `true` permits the action.

    decision: True if and only if the call is allowed.
    context: Why, and the evaluation's id.
    """

    decision: bool
    context: EvaluationContext

    @classmethod
    def of(cls, decision: Decision, endpoint: str | None = None, *, names_approval: bool = False) -> "EvaluationView":
        """endpoint: of access requests; None = there is none. names_approval: whether the request carried one."""
        outcome = decision.outcome
        approval = decision.approval
        is_allowed = outcome.result is Result.ALLOWED
        key = ALLOWED if is_allowed else REFUSED
        waits_s = UNSET if decision.retry_after_us is None else -(-decision.retry_after_us // 1_000_000)
        requestable: Requestable | UnsetType = UNSET
        if approval is not None and endpoint is not None and outcome.result is Result.ESCALATED:
            requestable = Requestable(endpoint, approval.expires_at, outcome.code)
        context = EvaluationContext(
            evaluation_id=decision.id,
            evaluated_at=rfc3339(decision.time_us // 1000),
            reason=decision.misfit if decision.misfit is not None and requestable is not UNSET else outcome.code,
            reason_admin={key: outcome.reason},
            to_agent={key: decision.agent_message} if decision.agent_message else UNSET,
            next_action=_next(requestable, waits_s) if names_approval and not is_allowed else UNSET,
            retry_after=waits_s,
            approval=UNSET if approval is None else EvaluationApproval.of(approval),
            access_request=requestable,
        )
        return cls(decision=is_allowed, context=context)


UNKNOWN_SUBJECT = EvaluationView(decision=False, context=EvaluationContext(reason="unknown_subject"))
"""No agent is meant: the answer is a denial, and no agent's log can have its entry."""


UNVERIFIABLE = EvaluationView(
    decision=False, context=EvaluationContext(reason="approval_unverifiable", next_action="none")
)
"""The approval that the request carries is not the caller's, and without one, it would need approval."""


def evaluation_error(status: int, message: str) -> EvaluationView:
    """The denial of an evaluation that could not be decided."""
    return EvaluationView(decision=False, context=EvaluationContext(error=EvaluationError(status, message)))


def _next(requestable: Requestable | UnsetType, waits_s: int | UnsetType) -> Literal["request", "retry", "none"]:
    if requestable is not UNSET:
        return "request"
    return "none" if waits_s is UNSET else "retry"


_BEGIN = b'{"decision":true,"context":{"evaluation_id":"'
_AT = b'"evaluated_at":"2026-11-20T12:00:00.000Z"'


def encode_evaluation(decision: Decision) -> bytes:
    """The JSON of `EvaluationView.of(decision)`. The constant part of an outcome that allows calls is encoded once."""
    if (
        decision.outcome.result is not Result.ALLOWED
        or decision.approval is not None
        or decision.agent_message
        or decision.retry_after_us is not None
    ):
        return _encode(EvaluationView.of(decision))
    return b'%b%b","evaluated_at":"%b"%b' % (
        _BEGIN,
        decision.id.encode(),
        rfc3339(decision.time_us // 1000).encode(),
        _frames.of(decision),
    )


def _end_of(decision: Decision) -> bytes:
    """The part after the time."""
    whole = _encode(EvaluationView.of(decision))
    return whole[whole.index(b'"evaluated_at":') + len(_AT) :]


_frames = OutcomeFrames(_end_of)
