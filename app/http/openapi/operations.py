"""Every operation of the API, one entry each: the OpenAPI document and /docs are made from this table.

A test compares it with the application's routes: a route without an entry fails, and so does an entry without one.
"""

from typing import Any

from msgspec import Struct

from app.errors import (
    AgentNotFound,
    AgentRevoked,
    AliasTaken,
    ApiKeyExpired,
    ApiKeyNotFound,
    AppError,
    ApprovalChanged,
    ApprovalDecided,
    ApprovalNotFound,
    AuditEntryNotFound,
    AuditLogDamaged,
    DecisionNotFound,
    IdempotencyConflict,
    IdempotencyStale,
    InsufficientScope,
    Invalid,
    LastAdminKey,
    LimitReached,
    LockedOut,
    OutcomeConflict,
    Overloaded,
    OwnApproval,
    PayloadTooLarge,
    PolicyKeyTaken,
    PolicyNotFound,
    PolicyVersionNotFound,
    StoreUnavailable,
    TooManyReplays,
    TooManyRequests,
    TooManyStreams,
    Unauthorized,
    VersionConflict,
    VersionNotKept,
    WebhookEventNotFound,
    WebhookNotFound,
)
from app.http.api.agents import CreateAgent, UpdateAgent
from app.http.api.api_keys import CreateApiKey
from app.http.api.approvals import ApprovalNote, ApproveCall
from app.http.api.authorize_body import AuthorizeBody
from app.http.api.claude_code_hook import HookAnswer, HookCall
from app.http.api.decisions import ReportOutcome
from app.http.api.explain import ExplainBody
from app.http.api.health import Health
from app.http.api.policies import CreatePolicy, UpdatePolicy
from app.http.api.policy_lint import LintPolicies, PolicyWarnings
from app.http.api.policy_sets import PutPolicies
from app.http.api.policy_versions import RollBack
from app.http.api.replay import ReplayBody
from app.http.api.webhooks import CreateWebhook, Retried, RetryEvents, RotateSecret, SendTest, UpdateWebhook
from app.http.openapi.parameters import (
    AGENT_FILTERS,
    AGENT_ID,
    APPROVAL_FILTERS,
    AUDIT_FLOOR,
    CHANGE_FILTERS,
    CHANGE_REASON,
    CHECKPOINT,
    ETAG,
    EXPORT_FORMAT,
    FILTERS,
    FORCE,
    GROUP,
    HOOK_AGENT,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    IF_MATCH_APPROVAL,
    IF_MATCH_SET,
    KEY,
    KIND,
    LAST_APPROVAL_EVENT_ID,
    LAST_EVENT_ID,
    LIMIT,
    NEXT_CURSOR,
    OF_AGENT,
    OF_GROUP,
    OFFSET,
    PAGE,
    PRUNE,
    RATE,
    REPLAYED,
    REQUEST_ID,
    STRICT,
    WAIT,
    Parameter,
)
from app.model.approvals import Approval
from app.model.audit import AuditEntry, Backlog
from app.model.changes import Change
from app.model.explanations import Explanation, PastExplanation
from app.model.keys import Scope
from app.model.outcomes import CallOutcome
from app.model.replays import ReplayLine
from app.views.agents import AgentView
from app.views.api_keys import ApiKeyView, CreatedApiKey
from app.views.decisions import DecisionView
from app.views.policies import PolicyView, WrittenPolicyView
from app.views.policy_sets import AppliedSetView, PolicySetView
from app.views.policy_versions import PolicyVersionView
from app.views.verification import VerificationView
from app.views.webhooks import WebhookView
from app.webhooks.delivery import Attempt
from app.webhooks.tries import UnsentView

SCHEMA = "application/schema+json"
JSON, HTML, PROMETHEUS = "application/json", "text/html; charset=utf-8", "text/plain; version=0.0.4; charset=utf-8"


class Operation(Struct, frozen=True):
    """What one method of one path takes and gives.

    scope: what the key needs, None if no key is needed; `scopes` has every one that will do beside admin.
    answer: the type of the body, None if there is none. media: the types it can have.
    errors: those that are its own; `errors_of` adds what its scope and body bring with them.
    headers: names of headers that the answer can carry, each with a sentence. request_headers: those it heeds.
    """

    method: str
    path: str
    summary: str
    scope: Scope | None
    tag: str
    body: Any = None
    query: tuple[Parameter, ...] = ()
    status: int = 200
    answer: Any = None
    media: tuple[str, ...] = (JSON,)
    errors: tuple[type[AppError], ...] = ()
    headers: dict[str, str] = {}
    request_headers: tuple[Parameter, ...] = ()
    description: str = ""
    always: bool = False
    """Every answer has the operation's status: there are no error answers."""
    further_scopes: tuple[Scope, ...] = ()

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Each of these opens it, and so does admin; none if no key is needed."""
        if self.scope is None:
            return ()
        part = (_PART[self.tag],) if self.tag in _PART else ()
        return (self.scope, *part, *self.further_scopes)


_PART = {
    "Decisions": Scope.AUTHORIZE,
    "Agents": Scope.POLICIES,
    "Policies": Scope.POLICIES,
    "Audit log": Scope.AUDIT,
    "Changes": Scope.AUDIT,
    "Approvals": Scope.APPROVE,
}
"""The scope that opens a part of the API and nothing else of it, by the part's tag."""

ADMIN, READ = Scope.ADMIN, Scope.READ


def _policy_set(path: str, whose: str, *more: type[AppError]) -> tuple[Operation, Operation]:
    """Reading and writing all policies of one owner."""
    return (
        Operation(
            "GET",
            path,
            f"Read all policies of {whose}",
            READ,
            "Policies",
            answer=PolicySetView,
            errors=more,
            headers=ETAG,
            description="As they were at one moment. The answer can be sent back with PUT.",
        ),
        Operation(
            "PUT",
            path,
            f"Make a whole set of policies current at once for {whose}",
            ADMIN,
            "Policies",
            body=PutPolicies,
            query=(PRUNE, STRICT),
            answer=AppliedSetView,
            errors=(*more, PolicyNotFound, LimitReached, PolicyKeyTaken, VersionConflict),
            headers=ETAG,
            request_headers=(IF_MATCH_SET, CHANGE_REASON),
            description=(
                "All or nothing: each decision knows the policies before this or those after it, never a mix. An entry "
                "changes the policy of its `id`; without `id` the one of its `key`, else of its name, or it makes a "
                "new one. What does not change keeps its version, and a rate limit keeps its calls where tools and "
                "window stay."
            ),
        ),
    )


OPERATIONS = (
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
        errors=(AgentNotFound, IdempotencyConflict, IdempotencyStale),
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
            "that says why, because the coding agent runs the tool after any other status."
        ),
    ),
    Operation(
        "POST",
        "/v1/explain",
        "Ask what would be answered, and why",
        READ,
        "Policies",
        body=ExplainBody,
        answer=Explanation,
        errors=(AgentNotFound,),
        description=(
            "What authorize would answer to this key, and what every rule of every policy has to do with it. It is the "
            "decision itself that runs, up to the moment at which it would be written: nothing is taken, logged or "
            "created, and no approval is asked for or used."
        ),
    ),
    Operation(
        "POST",
        "/v1/agents",
        "Create an agent",
        ADMIN,
        "Agents",
        body=CreateAgent,
        status=201,
        answer=AgentView,
        request_headers=(CHANGE_REASON,),
        errors=(LimitReached, AliasTaken),
        headers=ETAG,
    ),
    Operation(
        "GET",
        "/v1/agents",
        "List agents, oldest first",
        READ,
        "Agents",
        query=(*AGENT_FILTERS, LIMIT, OFFSET),
        answer=list[AgentView],
    ),
    Operation(
        "GET",
        "/v1/agents/{agent_id}",
        "Read an agent",
        READ,
        "Agents",
        answer=AgentView,
        errors=(AgentNotFound,),
        headers=ETAG,
    ),
    Operation(
        "PATCH",
        "/v1/agents/{agent_id}",
        "Change an agent",
        ADMIN,
        "Agents",
        body=UpdateAgent,
        answer=AgentView,
        errors=(AgentNotFound, AgentRevoked, AliasTaken, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH, CHANGE_REASON),
        description=(
            "Only the fields that are given change; `{}` changes nothing. The status `revoked` is final. An alias that "
            "it gives away names the agent that takes it from the next decision on."
        ),
    ),
    Operation(
        "DELETE",
        "/v1/agents/{agent_id}",
        "Delete an agent with its policies",
        ADMIN,
        "Agents",
        status=204,
        errors=(AgentNotFound, VersionConflict),
        request_headers=(IF_MATCH, CHANGE_REASON),
        description="Its audit entries stay.",
    ),
    Operation(
        "POST",
        "/v1/policies",
        "Create a policy",
        ADMIN,
        "Policies",
        body=CreatePolicy,
        status=201,
        query=(STRICT,),
        answer=WrittenPolicyView,
        request_headers=(CHANGE_REASON,),
        errors=(AgentNotFound, LimitReached, PolicyKeyTaken),
        headers=ETAG,
        description=(
            "It governs every decision that is asked for after the answer: those about the agent or the group that it "
            "names; a guardrail that names neither, those about every agent of the workspace."
        ),
    ),
    Operation(
        "POST",
        "/v1/policies/lint",
        "Say what in policies is valid and probably not meant",
        READ,
        "Policies",
        body=LintPolicies,
        query=(STRICT,),
        answer=PolicyWarnings,
        errors=(AgentNotFound, PolicyNotFound, PolicyKeyTaken),
        description=(
            "The policies are taken as a set would be put, without `prune`, and judged together with what else governs "
            "the same agents. Nothing is stored. Answers to writes carry the same warnings."
        ),
    ),
    Operation(
        "GET",
        "/v1/policies",
        "List policies in the order in which they are evaluated",
        READ,
        "Policies",
        query=(AGENT_ID, GROUP, KIND, KEY, LIMIT, OFFSET),
        answer=list[PolicyView],
        errors=(AgentNotFound,),
    ),
    Operation(
        "GET",
        "/v1/policies/{policy_id}",
        "Read a policy",
        READ,
        "Policies",
        query=(OF_AGENT, OF_GROUP),
        answer=PolicyView,
        errors=(AgentNotFound, PolicyNotFound),
        headers=ETAG,
    ),
    Operation(
        "PATCH",
        "/v1/policies/{policy_id}",
        "Change a policy",
        ADMIN,
        "Policies",
        body=UpdatePolicy,
        query=(OF_AGENT, OF_GROUP, STRICT),
        answer=WrittenPolicyView,
        errors=(AgentNotFound, PolicyNotFound, LimitReached, PolicyKeyTaken, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH, CHANGE_REASON),
        description=(
            "Only the fields that are given change; `{}` changes nothing. `rules` replaces the whole list. "
            "Whom a policy governs cannot be changed."
        ),
    ),
    Operation(
        "DELETE",
        "/v1/policies/{policy_id}",
        "Delete a policy",
        ADMIN,
        "Policies",
        query=(OF_AGENT, OF_GROUP),
        status=204,
        errors=(AgentNotFound, PolicyNotFound, VersionConflict),
        request_headers=(IF_MATCH, CHANGE_REASON),
    ),
    Operation(
        "GET",
        "/v1/policies/{policy_id}/versions",
        "List the versions of a policy, newest first",
        READ,
        "Policies",
        query=(OF_AGENT, OF_GROUP, LIMIT),
        answer=list[PolicyVersionView],
        errors=(AgentNotFound, PolicyNotFound),
        description=(
            "Who changed it, when and why, and the whole policy as it was from then on. The last 100 are kept "
            "(`REMIT_POLICY_VERSIONS_MAX`), until the policy is deleted."
        ),
    ),
    Operation(
        "POST",
        "/v1/policies/{policy_id}/rollback",
        "Make a former version of a policy current again",
        ADMIN,
        "Policies",
        body=RollBack,
        query=(OF_AGENT, OF_GROUP, STRICT),
        answer=WrittenPolicyView,
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
        request_headers=(IF_MATCH, CHANGE_REASON),
        description=(
            "The policy becomes what it was, as a new version: nothing is undone in the trail. Without Change-Reason "
            "that says `back to version …`. Rate limits whose tools and window are the same keep their calls."
        ),
    ),
    *_policy_set("/v1/agents/{agent_id}/policies", "an agent", AgentNotFound),
    *_policy_set("/v1/groups/{group}/policies", "a group"),
    *_policy_set("/v1/workspace/policies", "the whole workspace"),
    Operation(
        "GET",
        "/v1/audit-logs",
        "Query the audit log, newest first",
        READ,
        "Audit log",
        errors=(AgentNotFound, AuditLogDamaged),
        query=(*FILTERS, *PAGE),
        answer=list[AuditEntry],
        headers={**NEXT_CURSOR, **AUDIT_FLOOR},
        description=(
            "All filters that are given must match. Every decision whose answer somebody has seen is found, on every "
            "replica. A page has up to 4 MiB; without `X-Next-Cursor` it is the last."
        ),
    ),
    Operation(
        "GET",
        "/v1/audit-logs/{entry_id}",
        "Read one audit entry",
        READ,
        "Audit log",
        errors=(AuditEntryNotFound, AuditLogDamaged),
        answer=AuditEntry,
        description="The id of an entry is that of the decision: `id` in the answer to authorize.",
    ),
    Operation(
        "GET",
        "/v1/audit-logs/{entry_id}/explanation",
        "Explain a decision of the past",
        READ,
        "Audit log",
        errors=(AuditEntryNotFound, AuditLogDamaged, VersionNotKept),
        answer=PastExplanation,
        description=(
            "What the policies of that time had to do with it, as they were between two entries of the log. What "
            "the log does not hold is `unknown` and never guessed. 410 once one of them has changed too often since."
        ),
    ),
    Operation(
        "GET",
        "/v1/audit-logs/export",
        "Export the audit log as a file, oldest first",
        READ,
        "Audit log",
        errors=(AgentNotFound, AuditLogDamaged, TooManyStreams),
        query=(*FILTERS, EXPORT_FORMAT),
        answer=str,
        media=("application/x-ndjson", "text/csv; charset=utf-8"),
        headers={"Content-Disposition": "A name for the file."},
        description=(
            "One JSON object a line, or CSV with `format=csv`; compressed where Accept-Encoding has gzip. The last "
            'record is `{"end": …}` or a row that begins with `#end`: a file without it is not whole, for the store '
            "went away or retention dropped what was to come; ask again. In CSV, a "
            "cell that a spreadsheet would run as a formula has an apostrophe before it."
        ),
    ),
    Operation(
        "POST",
        "/v1/replay",
        "Replay the log under a draft of policies",
        READ,
        "Audit log",
        body=ReplayBody,
        answer=ReplayLine,
        media=("application/x-ndjson",),
        errors=(AgentNotFound, TooManyReplays, AuditLogDamaged),
        description=(
            "Judges the calls of a span of the log once more, by the draft, with rate limits and budgets counted on "
            "the log's own timeline, and reports which results flip. The answer is one JSON object a line: progress, "
            "samples as they are found, and last the report; an answer without it is not whole. Calls that cannot be "
            "judged are counted and never guessed. Nothing is taken, logged or changed."
        ),
    ),
    Operation(
        "GET",
        "/v1/audit-logs/stream",
        "Follow the audit log as server-sent events",
        READ,
        "Audit log",
        errors=(AgentNotFound, AuditLogDamaged, TooManyStreams),
        query=FILTERS,
        answer=str,
        media=("text/event-stream",),
        headers=AUDIT_FLOOR,
        request_headers=(LAST_EVENT_ID,),
        description=(
            "Each event's data is an entry and its id the entry's sequence. Without Last-Event-ID it begins with what "
            "is new; with it, the stream goes on after that event: no gap, no repetition, unless X-Audit-Floor says "
            "that retention dropped what came next. It ends when the key is revoked, when the replica stops, and when "
            "retention overtakes it; then connect again."
        ),
    ),
    Operation(
        "GET",
        "/v1/audit-logs/status",
        "Read how far sealing is behind",
        READ,
        "Audit log",
        answer=Backlog,
    ),
    Operation(
        "GET",
        "/v1/audit-logs/verify",
        "Verify the chain of the audit log",
        ADMIN,
        "Audit log",
        query=(CHECKPOINT,),
        answer=VerificationView,
        description=(
            "Recomputes the chain from the entries, two thousand segments a request; while `complete` is false and "
            "nothing is found, ask again with the `checkpoint` of the answer. Keep a checkpoint elsewhere and hand "
            "it in later: a log that was rewritten as a whole is found out by that alone."
        ),
    ),
    Operation(
        "POST",
        "/v1/decisions/{decision_id}/outcome",
        "Report what became of an allowed call",
        READ,
        "Decisions",
        body=ReportOutcome,
        answer=CallOutcome,
        errors=(DecisionNotFound, OutcomeConflict),
        description=(
            "Once, within 24 hours, by the key that asked; reported again, the first answer comes again. The log gets "
            "an entry. `not_executed` gives back what the call took of limits and budgets that are `refundable`; "
            "approvals stay used, and what the session was allowed stays remembered."
        ),
    ),
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
    Operation(
        "GET",
        "/v1/changes",
        "Query the trail of changes, newest first",
        ADMIN,
        "Changes",
        query=CHANGE_FILTERS,
        answer=list[Change],
        headers=NEXT_CURSOR,
        description=(
            "Who created, updated or deleted which agent, policy or API key: written in the same step as the change, "
            "so that none is missing and none was refused. All filters that are given must match. Ask until an answer "
            "has no X-Next-Cursor: a page may hold fewer than `limit`."
        ),
    ),
    Operation(
        "POST",
        "/v1/api-keys",
        "Create an API key",
        ADMIN,
        "API keys",
        body=CreateApiKey,
        status=201,
        answer=CreatedApiKey,
        request_headers=(CHANGE_REASON,),
        errors=(AgentNotFound, LimitReached),
        description="The raw key is in this answer and nowhere else, ever.",
    ),
    Operation(
        "GET",
        "/v1/api-keys",
        "List API keys, oldest first",
        ADMIN,
        "API keys",
        query=(LIMIT, OFFSET),
        answer=list[ApiKeyView],
    ),
    Operation(
        "DELETE",
        "/v1/api-keys/{key_id}",
        "Revoke an API key",
        ADMIN,
        "API keys",
        status=204,
        query=(FORCE,),
        request_headers=(CHANGE_REASON,),
        errors=(ApiKeyNotFound, LastAdminKey),
        description=(
            "Every request that is sent with it after the answer gets 401, from every replica. The last key that is "
            "valid and has the scope `admin` is kept (409) unless `force=true` insists: without one, only the "
            "console can make another."
        ),
    ),
    Operation(
        "POST",
        "/v1/webhooks",
        "Create a webhook",
        ADMIN,
        "Webhooks",
        body=CreateWebhook,
        status=201,
        answer=WebhookView,
        errors=(LimitReached,),
        headers=ETAG,
        description=(
            "It is told of what happens from now on, at least once, signed as Standard Webhooks says. The secret is in "
            "this answer, and in that to `rotate-secret`."
        ),
    ),
    Operation(
        "GET",
        "/v1/webhooks",
        "List webhooks, and how far each is",
        ADMIN,
        "Webhooks",
        answer=list[WebhookView],
    ),
    Operation(
        "GET",
        "/v1/webhooks/{webhook_id}",
        "Read a webhook, and how far it is",
        ADMIN,
        "Webhooks",
        answer=WebhookView,
        errors=(WebhookNotFound,),
        headers=ETAG,
    ),
    Operation(
        "PATCH",
        "/v1/webhooks/{webhook_id}",
        "Change a webhook",
        ADMIN,
        "Webhooks",
        body=UpdateWebhook,
        answer=WebhookView,
        errors=(WebhookNotFound, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH,),
        description="Only the fields that are given change; `{}` changes nothing.",
    ),
    Operation(
        "DELETE",
        "/v1/webhooks/{webhook_id}",
        "Delete a webhook",
        ADMIN,
        "Webhooks",
        status=204,
        errors=(WebhookNotFound, VersionConflict),
        request_headers=(IF_MATCH,),
        description="What waits for it is not sent any more.",
    ),
    Operation(
        "POST",
        "/v1/webhooks/{webhook_id}/rotate-secret",
        "Give a webhook another secret",
        ADMIN,
        "Webhooks",
        body=RotateSecret,
        answer=WebhookView,
        errors=(WebhookNotFound, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH,),
        description="Until the overlap has passed each event carries a signature by each.",
    ),
    Operation(
        "POST",
        "/v1/webhooks/{webhook_id}/test",
        "Send one event at once",
        ADMIN,
        "Webhooks",
        body=SendTest,
        answer=Attempt,
        errors=(WebhookNotFound,),
        description="Its type is `webhook.test`. It is sent once, and not again.",
    ),
    Operation(
        "GET",
        "/v1/webhooks/{webhook_id}/events",
        "List events that could not be delivered",
        ADMIN,
        "Webhooks",
        answer=list[UnsentView],
        errors=(WebhookNotFound,),
    ),
    Operation(
        "POST",
        "/v1/webhooks/{webhook_id}/retry",
        "Try parked events again",
        ADMIN,
        "Webhooks",
        body=RetryEvents,
        answer=Retried,
        errors=(WebhookNotFound, WebhookEventNotFound),
    ),
    Operation("GET", "/livez", "Whether the process answers", None, "Service", answer=Health),
    Operation(
        "GET", "/readyz", "Whether decisions can be made", None, "Service", answer=Health, errors=(StoreUnavailable,)
    ),
    Operation("GET", "/metrics", "Numbers for Prometheus", None, "Service", answer=str, media=(PROMETHEUS,)),
    Operation("GET", "/schema/openapi.json", "This document", None, "Service", answer=dict[str, Any]),
    Operation(
        "GET",
        "/v1/policies/schema.json",
        "Policy files as a JSON Schema",
        None,
        "Service",
        answer=dict[str, Any],
        media=(SCHEMA,),
        description="For editors: it completes and checks the files that `remit policy apply` takes.",
    ),
    Operation("GET", "/docs", "This document as a page", None, "Service", answer=str, media=(HTML,)),
    Operation(
        "GET",
        "/",
        "To the page",
        None,
        "Service",
        status=302,
        headers={"Location": "`/docs`, this document as a page."},
    ),
)


def headers_of(operation: Operation) -> dict[str, str]:
    """Every header that the answer of an operation can carry, with a sentence."""
    return {**operation.headers, **({} if operation.scope is None else RATE), **REQUEST_ID}


def errors_of(operation: Operation) -> list[type[AppError]]:
    """Everything that an operation can be refused with, by status."""
    if operation.always:
        return []
    errors: list[type[AppError]] = [AppError, *operation.errors]
    if operation.scope is not None:
        errors += (
            Invalid,
            Unauthorized,
            ApiKeyExpired,
            InsufficientScope,
            LockedOut,
            TooManyReplays,
            TooManyRequests,
            Overloaded,
            StoreUnavailable,
        )
    if operation.body is not None:
        errors.append(PayloadTooLarge)
    return sorted(errors, key=lambda error: error.status)
