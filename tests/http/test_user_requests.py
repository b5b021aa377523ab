"""`context.request`: judged whole, and known to nobody afterwards: the log keeps its length and a MAC."""

import json

import pytest
from tenants import FREE, tenant_on

WANTED = {"parameters": {"to": {"fromRequest": "exact"}}}
ASKED = {"type": "parameter_constraint", "tools": ["mail"], "effect": "escalate", **WANTED}
REQUEST = "Send the confidential minutes to doe@x.com"
KEPT = {"request": {"length": len(REQUEST)}}

tenant = tenant_on("asking_replica", scope="module")
"""A workspace on a replica that can ask people."""


@pytest.fixture
def agent(tenant):
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, FREE, ASKED, name="p")
    return agent


def mail(tenant, agent, to, **context):
    return tenant.authorize(agent, "mail", parameters={"to": to}, context={"request": REQUEST} | context)


def without_mac(context):
    """The context as logged, without the request's MAC, which must be there."""
    request = dict(context["request"])
    assert len(request.pop("hmac")) == 64
    return context | {"request": request}


def test_only_what_the_user_did_not_write_is_asked_for(tenant, agent):
    """With a request, without one, and with one that cannot be judged."""
    assert mail(tenant, agent, "doe@x.com")["result"] == "allowed"
    assert mail(tenant, agent, "eve@y.com")["result"] == "escalated"
    assert mail(tenant, agent, "doe@x.com", request=f"{REQUEST}\u200b")["result"] == "escalated"
    assert tenant.authorize(agent, "mail", parameters={"to": "doe@x.com"})["result"] == "escalated"


def test_no_entry_export_or_approval_has_the_request(tenant, agent):
    """Only how long it is, and its MAC; people are not warned of it, because it reaches no tool."""
    mail(tenant, agent, "doe@x.com")
    asked = mail(tenant, agent, "eve@y.com", user="ann")
    entries = tenant.log(agent_id=agent)
    assert [without_mac(entry["context"]) for entry in entries] == [KEPT | {"user": "ann"}, KEPT]
    assert entries[0]["context"]["request"] == entries[1]["context"]["request"]
    approval = tenant.admin.get(f"/v1/approvals/{asked['approval']['id']}").json()
    assert without_mac(approval["context"]) == KEPT | {"user": "ann"}
    assert not approval["hides"]
    exported = tenant.admin.get("/v1/audit-logs/export").text
    assert "confidential" not in exported + json.dumps([entries, approval, asked])


def test_no_rule_about_the_request_itself_quotes_it(tenant):
    """Reasons stand in the log."""
    agent = tenant.new_agent()["id"]
    rule = {"type": "parameter_constraint", "tools": ["*"], "context": {"request": {"maxLength": 9}}}
    tenant.new_policy(agent, FREE, rule)
    assert mail(tenant, agent, "doe@x.com")["reason"] == 'Context "request" is [REDACTED], longer than 9 characters'


@pytest.mark.parametrize(
    ("context", "status"),
    [
        ({"request": "x" * 32 * 1024}, 200),
        ({"request": "x" * 32 * 1024, "more": "x" * 16_000}, 200),
        ({"request": "x" * (32 * 1024 + 1)}, 413),
        ({"request": "é" * (16 * 1024 + 1)}, 413),
        ({"request": "x", "more": "x" * 16 * 1024}, 413),
        ({"request": ["x" * 16 * 1024]}, 413),
    ],
)
def test_a_request_may_be_longer_than_the_rest_of_the_context(tenant, agent, context, status):
    """32 KiB of UTF-8 beside the 16 KiB."""
    body = {"agent_id": agent, "tool_name": "mail", "parameters": {"to": "doe@x.com"}, "context": context}
    assert tenant.reader.post("/v1/authorize", json=body).status_code == status


def test_a_call_that_gives_the_request_can_be_explained(tenant, agent):
    """The call that is asked about, with the request; a past one, without."""
    for to, result, part in (("doe@x.com", "allowed", "passed"), ("eve@y.com", "escalated", "failed")):
        body = {"agent_id": agent, "tool_name": "mail", "parameters": {"to": to}, "context": {"request": REQUEST}}
        told = tenant.reader.post("/v1/explain", json=body).json()
        assert (told["result"], told["policies"][0]["rules"][1]["part"]) == (result, part)
        assert "confidential" not in json.dumps(told)
    past = mail(tenant, agent, "doe@x.com")
    told = tenant.reader.get(f"/v1/audit-logs/{past['id']}/explanation").json()
    assert told["unknown"] == ["context.request"]
    assert told["policies"][0]["rules"][1]["part"] == "unknown"
