"""A service that starts while its store is down or still loading waits for it, and serves as soon as it is ready."""

import httpx
import pytest
import redis
from calls import decide, make_agent
from servers import ADMIN_KEY, HASTY, Store
from serving import REPLICA, Service, kill

SLOW = ("--key-load-delay", "1000")
"""Microseconds for each command that the store reads; it says LOADING in between."""
COMMANDS = 3_000


@pytest.fixture
def durable(server, tmp_path):
    store = Store(server("redis"), tmp_path / "store", "--appendonly", "yes", "--appendfsync", "always")
    yield store
    store.stop()


def fill(store):
    with redis.Redis(port=store.port) as filling, filling.pipeline(transaction=False) as commands:
        for number in range(COMMANDS):
            commands.set(f"filler:{number}", "")
        commands.execute()


def test_a_service_started_before_its_store_serves_once_the_store_has_loaded(durable, tmp_path):
    """Until then it refuses calls and says why; no process ends, the compactor neither, and its key is stored."""
    fill(durable)
    durable.kill()
    service = Service(tmp_path, REMIT_BOOTSTRAP_KEY=ADMIN_KEY, REMIT_REDIS_URL=durable.url, **HASTY).launch()
    try:
        waiting = f"waiting   The store cannot be reached; nothing was decided (the store is {durable.url})\n"
        service.until(lambda: waiting in service.said, "it waits")
        service.until(lambda: refusal(service) == "STORE_UNAVAILABLE", "it refuses calls")
        started = service.children()
        durable.options += SLOW
        durable.start()
        service.until(lambda: "\nserving " in service.said, "it serves")
        assert service.children() == started
        assert "starting another" not in service.complained
        assert "Traceback" not in service.complained
        with service.client(ADMIN_KEY) as client:
            assert decide(client, make_agent(client))["result"] == "allowed"
    finally:
        service.stop()


def refusal(service):
    """The code with which a call is refused; None if nothing answers."""
    key = {"Authorization": f"Bearer {ADMIN_KEY}"}
    try:
        return httpx.post(f"{service.base_url}/v1/authorize", headers=key, json={}).json()["error"]["code"]
    except httpx.TransportError:
        return None


def test_a_worker_killed_together_with_its_store_serves_once_the_store_has_loaded(durable, tmp_path):
    """It neither exits nor is started again, first while nothing listens and then while the store loads."""
    options = {"REMIT_BOOTSTRAP_KEY": ADMIN_KEY, "REMIT_REDIS_URL": durable.url, "REMIT_COMPACT": "false"}
    service = Service(tmp_path, **options, **HASTY).start()
    try:
        with service.client(ADMIN_KEY) as client:
            agent_id = make_agent(client)
        fill(durable)
        [killed] = service.children(REPLICA)
        durable.kill()
        kill(killed)
        service.until(lambda: service.children(REPLICA) not in ([], [killed]), "another worker runs")
        started = service.children(REPLICA)
        service.until(lambda: "no store yet" in service.complained, "it has looked for the store")
        durable.options += SLOW
        durable.start()
        service.until(service.answers, "it serves")
        assert service.children(REPLICA) == started
        assert service.complained.count("starting another") == 1
        assert "Traceback" not in service.complained
        with service.client(ADMIN_KEY) as client:
            assert decide(client, agent_id)["result"] == "allowed"
    finally:
        service.stop()
