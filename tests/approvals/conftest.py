import pytest
from approval_steps import ALLOW, ASK, SECRET, answering
from approvals_races import pat
from servers import Replica
from tenants import Tenant

from app.model.ids import Ids
from app.store.keyspace import Keyspace
from app.store.sign_ins import SignIns

WITH_PROVIDER = {
    "REMIT_PUBLIC_URL": "https://remit.example.com",
    "REMIT_OIDC_ISSUER": "https://sso.example.com",
    "REMIT_OIDC_CLIENT_ID": "remit",
    "REMIT_OIDC_SCOPES": "staff=admin",
}


@pytest.fixture(scope="session")
def replicas(store):
    """Two replicas with one secret, without which nothing can be bound. No compactor ends approvals."""
    running = [Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false", **WITH_PROVIDER) for _ in range(2)]
    yield running
    for each in running:
        each.stop()


@pytest.fixture
def tenant(store, replicas):
    made = Tenant(store.url, replicas[0])
    yield made
    made.close()


@pytest.fixture
def session_of(tenant):
    """Gives the headers of a new session of Pat, of these groups and one that the replicas' settings make admins."""

    def made(via, *groups, **others):
        async def make(client):
            await client.call("HSET", Keyspace(tenant.id).workspace, "name", "default")  # which the settings are about
            who = pat(groups=(*groups, "staff"), issuer=WITH_PROVIDER["REMIT_OIDC_ISSUER"], **others)
            return await SignIns(client, Ids()).create(tenant.id, who, via)

        return {"Authorization": f"Bearer {tenant.in_store(make)[1]}"}

    return made


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
