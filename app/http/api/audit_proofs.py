"""Signed checkpoints, and proofs that an entry is in the log."""

from typing import Any

from litestar import Response

from app.errors import AuditEntryNotFound, AuditLogDamaged, CheckpointNotFound
from app.http.endpoint import endpoint
from app.http.references import id_in_path
from app.model.api_keys import Caller, Scope
from app.replica import Log

_MEDIA = "text/plain"
_READ: dict[str, Any] = {"tag": "Audit log", "scopes": (Scope.READ, Scope.VIEW, Scope.AUDIT)}
_NOTE: dict[str, Any] = {"answer": str, "media": (_MEDIA,), "errors": (CheckpointNotFound, AuditLogDamaged)}


@endpoint("GET", "/v1/audit-logs/checkpoint", **_READ, **_NOTE)
async def get_audit_checkpoint(caller: Caller, log: Log) -> Response[str]:
    """Read the newest signed checkpoint of the audit log.

    A signed note of C2SP: the log's origin, how many entries its Merkle tree has, and the root; below, the signatures
    of the service and of the witnesses that have seen that it only appends.
    """
    return Response(str(await log.audit.checkpoint(caller.workspace_id)), media_type=_MEDIA)


@endpoint(
    "GET",
    "/v1/audit-logs/{entry_id}/proof",
    **_READ,
    answer=str,
    media=(_MEDIA,),
    errors=(AuditEntryNotFound, CheckpointNotFound, AuditLogDamaged),
    headers={"Content-Disposition": "A name for the file."},
)
async def get_audit_proof(entry_id: str, caller: Caller, log: Log) -> Response[str]:
    """Read the proof that the newest signed checkpoint covers an entry.

    In the format `c2sp.org/tlog-proof@v1`, which can be verified offline; `extra` is the entry as the log has it. It
    says nothing of other entries.
    """
    known = id_in_path(entry_id, AuditEntryNotFound("No audit entry has this id"))
    proof = await log.audit.proof(caller.workspace_id, known)
    headers = {"Content-Disposition": f'attachment; filename="{known}.tlog-proof"'}
    return Response(proof, media_type=_MEDIA, headers=headers)


@endpoint("GET", "/v1/changes/checkpoint", tag="Changes", scopes=(Scope.ADMIN, Scope.AUDIT), **_NOTE)
async def get_changes_checkpoint(caller: Caller, log: Log) -> Response[str]:
    """Read the newest signed checkpoint of the trail of changes.

    As of the audit log; its origin ends with `/changes`.
    """
    return Response(str(await log.audit.checkpoint(caller.workspace_id, of_changes=True)), media_type=_MEDIA)
