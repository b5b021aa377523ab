"""POST /v1/authorize/batch: many decisions in one request, each as by itself."""

import pytest
from commit_scene import everything

PATH = "/v1/authorize/batch"


def limited(tenant, most, **fields):
    """An agent that may make this many calls."""
    agent = tenant.new_agent(**fields)["id"]
    rule = {"type": "rate_limit", "tools": ["file.*"], "rateLimit": {"maxCalls": most, "windowSeconds": 3600}}
    tenant.new_policy(agent, rule)
    return agent


def call(agent, tool="file.read", **fields):
    return {"agent_id": agent, "tool_name": tool, **fields}


def decided(tenant, calls, **fields):
    """The answers to a batch."""
    answer = tenant.reader.post(PATH, json={"calls": calls, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def results(tenant, calls, **fields):
    return [each["decision"]["result"] for each in decided(tenant, calls, **fields)]


@pytest.mark.parametrize("number", [1, 100, 300])
def test_limits_count_across_the_calls_of_a_batch(tenant, number):
    """The first calls take what there is, in their order, in however many scripts they go to the store."""
    most = number // 2 + 1
    agent = limited(tenant, most)
    assert results(tenant, [call(agent)] * number) == (["allowed"] * most + ["denied"] * number)[:number]
    log = tenant.log(agent_id=agent, limit=1000)
    assert [each["result"] for each in reversed(log)] == (["allowed"] * most + ["denied"] * number)[:number]


def test_every_answer_is_its_entry(tenant):
    """In the order of the calls; what calls in a row have in common is sent to the store once."""
    agents = limited(tenant, 1000), limited(tenant, 1), tenant.new_agent()["id"]
    calls = [
        call(agents[n // 5 % 3], f"file.{n // 3 % 2}", action=f"a{n // 2}", parameters={"n": n}, context={"n": n % 2})
        for n in range(50)
    ]
    made = [each["decision"] for each in decided(tenant, calls)]
    entries = {each["id"]: each for each in tenant.log(limit=len(calls))}
    log = [entries[each["id"]] for each in made]
    same = ("id", "result", "reason", "policyId")
    assert [[each[name] for name in same] for each in made] == [[each[name] for name in same] for each in log]
    kept = {"agent_id": "agentId", "tool_name": "toolName", "action": "action", "parameters": "parameters"}
    assert [{name: each[kept[name]] for name in kept} for each in log] == [
        {name: each[name] for name in kept} for each in calls
    ]
    allowed = {n for n, each in enumerate(calls) if each["agent_id"] == agents[0]} | {5}
    assert {n for n, each in enumerate(made) if each["result"] == "allowed"} == allowed


def test_an_error_of_one_call_is_its_answer(tenant):
    """The others are decided."""
    agent = limited(tenant, 10)
    answers = decided(tenant, [call(agent), call("nobody"), call(agent)])
    assert [each.get("error", {}).get("code") for each in answers] == [None, "AGENT_NOT_FOUND", None]


@pytest.mark.parametrize(
    ("semantics", "wanted"),
    [
        ("execute_all", ["allowed", "allowed", "denied", "denied"]),
        ("deny_on_first_deny", ["allowed", "allowed", "denied"]),
        ("permit_on_first_permit", ["allowed"]),
    ],
)
def test_semantics_may_end_a_batch_early(tenant, semantics, wanted):
    """What is not answered is not decided, either."""
    agent = limited(tenant, 2)
    assert results(tenant, [call(agent)] * 4, semantics=semantics) == wanted
    assert len(tenant.log(agent_id=agent)) == len(wanted)


def test_a_breaker_that_trips_ends_the_batch_for_its_agent(tenant):
    """The calls after it see the suspended agent, although they were planned before."""
    agent = tenant.new_agent()["id"]
    breaker = {
        "type": "denial_breaker",
        "tools": ["*"],
        "denialBreaker": {"maxDenials": 2, "windowSeconds": 60, "action": "suspend"},
    }
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["file.read"]})
    tenant.new_policy(agent, breaker, kind="guardrail")
    codes = [
        each["decision"]["code"]
        for each in decided(tenant, [call(agent, "rm"), call(agent, "rm"), call(agent), call(agent)])
    ]
    assert codes == ["not_allowlisted", "not_allowlisted", "agent_suspended", "agent_suspended"]


def test_parts_of_a_commit_are_the_same_in_a_batch(tenant):
    """Budgets, limits per value, sequences and shadow policies beside plain calls."""
    agent = tenant.new_agent()["id"]
    budget = {"type": "budget", "tools": ["pay"], "budget": {"parameter": "amount", "max": 10, "windowSeconds": 60}}
    after = {"type": "sequence", "tools": ["send"], "sequence": {"forbiddenAfter": ["read"], "withinSeconds": 60}}
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["*"]}, budget, after)
    said = {"context": {"session": "s"}}
    calls = [call(agent, "send", **said), *(call(agent, "pay", parameters={"amount": 4}) for _ in range(3))]
    calls += [call(agent, "read", **said), call(agent, "send", **said), call(agent, "other")]
    assert results(tenant, calls) == ["allowed", "allowed", "allowed", "denied", "allowed", "denied", "allowed"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"calls": []}, "$.calls"),
        ({"calls": [{"agent_id": "a"}]}, "$.calls[0].tool_name"),
        ({"calls": [call("a"), call("a", parameters=1)]}, "$.calls[1].parameters"),
        ({"calls": [call("a")], "semantics": "some"}, "$.semantics"),
        ({"calls": [call("a")] * 1001}, "$.calls"),
        ({}, "$.calls"),
    ],
    ids=str,
)
def test_a_malformed_batch_is_refused_as_a_whole(tenant, body, path):
    """Nothing is decided; the path leads to the call."""
    answer = tenant.reader.post(PATH, json=body)
    assert (answer.status_code, answer.json()["error"]["details"][0]["path"]) == (400, path)


def test_a_batch_has_no_idempotency_key(tenant):
    """A client that sent one would believe that it may repeat the batch."""
    answer = tenant.reader.post(PATH, json={"calls": [call("a")]}, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 400


WHOLE = {"semantics": "all_or_nothing"}


def test_a_plan_is_allowed_as_a_whole(tenant):
    """Every call has its entry, and has taken from its limit."""
    agent = limited(tenant, 5)
    assert results(tenant, [call(agent)] * 3, **WHOLE) == ["allowed"] * 3
    assert [each["result"] for each in tenant.log(agent_id=agent)] == ["allowed"] * 3
    assert results(tenant, [call(agent)] * 3) == ["allowed", "allowed", "denied"]


def test_a_plan_that_is_not_allowed_takes_nothing(tenant):
    """Not even what the calls before the obstacle would have taken; every call is denied, and says why."""
    agent = limited(tenant, 3)
    answers = [each["decision"] for each in decided(tenant, [call(agent)] * 4, **WHOLE)]
    assert [each["code"] for each in answers] == ["batch_refused"] * 3 + ["quota_full"]
    assert answers[0]["reason"].startswith("All or nothing: call 3 of the batch, counted from 0, cannot be allowed")
    log = tenant.log(agent_id=agent)
    assert [(each["result"], each["code"]) for each in reversed(log)] == [("denied", each["code"]) for each in answers]
    assert results(tenant, [call(agent)] * 4) == ["allowed"] * 3 + ["denied"]


FULL = {
    "rate_limit": {"rateLimit": {"maxCalls": 1, "windowSeconds": 3600}},
    "budget": {"budget": {"parameter": "n", "max": 1, "windowSeconds": 3600}},
    "sequence": {"sequence": {"forbiddenAfter": ["file.read"], "withinSeconds": 60}},
}
"""Rules whose answer only the commit knows; of each, the second call is refused."""


@pytest.mark.parametrize("kind", FULL)
@pytest.mark.parametrize("number", [1, 2])
def test_what_the_commit_refuses_has_its_entry(tenant, kind, number):
    """Also in a batch of one call, of which no other call can tell that it was refused."""
    agent = tenant.new_agent()["id"]
    rule = {"type": kind, "tools": ["file.read"], **FULL[kind]}
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["file.read"]}, rule)
    said = {"parameters": {"n": 1}, "context": {"session": agent}}
    before = [tenant.authorize(agent, "file.read", **said)["id"]]
    answers = [each["decision"] for each in decided(tenant, [call(agent, **said)] * number, **WHOLE)]
    assert [each["result"] for each in answers] == ["denied"] * number
    assert {each["id"] for each in tenant.log(agent_id=agent)} == {*before, *(each["id"] for each in answers)}


@pytest.mark.parametrize("obstacle", ["denied", "escalated", "unknown"])
def test_whatever_stands_in_the_way_of_one_call_stops_all(tenant, obstacle):
    """A rule, a person who would have to be asked, or an agent that does not exist."""
    agent = limited(tenant, 3)
    tenant.new_policy(agent, {"type": "approval_required", "tools": ["file.ask"]}, priority=9)
    last = {"denied": call(agent, "rm"), "escalated": call(agent, "file.ask"), "unknown": call("nobody")}[obstacle]
    first, second, third = decided(tenant, [call(agent), call(agent), last], **WHOLE)
    assert [each["decision"]["code"] for each in (first, second)] == ["batch_refused"] * 2
    assert "decision" not in third if obstacle == "unknown" else third["decision"]["result"] == "denied"
    assert results(tenant, [call(agent)] * 4) == ["allowed"] * 3 + ["denied"]
    assert tenant.admin.get("/v1/approvals").json() == []


def test_a_plan_gives_back_what_every_kind_of_rule_has_taken(tenant):
    """Budgets, limits per value, marks of sessions and counts of shadow policies are as before."""
    agent = tenant.new_agent()["id"]
    budget = {"type": "budget", "tools": ["pay"], "budget": {"parameter": "amount", "max": 10, "windowSeconds": 60}}
    per = {"maxCalls": 2, "windowSeconds": 60, "per": ["parameters.to"], "refundable": True}
    after = {"type": "sequence", "tools": ["send"], "sequence": {"forbiddenAfter": ["read"], "withinSeconds": 60}}
    limit = {"type": "rate_limit", "tools": ["pay"], "rateLimit": per}
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["*"]}, budget, limit, after)
    tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["read"]}, mode="shadow")
    said = {"context": {"session": agent}}  # other tests of this workspace have sessions, too
    pay = call(agent, "pay", parameters={"amount": 4, "to": "ann"})
    tenant.authorize(agent, "pay", parameters={"amount": 1, "to": "ann"})
    before = state(tenant)
    answers = decided(tenant, [pay, call(agent, "read", **said), call(agent, "send", **said)], **WHOLE)
    assert [each["decision"]["result"] for each in answers] == ["denied"] * 3
    assert state(tenant) == before
    allowed = decided(tenant, [pay, call(agent, "send", **said), call(agent, "read", **said)], **WHOLE)
    assert [each["decision"]["reason"] for each in allowed if not each["decision"]["allowed"]] == []


def state(tenant):
    """Everything that is stored of the workspace besides its log, by key."""

    async def read(client):
        found = await everything(client, f"remit:{{{tenant.id}}}:*")
        kept = {name: value for name, value in found.items() if ":audit:" not in name and not name.endswith(":commits")}
        return {name: value for name, value in kept.items() if ":key:" not in name}

    return tenant.in_store(read)


def test_a_plan_too_long_for_one_script_is_refused(tenant):
    """It would keep the store for longer than two milliseconds."""
    answer = tenant.reader.post(PATH, json={"calls": [call("a")] * 129, **WHOLE})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BATCH_TOO_LARGE")
