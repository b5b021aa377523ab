"""Stores, replicas and workspaces of a test's own, made to be broken."""

import pytest
import redis
from proxy import Proxy
from servers import HASTY, Replica, Store
from tenants import Tenant
from topologies import SEALING_FAST
from witness import Witness


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


@pytest.fixture(scope="module", params=["redis", "valkey"])
def new_store(request, shared, tmp_path_factory, server):
    """Starts one store per kind for the module: `new_store()`, or `new_store(Ailing)` for another class."""
    return lambda kind=Store: shared(kind(server(request.param), tmp_path_factory.mktemp("store")))


@pytest.fixture
def checked_witness(request, own):
    """Makes a workspace whose log is compared with the requests made when the test is over.

    `checked_witness(redis, url, replica)`; what a fixture does after its `yield` comes before that.
    """

    def make(*about):
        made = own(Witness(*about))
        request.addfinalizer(made.check)
        return made

    return make


@pytest.fixture
def witness_on(own):
    """Makes a workspace on a store, and a replica through which it is reached: `witness_on(store)`."""
    return lambda store: own(Witness(redis.Redis(port=store.port), store.url, own(Replica(store.url, **SEALING_FAST))))


@pytest.fixture
def witness(store, witness_on):
    """A workspace reached over a reliable connection."""
    return witness_on(store)


@pytest.fixture
def proxy(store, own):
    return own(Proxy(store.port).start())


@pytest.fixture
def behind(proxy, own):
    """A replica whose connection to the store can be broken."""
    return own(Replica(proxy.url, **SEALING_FAST, **HASTY))


@pytest.fixture
def other(store, own):
    """Another replica on the same store."""
    return own(Replica(store.url, **SEALING_FAST))


@pytest.fixture
def replicas(store, own):
    """Two of a test's own. The second may be killed; the tenant's clients talk to the first."""
    return [own(Replica(store.url)) for _ in range(2)]


@pytest.fixture
def tenant(store, replicas):
    made = Tenant(store.url, replicas[0])
    yield made
    made.close()


def end(thing) -> None:
    """End the process, whatever a test did to it."""
    if not isinstance(thing, Store | Replica) or thing.process.poll() is None:
        thing.stop()
