import pytest
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
