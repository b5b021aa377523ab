"""Calls that name their approval: those that name another are logged, and a key may make few of them.

Otherwise the answers to many such calls would tell which values, redacted for people, an approval is bound to.
"""

from collections.abc import Awaitable, Callable

from app.authorize.commit import CommitQuestion, Stale
from app.authorize.escalation.request import bound_context, is_bound, no_open_approval
from app.errors import ApprovalMismatch, StoreUnavailable, TooManyMismatches, Unauthorized
from app.model.approvals import whole_record
from app.model.decision_codes import ApprovalMisfit
from app.model.decisions import Decision
from app.model.ids import Ids
from app.pdp import CompiledAgent
from app.redaction.signer import Signer
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply, decoding_record, number_of
from app.redis_client.scripts import NOTE_MISMATCH
from app.store.keyspace import Keyspace

MISMATCHES_MAX = 20
_WINDOW_MS = 60_000


class NamedApprovals:
    """Logs and counts mismatches, on all replicas together. Calls under way as the last one is counted are answered."""

    def __init__(self, client: Client, ids: Ids, signer: Signer, backlog_max: int) -> None:
        self._client = client
        self._ids = ids
        self._signer = signer
        self._backlog_max = backlog_max

    async def checked(
        self, question: CommitQuestion, commit: Callable[[], Awaitable[Decision | Stale]]
    ) -> Decision | Stale:
        """The answer of `commit`, which may raise ApprovalMismatch: then the log has the attempt.

        Raises TooManyMismatches, without trying, once the key's holder has named 20 other approvals within a minute.
        """
        keyspace = Keyspace(question.caller.workspace_id)
        name = keyspace.mismatches(question.caller.root)
        count = await self._client.call("GET", name)
        with decoding_record("The number of mismatches"):
            if count is not None and number_of(count) >= MISMATCHES_MAX:
                raise TooManyMismatches(
                    f"This key has named {MISMATCHES_MAX} approvals within a minute that are not open or not of the "
                    "call; wait a minute, or ask without approval_id"
                )
        try:
            return await commit()
        except ApprovalMismatch:
            await self._note(keyspace, name, question)
            raise

    async def misfit(self, question: CommitQuestion, agent: CompiledAgent) -> ApprovalMisfit:
        """Why the approval that the call names does not count. Raises ApprovalMismatch if it is not the caller's."""
        request, caller = question.request, question.caller
        keyspace, approval_id = Keyspace(caller.workspace_id), request.approval_id
        with decoding_record(f"The record of approval {approval_id}"):
            record = whole_record(as_record(await self._client.call("HGETALL", keyspace.approval(approval_id))))
        asked_by = record.get("key_id", "")
        if caller.root != (await self._client.call("HGET", keyspace.key(asked_by), "root") or asked_by):
            raise no_open_approval()
        bound, descriptive = bound_context(agent, request), agent.descriptive(request.tool_name)
        is_of_call = is_bound(record["digest"], caller, request, bound, descriptive, self._signer)
        return ApprovalMisfit.EXPIRED if is_of_call else ApprovalMisfit.OUT_OF_SCOPE

    async def _note(self, keyspace: Keyspace, name: str, question: CommitQuestion) -> None:
        request, key_id = question.request, question.caller.key_id
        entry_id = self._ids.new(await store_time_ms(self._client))
        args: list[Value] = ["", entry_id, self._backlog_max, _WINDOW_MS, request.agent_id, key_id]
        args += (request.tool_name, request.approval_id)
        keys = [keyspace.key(key_id), keyspace.commits, keyspace.audit_stream, name]
        match check_reply(NOTE_MISMATCH, await self._client.run(NOTE_MISMATCH, keys, args))[0]:
            case "revoked":
                raise Unauthorized("The API key is unknown or has been revoked")
            case "backlog":
                raise StoreUnavailable("The audit log's unsealed backlog is full; is a compactor running?")
