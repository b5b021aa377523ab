"""Approvals: listed, followed, waited for, given and refused."""

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
from app.model.approvals import Approval
from app.model.keys import Scope

APPROVALS = (
    Operation(
        "GET",
        "/v1/approvals",
        "List what waits for people, and what they said",
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
            "Each approval as it becomes another, under the name of its status: from the Last-Event-ID on, or from "
            "now on. It ends when the key is revoked and when the replica stops; then connect again."
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
    Operation(
        "POST",
        "/v1/approvals/{approval_id}/approve",
        "Let the call through",
        ADMIN,
        "Approvals",
        body=ApproveCall,
        answer=Approval,
        errors=(ApprovalNotFound, ApprovalDecided, ApprovalChanged, OwnApproval),
        headers=ETAG,
        request_headers=(IF_MATCH_APPROVAL,),
        description=(
            "The agent asks the same question again and is allowed, if its policies still ask for no more than this. "
            "Never by the key that asked. Where the rule wants several people, each uses a key of their own."
        ),
    ),
    Operation(
        "POST",
        "/v1/approvals/{approval_id}/deny",
        "Refuse the call",
        ADMIN,
        "Approvals",
        body=ApprovalNote,
        answer=Approval,
        errors=(ApprovalNotFound, ApprovalDecided, ApprovalChanged, OwnApproval),
        headers=ETAG,
        request_headers=(IF_MATCH_APPROVAL,),
    ),
    Operation(
        "POST",
        "/v1/approvals/{approval_id}/cancel",
        "Take back what was asked",
        READ,
        "Approvals",
        body=ApprovalNote,
        answer=Approval,
        errors=(ApprovalNotFound, ApprovalDecided, ApprovalChanged, OwnApproval),
        headers=ETAG,
        request_headers=(IF_MATCH_APPROVAL,),
        description="Only by the key that asked.",
        further_scopes=(Scope.AUTHORIZE,),
    ),
)
