"""Outcomes of allowed calls: reported once and logged; refundable limits get back what the call took."""

from collections.abc import Callable, Iterator

from app.errors import OutcomeConflict, StoreUnavailable, Unauthorized
from app.model.ids import Ids
from app.model.outcomes import REPORT_MS, CallOutcome, CallStatus, DecidedCall
from app.model.records import KEPT_SECONDS, MAX_RECORDS, Reported, digest, stored
from app.model.sequences import session_digest
from app.model.times import parse_time_ms, rfc3339
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import check_reply, decoding_record, number_of
from app.redis_client.scripts import RECORD_OUTCOME
from app.store.keyspace import Keyspace


class Outcomes:
    """Reports on the allowed calls of a workspace.

    reported: called once for each newly logged outcome, with its status and the number of limits refunded.
    """

    def __init__(
        self,
        client: Client,
        ids: Ids,
        backlog_max: int,
        reported: Callable[[str, int], None] = lambda _status, _refunded: None,
    ) -> None:
        self._client = client
        self._ids = ids
        self._backlog_max = backlog_max
        self._reported = reported

    async def record(
        self,
        workspace_id: str,
        decision: DecidedCall,
        status: CallStatus,
        records: Reported | None = None,
        *,
        now_us: int | None = None,
    ) -> CallOutcome:
        """Record the outcome of this decision in the log; a repeated report returns the first one.

        records: what its runtime reports of the result, for rules of the session; a repeated report adds none.
        now_us: for tests; in production the store is the clock.
        Raises OutcomeConflict if another status was reported or the time for it has passed; Unauthorized if the key is
        no longer valid.
        """
        keyspace = Keyspace(workspace_id)
        taken = await self._taken(keyspace, decision.id) if status is CallStatus.NOT_EXECUTED else []
        keys = [keyspace.key(decision.key_id), keyspace.commits, keyspace.audit_stream]
        keys += [keyspace.outcome(decision.id), keyspace.taken(decision.id), *(key for _, _, key in taken)]
        rule = "" if decision.rule is None else f"{decision.rule.index} {decision.rule.type}"
        args: list[Value] = [
            "" if now_us is None else now_us,
            self._ids.new(await store_time_ms(self._client)),
            decision.id,
            status,
            parse_time_ms(decision.timestamp),
            REPORT_MS,
            self._backlog_max,
            decision.agent_id,
            decision.key_id,
            decision.tool_name,
            decision.policy_id or "",
            rule,
        ]
        if records:
            keys.append(keyspace.session_records(decision.agent_id, session_digest(decision.session)))
            args += (KEPT_SECONDS * 1000, MAX_RECORDS, "".join(_lines(records, decision.tool_name)))
        else:
            args += ("", "", "")
        for taken_us, amount, _ in taken:
            args += (taken_us, amount)
        reply = check_reply(RECORD_OUTCOME, await self._client.run(RECORD_OUTCOME, keys, args))
        state, reported, entry_id, time_ms, given_back = reply
        if state not in {"done", "repeated"}:
            raise _refusal(state, reported)
        if state == "done":
            self._reported(reported, given_back)
        with decoding_record("The outcome of the call"):
            return CallOutcome(entry_id, decision.id, CallStatus(reported), given_back, rfc3339(number_of(time_ms)))

    async def _taken(self, keyspace: Keyspace, decision_id: str) -> list[tuple[str, str, str]]:
        """Time, amount and bucket of each refundable limit that the call took from."""
        text = await self._client.call("GET", keyspace.taken(decision_id)) or ""
        takes = (line.split(" ", 2) for line in text.split("\n") if line)
        with decoding_record("What the call took"):
            return [(taken_us, amount, key) for taken_us, amount, key in takes]


def _lines(records: Reported, tool: str) -> Iterator[str]:
    """Yield each record as the script takes it."""
    for name, fields in records.items():
        yield f"{digest(name)} {stored(tool, fields)}\n"


def _refusal(status: str, reported: str) -> Exception:
    match status:
        case "other":
            return OutcomeConflict(f"The call was reported as {reported} already")
        case "late":
            return OutcomeConflict("The call was allowed more than 24 hours ago; what became of it is not recorded")
        case "revoked":
            return Unauthorized("The API key is unknown or has been revoked")
        case _:
            return StoreUnavailable("The audit log's unsealed backlog is full; is a compactor running?")
