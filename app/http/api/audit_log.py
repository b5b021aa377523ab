"""/v1/audit-logs."""

from typing import Annotated, Any

from litestar import MediaType, Response

from app.errors import AgentNotFound, AuditEntryNotFound, AuditLogDamaged
from app.http.endpoint import endpoint
from app.http.openapi.described_headers import AUDIT_FLOOR, AUDIT_SCAN, NEXT_CURSOR
from app.http.references import id_in_path, with_agent_id
from app.http.views.audit_log import VerificationView, with_code, with_codes
from app.model.api_keys import Caller, Scope
from app.model.archives import ArchiveManifest, ManifestQuery
from app.model.audit import AuditEntry, AuditQuery, Backlog
from app.model.changes import Change, ChangeQuery
from app.model.checkpoints import Checkpoint
from app.model.counts import CountQuery, Counts
from app.model.notes import Note
from app.model.query_fields import QueryFields, Spelled
from app.model.text import require_text
from app.model.times import rfc3339
from app.replica import Log, Records, Services
from app.validation_messages import refusing_fields
from app.webhooks.records import note_finding

CHECKPOINT_MAX = 400
"""More than the length of any checkpoint line."""
VERIFY_SEGMENTS = 200
"""The most segments verified by one request: a hundred thousand entries, some three seconds in steps of up to 15 ms."""


def _checkpoint_in(line: str) -> Checkpoint:
    require_text(line, CHECKPOINT_MAX)
    return Checkpoint.parse(line)


_READ: dict[str, Any] = {"tag": "Audit log", "scopes": (Scope.READ, Scope.VIEW, Scope.AUDIT)}


class VerificationStart(QueryFields, frozen=True):
    """Where a verification starts.

    checkpoint: The line of an earlier verification: start there, and require the log to match it.
    continues: The checkpoint is that of the answer before, in a verification of several requests; what it covers is not
    looked at again.
    note: A signed checkpoint of the log or of the trail of changes, which its Merkle tree must continue. The three
    lines suffice: whoever asks checks the signatures.
    """

    checkpoint: Annotated[Checkpoint, Spelled(_checkpoint_in, {"type": "string", "format": "checkpoint"})] | None = None
    continues: bool = False
    note: Annotated[Note, Spelled(Note.parse, {"type": "string", "format": "checkpoint"})] | None = None


@endpoint(
    "GET",
    "/v1/audit-logs",
    **_READ,
    answer=list[AuditEntry],
    errors=(AgentNotFound, AuditLogDamaged),
    headers={**NEXT_CURSOR, **AUDIT_FLOOR, **AUDIT_SCAN},
)
async def query_audit_log(params: AuditQuery, caller: Caller, services: Services) -> Response[bytes]:
    """Query the audit log, newest first.

    All given filters must match. Every decision already answered is found, on every replica. A page has up to 4 MiB;
    the last page has no `X-Next-Cursor`. If `X-Audit-Scan` names filters, one request looks through about 250,000
    entries, so a page may have less than `limit`, or nothing: go on with the cursor, or give `agent_id` or `from`, too.
    An `offset` that skips more than is found there is 400.
    """
    query = await with_agent_id(services.records, caller, params)
    with refusing_fields(""):
        page = await services.log.audit.query(caller.workspace_id, query)
    headers = {} if page.next_before is None else {"X-Next-Cursor": str(page.next_before)}
    if query.scans:
        headers["X-Audit-Scan"] = ", ".join(query.scans)
    if page.floor is not None:
        headers["X-Audit-Floor"] = rfc3339(page.floor.time_ms)
    # The log keeps entries as the lines that are sent, so nothing is encoded again; only the code is added.
    lines = await with_codes(page.lines)
    return Response(b"[" + b",".join(lines) + b"]", headers=headers, media_type=MediaType.JSON)


@endpoint("GET", "/v1/audit-logs/{entry_id}", **_READ, answer=AuditEntry, errors=(AuditEntryNotFound, AuditLogDamaged))
async def get_audit_entry(entry_id: str, caller: Caller, log: Log) -> Response[bytes]:
    """Read one audit entry.

    The id of an entry is that of the decision: `id` in the answer to authorize.
    """
    known = id_in_path(entry_id, AuditEntryNotFound("No audit entry has this id"))
    _, line = await log.audit.entry(caller.workspace_id, known)
    return Response(with_code(line), media_type=MediaType.JSON)


@endpoint("GET", "/v1/audit-logs/status", **_READ)
async def audit_log_status(caller: Caller, log: Log) -> Backlog:
    """Read how far sealing is behind, and what the last verification found."""
    return await log.audit.backlog(caller.workspace_id)


@endpoint("GET", "/v1/audit-logs/archive", **_READ, errors=(AuditLogDamaged,))
async def audit_log_archive(params: ManifestQuery, caller: Caller, log: Log) -> ArchiveManifest:
    """Read how far the log is archived, and the manifest of its segments.

    Archives are files that an operator writes with `remit audit archive`; the service does not see them. It says how
    far that command has come, and gives the manifest's line of every segment that the store still has, to compare an
    archive with. Only verification recomputes the hashes of the chain.
    """
    return await log.audit.manifest(caller.workspace_id, params)


@endpoint("GET", "/v1/audit-logs/verify", tag="Audit log", scopes=(Scope.ADMIN, Scope.AUDIT))
async def verify_audit_log(params: VerificationStart, caller: Caller, services: Services) -> VerificationView:
    """Verify the chain of the audit log.

    Recomputes the chain from the entries, two hundred segments per request. While `complete` is false and nothing is
    found, ask again with the answer's `checkpoint` and `continues=true`. Keep a checkpoint elsewhere and pass it later:
    nothing else detects a log that was rewritten as a whole. A finding is also sent to webhooks, but one against a
    checkpoint only for a key with the scope `admin`: whoever gives the checkpoint could have invented it.
    """
    found = await services.log.audit.verify(
        caller.workspace_id, params.checkpoint, VERIFY_SEGMENTS, continues=params.continues, note=params.note
    )
    if found.finding is not None and (params.checkpoint is None or Scope.ADMIN in caller.scopes):
        await note_finding(services.client, caller.workspace_id, found.finding)
    return VerificationView.of(found)


@endpoint("GET", "/v1/changes", tag="Changes", scopes=(Scope.ADMIN, Scope.AUDIT), headers=NEXT_CURSOR)
async def query_changes(params: ChangeQuery, caller: Caller, records: Records) -> Response[list[Change]]:
    """Query the trail of changes, newest first.

    Who created, updated or deleted which agent, policy or API key. Each entry is written in the same step as its
    change: none is missing, and refused changes have none. All given filters must match. Continue until an answer has
    no X-Next-Cursor: a page may have fewer than `limit`.
    """
    page = await records.changes.query(caller.workspace_id, params)
    headers = {} if page.older_than is None else {"X-Next-Cursor": page.older_than}
    return Response(page.changes, headers=headers)


@endpoint(
    "GET",
    "/v1/audit-logs/counts",
    tag="Audit log",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT),
    errors=(AgentNotFound, AuditLogDamaged),
    headers=AUDIT_FLOOR,
)
async def count_audit_log(params: CountQuery, caller: Caller, services: Services) -> Response[Counts]:
    """Count the entries that match, by value.

    Counts are exact, and include every decision already answered. With `step`, they are also given for each interval.
    Filters by action, rule type, key, session, user and shadow policy read the entries, which takes longer.
    """
    query = await with_agent_id(services.records, caller, params)
    with refusing_fields(""):
        counted = await services.log.audit.counts(caller.workspace_id, query)
    headers = {} if counted.floor is None else {"X-Audit-Floor": rfc3339(counted.floor.time_ms)}
    return Response(counted.counts, headers=headers)
