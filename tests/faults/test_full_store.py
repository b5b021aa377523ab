"""A store at its `maxmemory`: whatever frees memory, revokes, deletes or reads still works."""

import asyncio
import contextlib
import sys

import httpx
import pytest
import redis
from forked import Forked
from servers import Replica
from tenants import in_store
from topologies import until
from witness import Witness

from app.audit.archive import Archive
from app.audit.seal.compactor import Compactor
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.serve.jobs import drop_old_segments
from app.settings import Settings
from app.store.keyspace import Keyspace
from app.store.leases import take_lease

SETTINGS = Settings(audit_segment_entries=64, audit_seal_after_seconds=300, audit_retention_days=1)
ENOUGH = 8
"""An eighth of a segment: what is sealed at once when there is no room."""


@pytest.fixture(scope="module")
def store(new_store):
    return new_store()


@pytest.fixture(scope="module")
def replica(store, shared):
    return shared(Replica(store.url, REMIT_COMPACT="false"))


@pytest.fixture
def connection(store):
    """A direct connection to the store, which has room again when the test is over."""
    with redis.Redis(port=store.port) as opened:
        yield opened
        opened.config_set("maxmemory", 0)


@pytest.fixture
def witness(store, replica, own, connection):
    return own(Witness(connection, store.url, replica))


class Unready(Replica):
    """A replica that is alive but may not be ready, as on a full store."""

    def start(self) -> None:
        self.process = Forked([sys.executable, "-m", "app.cli", "serve"], env=self.env)
        until(self.lives, "the replica lives")

    def lives(self) -> bool:
        assert self.process.poll() is None
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.base_url}/livez", timeout=1).is_success
        return False


async def seal_all(client):
    compactor = Compactor(client, SETTINGS)
    while await compactor.sweep():
        pass


def test_a_full_store_still_seals_archives_and_drops(store, connection, witness, tmp_path):
    """Each makes room; a store too full for them would stay full for ever."""
    agent_id, keyspace = witness.new_agent(), Keyspace(witness.tenant.id)
    for _ in range(3):
        connection.config_set("maxmemory", 0)
        with witness.load(agent_id, count=1) as load:
            load.after(20)
        connection.config_set("maxmemory", 1)
        assert witness.question(agent_id).send().status == 503
        in_store(store.url, seal_all)
        connection.delete(keyspace.audit_lease)  # of a compactor that is gone
    assert connection.xlen(keyspace.audit_stream) < ENOUGH
    witness.check()

    async def archive_and_drop(client):
        written = await Archive(tmp_path, witness.tenant.id).write(client)
        retention = Retention(client, unarchived=SETTINGS.audit_drop_unarchived)
        before_all_ms = -60_000  # everything is older than that
        return written, await drop_old_segments(client, retention, before_all_ms, asyncio.Event())

    segments = int(connection.hget(keyspace.audit_head, "segment"))
    assert segments >= 3
    written, dropped = in_store(store.url, archive_and_drop)
    assert (written, dropped) == (segments, segments - 1)  # the head's own segment stays
    connection.config_set("maxmemory", 0)
    assert witness.question(agent_id).send().answer["allowed"]


def test_a_replica_starts_on_a_full_store_and_seals_its_backlog(store, connection, witness, own):
    """Its workspace and bootstrap key exist already, so it writes nothing."""
    agent_id, keyspace = witness.new_agent(), Keyspace(witness.tenant.id)
    with witness.load(agent_id, count=1) as load:
        load.after(2 * ENOUGH)
    connection.config_set("maxmemory", 1)
    starting = own(
        Unready(store.url, REMIT_AUDIT_SEGMENT_ENTRIES=str(8 * ENOUGH), REMIT_AUDIT_SEAL_AFTER_SECONDS="300")
    )
    until(lambda: connection.xlen(keyspace.audit_stream) < ENOUGH, "what waited is sealed")
    with starting.client() as admin:
        assert admin.get("/v1/agents").status_code == 200
    connection.config_set("maxmemory", 0)
    assert witness.question(agent_id).send().answer["allowed"]
    witness.check()


def test_a_lease_keeps_others_away_also_when_there_is_no_room(store, connection, witness):
    """Or each of several compactors would gather and compress the same segment, second after second."""
    connection.config_set("maxmemory", 1)

    async def ask(client):
        return [await take_lease(client, Keyspace(witness.tenant.id).audit_lease, holder) for holder in ("a", "b", "a")]

    assert in_store(store.url, ask) == [True, False, True]


def test_nothing_is_prepared_for_a_store_that_would_refuse_it(store, connection, witness, monkeypatch):
    """A store without its replicas takes no segment, and is not sent one every second."""
    agent_id = witness.new_agent()
    with witness.load(agent_id, count=1) as load:
        load.after(64)
    monkeypatch.setattr(Sealer, "seal_next", lambda *_: pytest.fail("a segment was made"))
    connection.config_set("min-replicas-to-write", 1)
    try:
        assert not in_store(store.url, lambda client: Compactor(client, SETTINGS).sweep())
    finally:
        connection.config_set("min-replicas-to-write", 0)


def test_a_full_store_still_revokes_deletes_and_reads(connection, witness):
    """The trail records all of it."""
    kept, gone = witness.new_agent(), witness.new_agent()
    admin = witness.tenant.admin
    [policy] = admin.get("/v1/policies", params={"agent_id": kept}).json()
    key = admin.post("/v1/api-keys", json={"name": "leaked", "scopes": ["read"]}).json()
    connection.config_set("maxmemory", 1)
    assert admin.post("/v1/agents", json={"name": "one more"}).status_code == 503
    for path in (f"/v1/api-keys/{key['id']}", f"/v1/policies/{policy['id']}", f"/v1/agents/{gone}"):
        answer = admin.delete(path)
        assert answer.status_code == 204, answer.text
    with witness.replica.client(key["key"]) as leaked:
        assert leaked.get("/v1/audit-logs").status_code == 401
    trail = admin.get("/v1/changes", params={"limit": 4}).json()
    assert [change["kind"] for change in trail] == ["deleted"] * 4
    for path in ("agents", "policies", "api-keys", "audit-logs", "audit-logs/status", "audit-logs/verify"):
        answer = admin.get(f"/v1/{path}")
        assert answer.status_code == 200, answer.text
