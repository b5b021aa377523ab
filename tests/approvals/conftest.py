import pytest
from approval_steps import ALLOW, ASK, SECRET, answering
from servers import Replica
from tenants import Tenant


@pytest.fixture(scope="session")
def replicas(store):
    """Two replicas with one secret, without which nothing can be bound. No compactor ends approvals."""
    running = [Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false") for _ in range(2)]
    yield running
    for each in running:
        each.stop()


@pytest.fixture
def tenant(store, replicas):
    made = Tenant(store.url, replicas[0])
    yield made
    made.close()


@pytest.fixture
def agent_id(tenant):
    """An agent whose refunds need a person's approval."""
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], ALLOW, ASK)
    return agent["id"]


@pytest.fixture
def person(tenant):
    """A client with a key that may approve, and did not ask."""
    with answering(tenant) as client:
        yield client
