"""The entries of a span of time, whether sealed or not, and after retention has dropped some."""

import pytest
from audit_entries import AGENTS, START_MS, Writer
from fake_store import FakeClient

from app.audit.log import AuditLog
from app.audit.seal.sealer import Sealer
from app.model.ids import Ids


@pytest.fixture
async def written():
    """A log of 40 entries, a millisecond apart, in segments of 5; the last five are not sealed."""
    client = FakeClient()
    workspace_id = Ids().new(0)
    writer = Writer(client, workspace_id)
    sealer = Sealer(client, 5, 4096)
    await writer.append(37)
    for _ in range(7):
        await sealer.seal_next(workspace_id)
    await writer.append(3)
    return client, workspace_id, writer


@pytest.mark.parametrize(("first", "last"), [(1, 40), (7, 7), (12, 33), (38, 40), (40, 90), (0, 3)])
async def test_every_entry_of_the_span_is_among_them_in_order(written, first, last):
    """Up to a segment of other entries may come before and after; none comes twice."""
    client, workspace_id, _ = written
    found = []
    async for chunk in AuditLog(client).entries(workspace_id, None, START_MS + first, START_MS + last):
        assert len(chunk.sequences) == chunk.body.count(b"\n")
        found += chunk.sequences
    assert found == list(range(found[0], found[-1] + 1))
    assert found[0] <= max(first, 1)
    assert found[-1] >= min(last, 40)
    assert found[0] > first - 5 or first <= 1


async def test_the_span_of_one_agent_has_only_that_agents_entries(written):
    """Through the index."""
    client, workspace_id, writer = written
    await writer.append(2, agentId=AGENTS[1])
    chunks = AuditLog(client).entries(workspace_id, AGENTS[1], START_MS, START_MS + 100)
    assert [sequence async for chunk in chunks for sequence in chunk.sequences] == [41, 42]
