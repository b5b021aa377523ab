import fcntl
import subprocess
import time

import pytest
from servers import free_port
from tenants import Tenant, in_store

from app.model.ids import Ids
from app.store.workspaces import Workspaces
from tests.identity.parties import PROVIDER, Browser, FixedReplica, IdentityProvider, settings_for
from tests.support import parts


@pytest.fixture(scope="session")
def installed(program):
    """The folder of the identity provider, with its locked packages."""
    program("node", "the identity provider of tests/identity")
    with (PROVIDER / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (PROVIDER / "node_modules/.package-lock.json").exists():
            npm = program("npm", "the identity provider of tests/identity")
            subprocess.run(
                [npm, "ci", "--no-progress", "--no-audit", "--no-fund"], cwd=PROVIDER, check=True, timeout=300
            )
    return PROVIDER


@pytest.fixture(scope="module")
def idp(installed):
    """The provider, which knows where the module's service listens."""
    running = IdentityProvider(installed, free_port())
    yield running
    running.stop()


@pytest.fixture(scope="module")
def remit(idp, store):
    """A replica whose people sign in with the provider."""
    running = FixedReplica(store.url, **settings_for(idp))
    yield running
    running.stop()


@pytest.fixture
def browser():
    made = Browser()
    yield made
    made.close()


@pytest.fixture
def eventually():
    """Waits until a claim is true, for at most ten seconds."""

    def wait(claim):
        deadline = time.monotonic() + 10
        while not claim():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    return wait


@pytest.fixture(scope="module")
def payments(store):
    """The name of a second workspace, in which a group of the settings has access."""

    async def create(client):
        workspaces = Workspaces(client, Ids(), parts.api_keys(client, Ids()))
        if "payments" not in await workspaces.by_name():
            await workspaces.create("payments")

    in_store(store.url, create)
    return "payments"


@pytest.fixture
def tenant(store, remit):
    made = Tenant(store.url, remit)
    yield made
    made.close()
