"""Approvals: listed, followed, waited for, given and refused."""

from typing import Any

from app.errors import AgentNotFound, ApprovalChanged, ApprovalDecided, ApprovalNotFound, OwnApproval, TooManyStreams
from app.http.api.approvals import ApprovalNote, ApproveCall
from app.http.openapi.operation import ADMIN, READ, Operation
from app.http.openapi.parameters import (
    APPROVAL_FILTERS,
    ETAG,
    IF_MATCH_APPROVAL,
    LAST_APPROVAL_EVENT_ID,
    NEXT_CURSOR,
    WAIT,
)
from app.model.api_keys import Scope
from app.model.approvals import Approval


def _decide_operation(verb: str, summary: str, scope: Scope, *, body: type = ApprovalNote, **rest: Any) -> Operation:
    """An operation that decides one approval."""
    return Operation(
        "POST",
        f"/v1/approvals/{{approval_id}}/{verb}",
        summary,
        scope,
        "Approvals",
        body=body,
        answer=Approval,
        errors=(ApprovalNotFound, ApprovalDecided, ApprovalChanged, OwnApproval),
        headers=ETAG,
        request_headers=(IF_MATCH_APPROVAL,),
        **rest,
    )


APPROVALS = (
    Operation(
        "GET",
        "/v1/approvals",
        "List approvals, waiting and decided",
        READ,
        "Approvals",
        query=APPROVAL_FILTERS,
        answer=list[Approval],
        errors=(AgentNotFound,),
        headers=NEXT_CURSOR,
    ),
    Operation(
        "GET",
        "/v1/approvals/stream",
        "Follow approvals as server-sent events",
        READ,
        "Approvals",
        answer=str,
        errors=(TooManyStreams,),
        media=("text/event-stream",),
        request_headers=(LAST_APPROVAL_EVENT_ID,),
        description=(
            "One event for each change of an approval, named after its new status: from the Last-Event-ID on, or from "
            "now on. The stream ends when the key is revoked and when the replica stops; then connect again."
        ),
    ),
    Operation(
        "GET",
        "/v1/approvals/{approval_id}",
        "Read one approval, or wait until it is decided",
        READ,
        "Approvals",
        query=(WAIT,),
        answer=Approval,
        further_scopes=(Scope.AUTHORIZE,),
        errors=(ApprovalNotFound,),
        headers=ETAG,
    ),
    _decide_operation(
        "approve",
        "Approve the call",
        ADMIN,
        body=ApproveCall,
        description=(
            "When the agent asks again, it is allowed, unless its policies have come to require more. The key that "
            "asked can never approve. If the rule requires several people, each uses a key of their own."
        ),
    ),
    _decide_operation("deny", "Deny the call", ADMIN),
    _decide_operation(
        "cancel",
        "Withdraw the request",
        READ,
        description="Only with the key that asked.",
        further_scopes=(Scope.AUTHORIZE,),
    ),
)
