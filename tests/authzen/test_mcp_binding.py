"""What a gateway for MCP asks by the COAZ binding: the requests of its text, about an agent whose id is a URL."""

import pytest
from tenants import tenant_on

CLIENT = "http://agentprovider.com/agent-app-id"
ALIAS = "http:/agentprovider.com/agent-app-id"
USER = {"type": "identity", "id": "alice@example.com"}
SERVER = {"type": "mcp_server", "id": "https://mcp.example.com/"}

tenant = tenant_on("authzen_replica", scope="module")


@pytest.fixture(scope="module")
def pdp(tenant):
    """A workspace in which one agent may make half of the requests."""
    tools = ["mcp_server.tools/list", "get_weather", "resource.resources/read", "storage_object.read"]
    tenant.new_policy(tenant.new_agent(alias=ALIAS)["id"], {"type": "tool_allowlist", "tools": tools})
    return tenant.reader


def asked(action, resource, **context):
    return {"subject": USER, "context": {"agent": CLIENT, **context}, "action": {"name": action}, "resource": resource}


MAPPED = [
    (asked("initialize", SERVER, protocol_version="2025-11-25"), False),
    (asked("tools/list", SERVER), True),
    (asked("tools/call", {"type": "tool", "id": "get_weather"}), True),
    (asked("tools/call", {"type": "tool", "id": "transfer_funds"}), False),
    (asked("resources/read", {"type": "resource", "id": "file:///reports/q1.pdf"}), True),
    (asked("resources/subscribe", {"type": "resource", "id": "file:///reports/q1.pdf"}), False),
    (asked("prompts/get", {"type": "prompt", "id": "summary"}), False),
    (asked("get_customer", {"type": "customer", "id": "cust-12345"}, case="case-67890"), False),
]


def test_the_default_mappings_are_calls_of_the_agent_whose_client_id_is_a_url(tenant, pdp):
    for body, wanted in MAPPED:
        answer = pdp.post("/access/v1/evaluation", json=body).json()
        assert answer["decision"] is wanted, body
        assert "evaluation_id" in answer["context"], body  # the agent was found, and its policies decided
    (entry,) = tenant.admin.get("/v1/audit-logs", params={"agent_id": ALIAS, "limit": 1}).json()
    assert entry["context"]["agent"] == CLIENT


def test_a_declared_mapping_may_ask_several_at_once(pdp):
    paths = {"read": "/bucket/reports/q1.pdf", "write": "/bucket/archive/q1.pdf"}
    each = [
        {"action": {"name": name}, "resource": {"type": "storage_object", "id": path}} for name, path in paths.items()
    ]
    body = {"subject": USER, "context": {"agent": CLIENT}, "evaluations": each}
    answers = pdp.post("/access/v1/evaluations", json=body).json()["evaluations"]
    assert [answer["decision"] for answer in answers] == [True, False]


def test_a_search_knows_the_agent_by_the_same_url(tenant, pdp):
    known = {"actions": ["read", "write"]}
    assert tenant.admin.put("/v1/catalog/storage_object/q1.pdf", json=known).status_code == 200
    resource = {"type": "storage_object", "id": "q1.pdf"}
    body = {"subject": USER, "resource": resource, "context": {"agent": CLIENT}}
    assert pdp.post("/access/v1/search/action", json=body).json()["results"] == [{"name": "read"}]


def test_only_an_agents_own_url_names_it(pdp):
    """Nothing else is merged: another scheme, another path, or more slashes are another agent's."""
    for other in ("https://agentprovider.com/agent-app-id", CLIENT + "/x", CLIENT.replace("//", "///"), CLIENT + "//"):
        body = asked("tools/list", SERVER) | {"context": {"agent": other}}
        assert pdp.post("/access/v1/evaluation", json=body).json()["context"] == {"reason": "unknown_subject"}, other
