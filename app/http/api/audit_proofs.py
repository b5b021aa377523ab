"""Signed checkpoints, and proofs that an entry is in the log."""

from typing import Any

from litestar import Response

from app.errors import AuditEntryNotFound, AuditLogDamaged, CheckpointNotFound
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.references import id_in_path
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.checkpoints import Fork, SignedTree
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
    return Response(str(await log.audit.checkpoint(caller.workspace_id, SignedTree.LOG)), media_type=_MEDIA)


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
    return Response(str(await log.audit.checkpoint(caller.workspace_id, SignedTree.CHANGES)), media_type=_MEDIA)


class AcceptFork(Body, frozen=True):
    """An empty body: `{}`."""


@endpoint("POST", "/v1/audit-logs/accept-fork", tag="Audit log", scopes=(Scope.ADMIN,), errors=(AuditLogDamaged,))
async def accept_fork(
    data: AcceptFork,  # noqa: ARG001 - read, so that what is unknown in it is refused
    caller: Caller,
    log: Log,
    by: ChangedBy,
) -> list[Fork]:
    """Accept that the log, or the trail of changes, does not continue what was signed before.

    The service had stopped to sign it: the store was set back, a failover lost entries, or somebody has rewritten them.
    `forks` of the log's status says which, since when, and why. From now on it is signed again, and checkpoints prove
    nothing of what is missing: keep the last one from before, which does, and tell the auditor. Answers what was
    accepted, which is also in the trail of changes; an empty list if nothing had stopped.
    """
    return await log.audit.accept_forks(caller.workspace_id, by)
