"""The latest matching entries, found with bounded work."""

from audit_entries import AGENTS, Writer

from app.audit.log import AuditLog
from app.audit.seal.sealer import Sealer
from app.model.audit import AuditQuery, decode_entry


async def test_the_latest_entries_come_from_so_many_segments(client, workspace_id):
    """And all from what is not sealed yet; segments without a match do not count."""
    writer, sealer = Writer(client, workspace_id), Sealer(client, 16, 100)
    await writer.append_each({"agentId": AGENTS[number // 16 % 2]} for number in range(160))
    while await sealer.seal_next(workspace_id):
        pass
    await writer.append_each([{"agentId": AGENTS[0]}] * 3)
    log, query = AuditLog(client), AuditQuery(agent_id=AGENTS[0], limit=1000)

    async def found(segments_max):
        return [decode_entry(line).id for line in await log.latest(workspace_id, query, segments_max)]

    everything = [entry["id"] for entry in writer.expected(query)]
    assert len(everything) == 83
    assert await found(0) == everything[:3]
    assert await found(1_000) == everything
    few = await found(1)
    assert few == everything[: len(few)]
    assert 3 < len(few) < len(everything)
