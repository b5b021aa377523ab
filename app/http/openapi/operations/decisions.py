"""Decisions, explanations and reported outcomes."""

from app.errors import (
    AgentNotFound,
    ApprovalMismatch,
    DecisionNotFound,
    IdempotencyConflict,
    IdempotencyStale,
    OutcomeConflict,
)
from app.http.api.authorize import AuthorizeBody
from app.http.api.claude_code_hook import HookAnswer, HookCall
from app.http.api.decisions import ReportOutcome
from app.http.api.explain import ExplainBody
from app.http.openapi.operation import READ, Operation
from app.http.openapi.parameters import HOOK_AGENT, IDEMPOTENCY_KEY, REPLAYED
from app.model.explanations import Explanation
from app.model.outcomes import CallOutcome
from app.views.decisions import DecisionView

DECISIONS = (
    Operation(
        "POST",
        "/v1/authorize",
        "Ask whether an agent may call a tool",
        READ,
        "Decisions",
        body=AuthorizeBody,
        answer=DecisionView,
        request_headers=(IDEMPOTENCY_KEY,),
        headers=REPLAYED,
        errors=(AgentNotFound, ApprovalMismatch, IdempotencyConflict, IdempotencyStale),
        description=(
            "The answer is 200 whether the call is allowed, denied or escalated, and its entry is in the audit log "
            "before it is sent. Only `allowed` permits the call. An agent that is suspended or revoked is denied "
            "everything. 503 means that there is no decision: the call must not be made."
        ),
    ),
    Operation(
        "POST",
        "/v1/hooks/claude-code",
        "Answer a coding agent's hook",
        READ,
        "Decisions",
        body=HookCall,
        answer=HookAnswer,
        request_headers=(HOOK_AGENT,),
        always=True,
        description=(
            "Takes the PreToolUse hook of Claude Code as it is sent over HTTP and answers in its format: `allow`, "
            "`deny`, or `ask` where the call is escalated. Every answer is 200, a refusal or a fault being a denial "
            "that says why, because a coding agent without `onFailure` runs the tool after any other."
        ),
    ),
    Operation(
        "POST",
        "/v1/explain",
        "Explain what would be answered, and why",
        READ,
        "Policies",
        body=ExplainBody,
        answer=Explanation,
        errors=(AgentNotFound,),
        description=(
            "What authorize would answer to this key, and the part of every rule of every policy in it. The decision "
            "itself runs, up to the moment of writing: nothing is taken, logged or created, and no approval is "
            "requested or used."
        ),
    ),
    Operation(
        "POST",
        "/v1/decisions/{decision_id}/outcome",
        "Report the outcome of an allowed call",
        READ,
        "Decisions",
        body=ReportOutcome,
        answer=CallOutcome,
        errors=(DecisionNotFound, OutcomeConflict),
        description=(
            "Once, within 24 hours, with the key that asked; a repeated report gets the first answer again. The log "
            "gets an entry. `not_executed` gives back what the call took from limits and budgets that are "
            "`refundable`; approvals stay used, and the session's history stays."
        ),
    ),
)
