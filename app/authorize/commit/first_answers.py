"""Idempotency keys: the first answer to an Idempotency-Key, which later requests with that key get again."""

from msgspec.structs import replace

from app.errors import IdempotencyStale, StoreUnavailable
from app.model.api_keys import Caller
from app.model.approvals import ENDS, ApprovalStatus
from app.model.decisions import ApprovalRef, Decision, Idempotency, Outcome, Result, RuleRef
from app.model.logged_codes import code_from
from app.model.times import rfc3339
from app.redis_client.packed_call import ScriptRunner
from app.redis_client.replies import as_record, decoding_record, number_of
from app.store.keyspace import keyspace_of


async def first_decision(runner: ScriptRunner, caller: Caller, idempotency: Idempotency, now_ms: int) -> Decision:
    """The decision that the first request with this Idempotency-Key got, with the status that its approval has now."""
    name = keyspace_of(caller.workspace_id).first_answer(caller.key_id, idempotency.key_digest)
    reply = await runner.call("HGETALL", name)
    if reply in ({}, []):
        raise StoreUnavailable("The first answer to this Idempotency-Key has just expired; try again")
    # The script has found the answer to this request; if this is another's, the reply is not this command's.
    is_record = isinstance(reply, dict) or (isinstance(reply, list) and len(reply) % 2 == 0)
    record = as_record(reply) if is_record else {}
    if record.get("body_digest") not in {idempotency.body_digest, *idempotency.former_digests}:
        await runner.reset_connections()
        raise StoreUnavailable("The store answered another decision than the one that was asked for")
    with decoding_record("The first answer to this Idempotency-Key"):
        decision = _decision_of(record)
    if decision.outcome.result is Result.ALLOWED:
        await _require_not_ended(runner, caller, decision.id)
    if "approvalId" in record:
        with decoding_record("The approval that the first answer to this Idempotency-Key names"):
            named = await _named(runner, caller, record["approvalId"], decision.outcome.result, now_ms)
        return replace(decision, approval=named)
    return decision


async def _require_not_ended(runner: ScriptRunner, caller: Caller, decision_id: str) -> None:
    """Raise IdempotencyStale if the call's outcome was reported: it was one call, and has ended."""
    if await runner.call("GET", keyspace_of(caller.workspace_id).outcome(decision_id)) is not None:
        raise IdempotencyStale(
            "The outcome of the call that this Idempotency-Key allowed was reported, so another one needs a new key"
        )


async def _named(
    runner: ScriptRunner, caller: Caller, approval_id: str, result: Result, now_ms: int
) -> ApprovalRef | None:
    """The approval that a first answer used, or asked for, with its status as it is now.

    Raises IdempotencyStale if it asked for one that would let a call through now, or has.
    """
    record = as_record(await runner.call("HGETALL", keyspace_of(caller.workspace_id).approval(approval_id)))
    if result is Result.ALLOWED:
        until_ms = record.get("usable_until_ms")
        return (
            None
            if until_ms is None
            else ApprovalRef(approval_id, ApprovalStatus.APPROVED, rfc3339(number_of(until_ms)))
        )
    status = ApprovalStatus(record["status"])
    ends_ms = record.get(ENDS.get(status, ""))
    if ends_ms is not None and now_ms >= number_of(ends_ms):
        status = ApprovalStatus.EXPIRED
    if status in (ApprovalStatus.APPROVED, ApprovalStatus.CONSUMED):
        raise IdempotencyStale(
            "The approval that this Idempotency-Key was answered with lets calls through, or has let one through, and "
            "nothing was decided now; ask again with a new one"
        )
    return ApprovalRef(approval_id, status, rfc3339(number_of(record["expires_ms"])))


def _decision_of(record: dict[str, str]) -> Decision:
    """The decision of a stored first answer."""
    index, _, kind = record["rule"].partition(" ")
    result, reason = Result(record["result"]), record["reason"]
    rule = RuleRef(int(index), kind) if kind else None
    outcome = Outcome(result, record["policyId"] or None, rule, reason, code_from(result, kind or None, reason))
    return Decision(
        record["id"],
        outcome,
        _microseconds(record["retryUs"]) or None,
        _microseconds(record["latencyUs"]),
        _microseconds(record["timeUs"]),
        repeated=True,
    )


def _microseconds(text: str) -> int:
    """A time or a span as the commit wrote it. Raises ValueError."""
    return number_of(text[:-3] or "0") * 1000 + number_of(text[-3:])
