"""Background verification of logs: when it runs, in steps, by one process, and how findings are reported."""

import asyncio

import pytest
from audit_entries import START_MS, Writer, grow_trees
from fake_store import FakeClient

from app.audit.backlog import read_backlog
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.audit.verify.verifier import Verifier
from app.redis_client.replies import ForeignData
from app.serve import jobs
from app.serve.jobs import VerificationRounds
from app.settings import Settings
from app.store.keyspace import WORKSPACES, Keyspace

HOUR_S = 3600


class Watched:
    """A store with one log of five segments and three more entries, and its verifiers."""

    def __init__(self, client, workspace_id):
        self.client, self.workspace_id, self.told = client, workspace_id, []
        self.keys = Keyspace(workspace_id)

    async def write(self):
        await self.client.call("HSET", WORKSPACES, "name", self.workspace_id)
        await self.client.call("HSET", self.keys.workspace, "name", "name", "created_ms", 0)
        await Writer(self.client, self.workspace_id).append(5 * 16 + 3)
        for _ in range(5):
            await Sealer(self.client, 16, 100).seal_next(self.workspace_id)

    async def go_round(self):
        """What another process records, and what it reports."""
        await self.process().verify_due(asyncio.Event())
        return await self.client.call("HMGET", self.keys.workspace, "verified_ms", "intact_ms")

    def process(self):
        async def tell(workspace_id, finding):
            self.told.append((workspace_id, str(finding.fault), finding.segment))

        settings = Settings(audit_verify_every_seconds=HOUR_S, audit_retention_days=1, audit_drop_unarchived=True)
        return VerificationRounds(self.client, settings, tell)

    async def status(self):
        return await read_backlog(self.client, self.workspace_id)

    async def an_hour_passes(self):
        await self.client.call("HSET", self.keys.workspace, "verified_ms", 1)
        await self.client.call("DEL", self.keys.verification_lease)


@pytest.fixture
async def watched(workspace_id, monkeypatch):
    monkeypatch.setattr(jobs, "_STEP_SEGMENTS", 2)
    monkeypatch.setattr(jobs, "SHARE", 1)
    client = FakeClient()
    made = Watched(client, workspace_id)
    await made.write()
    yield made
    await client.close()


async def test_a_log_is_read_as_a_whole_when_its_round_is_due_and_not_before(watched):
    """That it is intact is noted with the time at which the round began."""
    verified_ms, intact_ms = await watched.go_round()
    assert verified_ms == intact_ms
    assert int(verified_ms) > START_MS // 2
    await watched.client.call("DEL", watched.keys.audit_data(1))
    assert await watched.go_round() == [verified_ms, intact_ms]
    assert watched.told == []


async def test_the_status_of_the_log_says_what_the_last_round_found(watched):
    """Before the first round nothing; a finding stays until a round finds none, and says when all was intact before."""
    before = await watched.status()
    assert (before.verification, before.intact_at, before.intact_up_to) == (None, None, 0)
    await watched.go_round()
    first = await watched.status()
    assert (first.verification.up_to, first.verification.finding) == (5 * 16 + 3, None)
    assert (first.verification.began_at, first.verification.up_to) == (first.intact_at, first.intact_up_to)

    body = await watched.client.call_bytes("GET", watched.keys.audit_data(4))
    await watched.client.call("DEL", watched.keys.audit_data(4))
    await watched.an_hour_passes()
    await watched.go_round()
    damaged = await watched.status()
    finding = damaged.verification.finding
    assert (finding.fault, finding.segment, finding.place) == ("removed", 4, "segment 4")
    assert damaged.verification.up_to == 3 * 16
    assert (damaged.intact_at, damaged.intact_up_to) == (first.intact_at, first.intact_up_to)
    assert await watched.status() == damaged

    await watched.client.call("SET", watched.keys.audit_data(4), body)
    await watched.an_hour_passes()
    await watched.go_round()
    assert (await watched.status()).verification.finding is None


async def test_a_finding_that_is_none_is_damage(watched):
    """Somebody else wrote it."""
    await watched.client.call("HSET", watched.keys.workspace, "verified_ms", 7)
    await watched.client.call("HSET", watched.keys.workspace, "verified_finding", '{"fault": "fine"}')
    with pytest.raises(ForeignData):
        await watched.status()


@pytest.mark.parametrize(("segment", "fault"), [(1, "removed"), (3, "removed"), (5, "truncated")])
async def test_a_finding_is_reported_and_the_log_not_noted_as_intact(watched, segment, fault):
    """In whichever step it is found; the next round comes an interval later as usual."""
    await watched.client.call("DEL", watched.keys.audit_data(segment))
    verified_ms, intact_ms = await watched.go_round()
    assert (verified_ms is not None, intact_ms) == (True, None)
    assert watched.told == [(watched.workspace_id, fault, segment)]
    await watched.an_hour_passes()
    assert (await watched.go_round())[1] is None
    assert len(watched.told) == 2


async def test_only_one_of_two_processes_verifies_a_log(watched):
    """The other leaves it alone while the lease lasts."""
    await watched.client.call("SET", watched.keys.verification_lease, "another")
    assert await watched.go_round() == [None, None]


async def test_entries_dropped_by_retention_meanwhile_are_not_a_finding(watched, monkeypatch):
    """The round continues at the floor."""
    begun_from = []

    async def drop_and_verify(self, since, segments_max, *, continues, _verify=Verifier.verify):
        assert continues is (since is not None), "each step would look again at all that the steps before have read"
        if len(begun_from) == 1:
            await grow_trees(watched.client, watched.workspace_id)
            while await Retention(watched.client, unarchived=True).drop_next(watched.workspace_id, START_MS + 10**9):
                pass
        begun_from.append(since and since.segment)
        return await _verify(self, since, segments_max, continues=continues)

    monkeypatch.setattr(Verifier, "verify", drop_and_verify)
    verified_ms, intact_ms = await watched.go_round()
    assert verified_ms == intact_ms
    assert (begun_from[:3], watched.told) == ([None, 2, None], [])


async def test_a_round_that_is_stopped_is_not_recorded(watched):
    """The next process begins it anew."""
    stopped = asyncio.Event()
    stopped.set()
    await watched.process().verify_due(stopped)
    assert await watched.client.call("HGET", watched.keys.workspace, "verified_ms") is None


async def test_a_clock_that_stepped_back_holds_up_no_round(watched):
    """A round noted in the future is from before the step."""
    await watched.client.call("HSET", watched.keys.workspace, "verified_ms", 10**15)
    assert (await watched.go_round())[1] is not None
