"""A worker that starts while its store is down or still loading waits for it, and serves as soon as it is ready."""

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


def test_a_worker_killed_together_with_its_store_serves_once_the_store_has_loaded(durable, tmp_path):
    """It neither exits nor is started again, first while nothing listens and then while the store loads."""
    options = {"REMIT_BOOTSTRAP_KEY": ADMIN_KEY, "REMIT_REDIS_URL": durable.url, "REMIT_COMPACT": "false"}
    service = Service(tmp_path, **options, **HASTY).start()
    try:
        with service.client(ADMIN_KEY) as client:
            agent_id = make_agent(client)
        with redis.Redis(port=durable.port) as filling, filling.pipeline(transaction=False) as commands:
            for number in range(COMMANDS):
                commands.set(f"filler:{number}", "")
            commands.execute()
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
