import pytest
from approval_steps import SECRET
from servers import Replica
from tenants import tenant_on

tenant = tenant_on(scope="module")
"""A workspace of this module's own."""


stranger = tenant_on(scope="module")
"""Another workspace."""


@pytest.fixture(scope="session")
def asking_replica(store):
    """A replica that can ask people and keeps three versions of a policy; nothing seals what it writes."""
    env = {"REMIT_SECRET": SECRET, "REMIT_POLICY_VERSIONS_MAX": "3", "REMIT_COMPACT": "false"}
    running = Replica(store.url, **env)
    yield running
    running.stop()
