"""The reaper ends approvals that have expired, or whose basis is gone, and logs each end."""

import logging
from collections.abc import Sequence

from msgspec import Struct

from app.approvals.records import KEEP_MS, drop_old_ids, open_keys
from app.errors import AppError, StoreUnavailable
from app.model.approvals import ApprovalStatus, policies_that_asked, whole_record
from app.model.changes import ChangeKind, ResourceType
from app.model.ids import Ids
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import check_reply, decoding_record
from app.redis_client.scripts import END_APPROVAL
from app.runtime.fairness.loop_turns import take_turn
from app.runtime.fault_isolation import failures_logged
from app.store.changes import own_records
from app.store.keyspace import Keyspace

log = logging.getLogger(__name__)
_CHUNK = 100
_SOON_MAX = 100
"""The most approvals ended before a change is acknowledged; a compactor ends the rest."""
_CHANGES = 256
_OF_RULES = ("policy_id", "rule", "rules")
_FIELDS = ("asked", "agent_id", "tool_name", "key_id", "digest", "asked_sequence", "policies", *_OF_RULES)


class _Open(Struct, frozen=True):
    """An open approval and what it depends on. asked_sequence: of the entry that requested it."""

    id: str
    agent_id: str
    tool_name: str
    key_id: str
    digest: str
    asked_sequence: int
    policies: list[str]
    policy_id: str
    rule: str
    rules: str


class ApprovalReaper:
    """Ends approvals. The scripts already refuse those without a basis; the reaper puts their end into the log."""

    def __init__(self, client: Client, ids: Ids, backlog_max: int) -> None:
        self._client = client
        self._ids = ids
        self._backlog_max = backlog_max

    async def end_approvals(self, workspaces: Sequence[str]) -> None:
        """End every open approval that has expired or lost its basis."""
        await self.end_expired(workspaces)
        await self.end_after_changes(workspaces)

    async def end_expired(self, workspaces: Sequence[str]) -> None:
        """Expire and log the approvals that were not decided or used in time, a few per workspace at a time."""
        now_ms = await store_time_ms(self._client)
        names = [Keyspace(workspace_id).approvals_open for workspace_id in workspaces]
        due = await self._client.read_each(
            ("ZRANGE", name, "-inf", now_ms, "BYSCORE", "LIMIT", 0, _CHUNK) for name in names
        )
        for workspace_id, ids in zip(workspaces, due, strict=True):
            with failures_logged(log, f"end approvals of workspace {workspace_id}"):
                if ids:
                    await drop_old_ids(self._client, Keyspace(workspace_id), now_ms)
                for each in await self._read(Keyspace(workspace_id), [_text(raw) for raw in ids or ()]):
                    await self._end(workspace_id, each, "Nobody decided or used it in time", expired=True)

    async def end_after_changes(self, workspaces: Sequence[str]) -> None:
        """End, in every workspace, the open approvals whose basis the trail says is gone."""
        keyspaces = [Keyspace(workspace_id) for workspace_id in workspaces]
        open_counts = await self._client.read_each(("ZCARD", each.approvals_open) for each in keyspaces)
        some = [each for each, count in zip(workspaces, open_counts, strict=True) if count]
        seen = await self._client.read_each(("GET", Keyspace(each).approvals_trail) for each in some)
        for workspace_id, mark in zip(some, seen, strict=True):
            with failures_logged(log, f"end approvals of workspace {workspace_id}"):
                await self._end_after(workspace_id, _text(mark or b"0-0"))

    async def end_soon(self, workspace_id: str, agent_id: str | None = None) -> None:
        """End the approvals whose basis a change has just removed, before the change is acknowledged.

        Never raises, because the change was made.

        agent_id: only approvals of this agent can be affected.
        """
        try:
            await self.end_without_basis(workspace_id, agent_id, _SOON_MAX)
        except AppError as error:
            log.warning("%s; a compactor will end the approvals that the change affects", error)

    async def end_without_basis(
        self, workspace_id: str, agent_id: str | None = None, at_most: int | None = None
    ) -> int:
        """End open approvals whose agent, key or policy is gone, or whose agent has been inactive; return how many."""
        keyspace = Keyspace(workspace_id)
        name = keyspace.approvals_open if agent_id is None else keyspace.agent_approvals(agent_id)
        ids: list[str] = await self._client.call("ZRANGE", name, 0, -1)
        ended = 0
        for start in range(0, len(ids), _CHUNK):
            for each, why in await self._without_basis(keyspace, ids[start : start + _CHUNK]):
                if ended == at_most:
                    return ended
                ended += await self._end(workspace_id, each, why)
            await take_turn()
        return ended

    async def _end_after(self, workspace_id: str, mark: str) -> None:
        """Move the mark to the change up to which every open approval is known to have its basis."""
        keyspace = Keyspace(workspace_id)
        changes = await self._client.call_bytes("XRANGE", keyspace.changes, f"({mark}", "+", "COUNT", _CHANGES)
        if not changes:
            return
        # Beyond this many changes, it is cheaper to check all open approvals once.
        if len(changes) == _CHANGES:
            changes = await self._client.call_bytes("XREVRANGE", keyspace.changes, "+", "-", "COUNT", 1)
            concerned = True
        else:
            concerned = any(record is not None and _removes_basis(record) for _, record in own_records(changes))
        if concerned:
            ended = await self.end_without_basis(workspace_id)
            if ended:
                log.info("%d approvals ended because their basis is gone", ended)
        await self._client.call("SET", keyspace.approvals_trail, changes[-1][0])

    async def _without_basis(self, keyspace: Keyspace, ids: Sequence[str]) -> list[tuple[_Open, str]]:
        """The approvals without a basis, each with the reason."""
        approvals = await self._read(keyspace, ids)
        agents = list(dict.fromkeys(each.agent_id for each in approvals))
        keys = list(dict.fromkeys(each.key_id for each in approvals))
        policies = list(dict.fromkeys(policy_id for each in approvals for policy_id in each.policies))
        replies = await self._client.read_pipelined(
            [
                *(("HMGET", keyspace.agent(each), "version", "approvals_ended") for each in agents),
                *(("EXISTS", keyspace.key(each)) for each in keys),
                *(("EXISTS", keyspace.policy(each)) for each in policies),
            ]
        )
        until: dict[str, int | None] = {}
        for agent_id, (version, ended) in zip(agents, replies[: len(agents)], strict=True):
            with decoding_record(f"The record of agent {agent_id}"):
                until[agent_id] = int(ended or -1) if version is not None else None
        named = (*keys, *policies)
        gone = {each for each, exists in zip(named, replies[len(agents) :], strict=True) if not exists}
        over = []
        for each in approvals:
            active_after = until[each.agent_id]
            if active_after is None:
                over.append((each, "The agent was deleted"))
            elif each.asked_sequence <= active_after:
                over.append((each, "The agent was suspended or revoked after this was asked"))
            elif each.key_id in gone:
                over.append((each, "The key that asked was revoked"))
            elif not gone.isdisjoint(each.policies):
                over.append((each, "A policy that asked was deleted"))
        return over

    async def _read(self, keyspace: Keyspace, ids: Sequence[str]) -> list[_Open]:
        """Read what the approvals depend on; ids without a record are removed from the list of open ones."""
        replies = await self._client.read_pipelined(("HMGET", keyspace.approval(each), *_FIELDS) for each in ids)
        approvals = []
        for approval_id, reply in zip(ids, replies, strict=True):
            fields = {name: value for name, value in zip(_FIELDS, reply, strict=True) if value is not None}
            with decoding_record(f"The record of approval {approval_id}"):
                record = whole_record(fields)
            if "digest" not in record:
                await self._client.call("ZREM", keyspace.approvals_open, approval_id)
                continue
            with decoding_record(f"The record of approval {approval_id}"):
                asked_sequence = int(record.get("asked_sequence", 0))
                names = (record["agent_id"], record["tool_name"], record["key_id"], record["digest"])
                policies = policies_that_asked(record)
                of_rules = (record[name] for name in _OF_RULES)
                approvals.append(_Open(approval_id, *names, asked_sequence, policies, *of_rules))
        return approvals

    async def _end(self, workspace_id: str, approval: _Open, why: str, *, expired: bool = False) -> bool:
        """End the approval and log why; False if it had already ended. expired: only if it has expired."""
        asked_by, rules = approval.key_id, approval.rules
        keys = open_keys(Keyspace(workspace_id), approval.id, approval.agent_id, asked_by, rules, approval.digest)
        ending = ApprovalStatus.EXPIRED if expired else ApprovalStatus.CANCELLED
        entry_id = self._ids.new(await store_time_ms(self._client))
        args: list[Value] = ["", entry_id, approval.id, ending, why, KEEP_MS, self._backlog_max]
        args += (approval.agent_id, approval.tool_name, approval.key_id, approval.policy_id, approval.rule)
        reply = check_reply(END_APPROVAL, await self._client.run(END_APPROVAL, list(keys.values()), args))
        require_backlog(reply[0])
        return bool(reply[0] == "done")


def require_backlog(status: str) -> None:
    """Raise StoreUnavailable if the log has no room for another entry, because nothing may happen unlogged."""
    if status == "backlog":
        raise StoreUnavailable("The audit log's unsealed backlog is full; is a compactor running?")


def _removes_basis(change: dict[str, str]) -> bool:
    """True if the change may have removed the basis of an approval."""
    if change["kind"] == ChangeKind.DELETED:
        return True
    return change["resourceType"] == ResourceType.AGENT and '"status"' in change["after"]


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
