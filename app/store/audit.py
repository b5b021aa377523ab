"""The audit log as readers see it."""

from collections.abc import AsyncIterator

from msgspec import Raw

from app.model.audit import AuditEntry, AuditPage, AuditQuery
from app.model.decisions import Result, RuleRef
from app.model.times import rfc3339
from app.store.client import Client
from app.store.keyspace import Keyspace

_CHUNK = 500


class AuditLog:
    """Queries over one workspace's log. It never writes: entries are made by the commit alone."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def query(self, workspace_id: str, query: AuditQuery) -> AuditPage:
        """The page that `query` asks for; every decision answered before this call is in its scope.

        Pages chained by `before` neither repeat nor skip an entry, whatever is written in between: sequence
        numbers have no gaps and new entries get higher ones.
        """
        entries: list[AuditEntry] = []
        to_skip = query.offset
        last = 0
        async for sequence, fields in self._newest_first(workspace_id, query.before):
            if not _matches(fields, query):
                continue
            if to_skip:
                to_skip -= 1
                continue
            if len(entries) == query.limit:
                return AuditPage(entries, last)
            entries.append(entry_of(fields))
            last = sequence
        return AuditPage(entries, None)

    async def _newest_first(
        self, workspace_id: str, before: int | None
    ) -> AsyncIterator[tuple[int, dict[str, str]]]:
        stream = Keyspace(workspace_id).audit_stream
        end = "+" if before is None else f"({before}-0"
        while True:
            chunk = await self._client.call("XREVRANGE", stream, end, "-", "COUNT", _CHUNK)
            for entry_id, fields in chunk:
                sequence = int(entry_id.partition("-")[0])
                yield sequence, fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
            if len(chunk) < _CHUNK:
                return
            end = f"({chunk[-1][0]}"


def _matches(fields: dict[str, str], query: AuditQuery) -> bool:
    time_ms = int(fields["timeMs"])
    return (
        (query.agent_id is None or fields["agentId"] == query.agent_id)
        and (query.action is None or fields["action"] == query.action)
        and (query.tool_name is None or fields["toolName"] == query.tool_name)
        and (query.result is None or fields["result"] == query.result)
        and (query.from_ms is None or time_ms >= query.from_ms)
        and (query.to_ms is None or time_ms <= query.to_ms)
    )


def entry_of(fields: dict[str, str]) -> AuditEntry:
    """The entry that the stream holds as these fields."""
    index, _, kind = fields["rule"].partition(" ")
    return AuditEntry(
        id=fields["id"],
        agent_id=fields["agentId"],
        key_id=fields["keyId"],
        action=fields["action"],
        tool_name=fields["toolName"],
        parameters=Raw(fields["parameters"].encode()),
        result=Result(fields["result"]),
        policy_id=fields["policyId"] or None,
        rule=RuleRef(int(index), kind) if kind else None,
        reason=fields["reason"],
        latency_ms=int(fields["latencyUs"]) / 1000,
        timestamp=rfc3339(int(fields["timeMs"])),
    )
