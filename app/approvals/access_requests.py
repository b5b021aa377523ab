"""Access requests: what is recorded with a pending approval when somebody asks people for it in so many words."""

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from app.approvals.approvals import Approvals, unknown_approval
from app.approvals.reaper import require_backlog
from app.errors import DuplicateRequest, ExpiredDenial, Unauthorized
from app.model.access_requests import Callback, StoredCallback
from app.model.api_keys import Caller
from app.model.approvals import Approval
from app.model.ids import Ids
from app.model.times import parse_time_ms
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import check_reply
from app.redis_client.scripts import SUBMIT_ACCESS_REQUEST
from app.store.keyspace import Keyspace

_KEEP_KEYS_MS = 24 * 3600 * 1000
"""How long an Idempotency-Key is kept after the time to decide its approvals is over."""


class Submission(Struct, frozen=True, kw_only=True):
    """A submission. task_id: of the whole task. shown: what people see of it, as JSON.

    key, bodies: the digests of the Idempotency-Key, and of the whole body, the newest first; empty without one.
    """

    task_id: str
    shown: bytes
    callback: Callback | None = None
    key: str = ""
    bodies: tuple[str, ...] = ()


class AccessRequests:
    """Submits access requests of a workspace. Their state is that of their approvals."""

    def __init__(self, client: Client, ids: Ids, approvals: Approvals, backlog_max: int) -> None:
        self._client = client
        self._ids = ids
        self._approvals = approvals
        self._backlog_max = backlog_max

    async def submit(
        self, caller: Caller, approval: Approval, submission: Submission, together: Sequence[Approval] = ()
    ) -> Approval:
        """The approval, once it and the log have the request. One that is no longer pending is returned as it is.

        together: all that are requested together; with the last of them, the Idempotency-Key is used up.
        Raises DuplicateRequest, ExpiredDenial, ApprovalNotFound, Unauthorized if the key was revoked meanwhile.
        """
        keyspace = Keyspace(caller.workspace_id)
        digest = hashlib.sha256(f"{caller.root} {submission.key}".encode()).hexdigest()
        keys = [
            keyspace.key(caller.key_id),
            keyspace.approval(approval.id),
            keyspace.commits,
            keyspace.audit_stream,
            keyspace.submission(digest),
        ]
        callback, rule, keep_ms = submission.callback, approval.rule, _KEEP_KEYS_MS
        if together:
            keep_ms += max(parse_time_ms(each.expires_at) for each in together) - parse_time_ms(approval.expires_at)
        args: list[Value] = [
            "",
            self._ids.new(await store_time_ms(self._client)),
            approval.id,
            caller.key_id,
            "".join(f"{body} " for body in submission.bodies),
            keep_ms if not together or approval.id == together[-1].id else "",
            submission.shown,
            "" if callback is None else msgspec.json.encode(StoredCallback(submission.task_id, callback)),
            self._backlog_max,
            approval.agent_id,
            approval.tool_name,
            approval.policy_id or "",
            "" if rule is None else f"{rule.index} {rule.type}",
        ]
        reply = check_reply(SUBMIT_ACCESS_REQUEST, await self._client.run(SUBMIT_ACCESS_REQUEST, keys, args))
        require_backlog(reply[0])
        match reply[0]:
            case "revoked":
                raise Unauthorized("The API key is unknown or has been revoked")
            case "missing":
                raise unknown_approval()
            case "duplicate":
                raise DuplicateRequest("Another body came with this Idempotency-Key; send a new key for a new request")
            case "expired":
                raise ExpiredDenial(
                    "The time to request this access is over; evaluate again, and submit the new denial"
                )
        return await self._approvals.get(caller.workspace_id, approval.id)


def shown_request(context: bytes, requested_access: bytes, client: bytes) -> bytes:
    """What people see of a submission, as JSON: its parts are redacted JSON."""
    parts = {"context": Raw(context), "requestedAccess": Raw(requested_access), "client": Raw(client)}
    return msgspec.json.encode(parts)
