"""/livez, /readyz and /metrics: what balancers and monitors ask, without a key."""

from types import SimpleNamespace
from unittest.mock import AsyncMock

import httpx
import msgspec
import pytest
from servers import ADMIN_KEY, Replica, Store, wait_until_ready

from app.errors import StoreUnavailable
from app.http.api.service import PROBES
from app.redis_client.clients import open_client
from app.redis_client.scripts import SCRIPTS
from app.store.keyspace import WORKSPACES
from app.store.readiness import require_ready


@pytest.fixture(params=["redis", "valkey"])
def own_store(request, server, tmp_path):
    """A store that a test may break."""
    running = Store(server(request.param), tmp_path, "--appendonly", "yes")
    yield running
    if running.process.poll() is None:
        running.stop()


@pytest.fixture
async def own_client(own_store):
    opened = open_client(own_store.url, 5_000)
    yield opened
    await opened.close()


async def test_a_store_that_takes_writes_is_ready_and_nothing_is_written(own_client):
    """The probe leaves no trace in memory or on disk."""
    await require_ready(own_client)
    assert await own_client.call("DBSIZE") == 0


@pytest.mark.parametrize(
    ("reply_ms", "body"),
    [
        (50, b'{"status":"ok"}'),
        (212.4, b'{"status":"ok","store":"slow: its fastest reply took 212 ms"}'),
    ],
)
async def test_a_slow_store_is_said_and_no_reason_to_send_calls_elsewhere(reply_ms, body):
    """It is as slow for all replicas: 200, with a word more."""
    services = SimpleNamespace(readiness=SimpleNamespace(require=AsyncMock(), reply_ms=reply_ms))
    assert msgspec.json.encode(await PROBES["/readyz"](services)) == body


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        (("REPLICAOF", "127.0.0.1", "1"), "READONLY"),
        (("CONFIG", "SET", "maxmemory", "1"), "OOM"),
        (("CONFIG", "SET", "min-replicas-to-write", "1"), "NOREPLICAS"),
    ],
    ids=["read-only", "full", "without its replicas"],
)
async def test_a_store_that_refuses_writes_is_not_ready_and_says_why(own_client, setting, code):
    """A store that answers PING may still refuse every commit."""
    await own_client.call(*setting)
    assert await own_client.call("PING")
    with pytest.raises(StoreUnavailable, match=rf"\({code}\)"):
        await require_ready(own_client)


@pytest.mark.parametrize(
    "command", ["evalsha", "time", "hmget", "hget", "xlen", "xadd", "hset", "lpush", "lindex", "rpop", "pexpire"]
)
async def test_a_store_user_without_the_commands_of_a_decision_is_not_ready(own_store, own_client, command):
    """Each of the commit's commands is forbidden once; the check writes nothing."""
    await own_client.call("HSET", WORKSPACES, "default", "0")
    grants = ("on", "nopass", "~remit:*", "+@all")
    await own_client.call("ACL", "SETUSER", "remit", *grants, f"-{command}")
    limited = open_client(own_store.url.replace("//", "//remit:any@"), 5_000)
    try:
        with pytest.raises(StoreUnavailable, match=r"NOPERM|may not run|refused"):
            await require_ready(limited)
        await own_client.call("ACL", "SETUSER", "remit", *grants)
        await require_ready(limited)
    finally:
        await limited.close()
    assert await own_client.call("HGETALL", WORKSPACES) == {"default": "0"}
    assert await own_client.call("DBSIZE") == 1


async def test_scripts_that_the_store_has_lost_are_loaded_again(own_client):
    """After a failover or a restart, the store has lost its scripts."""
    await own_client.call("SCRIPT", "FLUSH")
    await require_ready(own_client)
    assert await own_client.call("SCRIPT", "EXISTS", *(script.sha for script in SCRIPTS)) == [1] * len(SCRIPTS)


@pytest.mark.slow
def test_without_its_store_a_replica_lives_but_is_not_ready(own_store):
    """A balancer takes it out; a restart would not help, and it recovers by itself."""
    replica = Replica(own_store.url, REMIT_COMPACT="false")
    try:
        own_store.kill()
        with replica.client() as client:
            assert client.get("/livez").json() == {"status": "ok"}
            refused = client.get("/readyz")
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "STORE_UNAVAILABLE"
            own_store.start()
            wait_until_ready(replica.base_url, replica.process)
    finally:
        replica.stop()


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_health_and_metrics_need_no_key(replica, path):
    """Balancers and monitors have no key."""
    assert httpx.get(f"{replica.base_url}{path}").status_code == 200


def test_metrics_are_text_and_show_no_key_and_no_name(replica):
    """Those who scrape them may not be allowed to read policies."""
    with replica.client() as client:
        client.post("/v1/agents", json={"name": "a name that tells"})
    answer = httpx.get(f"{replica.base_url}/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'remit_decisions_total{result="allowed"}' in answer.text
    assert "a name that tells" not in answer.text
    assert ADMIN_KEY[:12] not in answer.text
