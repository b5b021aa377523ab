"""A store at its `maxmemory`: what makes room and what takes rights away still works, so that it can become well."""

import asyncio

import pytest
import redis
from servers import Replica, Store
from witness import Witness

from app.compactor import Compactor
from app.settings import Settings
from app.store.audit_archive import Archive
from app.store.client import open_client
from app.store.keyspace import Keyspace

SETTINGS = Settings(audit_segment_entries=16, audit_retention_days=1)


@pytest.fixture(scope="module", params=["redis", "valkey"])
def store(request, shared, tmp_path_factory, server):
    return shared(Store(server(request.param), tmp_path_factory.mktemp("full")))


@pytest.fixture(scope="module")
def replica(store, shared):
    return shared(Replica(store.url, REMIT_COMPACT="false"))


@pytest.fixture
def connection(store):
    """The store's own; it has room again when the test is over."""
    with redis.Redis(port=store.port) as opened:
        yield opened
        opened.config_set("maxmemory", 0)


@pytest.fixture
def witness(store, replica, own, connection):
    return own(Witness(connection, store.url, replica))


def with_client(store, work):
    """What `work(client)` gives, on the cold paths' client."""

    async def run():
        client = open_client(store.url, 1000)
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())


async def seal_all(client):
    compactor = Compactor(client, SETTINGS)
    while await compactor.sweep():
        pass


def test_what_waits_is_sealed_archived_and_dropped(store, connection, witness, tmp_path):
    """Each of them makes room; a store that were too full for them would stay so for ever."""
    agent_id, keyspace = witness.new_agent(), Keyspace(witness.tenant.id)
    with witness.load(agent_id, count=1) as load:
        load.after(64)
    connection.config_set("maxmemory", 1)
    assert witness.question(agent_id).send().status == 503
    with_client(store, seal_all)
    assert connection.xlen(keyspace.audit_stream) < 16
    witness.check()

    async def archive_and_drop(client):
        written = await Archive(tmp_path, witness.tenant.id).write(client)
        compactor = Compactor(client, SETTINGS)
        compactor._retention_ms = -60_000  # everything is older than that
        return written, await compactor.drop_what_is_too_old()

    written, dropped = with_client(store, archive_and_drop)
    assert (written >= 4, dropped) == (True, written - 1)  # the head's own segment stays
    connection.config_set("maxmemory", 0)
    assert witness.question(agent_id).send().answer["allowed"]


def test_rights_can_be_taken_away_and_everything_be_read(connection, witness):
    """A leaked key is revoked, an agent and its policies go, and the trail has it all."""
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
