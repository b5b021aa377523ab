"""Read, decide and end the approvals of a workspace."""

from collections.abc import Sequence
from statistics import median_low
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from app.approvals.deciders import Decider, decider_of, roots_of
from app.approvals.reaper import require_backlog
from app.approvals.records import KEEP_MS, approval_of, drop_old_ids, open_keys
from app.approvals.waiting import pending_ids
from app.errors import (
    AppError,
    ApprovalChanged,
    ApprovalDecided,
    ApprovalNotFound,
    Invalid,
    NotAnApprover,
    OwnApproval,
    SignInTooOld,
    Unauthorized,
)
from app.model.access_requests import StoredCallback
from app.model.actors import Actor, Via
from app.model.api_keys import Caller, Scope
from app.model.approvals import (
    OPEN,
    Approval,
    ApprovalQuery,
    ApprovalStatus,
    ApprovalSummary,
    Grant,
    Person,
    SummaryQuery,
    WaitingCall,
    policies_that_asked,
    whole_record,
)
from app.model.catalog import consequence_in
from app.model.ids import Ids
from app.model.text import with_hidden_shown
from app.model.times import parse_time_ms
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply, decoding_record, number_of
from app.redis_client.scripts import DECIDE_APPROVAL
from app.store.keyspace import Keyspace
from app.store.optimistic import Versions

ANY_GRANT = Grant()
"""As much as the rules allow."""

_CHUNK = 128
_READ_MAX = 1_000
_WAITING = ApprovalQuery(status=(ApprovalStatus.PENDING,))
_DECIDED = ApprovalQuery(status=(ApprovalStatus.APPROVED, ApprovalStatus.DENIED, ApprovalStatus.CONSUMED), limit=50)
"""The latest that a summary is about; some of them nobody decided."""
_SHOWN_NOTE = 500
_REFUSALS: dict[str, tuple[type[AppError], str]] = {
    "revoked": (Unauthorized, "The API key is unknown or has been revoked"),
    "stale": (ApprovalChanged, "The approval has changed since it was read; read it again, then decide"),
    "own": (
        OwnApproval,
        "Nobody decides their own request: this key and the one that asked count as one person; use another's key",
    ),
    "not_own": (
        OwnApproval,
        "Only the key that asked may cancel what waits, and whoever may decide, what is approved; to refuse, deny it",
    ),
    "twice": (
        ApprovalDecided,
        "This key, or one that counts as the same person, has approved it already; another person must",
    ),
    "expired": (ApprovalDecided, "Nobody decided it in time: the approval has expired"),
    "ended": (ApprovalDecided, "The approval has ended: its agent, requesting key or policy no longer exists"),
}
_ASKED = ("agent_id", "tool_name", "key_id", "required", "max_uses", "valid_ms", "policy_id", "rule")


_callback = msgspec.json.Decoder(StoredCallback)


def unknown_approval() -> ApprovalNotFound:
    """The same error whether the approval does not exist or the caller may not see it."""
    return ApprovalNotFound("No approval has this id")


class Approvals:
    """Approvals of a workspace, waiting and decided. Only the commit creates and uses them."""

    def __init__(self, client: Client, ids: Ids, backlog_max: int) -> None:
        self._client = client
        self._ids = ids
        self._backlog_max = backlog_max

    async def get(self, workspace_id: str, approval_id: str) -> Approval:
        """The approval as it is now. Raises ApprovalNotFound; records are deleted 30 days after their end."""
        approval, _ = await self._read(workspace_id, approval_id)
        [named] = await self._named(Keyspace(workspace_id), [approval])
        return named

    async def callback(self, workspace_id: str, approval_id: str) -> StoredCallback | None:
        """Who is told how its access request ended; None if no one is."""
        stored = await self._client.call("HGET", Keyspace(workspace_id).approval(approval_id), "callback")
        with decoding_record(f"The callback of approval {approval_id}"):
            return _callback.decode(stored) if stored else None

    async def page(
        self, workspace_id: str, query: ApprovalQuery, caller: Caller | None = None
    ) -> tuple[list[Approval], str | None]:
        """The matching approvals, newest first, and the id from which the next page continues.

        At most 1,000 approvals are read for one page, which may then have fewer than the limit. caller: who asks, for
        `mine`.
        """
        keyspace, now_ms = Keyspace(workspace_id), await store_time_ms(self._client)
        decider = None
        if caller is not None and query.mine:
            if not caller.has_any((Scope.APPROVE,)) or ApprovalStatus.PENDING not in (query.status or OPEN):
                return [], None
            decider = await decider_of(self._client, keyspace, caller.record)
            query = replace(query, status=(ApprovalStatus.PENDING,))
        matches: list[Approval] = []
        before, chunk = query.before, min(_CHUNK, query.limit + 1)  # one more says whether there is another page
        wants_open = query.status is not None and set(query.status) <= set(OPEN)
        opened = await self._open_ids(keyspace, query) if wants_open and query.agent_id is not None else None
        for _ in range(0, _READ_MAX, chunk):
            ids = await self._ids_before(keyspace, opened, before, chunk)
            matches += await self._matching(keyspace, ids, query, decider, now_ms)
            if len(matches) > query.limit:
                found = matches[: query.limit]
                return await self._named(keyspace, found), found[-1].id
            if len(ids) < chunk:
                return await self._named(keyspace, matches), None
            before = ids[-1]
            if opened is None and wants_open:  # few of the others may be open
                opened = await self._open_ids(keyspace, query)
        return await self._named(keyspace, matches), before

    async def summary(self, workspace_id: str, query: SummaryQuery) -> ApprovalSummary:
        """What waits, with the calls that have waited longest, and how long people took lately."""
        keyspace, now_ms = Keyspace(workspace_id), await store_time_ms(self._client)
        opened = keyspace.approvals_open if query.agent_id is None else keyspace.agent_approvals(query.agent_id)
        waiting = await pending_ids(self._client, keyspace, opened, now_ms)
        oldest = await self._matching(keyspace, waiting[: query.calls], _WAITING, None, now_ms)
        decided, _ = await self.page(workspace_id, replace(_DECIDED, agent_id=query.agent_id))
        took = [
            parse_time_ms(each.approvals[-1].at) - parse_time_ms(each.created_at) for each in decided if each.approvals
        ]
        brief = [
            WaitingCall(each.id, each.agent_id, each.agent_name, each.tool_name, each.created_at)
            for each in await self._named(keyspace, oldest)
        ]
        return ApprovalSummary(len(waiting), brief, len(took), median_low(took) / 1000 if took else None)

    async def _ids_before(
        self, keyspace: Keyspace, opened: Sequence[bytes] | None, before: str | None, most: int
    ) -> list[str]:
        """The newest ids, of those before this one. opened: of these; None = of all approvals."""
        if opened is not None:
            left = opened if before is None else [each for each in opened if each < before.encode()]
            return [each.decode() for each in left[:most]]
        newest = "+" if before is None else f"({before}"
        ids: list[str] = await self._client.call(
            "ZRANGE", keyspace.approvals, newest, "-", "BYLEX", "REV", "LIMIT", 0, most
        )
        return ids

    async def _matching(
        self, keyspace: Keyspace, ids: Sequence[str], query: ApprovalQuery, decider: Decider | None, now_ms: int
    ) -> list[Approval]:
        """Those that match, and that the decider may decide if one is given."""
        replies = await self._client.read_pipelined([("HGETALL", keyspace.approval(each)) for each in ids])
        records = {each: _record_of(each, reply) for each, reply in zip(ids, replies, strict=True)}
        found = [(approval_of(each, record, now_ms), record) for each, record in records.items() if record]
        found = [(approval, record) for approval, record in found if _matches(query, approval)]
        if decider is None:
            return [approval for approval, _ in found]
        roots = await roots_of(self._client, keyspace, (record["key_id"] for _, record in found))
        return [approval for approval, record in found if decider.may_decide(approval, record, roots[record["key_id"]])]

    async def decide(
        self,
        workspace_id: str,
        approval_id: str,
        verdict: ApprovalStatus,
        *,
        by: Actor,
        note: str = "",
        grant: Grant = ANY_GRANT,
        if_match: Versions = None,
        accepts_hidden: bool = False,
        may_decide: bool = True,
    ) -> Approval:
        """The approval, once the verdict is in the log.

        verdict: approved, denied or cancelled; what is approved and not used yet can be cancelled, too. if_match: only
        if the approval is still as the person saw it. may_decide: False = they may only cancel what they asked for.
        Raises ApprovalNotFound, ApprovalDecided, ApprovalChanged, OwnApproval, NotAnApprover, SignInTooOld, Invalid if
        the grant exceeds what the rules allow, Unauthorized if the key was revoked meanwhile.
        """
        approval, record = await self._read(workspace_id, approval_id)
        if if_match is not None and approval.version not in if_match:
            raise ApprovalChanged("The approval has changed since it was read; read it again, then decide")
        if verdict is ApprovalStatus.APPROVED:
            _require_within(record, grant)
            _require_seen(approval, accepts_hidden=accepts_hidden)
        keyspace, now_ms = Keyspace(workspace_id), await store_time_ms(self._client)
        asker_id = approval.requested_by.key_id
        of_call = record["rules"], approval.parameters_digest
        keys = open_keys(keyspace, approval_id, approval.agent_id, asker_id, *of_call)
        basis = [keyspace.agent(approval.agent_id), keyspace.key(asker_id)]
        basis += map(keyspace.policy, policies_that_asked(record))
        args: list[Value] = [
            "",
            self._ids.new(now_ms),
            approval_id,
            by.id,
            verdict,
            msgspec.json.encode(note),
            f": {_shown(note)}" if note else "",
            "" if if_match is None else approval.version,
            "" if grant.uses is UNSET else grant.uses,
            "" if grant.valid_seconds is UNSET else grant.valid_seconds * 1000,
            KEEP_MS,
            self._backlog_max,
            *(record[name] for name in _ASKED),
            msgspec.json.encode(Person.of(by)),
            "" if approval.approvers is UNSET else "\n".join("\t".join(each.groups) for each in approval.approvers),
            "" if approval.fresh is UNSET else approval.fresh,
            "1" if by.via is Via.SLACK else "",
            "1" if may_decide else "",
        ]
        raw_reply = await self._client.run(DECIDE_APPROVAL, [keyspace.key(by.id), *keys.values(), *basis], args)
        reply = check_reply(DECIDE_APPROVAL, raw_reply)
        require_backlog(reply[0])
        _raise_for(reply[0], reply[1], approval)
        await drop_old_ids(self._client, keyspace, now_ms)
        return await self.get(workspace_id, approval_id)

    async def _named(self, keyspace: Keyspace, approvals: Sequence[Approval]) -> list[Approval]:
        """The approvals with the names of agents and policies, and the consequence of tools, for people who may read
        none of them.
        """
        keys = {each.agent_id: keyspace.agent(each.agent_id) for each in approvals}
        keys |= {each.policy_id: keyspace.policy(each.policy_id) for each in approvals if each.policy_id is not None}
        tools = list(dict.fromkeys(each.tool_name for each in approvals))
        reads = [("HGET", key, "name") for key in keys.values()]
        found = await self._client.read_pipelined([*reads, *(("HGET", keyspace.catalog_tools, tool) for tool in tools)])
        by_id: dict[str | None, str | None] = dict(zip(keys, found, strict=False))
        with decoding_record("The description of a tool"):
            consequences = {
                tool: consequence_in(record) for tool, record in zip(tools, found[len(keys) :], strict=True) if record
            }
        return [
            replace(
                each,
                agent_name=by_id[each.agent_id],
                policy_name=by_id.get(each.policy_id),
                consequence=consequences.get(each.tool_name),
            )
            for each in approvals
        ]

    async def _open_ids(self, keyspace: Keyspace, query: ApprovalQuery) -> Sequence[bytes]:
        """Ids of approvals that can still be decided or used, newest first. In bytes, as there may be many."""
        name = keyspace.approvals_open if query.agent_id is None else keyspace.agent_approvals(query.agent_id)
        ids: list[bytes] = await self._client.call_bytes("ZRANGE", name, 0, -1)
        return sorted(ids, reverse=True)

    async def _read(self, workspace_id: str, approval_id: str) -> tuple[Approval, dict[str, str]]:
        reply = await self._client.call("HGETALL", Keyspace(workspace_id).approval(approval_id))
        record = _record_of(approval_id, reply)
        if not record:
            raise unknown_approval()
        return approval_of(approval_id, record, await store_time_ms(self._client)), record


def _record_of(approval_id: str, reply: Any) -> dict[str, str]:
    with decoding_record(f"The record of approval {approval_id}"):
        return whole_record(as_record(reply))


def _matches(query: ApprovalQuery, approval: Approval) -> bool:
    return (
        (query.status is None or approval.status in query.status)
        and query.agent_id in (None, approval.agent_id)
        and query.tool_name in (None, approval.tool_name)
        and (query.plan_id is None or (approval.plan is not UNSET and approval.plan.id == query.plan_id))
    )


def _require_seen(approval: Approval, *, accepts_hidden: bool) -> None:
    if approval.hides and not accepts_hidden:
        raise Invalid.at(
            "$.acceptHidden",
            "must be true: you do not see all that you approve, since some of it is redacted or shortened",
        )


def _require_within(record: dict[str, str], grant: Grant) -> None:
    """Raise Invalid if a person would grant more than the rules allow."""
    with decoding_record("The record of the approval"):
        most_uses, most_seconds = number_of(record["max_uses"]), number_of(record["valid_ms"]) // 1000
    if grant.uses is not UNSET and grant.uses > most_uses:
        raise Invalid.at("$.uses", f"must be at most {most_uses}, the maximum of the rule that asks")
    if grant.valid_seconds is not UNSET and grant.valid_seconds > most_seconds:
        raise Invalid.at("$.validSeconds", f"must be at most {most_seconds}, the maximum of the rule that asks")


def _raise_for(status: str, state: str, approval: Approval) -> None:
    if status == "done":
        return
    if status == "missing":
        raise unknown_approval()
    if status == "not_approver":
        raise NotAnApprover(_who_must_decide(approval))
    if status == "not_fresh":
        raise SignInTooOld(
            f"Only a person whose sign-in is at most {approval.fresh} seconds old decides this; sign in again"
        )
    kind, message = _REFUSALS.get(status, (ApprovalDecided, f"The approval is {state} already"))
    raise kind(message)


def _who_must_decide(approval: Approval) -> str:
    groups = [] if approval.approvers is UNSET else [" or ".join(each.groups) for each in approval.approvers]
    who = f" who is in the group {', and in the group '.join(groups)}" if groups else ""
    return f"Only a person{who} decides this, signed in with the identity provider and not with an API key"


def _shown(note: str) -> str:
    """A note as it appears in a reason: on one line, hidden characters as codes, shortened."""
    shown = with_hidden_shown(note.replace("\n", " ").replace("\t", " "))
    return shown if len(shown) <= _SHOWN_NOTE else f"{shown[:_SHOWN_NOTE]}…"
