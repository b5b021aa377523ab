"""GET /v1/agents/{id}/tools: the results that an agent's calls would get."""

import threading

import httpx
import jsonschema
import pytest
from tenants import tenant_on

from app.http.api import agents
from app.main import create_app
from app.pdp.tool_outcomes import ToolRules
from app.settings import Settings

ALLOW = {"type": "tool_allowlist", "tools": ["*"]}


tenant = tenant_on()


@pytest.fixture
def agent(tenant):
    return tenant.new_agent(alias="refund-bot", groups=["crew"])["id"]


def one(tenant, agent, tool="refund.create"):
    """The answer about one tool."""
    answer = tenant.reader.get(f"/v1/agents/{agent}/tools", params={"tool": tool})
    assert answer.status_code == 200, answer.text
    [found] = answer.json()["tools"]
    assert found["name"] == tool
    return found


def constraint(**parameters):
    return {"type": "parameter_constraint", "tools": ["refund.*"], "parameters": parameters}


def limit(count, **more):
    rate = {"maxCalls": count, "windowSeconds": 3600, **more.pop("limit", {})}
    return {"type": "rate_limit", "tools": ["refund.*"], "rateLimit": rate, **more}


GUARDRAIL = {"kind": "guardrail"}
APPROVAL = {"type": "approval_required", "tools": ["refund.*"]}
STATUSES = {
    "no policy": ([], "denied"),
    "an allowlist": ([([ALLOW], {})], "allowed"),
    "an allowlist without it": ([([{"type": "tool_allowlist", "tools": ["mail.*"]}], {})], "denied"),
    "a denylist": ([([ALLOW, {"type": "tool_denylist", "tools": ["refund.*"]}], {})], "denied"),
    "a denylist for some": (
        [([ALLOW, {"type": "tool_denylist", "tools": ["*"], "when": {"parameters": {"x": {"enum": [1]}}}}], {})],
        "conditional",
    ),
    "an approval": ([([ALLOW, APPROVAL], {})], "escalated"),
    "an approval in a guardrail": ([([ALLOW], {}), ([APPROVAL], GUARDRAIL)], "escalated"),
    "an approval, and what denies some": ([([ALLOW, APPROVAL, constraint(a={"max": 1})], {})], "escalated"),
    "an approval above": ([([ALLOW], {"priority": 9}), ([APPROVAL], {})], "allowed"),
    "a constraint": ([([constraint(a={"max": 1})], {})], "conditional"),
    "a constraint that nothing satisfies": (
        [([constraint(a={"max": 1, "type": "string"})], {})],
        "denied",
    ),
    "a shadow policy": ([([ALLOW], {}), ([APPROVAL], {**GUARDRAIL, "mode": "shadow"})], "allowed"),
    "a limit with room": ([([ALLOW, limit(1)], {})], "allowed"),
    "a limit per parameter": ([([ALLOW, limit(1, limit={"per": ["parameters.x"]})], {})], "conditional"),
    "a session": (
        [([ALLOW, {"type": "sequence", "tools": ["*"], "sequence": {"forbiddenAfter": ["mail.read"]}}], {})],
        "conditional",
    ),
    "a budget": (
        [([{"type": "budget", "tools": ["*"], "budget": {"parameter": "a", "max": 5, "windowSeconds": 60}}], {})],
        "conditional",
    ),
    "context": (
        [([{"type": "parameter_constraint", "tools": ["*"], "context": {"user": {"required": True}}}], {})],
        "conditional",
    ),
}


@pytest.mark.parametrize("name", STATUSES)
def test_the_results_that_a_tools_calls_can_have(tenant, agent, name):
    """For each kind of rule, alone and under a guardrail."""
    policies, status = STATUSES[name]
    for number, (rules, fields) in enumerate(policies):
        body = {"agent_id": agent, "name": f"p{number}", "rules": rules, **fields}
        assert tenant.admin.post("/v1/policies", json=body).status_code == 201
    found = one(tenant, agent)
    assert found["status"] == status
    assert (found["reason"] is not None) == (status == "denied")


def test_every_known_tool_is_listed_by_name(tenant, agent):
    """Tools that are treated alike share an answer; the agent is named by id or alias."""
    tools = [{"name": name} for name in ("refund.create", "mail.read", "refund.list")]
    tenant.admin.put("/v1/catalog", json={"tools": tools})
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["refund.*"]}, name="refunds")
    answer = tenant.reader.get("/v1/agents/refund-bot/tools").json()
    assert (answer["agent"]["id"], answer["total"]) == (agent, 3)
    found = {each["name"]: (each["status"], each["catalogued"]) for each in answer["tools"]}
    wanted = {"mail.read": ("denied", True), "refund.create": ("allowed", True), "refund.list": ("allowed", True)}
    assert found == wanted
    assert answer["tools"][0]["reason"] == "refunds: the tool is not on the policy's allowlist"
    second = tenant.reader.get(f"/v1/agents/{agent}/tools", params={"limit": 1, "offset": 1}).json()
    assert ([each["name"] for each in second["tools"]], second["total"]) == (["refund.create"], 3)
    assert one(tenant, agent, "unheard.of")["catalogued"] is False


def test_the_tools_of_a_server_are_listed_in_its_order_known_or_not(tenant, agent):
    """With the answers of the whole list; a name that no call can have is refused."""
    tenant.admin.put("/v1/catalog", json={"tools": [{"name": "refund.create"}, {"name": "mail.read"}]})
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["refund.*"]}, name="refunds")
    names = ["unheard.of", "refund.create", "refund.new"]
    path = f"/v1/agents/{agent}/tools"
    answer = tenant.reader.post(path, json={"names": names}).json()
    found = [(each["name"], each["status"], each["catalogued"]) for each in answer["tools"]]
    assert found == [
        ("unheard.of", "denied", False),
        ("refund.create", "allowed", True),
        ("refund.new", "allowed", False),
    ]
    assert answer["tools"][1] == tenant.reader.get(path, params={"tool": "refund.create"}).json()["tools"][0]
    for wrong in ([], ["x"] * 1001, ["a\tb"], [1]):
        assert tenant.reader.post(path, json={"names": wrong}).status_code == 400


def test_conditions_say_what_is_asked_and_what_is_left(tenant, agent):
    """In words, with the schema that a gateway can show, and each shared limit's level."""
    tenant.new_policy(
        agent,
        constraint(amount={"min": 1, "max": 500}, to={"enum": ["ann", "bob"], "required": False}),
        constraint(amount={"max": 100}) | {"effect": "escalate"},
        limit(2),
        name="refunds",
    )
    tenant.authorize(agent, "refund.create", parameters={"amount": 5})
    found = one(tenant, agent)
    assert found["status"] == "conditional"
    assert [(each["effect"], each["holds"]) for each in found["conditions"]] == [
        ("deny", None),
        ("escalate", None),
        ("deny", True),
    ]
    text = 'parameter "amount" is at least 1, at most 500; parameter "to" is one of "ann", "bob", if given'
    assert found["conditions"][0]["text"] == text
    quota = found["conditions"][2]["quota"]
    assert (quota["most"], quota["taken"], quota["left"], quota["windowSeconds"]) == (2, 1, 1, 3600)
    assert 0 < quota["freesInSeconds"] <= 3600
    assert found["parameterSchema"] == {
        "type": "object",
        "properties": {
            "amount": {"type": "number", "minimum": 1, "maximum": 500},
            "to": {"type": "string", "enum": ["ann", "bob"]},
        },
        "required": ["amount"],
    }
    assert found["schemaIsExact"] is True
    for parameters, accepted in (
        ({"amount": 400}, True),
        ({"amount": 501}, False),
        ({"amount": 5, "to": "eve"}, False),
    ):
        assert jsonschema.Draft202012Validator(found["parameterSchema"]).is_valid(parameters) is accepted
        denied = tenant.authorize(agent, "refund.create", parameters=parameters)["result"] == "denied"
        assert denied is not accepted


def test_a_full_limit_is_a_condition_that_does_not_hold(tenant, agent):
    """It will have room again, so the tool is neither denied nor allowed."""
    tenant.new_policy(agent, ALLOW, limit(1))
    assert one(tenant, agent)["status"] == "allowed"
    tenant.authorize(agent, "refund.create")
    found = one(tenant, agent)
    assert (found["status"], found["conditions"][0]["holds"], found["conditions"][0]["quota"]["left"]) == (
        "conditional",
        False,
        0,
    )
    assert one(tenant, agent, "mail.read")["status"] == "allowed"


def test_a_limit_per_tool_shows_a_level_for_each(tenant, agent):
    tenant.new_policy(agent, ALLOW, limit(1, limit={"per": ["tool"]}))
    tenant.authorize(agent, "refund.create")
    assert one(tenant, agent)["status"] == "conditional"
    assert one(tenant, agent, "refund.list")["status"] == "allowed"


def test_an_acknowledged_change_is_known_at_once(tenant, agent):
    """Of the agent, of its policies, its group's and the workspace's; on a replica that has answered before."""
    policy = tenant.new_policy(agent, ALLOW)
    assert one(tenant, agent)["status"] == "allowed"
    never = {"kind": "guardrail", "name": "never", "rules": [{"type": "tool_denylist", "tools": ["refund.*"]}]}
    for owner in ({"group": "crew"}, {}):
        made = tenant.admin.post("/v1/policies", json=never | owner).json()["id"]
        assert one(tenant, agent)["status"] == "denied"
        assert tenant.admin.delete(f"/v1/policies/{made}").status_code == 204
        assert one(tenant, agent)["status"] == "allowed"
    tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"rules": [ALLOW, APPROVAL]})
    assert one(tenant, agent)["status"] == "escalated"
    tenant.admin.patch(f"/v1/agents/{agent}", json={"status": "suspended"})
    assert (one(tenant, agent)["status"], one(tenant, agent)["reason"]) == ("denied", "Agent is suspended")
    tenant.admin.delete(f"/v1/agents/{agent}")
    assert tenant.reader.get(f"/v1/agents/{agent}/tools").status_code == 404


def test_nothing_is_taken_or_logged(tenant, agent):
    tenant.new_policy(agent, ALLOW, limit(1))
    before = tenant.log()
    for _ in range(3):
        one(tenant, agent)
    assert tenant.log() == before
    assert tenant.authorize(agent, "refund.create")["result"] == "allowed"


def test_a_bound_key_asks_about_its_own_agents_only(tenant, agent):
    """For any other agent it is 403, whether it exists or not."""
    key = tenant.new_key(["authorize"], agents=[agent])["key"]
    other = tenant.new_agent(alias="other")["id"]
    with tenant.replica.client(key) as bound:
        for called in (agent, "refund-bot"):
            assert bound.get(f"/v1/agents/{called}/tools").status_code == 200
        for called in (other, "other", "nobody", "00000000-0000-7000-8000-000000000000"):
            refused = bound.get(f"/v1/agents/{called}/tools")
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")


def test_no_listing_reveals_what_a_secret_must_be(tenant, agent):
    tenant.new_policy(agent, constraint(password={"enum": ["hunter2"]}))
    found = one(tenant, agent)
    assert "hunter2" not in str(found)
    assert found["parameterSchema"] == {"type": "object", "required": ["password"]}
    assert found["schemaIsExact"] is False


async def test_thousands_of_rules_and_tools_are_processed_in_a_thread(store, tenant, agent, monkeypatch):
    """The largest number takes a tenth of a second, which would block the loop."""
    loop, seen = threading.current_thread(), set()

    def noted(function):
        def call(*args):
            seen.add((function.__name__, threading.current_thread() is loop))
            return function(*args)

        return call

    for name in ("likeness", "quotas", "possible"):
        monkeypatch.setattr(ToolRules, name, noted(getattr(ToolRules, name)))
    monkeypatch.setattr(agents, "encoded", noted(agents.encoded))
    tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": [ALLOW, limit(5)]})
    app = create_app(Settings(redis_url=store.url, store_timeout_ms=10_000))
    async with app.lifespan():
        transport = httpx.ASGITransport(app)
        headers = {"Authorization": f"Bearer {tenant.read_key}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://remit", headers=headers) as client:
            assert (await client.get(f"/v1/agents/{agent}/tools?tool=refund.create")).status_code == 200
    assert seen == {("likeness", False), ("quotas", False), ("possible", False), ("encoded", False)}
