import pytest
from asking import SECRET
from servers import PATIENT, Replica
from tenants import Tenant


@pytest.fixture(scope="module")
def tenant(store, replica):
    """A workspace of this module's own."""
    made = Tenant(store.url, replica)
    yield made
    made.close()


@pytest.fixture(scope="module")
def stranger(store, replica):
    """Another workspace."""
    made = Tenant(store.url, replica)
    yield made
    made.close()


@pytest.fixture(scope="session")
def asking_replica(store):
    """A replica that can ask people and keeps three versions of a policy; nothing seals what it writes."""
    env = {"REMIT_SECRET": SECRET, "REMIT_POLICY_VERSIONS_MAX": "3", "REMIT_COMPACT": "false"}
    running = Replica(store.url, **env, **PATIENT)
    yield running
    running.stop()
