"""Parameters that only describe a call: their texts are not part of what people approve, but everything else is."""

import pytest
from approval_steps import approve

SAYS = {"descriptive": ["description"]}
ALLOW = {"type": "tool_grant", "tools": ["*"]}
ASK = {"type": "approval_required", "tools": ["Bash"], "approval": SAYS}
PUSH = {"command": "git push", "description": "Publish", "timeout": 5}


def ask(tenant, agent_id, **parameters):
    return tenant.authorize(agent_id, "Bash", parameters=PUSH | parameters)


def asked_twice(tenant, agent_id, **parameters):
    """True if a call with these parameters joins the approval of PUSH."""
    return ask(tenant, agent_id)["approval"]["id"] == ask(tenant, agent_id, **parameters)["approval"]["id"]


@pytest.fixture
def agent(tenant):
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, ALLOW, ASK)
    return agent_id


def test_a_reworded_description_is_the_same_call(tenant, agent, person):
    """Another command, or another value that is no text, is another call."""
    first = ask(tenant, agent)
    assert asked_twice(tenant, agent, description="Push it")
    for other in ({"command": "git push -f"}, {"timeout": 6}, {"description": None}, {"description": "x" * 1025}):
        assert not asked_twice(tenant, agent, **other)
    approve(person, first["approval"]["id"])
    assert ask(tenant, agent, description="Now")["result"] == "allowed"
    assert ask(tenant, agent)["result"] == "escalated"


def test_what_the_agent_says_is_shown_apart(tenant, agent, person):
    """Without secrets, and shortened; what is shown as parameters is all that is bound."""
    secret = "ghp_" + "a1B2" * 9
    shown = ask(tenant, agent, description=f"{secret} {'x' * 300}")["approval"]
    shown = person.get(f"/v1/approvals/{shown['id']}").json()
    assert shown["parameters"] == {"command": "git push", "timeout": 5}
    assert shown["agentSays"]["description"].startswith("[REDACTED] xxx")
    assert len(shown["agentSays"]["description"]) == len("…") + 200
    assert shown["hides"] is False
    assert [each["path"] for each in shown["values"]] == ["command", "timeout"]


def test_a_number_that_is_rounded_in_the_log_is_hidden_beside_a_description(tenant, agent, person):
    """Taking a text away does not make the rest look exact."""
    body = (
        f'{{"agent_id": "{agent}", "tool_name": "Bash", "parameters": '
        f'{{"description": "a", "much": "{"x" * 200_000}", "x": 0.10000000000000000555}}}}'
    )
    approval = tenant.reader.post("/v1/authorize", content=body).json()["approval"]
    shown = person.get(f"/v1/approvals/{approval['id']}").json()
    assert (shown["hides"], shown["agentSays"]) == (True, {"description": "a"})


OTHERS = {
    "another rule that asks": {"type": "approval_required", "tools": ["B*"]},
    "a limit that can ask": {
        "type": "rate_limit", "tools": ["Bash"], "effect": "escalate",
        "rateLimit": {"maxCalls": 9, "windowSeconds": 60},
    },
    "a rule that reads it": {
        "type": "parameter_constraint", "tools": ["Bash"], "parameters": {"description": {"required": False}},
    },
    "a rule that reads another spelling of it": {
        "type": "parameter_constraint", "tools": ["Bash"], "parameters": {"Description.x": {"required": False}},
        "effect": "escalate", "approval": SAYS,
    },
    "a condition that reads it": {
        "type": "tool_denylist", "tools": ["*"], "when": {"parameters": {"description": {"enum": ["no"]}}},
    },
    "a constraint on every value": {
        "type": "parameter_constraint", "tools": ["Bash"],
        "parameters": {"**": {"notRegex": "prod", "except": ["note"]}},
    },
    "a schema": {"type": "parameter_schema", "tools": ["Bash"], "schema": {}},
}  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
def test_a_description_is_bound_if_any_rule_wants_it(tenant, agent, other):
    """It need not stand in the same policy; a rule for other tools changes nothing."""
    tenant.new_policy(agent, {**OTHERS[other], "tools": ["Write"]}, kind="guardrail", name="elsewhere")
    assert asked_twice(tenant, agent, description="Push it")
    tenant.new_policy(agent, OTHERS[other], kind="guardrail", name="other")
    assert not asked_twice(tenant, agent, description="Push it")


def test_a_constraint_on_every_other_value_does_not_bind_a_description(tenant, agent):
    """Because `except` names it."""
    every = {"type": "parameter_constraint", "tools": ["Bash"]}
    every["parameters"] = {"**": {"notRegex": "prod", "except": ["description"]}}
    tenant.new_policy(agent, every, kind="guardrail", name="other")
    assert asked_twice(tenant, agent, description="Push it to prod")


def test_what_a_shadow_policy_would_remember_is_bound(tenant, agent):
    """Else people would approve a value that they have not seen as part of the call."""
    remembers = {
        "type": "parameter_constraint", "tools": ["Bash"], "effect": "escalate",
        "parameters": {"description": {"approvedBefore": {"withinSeconds": 3600}}},
    }  # fmt: skip
    tenant.new_policy(agent, remembers, kind="guardrail", name="tried", mode="shadow")
    assert not asked_twice(tenant, agent, description="Push it")


def test_an_approval_that_is_named_counts_for_the_reworded_call(tenant, agent, person):
    """A replica that reads the approval's record binds what the commit does."""
    approval_id = ask(tenant, agent)["approval"]["id"]
    named = tenant.authorize(agent, "Bash", parameters=PUSH | {"description": "b"}, approval_id=approval_id)
    assert named["approval"]["id"] == approval_id
    approve(person, approval_id)
    named = tenant.authorize(agent, "Bash", parameters=PUSH | {"description": "c"}, approval_id=approval_id)
    assert named["result"] == "allowed"


def test_a_rule_that_comes_to_be_descriptive_needs_a_new_approval(tenant, person):
    """People approved all of the call, or all but its description: neither stands for the other."""
    agent = tenant.new_agent()["id"]
    policy = tenant.new_policy(agent, ALLOW, {**ASK, "approval": {"maxUses": 2}})
    before = ask(tenant, agent)["approval"]["id"]
    approve(person, before)
    tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"rules": [ALLOW, ASK]})
    after = ask(tenant, agent)
    assert (after["result"], after["approval"]["id"] == before) == ("escalated", False)


@pytest.mark.parametrize("names", [[], ["a.b"], ["a[*]"], [""], ["a"] * 9, [1], "a"])
def test_descriptive_takes_up_to_eight_different_parameters(tenant, names):
    """No values within one, which a text could not be."""
    agent = tenant.new_agent()["id"]
    rules = [{**ASK, "approval": {"descriptive": names}}]
    answer = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": rules})
    assert (answer.status_code, "descriptive" in answer.text) == (400, True), answer.text
