"""kill -9 of the sending process, again and again: every event arrives, and repetitions are recognisable."""

import contextlib
import json
import signal
import sys

import pytest
import redis
from approval_steps import SECRET
from forked import Forked
from receivers import subscribe
from servers import Replica, Store, clean_env
from tenants import Tenant

pytestmark = pytest.mark.faults
LOOPBACK = {"REMIT_WEBHOOK_HTTP": "true", "REMIT_WEBHOOK_NETWORKS": "127.0.0.0/8"}
KILLS, EVENTS_EACH = 8, 4


def test_a_killed_sender_loses_no_event(valkey_store, tmp_path, receiver):
    """I16: it is killed while delivering an event; the receiver recognises repetitions by their id."""
    store = Store(valkey_store.binary, tmp_path / "store")
    replica = Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false", **LOOPBACK)
    tenant = Tenant(store.url, replica)
    env = clean_env() | LOOPBACK | {"REMIT_REDIS_URL": store.url, "REMIT_SECRET": SECRET}
    sender = None
    try:
        webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
        agent, made = tenant.new_agent()["id"], []
        for number in range(KILLS + 1):
            # The receiver has the event and does not answer: then the sender dies.
            receiver.answers = [*([204] * (number % 3)), None] if number < KILLS else []
            came = len(receiver.got)
            made += [tenant.new_policy(agent, name=f"{number}.{each}")["id"] for each in range(EVENTS_EACH)]
            sender = Forked([sys.executable, "-m", "app.cli", "compact"], env=env)
            if number < KILLS:
                receiver.wait(came + number % 3 + 1)
                sender.send_signal(signal.SIGKILL)
                sender.wait(10)
                receiver.release()
                _end_the_lease(store, tenant, webhook)
        receiver.wait_until(lambda: told(receiver) >= set(made))
        bodies = {}
        for headers, body in receiver.got:
            assert bodies.setdefault(headers["webhook-id"], body) == body
        assert len(bodies) == len(made)
        assert sorted(json.loads(body)["data"]["change"]["resourceId"] for body in bodies.values()) == sorted(made)
    finally:
        if sender is not None:
            with contextlib.suppress(ProcessLookupError):
                sender.terminate()
            sender.wait(20)
        tenant.close()
        replica.stop()
        store.stop()


def told(receiver):
    """The policies of the events received."""
    return {json.loads(body)["data"]["change"]["resourceId"] for _, body in list(receiver.got)}


def _end_the_lease(store, tenant, webhook):
    """As if the dead process's lease had expired."""
    with redis.Redis(port=store.port) as client:
        client.delete(f"remit:{{{tenant.id}}}:webhook:{webhook['id']}:lease")
