"""Stores, replicas and workspaces of a test's own, made to be broken."""

import pytest
from servers import PATIENT, Replica, Store
from tenants import Tenant


@pytest.fixture
def own(request):
    """Starts things that end with the test: `own(Store(...))`."""

    def keep(thing):
        request.addfinalizer(lambda: end(thing))
        return thing

    return keep


@pytest.fixture(scope="module")
def shared(request):
    """Starts things that end with the module."""

    def keep(thing):
        request.addfinalizer(lambda: end(thing))
        return thing

    return keep


@pytest.fixture(params=["redis", "valkey"])
def either_store(request):
    """Both kinds: what is raced is one script, and each runs scripts in its own way."""
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture
def replicas(either_store, own):
    """Two of a test's own. The second may be killed; the tenant's clients talk to the first."""
    return [own(Replica(either_store.url, **PATIENT)) for _ in range(2)]


@pytest.fixture
def tenant(either_store, replicas):
    made = Tenant(either_store.url, replicas[0])
    yield made
    made.close()


def end(thing) -> None:
    """End it, whatever a test did to it."""
    if not isinstance(thing, Store | Replica) or thing.process.poll() is None:
        thing.stop()
