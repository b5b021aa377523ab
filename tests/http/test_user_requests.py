"""`context.request`: judged whole; the log keeps its length and a MAC, or its text if a policy says so."""

import json

import pytest
from tenants import FREE, Tenant, tenant_on

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


def test_no_other_workspace_can_try_guesses_of_a_request(tenant, agent):
    """Neither by asking with them nor by pinning them, whatever their lengths, also if the log keeps requests.

    Nor of another long text; a request has one MAC, which no other text of its workspace has.
    """
    guesses = ["yes", REQUEST, f"{REQUEST} {'and so on ' * 300}"]

    def macs(of):
        asking = of.new_agent()["id"]
        pinned = of.admin.post("/v1/sessions/guessed/request", json={"request": guesses[-1]}).json()
        for keeps in (False, True):
            of.new_policy(asking, FREE, ASKED, name=f"{keeps}", keeps_requests=keeps)
            for guess in guesses:
                of.authorize(asking, "mail", parameters={"to": "doe@x.com", "text": guess}, context={"request": guess})
        *unkept, short, named, long = of.log(agent_id=asking)[::-1]
        requests = [entry["context"]["request"] for entry in unkept]
        assert [request["length"] for request in requests] == [*map(len, guesses)]
        assert [entry["context"]["request"] for entry in (short, named)] == guesses[:2]
        found = {request["hmac"] for request in requests}
        assert found == {request["hmac"] for request in requests[:2]} | {pinned["hmac"]}
        assert long["context"]["request"]["hmac"] == pinned["hmac"]
        return found | {long["parameters"]["text"]["hmac"]}

    own, other = macs(tenant), Tenant(tenant.store_url, tenant.replica)
    foreign = macs(other)
    other.close()
    assert len(own) == len(foreign) == len(guesses) + 1
    assert own.isdisjoint(foreign)


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


def test_a_policy_may_have_the_log_keep_requests(tenant, agent):
    """From the next decision on, until the policy is disabled, deleted or in shadow mode; people see it, too."""
    keeps = tenant.new_policy(agent, name="keeps", keeps_requests=True)
    asked = mail(tenant, agent, "eve@y.com", user="ann")
    kept = {"request": REQUEST, "user": "ann"}
    assert tenant.log(agent_id=agent)[0]["context"] == kept
    approval = tenant.admin.get(f"/v1/approvals/{asked['approval']['id']}").json()
    assert (approval["context"], approval["hides"]) == (kept, False)
    for change in (
        {"mode": "shadow"},
        {"mode": "enforce", "enabled": False},
        {"enabled": True, "keeps_requests": False},
    ):
        changed = tenant.admin.patch(f"/v1/policies/{keeps['id']}", json=change)
        assert changed.status_code == 200, changed.text
        mail(tenant, agent, "doe@x.com")
        assert without_mac(tenant.log(agent_id=agent)[0]["context"]) == KEPT, change


def test_a_guardrail_of_the_workspace_keeps_the_requests_of_all_agents(asking_replica, store):
    """In a session of its key, through a batch, and also of calls that are denied."""
    tenant = Tenant(store.url, asking_replica)
    agent = tenant.new_agent()["id"]
    rule = {"type": "tool_denylist", "tools": ["other"]}
    tenant.new_policy(None, rule, kind="guardrail", keeps_requests=True)
    mail(tenant, agent, "doe@x.com")
    key = tenant.new_key(["authorize"], session_from="key")
    call = {"agent_id": agent, "tool_name": "mail", "context": {"request": REQUEST}}
    with asking_replica.client(key["key"]) as bound:
        assert bound.post("/v1/authorize", json=call).json()["result"] == "denied"
    body = {"calls": [call, call]}
    assert tenant.reader.post("/v1/authorize/batch", json=body).status_code == 200
    logged = [entry["context"] for entry in tenant.log(agent_id=agent)]
    session = {"request": REQUEST, "session": f"key:{key['id']}"}
    assert logged == [{"request": REQUEST}, {"request": REQUEST}, session, {"request": REQUEST}]
    tenant.close()


@pytest.mark.parametrize(
    ("request_", "kept"),
    [
        ("Log in with password=hunter2 and mail doe@x.com", "Log in with password=[REDACTED] and mail doe@x.com"),
        ("x" * 2049, {"beginning": "x" * 256, "length": 2049}),
        (["doe@x.com"], ["doe@x.com"]),
    ],
)
def test_a_request_is_kept_as_other_texts_are(tenant, agent, request_, kept):
    """Redacted, and of a long one only the beginning; people need not acknowledge that they see less of it."""
    tenant.new_policy(agent, keeps_requests=True)
    asked = mail(tenant, agent, "eve@y.com", request=request_)
    logged = tenant.log(agent_id=agent)[0]["context"]["request"]
    if isinstance(kept, dict):
        assert len(logged.pop("hmac")) == 64
    assert logged == kept
    assert not tenant.admin.get(f"/v1/approvals/{asked['approval']['id']}").json()["hides"]


def test_a_past_decision_is_explained_with_the_request_that_the_log_kept(tenant, agent):
    """As far as the log kept it."""
    tenant.new_policy(agent, name="keeps", keeps_requests=True)
    for request, unknown, part in (
        (REQUEST, [], "passed"),
        (f"{REQUEST} {'x' * 2048}", ["context.request"], "unknown"),
    ):
        past = mail(tenant, agent, "doe@x.com", request=request)
        told = tenant.reader.get(f"/v1/audit-logs/{past['id']}/explanation").json()
        parts = {
            rule["index"]: rule["part"] for each in told["policies"] if each["name"] == "p" for rule in each["rules"]
        }
        assert (told["unknown"], parts[1]) == (unknown, part)
