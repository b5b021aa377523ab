import asyncio

import pytest
from approval_steps import SECRET
from receivers import Receiver, subscribe
from servers import Replica, Store
from tenants import tenant_on

from app.redaction.signer import Signer
from app.settings import Settings
from app.webhooks.delivery import Delivery
from app.webhooks.secrets import Secrets
from app.webhooks.sender import Sender

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


class Sending:
    """The background process's sender, run one round at a time."""

    def __init__(self, tenant, settings):
        self._tenant, self._settings = tenant, settings
        self.in_store = tenant.in_store

    def round(self, attempt_s=5.0):
        """Serve every webhook once."""
        self.in_store(lambda client: self._round(client, attempt_s))

    async def _round(self, client, attempt_s):
        secrets = Secrets(Signer(self._settings.secrets))
        sender = Sender(client, Delivery(self._settings, secrets, attempt_s), 1000)
        sender._name = self._tenant.id  # one process, whichever round it is: the lease is its own
        await sender.look(asyncio.Event())
        await asyncio.gather(*sender._served.values())


@pytest.fixture
def sending(tenant, loopback):
    return Sending(tenant, loopback)
