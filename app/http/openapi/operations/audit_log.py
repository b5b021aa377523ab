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
            "All given filters must match. Every decision already answered is found, on every replica. A page has up "
            "to 4 MiB; the last page has no `X-Next-Cursor`."
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
        "Explain a past decision",
        READ,
        "Audit log",
        errors=(AuditEntryNotFound, AuditLogDamaged, VersionNotKept),
        answer=PastExplanation,
        description=(
            "The part of each policy in the decision, as the policies stood when its entry was written. What the log "
            "does not hold is `unknown`, never guessed. 410 if a policy has changed too often since then."
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
            "One JSON object per line, or CSV with `format=csv`; compressed if Accept-Encoding names gzip. The last "
            'record is `{"end": …}`, or a row that begins with `#end`: a file without it is incomplete, because the '
            "store became unavailable or retention dropped entries still to come; ask again. In CSV, a cell that a "
            "spreadsheet would run as a formula is preceded by an apostrophe."
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
            "Judges the logged calls of a span of time again by the draft, with rate limits and budgets counted on "
            "the log's own timeline, and reports which results flip. The answer is one JSON object per line: "
            "progress, samples as they are found, and last the report; an answer without the report is incomplete. "
            "Calls that cannot be judged are counted, never guessed. Nothing is taken, logged or changed."
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
            "Each event's data is an entry, its id the entry's sequence. Without Last-Event-ID the stream begins with "
            "new entries; with it, it continues after that event without gap or repetition, unless X-Audit-Floor says "
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
            "Recomputes the chain from the entries, two thousand segments per request. While `complete` is false and "
            "nothing is found, ask again with the answer's `checkpoint`. Keep a checkpoint elsewhere and pass it "
            "later: nothing else detects a log that was rewritten as a whole."
        ),
    ),
)
