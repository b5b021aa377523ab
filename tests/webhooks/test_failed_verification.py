"""Tampering with the log while the service runs is reported, and reported once."""

import time

import pytest
import redis
from approval_steps import SECRET
from receivers import subscribe
from servers import Replica, Store
from tenants import Tenant

pytestmark = pytest.mark.faults
SETTINGS = {
    "REMIT_SECRET": SECRET,
    "REMIT_WEBHOOK_HTTP": "true",
    "REMIT_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "REMIT_AUDIT_SEGMENT_ENTRIES": "16",
    "REMIT_AUDIT_SEAL_AFTER_SECONDS": "1",
    "REMIT_AUDIT_VERIFY_EVERY_SECONDS": "1",
}


@pytest.fixture
def service(valkey_store, tmp_path):
    """A store of its own, and a service with its compactor."""
    store = Store(valkey_store.binary, tmp_path / "store")
    replica = Replica(store.url, **SETTINGS)
    tenant = Tenant(store.url, replica)
    yield store, tenant
    tenant.close()
    replica.stop()
    store.stop()


def until(claim):
    end = time.monotonic() + 30
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_finding_is_reported_once(service, receiver):
    """The log is intact at first; then a sealed segment is changed, and every later round finds it."""
    store, tenant = service
    webhook = subscribe(tenant, receiver.url, events=["audit.verification_failed"])
    agent = tenant.new_agent()["id"]
    for _ in range(40):
        tenant.authorize(agent, "file.read")
    prefix = f"remit:{{{tenant.id}}}:"
    with redis.Redis(port=store.port, decode_responses=True) as client:

        def noted(field):
            return int(client.hget(f"{prefix}workspace", field) or 0)

        until(lambda: int(client.hget(f"{prefix}audit:head", "segment") or 0) >= 2)
        before = noted("intact_ms")
        until(lambda: noted("intact_ms") > before)
        client.setrange(f"{prefix}audit:data:1", 30, "tampered")
        receiver.wait(1)
        last_intact, rounds = noted("intact_ms"), 0
        for _ in range(3):
            before = noted("verified_ms")
            until(lambda before=before: noted("verified_ms") > before)
            rounds += 1
        assert (noted("intact_ms"), rounds) == (last_intact, 3)
    [(_, event)] = receiver.events(webhook["secret"])
    assert event["type"] == "audit.verification_failed"
    assert (event["data"]["finding"]["fault"], event["data"]["finding"]["segment"]) == ("changed", 1)
