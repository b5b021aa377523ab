"""Shadow policies and approvals: they ask nobody, but approvals count in what they would have decided."""

from approval_steps import approve, ask

IN_SHADOW = {"kind": "guardrail", "mode": "shadow"}


def shadows(tenant, agent_id):
    """What the entries say would have been decided, oldest first; None = the same."""
    return [entry.get("shadow", {}).get("result") for entry in tenant.log(agent_id=agent_id) if "type" not in entry][
        ::-1
    ]


def test_a_shadow_rule_that_asks_makes_no_approval(tenant, agent_id, person):
    """The answer is unchanged; the entry says that a person would have been asked."""
    tenant.new_policy(agent_id, {"type": "approval_required", "tools": ["mail"]}, **IN_SHADOW)
    tenant.new_policy(agent_id, {"type": "tool_allowlist", "tools": ["mail"]}, priority=9)

    answer = tenant.authorize(agent_id, "mail")

    assert (answer["result"], "approval" in answer) == ("allowed", False)
    assert person.get("/v1/approvals").json() == []
    assert shadows(tenant, agent_id) == ["escalated"]


def test_what_people_approved_would_have_been_allowed_too(tenant, agent_id, person):
    """They approved the enforced rule; a shadow limit counts the call, and would deny the next."""
    limit = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 3600}}
    tenant.new_policy(agent_id, limit, **IN_SHADOW)
    for _ in range(2):
        first = ask(tenant, agent_id)
        assert first["result"] == "escalated"
        approve(person, first["approval"]["id"])
        assert ask(tenant, agent_id)["result"] == "allowed"
    # Asked, allowed; then the shadow limit is full, and denies what a person would be asked about.
    assert shadows(tenant, agent_id) == [None, None, "denied", "denied"]


def test_a_shadow_rule_would_have_asked_once_more(tenant, agent_id, person):
    """Because nobody has approved that rule."""
    first = ask(tenant, agent_id)
    approve(person, first["approval"]["id"])
    tenant.new_policy(agent_id, {"type": "approval_required", "tools": ["*"]}, **IN_SHADOW)

    assert ask(tenant, agent_id)["result"] == "allowed"

    assert shadows(tenant, agent_id) == [None, "escalated"]


def test_a_call_joins_its_approval_although_a_shadow_policy_denies(tenant, agent_id):
    """The same call joins the same approval, with an entry each time."""
    tenant.new_policy(agent_id, {"type": "tool_denylist", "tools": ["refund.create"]}, **IN_SHADOW)
    first, second = ask(tenant, agent_id), ask(tenant, agent_id)
    assert first["approval"]["id"] == second["approval"]["id"]
    assert shadows(tenant, agent_id) == ["denied", "denied"]
