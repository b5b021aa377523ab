"""docs/mcp-gateways.md: the questions that its configurations make are calls of the client's agent."""

import json
import re
from pathlib import Path

import pytest
import yaml
from tenants import tenant_on

PAGE = (Path(__file__).parents[2] / "docs/mcp-gateways.md").read_text()
AGENTGATEWAY, TRAEFIK = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
PUBLIC = "https://pdp.example.com"

tenant = tenant_on("authzen_replica", scope="module")


@pytest.fixture(scope="module")
def pdp(tenant):
    """A workspace whose agent may refund, if the context has the user ann, and pay whatever amount up to 500."""
    agent = tenant.new_agent(alias="desk-client")["id"]
    ann = {"type": "parameter_constraint", "tools": ["refund_create"], "context": {"user": {"enum": ["ann"]}}}
    most = {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"amount": {"max": 500}}}
    tenant.new_policy(agent, {"type": "tool_grant", "tools": ["refund_create", "pay"]}, ann, most)
    return tenant.reader


def agentgateways(client, user, tool):
    """The path and the body that its expressions make, with a token and a tool."""
    [asked] = AGENTGATEWAY["mcp"]["policies"]["extAuthz"]["conditional"]
    made = asked["protocol"]["http"]
    body = made["body"]
    for name, value in (("jwt.azp", client), ("jwt.sub", user), ("mcp.tool.name", tool)):
        assert body.count(name) == 1
        body = body.replace(name, json.dumps(value))
    assert {name: json.loads(value) for name, value in made["addRequestHeaders"].items()} == {
        "content-type": "application/json",
        ":method": "POST",
    }
    return json.loads(made["path"]), json.loads(body)


def traefiks(client, user, tool):
    """The path that the discovery document names, and the body that the mapping of the tool makes."""
    [policy] = TRAEFIK["spec"]["plugin"]["authzen-mcp"]["policies"]
    text = json.dumps(policy["mapping"]["evaluation"])
    for name, value in (("$token.client_id", client), ("$token.sub", user), ("refund_create", tool)):
        assert text.count(json.dumps(name)) == 1
        text = text.replace(json.dumps(name), json.dumps(value))
    assert policy["match"].endswith("Equals(`mcp.params.name`, `refund_create`)")
    return None, json.loads(text)


@pytest.fixture(params=[agentgateways, traefiks], ids=["agentgateway", "Traefik Hub"])
def ask(request, pdp):
    """The decision about a call of a tool through the gateway."""

    def asked(tool, client="desk-client", user="ann"):
        path, body = request.param(client, user, tool)
        if path is None:
            known = TRAEFIK["spec"]["plugin"]["authzen-mcp"]["pdpEndpoint"].removeprefix("https://remit.example.com")
            path = pdp.get(known).json()["access_evaluation_endpoint"].removeprefix(PUBLIC)
        answer = pdp.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["decision"]

    return asked


def test_a_tool_call_is_one_of_the_tokens_client_for_its_user(ask, tenant):
    assert ask("refund_create") is True
    entry = tenant.reader.get("/v1/audit-logs", params={"tool_name": "refund_create"}).json()[0]
    assert (entry["result"], entry["context"]["user"]) == ("allowed", "ann")
    assert ask("refund_create", user="ben") is False
    assert ask("refund_create", client="someone") is False
    assert ask("delete_all") is False


def test_a_rule_on_an_argument_that_nobody_maps_denies(ask):
    assert ask("pay") is False


def test_no_call_passes_agentgateway_without_a_yes():
    """Remit answers 200 also where it says no, so a rule must read the decision."""
    policies = AGENTGATEWAY["mcp"]["policies"]
    [asked] = policies["extAuthz"]["conditional"]
    assert asked["condition"] == "has(mcp.tool)"
    assert asked["protocol"]["http"]["metadata"] == {"decision": "json(response.body).decision"}
    assert policies["authorization"]["rules"] == [{"require": "!has(mcp.tool) || extauthz.decision == true"}]
