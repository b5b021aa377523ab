"""Stores, replicas and workspaces of a test's own, made to be broken."""

import pytest
from servers import Replica, Store


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


def end(thing) -> None:
    """It is gone, whatever a test did to it."""
    if not isinstance(thing, Store | Replica) or thing.process.poll() is None:
        thing.stop()
