"""GET /v1/agents/{id}/quotas: how full an agent's limits are, and for which values."""

import json
import re
import time

import pytest
from command_line import run_remit
from servers import clean_env
from tenants import tenant_on

from app.store.keyspace import Keyspace

tenant = tenant_on()
FREE = {"type": "tool_allowlist", "tools": ["*"]}


def limit(most, per=None, tools="*", **more):
    rate = {"maxCalls": most, "windowSeconds": 3600} | ({} if per is None else {"per": per})
    return {"type": "rate_limit", "tools": [tools], "rateLimit": rate, **more}


def quotas(client, agent):
    answer = client.get(f"/v1/agents/{agent}/quotas")
    assert answer.status_code == 200, answer.text
    return answer.json()["quotas"]


def fullest(client, agent, index=-1):
    """(taken, values) of each value shown of one rule."""
    shown = quotas(client, agent)[index]["values"]["fullest"]
    return [
        (int(each["quota"]["taken"]), each["values"] and [(one["name"], one["value"]) for one in each["values"]])
        for each in shown
    ]


def test_every_rule_in_force_that_counts_is_listed_with_its_fill(tenant):
    """Limits, budgets and breakers of the agent's own and of shared policies, guardrails last; no shadow policy."""
    agent = tenant.new_agent(alias="bot", groups=["crew"])["id"]
    budget = {"parameter": "amount", "max": 10.5, "windowSeconds": 60}
    tenant.new_policy(agent, FREE, limit(3), {"type": "budget", "tools": ["pay.*"], "budget": budget}, name="own")
    breaker = {"maxDenials": 4, "windowSeconds": 60, "action": "suspend"}
    storms = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": breaker}
    for fields, rule in (
        ({"kind": "guardrail", "group": "crew", "name": "crew"}, limit(9, effect="escalate")),
        ({"kind": "guardrail", "name": "all"}, storms),
        ({"kind": "guardrail", "name": "tried", "mode": "shadow"}, limit(1)),
        ({"kind": "guardrail", "name": "off", "enabled": False}, limit(1)),
    ):
        assert tenant.admin.post("/v1/policies", json={"rules": [rule], **fields}).status_code == 201
    tenant.authorize(agent, "pay.card", parameters={"amount": 2.25})
    tenant.authorize(agent, "pay.card", parameters={"amount": 99})
    found = quotas(tenant.reader, "bot")
    shown = {
        (each["policyName"], each["rule"]["type"]): (
            each["effect"], each["quota"]["most"], each["quota"]["taken"], each["quota"]["left"],
        )
        for each in found
    }  # fmt: skip
    assert shown == {
        ("own", "rate_limit"): ("deny", 3, 1, 2),
        ("own", "budget"): ("deny", 10.5, 2.25, 8.25),
        ("crew", "rate_limit"): ("escalate", 9, 1, 8),
        ("all", "denial_breaker"): ("deny", 4, 1, 3),
    }
    assert [each["policyName"] for each in found[:2]] == ["own", "own"]
    assert 0 < found[1]["quota"]["freesInSeconds"] <= 60
    tenant.admin.patch(f"/v1/agents/{agent}", json={"status": "suspended"})
    assert len(quotas(tenant.reader, agent)) == 4
    tenant.admin.delete(f"/v1/agents/{agent}")
    assert tenant.reader.get(f"/v1/agents/{agent}/quotas").json()["error"]["code"] == "AGENT_NOT_FOUND"


def test_the_values_of_a_breaker_are_those_of_denied_calls(tenant):
    """Which chats are stopped, and how many denials the others have left; an allowed call counts nowhere."""
    agent = tenant.new_agent()["id"]
    terms = {"maxDenials": 2, "windowSeconds": 3600, "action": "deny", "per": ["context.session"]}
    storms = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}
    tenant.new_policy(agent, storms, kind="guardrail")
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["read"]})
    for session, tool in (("a", "rm"), ("b", "rm"), ("a", "rm"), ("c", "read"), ("a", "read")):
        tenant.authorize(agent, tool, context={"session": session})
    [shown] = quotas(tenant.reader, agent)
    assert (shown["effect"], shown["per"], shown["values"]["total"]) == ("deny", ["context.session"], 2)
    assert fullest(tenant.reader, agent) == [(2, [("context.session", "a")]), (1, [("context.session", "b")])]


def test_the_fullest_values_of_per_are_named_from_the_log(tenant):
    """Of each JSON type, of tool, key and context, sealed or not; another agent's calls fill a shared bucket, too."""
    agent, other = (tenant.new_agent(groups=["crew"])["id"] for _ in range(2))
    per = ["parameters.user.id", "tool"]
    body = {"group": "crew", "name": "crew", "rules": [FREE, limit(9, per), limit(9, ["context.team", "key"])]}
    assert tenant.admin.post("/v1/policies", json=body).status_code == 201
    hostile = "<img src=x onerror=alert(1)>\u202e" * 3
    calls = [("ann", "a.b")] + [(7, "a.b")] * 2 + [(hostile, "a.b")] * 3 + [(True, "a.c"), (1.5, "a.b"), (2**53, "a.b")]
    for user, tool in calls:
        tenant.authorize(agent, tool, parameters={"user": {"id": user}}, context={"team": "red"})
    for _ in range(2):
        tenant.authorize(other, "a.b", parameters={"user": {"id": "ann"}}, context={"team": "blue"})
    wanted = [
        (3, "ann", "a.b"),
        (3, hostile, "a.b"),
        (2, 7, "a.b"),
        (1, True, "a.c"),
        (1, 1.5, "a.b"),
        (1, 2**53, "a.b"),
    ]
    found = fullest(tenant.reader, agent, 0)
    assert sorted(map(repr, found)) == sorted(
        repr((taken, [("parameters.user.id", user), ("tool", tool)])) for taken, user, tool in wanted
    )
    assert [taken for taken, _ in found] == [3, 3, 2, 1, 1, 1]
    key = tenant.log(limit=1)[0]["keyId"]
    assert fullest(tenant.reader, agent, 1) == [(9, [("context.team", "red"), ("key", key)])]


def test_what_the_log_hides_and_who_may_not_read_it(tenant):
    """A secret parameter and a secret in a value show no value; nor do keys without the log. All see how full it is."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, FREE, limit(9, ["parameters.password"]), limit(9, ["parameters.to"], "mail.*"))
    tenant.authorize(agent, "login", parameters={"password": "hunter2"})
    tenant.authorize(agent, "mail.send", parameters={"password": "x", "to": "svc_" + "0" * 32})
    tenant.authorize(agent, "mail.send", parameters={"password": "x", "to": "ann"})
    assert fullest(tenant.reader, agent, 0) == [(2, None), (1, None)]
    assert fullest(tenant.reader, agent, 1) == [(1, [("parameters.to", "ann")]), (1, None)]
    for scopes, names in ((["policies"], False), (["authorize"], False), (["policies", "audit"], True)):
        with tenant.replica.client(tenant.new_key(scopes)["key"]) as client:
            assert any(values for _, values in fullest(client, agent, 1)) is names
    with tenant.replica.client(tenant.new_key(["authorize"], agents=[agent])["key"]) as bound:
        assert fullest(bound, agent, 0) == [(2, None), (1, None)]
        elsewhere = bound.get(f"/v1/agents/{tenant.new_agent()['id']}/quotas")
        assert (elsewhere.status_code, elsewhere.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
    text = json.dumps(quotas(tenant.reader, agent))
    assert "hunter2" not in text


def test_values_that_count_no_more_are_not_among_the_fullest(tenant):
    """Refunded calls, and values whose window is over; of many values only the fullest are shown, and all counted."""
    agent = tenant.new_agent()["id"]
    rate = limit(9, ["parameters.to"])
    rate["rateLimit"] |= {"refundable": True, "windowSeconds": 1}
    tenant.new_policy(agent, FREE, rate, limit(9, ["parameters.to"]))
    for number in range(25):
        for _ in range(1 + number % 2):
            tenant.authorize(agent, parameters={"to": number})
    time.sleep(1.1)
    last = tenant.authorize(agent, parameters={"to": "last"})
    tenant.reader.post(f"/v1/decisions/{last['id']}/outcome", json={"status": "not_executed"})
    short, long = quotas(tenant.reader, agent)
    assert short["values"] == {"total": 0, "fullest": []}
    assert (long["values"]["total"], len(long["values"]["fullest"])) == (26, 20)
    assert [each["quota"]["taken"] for each in long["values"]["fullest"]] == [2] * 12 + [1] * 8


def test_values_are_named_although_the_clock_stepped_back(tenant):
    """Quota time is then ahead of the log's; the step is known as long as there was only one since the call."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, FREE, limit(9, ["parameters.to"]))
    tenant.authorize(agent, parameters={"to": "before"})
    commits = Keyspace(tenant.id).commits
    ahead = str((int(time.time()) + 3) * 1_000_000)
    tenant.in_store(lambda client: client.call("HSET", commits, "time_us", ahead))
    tenant.authorize(agent, parameters={"to": "after"})
    assert int(tenant.in_store(lambda client: client.call("HGET", commits, "skew_us"))) > 0
    assert {values[0][1] for _, values in fullest(tenant.reader, agent)} == {"before", "after"}


@pytest.mark.slow
def test_the_command_prints_a_row_for_each_limit_and_value(tenant):
    """Hidden characters of values are escaped."""
    agent = tenant.new_agent(alias="bot")["id"]
    tenant.new_policy(agent, FREE, limit(2), limit(2, ["parameters.to"]), name="mail")
    tenant.authorize(agent, parameters={"to": "\u202eann"})
    env = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": tenant.read_key}
    ran = run_remit(["agents", "quotas", "bot"], env)
    assert (ran.returncode, ran.stderr) == (0, "")
    rows = [re.split(r"  +", line) for line in ran.stdout.splitlines()[1:]]
    assert [[cell for cell in row if "3" not in cell] for row in rows] == [
        ["mail", "1 rate_limit", "1 of 2", "1"],
        ["mail", "2 rate_limit", "-", "-", "-"],
        ["", 'parameters.to = "\\u{202e}ann"', "1 of 2", "1"],
    ]
