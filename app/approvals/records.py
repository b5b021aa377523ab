"""Converts between an approval's record in the store and its struct."""

import msgspec
from msgspec import UNSET, Raw

from app.model.actors import Via
from app.model.approvals import (
    ENDS,
    AccessRequest,
    Approval,
    ApprovalStatus,
    Approvers,
    LineCommand,
    Person,
    Said,
    people_in_words,
    policies_that_asked,
)
from app.model.call_values import CallValue, PlanPlace
from app.model.decisions import RecordRead, RuleRef
from app.model.ids import time_of_id
from app.model.times import rfc3339
from app.redis_client.client import Client
from app.redis_client.replies import decoding_record, number_of
from app.store.keyspace import Keyspace

KEEP_MS = 30 * 24 * 3600 * 1000
"""The time that a record is kept after it becomes final; the log keeps its entries for ever."""

_LISTED_MS = 2 * KEEP_MS
"""For how long an approval is listed: it is open for two weeks at most, and its record is kept for 30 days then."""

_strings = msgspec.json.Decoder(list[str])
_values = msgspec.json.Decoder(list[CallValue])
_commands = msgspec.json.Decoder(list[LineCommand])
_texts = msgspec.json.Decoder(dict[str, str])
_records = msgspec.json.Decoder(list[RecordRead])
_string = msgspec.json.Decoder(str)
_approvers = msgspec.json.Decoder(list[Approvers])
_person = msgspec.json.Decoder(Person)
_request = msgspec.json.Decoder(AccessRequest)


def approval_of(approval_id: str, record: dict[str, str], now_ms: int) -> Approval:
    """The approval in the record. One that has expired is shown as expired, whether or not that is logged yet."""
    with decoding_record(f"The record of approval {approval_id}"):
        required = number_of(record["required"])
        approvers = _approvers.decode(record["who"]) if "who" in record else UNSET
        fresh = number_of(record["fresh_s"]) if "fresh_s" in record else UNSET
        index, _, kind = record["rule"].partition(" ")
        usable_until_ms = record.get("usable_until_ms")
        return Approval(
            id=approval_id,
            status=_status(record, now_ms),
            version=number_of(record["version"]),
            agent_id=record["agent_id"],
            tool_name=record["tool_name"],
            action=record["action"],
            parameters=Raw(record["parameters"].encode()),
            context=Raw((record["context"] or "{}").encode()),
            bound_context=_strings.decode(record["bound"]),
            hides=record["hides"] == "1",
            parameters_digest=record["digest"],
            policy_id=record["policy_id"] or None,
            policies=policies_that_asked(record),
            rule=RuleRef(number_of(index), kind) if kind else None,
            reason=record["reason"],
            requested_by=_asker(record),
            requests=number_of(record["requests"]),
            required=required,
            needs=people_in_words(required, approvers or (), fresh),
            approvers=approvers,
            fresh=fresh,
            approvals=_verdicts(record),
            access_request=_request.decode(record["request"]) if record.get("request") else None,
            created_at=rfc3339(number_of(record["created_ms"])),
            expires_at=rfc3339(number_of(record["expires_ms"])),
            usable_until=None if not usable_until_ms else rfc3339(number_of(usable_until_ms)),
            uses_left=number_of(record.get("uses_left") or record["max_uses"]),
            decisions=record["decisions"].split(),
            values=_values.decode(record.get("values") or "[]"),
            commands=_commands.decode(record.get("commands") or "[]"),
            agent_says=_texts.decode(record.get("agent_says") or "{}"),
            records=_records.decode(record.get("records") or "[]"),
            plan=_plan(record["plan"]) if record.get("plan") else UNSET,
        )


def open_keys(
    keyspace: Keyspace, approval_id: str, agent_id: str, asked_by: str, rules: str, digest: str
) -> dict[str, str]:
    """The keys with the data of an open approval, by the names that the scripts use.

    asked_by: the API key's id. rules: the fingerprints of the rules that asked; it counts for the first of them.
    """
    return {
        "approval": keyspace.approval(approval_id),
        "commits": keyspace.commits,
        "audit_stream": keyspace.audit_stream,
        "open": keyspace.approvals_open,
        "agent_open": keyspace.agent_approvals(agent_id),
        "key_open": keyspace.key_approvals(asked_by),
        "rule_open": keyspace.rule_approvals(agent_id, rules.partition(" ")[0]),
        "approval_call": keyspace.approval_call(digest),
        "events": keyspace.approval_events,
    }


async def drop_old_ids(client: Client, keyspace: Keyspace, now_ms: int) -> None:
    """Remove approvals whose records are long gone from the list of all; ids begin with the time of their making."""
    await client.call("ZREMRANGEBYLEX", keyspace.approvals, "-", f"({time_of_id(max(0, now_ms - _LISTED_MS))}")


def _status(record: dict[str, str], now_ms: int) -> ApprovalStatus:
    status = ApprovalStatus(record["status"])
    ends_ms = record.get(ENDS.get(status, ""))
    return ApprovalStatus.EXPIRED if ends_ms is not None and now_ms >= number_of(ends_ms) else status


def _verdicts(record: dict[str, str]) -> list[Said]:
    verdicts = []
    for line in record.get("said", "").splitlines():
        time_ms, key_id, verdict, note = line.split(" ", 3)
        by = _person.decode(record[f"by {key_id}"])
        verdicts.append(Said(by, ApprovalStatus(verdict), rfc3339(number_of(time_ms)), _string.decode(note)))
    return verdicts


def _plan(said: str) -> PlanPlace:
    plan_id, index, calls = said.split()
    return PlanPlace(plan_id, number_of(index), number_of(calls))


def _asker(record: dict[str, str]) -> Person:
    via = Via(record["key_via"]) if "key_via" in record else UNSET
    return Person(record["key_id"], record["key_name"], via, record.get("key_person") or UNSET)
