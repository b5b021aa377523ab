import pytest
from approval_steps import SECRET
from receivers import Receiver, subscribe
from sending import Sending
from servers import Replica, Store
from tenants import tenant_on

from app.settings import Settings

LOOPBACK = {"REMIT_WEBHOOK_HTTP": "true", "REMIT_WEBHOOK_NETWORKS": "127.0.0.0/8"}


@pytest.fixture
def receiver():
    listening = Receiver()
    yield listening
    listening.close()


@pytest.fixture
def loopback():
    """Settings that let events go to this machine, over http."""
    return Settings(webhook_http=True, webhook_networks="127.0.0.0/8", secret=SECRET)


@pytest.fixture(scope="module")
def store(valkey_store, tmp_path_factory):
    """A store on which no other process sends anything."""
    own = Store(valkey_store.binary, tmp_path_factory.mktemp("webhooks"))
    yield own
    own.stop()


@pytest.fixture(scope="module")
def silent(store):
    """A replica without a compactor: nothing is sent but by a test."""
    running = Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false", **LOOPBACK)
    yield running
    running.stop()


tenant = tenant_on("silent")


@pytest.fixture
def webhook(tenant, receiver):
    """A webhook that gets every event, as the answer to its creation shows it."""
    return subscribe(tenant, receiver.url)


@pytest.fixture
def sending(tenant, loopback):
    return Sending(tenant, loopback)
