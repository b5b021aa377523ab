"""The audit log: queried, exported, followed, verified, explained and replayed."""

from app.errors import (
    AgentNotFound,
    AuditEntryNotFound,
    AuditLogDamaged,
    TooManyReplays,
    TooManyStreams,
    VersionNotKept,
)
from app.http.api.replay import ReplayBody
from app.http.openapi.operation import ADMIN, READ, Operation
from app.http.openapi.parameters import (
    AUDIT_FLOOR,
    CHECKPOINT,
    EXPORT_FORMAT,
    FILTERS,
    LAST_EVENT_ID,
    NEXT_CURSOR,
    PAGE,
)
from app.model.audit import AuditEntry, Backlog
from app.model.explanations import PastExplanation
from app.model.replays import ReplayLine
from app.views.verification import VerificationView

AUDIT_LOG = (
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
)
