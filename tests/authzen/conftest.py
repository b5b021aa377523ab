"""A workspace with the subjects, resources and policies that AuthZEN's certification asks for."""

import pytest
from servers import Replica
from tenants import tenant_on

PUBLIC = "https://pdp.example.com"

ACTIVE_OR_UNKNOWN = {"parameters": {"status": {"enum": ["active"], "required": False}}}


@pytest.fixture(scope="session")
def authzen_replica(store):
    """A replica that knows the URL at which the world reaches it."""
    running = Replica(store.url, REMIT_PUBLIC_URL=PUBLIC, REMIT_COMPACT="false")
    yield running
    running.stop()


tenant = tenant_on("authzen_replica", scope="module")
"""A workspace of this module's own."""


@pytest.fixture(scope="module")
def pdp(tenant):
    """A client of the certified service: it sends what the scenario says, as a reader."""
    alice = tenant.new_agent(alias="alice", type="user")["id"]
    bob = tenant.new_agent(alias="bob", type="user")["id"]
    alices = {"type": "tool_allowlist", "tools": ["record.read", "record.write", "record.delete"]}
    bobs = {"type": "tool_allowlist", "tools": ["record.read", "record.write"]}
    active = {"type": "parameter_constraint", "tools": ["record.write"], **ACTIVE_OR_UNKNOWN}
    soft = {
        "type": "parameter_constraint",
        "tools": ["record.delete"],
        "context": {"action.properties.soft": {"enum": [True]}},
    }
    archived = {
        "type": "parameter_constraint",
        "tools": ["record.write"],
        "parameters": {"status": {"enum": ["archived"]}},
    }
    tenant.new_policy(alice, alices, active, soft)
    tenant.new_policy(bob, bobs, archived)
    for name, status in (("record-1", "active"), ("record-2", "archived")):
        known = {"actions": ["read", "write", "delete"], "properties": {"status": status}}
        assert tenant.admin.put(f"/v1/catalog/record/{name}", json=known).status_code == 200
    assert tenant.admin.put("/v1/catalog/user/bob", json={"properties": {"role": "admin"}}).status_code == 200
    return tenant.reader
