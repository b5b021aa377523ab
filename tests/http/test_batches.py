"""POST /v1/authorize/batch: many decisions in one request, each as by itself."""

import pytest
from commit_scene import everything
from tenants import tenant_on

from app.store.keyspace import Keyspace

PATH = "/v1/authorize/batch"

tenant = tenant_on("asking_replica", scope="module")


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


WHOLE = {"semantics": "all_or_nothing"}


def keyed(tenant, calls, key=None, **fields):
    """The answer to a batch with an Idempotency-Key, usually the id of its first agent."""
    key = key or calls[0]["agent_id"]
    return tenant.reader.post(PATH, json={"calls": calls, **fields}, headers={"Idempotency-Key": key})


def ids(answer):
    assert answer.status_code == 200, answer.text
    return [each["decision"]["id"] for each in answer.json()["results"]]


@pytest.mark.parametrize("semantics", ["execute_all", "deny_on_first_deny", "permit_on_first_permit", "all_or_nothing"])
@pytest.mark.parametrize("number", [1, 60])
def test_a_repeated_batch_gets_its_first_answers(tenant, semantics, number):
    """No second entry, nothing taken twice, also once the limit has room or none; another key is another batch."""
    agent = limited(tenant, 1)
    calls = [call(agent, "file.read" if number == 1 else f"file.{n}", parameters={"n": n}) for n in range(number)]
    first = keyed(tenant, calls, semantics=semantics)
    drop(tenant, "quota:*", lambda _: True)
    before = state(tenant)
    again = keyed(tenant, calls, semantics=semantics)
    assert (ids(again), again.json()) == (ids(first), first.json())
    assert ("Idempotency-Replayed" in first.headers, again.headers["Idempotency-Replayed"]) == (False, "true")
    assert state(tenant) == before
    assert {each["id"] for each in tenant.log(agent_id=agent)} == set(ids(first))
    assert not set(ids(keyed(tenant, calls, f"{agent} 2", semantics=semantics))) & set(ids(first))


def test_what_is_left_of_a_repeated_batch_is_decided(tenant):
    """A replica that ended within a batch has answered some of its calls; the rest has its place in the same plan."""
    agent = limited(tenant, 100)
    tenant.new_policy(agent, {"type": "approval_required", "tools": ["file.ask"]}, priority=9)
    calls = [call(agent, "file.ask" if n in (2, 58) else "file.read", parameters={"n": n}) for n in range(60)]
    first = keyed(tenant, calls)
    forget(tenant, ids(first)[3:])
    asked = first.json()["results"][58]["decision"]["approval"]["id"]
    assert tenant.reader.post(f"/v1/approvals/{asked}/cancel", json={}).status_code == 200
    again = keyed(tenant, calls)
    assert ids(again)[:3] == ids(first)[:3]
    assert not set(ids(again)[3:]) & set(ids(first))
    assert "Idempotency-Replayed" not in again.headers
    asked = [again.json()["results"][n]["decision"]["approval"]["id"] for n in (2, 58)]
    plans = [tenant.admin.get(f"/v1/approvals/{each}").json()["plan"] for each in asked]
    assert [each["index"] for each in plans] == [2, 58]
    assert plans[0]["id"] == plans[1]["id"]


def forget(tenant, made):
    """Drop these decisions' answers, as if they had not been made when their batch was cut off."""
    drop(tenant, "idempotency:*", lambda record: record["id"] in made)


def drop(tenant, pattern, is_dropped):
    """Drop these keys of the workspace from the store."""

    async def act(client):
        for name, (_, value) in (await everything(client, f"remit:{{{tenant.id}}}:{pattern}")).items():
            if is_dropped(value):
                await client.call("DEL", name)

    tenant.in_store(act)


@pytest.mark.parametrize(
    "other",
    [
        {"calls": lambda calls: [*calls, calls[0]]},
        {"calls": lambda calls: calls[:-1]},
        {"calls": lambda calls: [calls[0], {**calls[1], "action": "other"}]},
        {"semantics": "all_or_nothing"},
    ],
    ids=["longer", "shorter", "another call", "other semantics"],
)
def test_another_batch_with_the_same_key_is_a_conflict(tenant, other):
    """Nothing of it is decided."""
    agent = limited(tenant, 10)
    calls = [call(agent), call(agent)]
    first = ids(keyed(tenant, calls))
    made = other.get("calls", lambda same: same)(calls)
    answer = keyed(tenant, made, semantics=other.get("semantics", "execute_all"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "IDEMPOTENCY_CONFLICT")
    assert {each["id"] for each in tenant.log(agent_id=agent)} == set(first)


@pytest.mark.parametrize("semantics", ["execute_all", "permit_on_first_permit", "all_or_nothing"])
def test_first_answers_under_other_policies_are_stale(tenant, semantics):
    """The whole batch is 409, and nothing of it is decided."""
    agents = limited(tenant, 10), limited(tenant, 10)
    calls = [call(agents[0]), call(agents[1])]
    first = ids(keyed(tenant, calls, semantics=semantics))
    tenant.new_policy(agents[0], {"type": "tool_denylist", "tools": ["rm"]}, kind="guardrail")
    answer = keyed(tenant, calls, semantics=semantics)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "IDEMPOTENCY_STALE")
    assert {each["id"] for agent in agents for each in tenant.log(agent_id=agent)} == set(first)


def test_a_stale_answer_hides_no_decision(tenant):
    """If the rest of the batch is decided now, only the stale call has no answer."""
    agents = limited(tenant, 10), limited(tenant, 10)
    calls = [call(agents[0]), call(agents[1])]
    forget(tenant, ids(keyed(tenant, calls))[1:])
    tenant.new_policy(agents[0], {"type": "tool_denylist", "tools": ["rm"]}, kind="guardrail")
    stale, decided_now = keyed(tenant, calls).json()["results"]
    assert stale["error"]["code"] == "IDEMPOTENCY_STALE"
    assert decided_now["decision"]["id"] in {each["id"] for each in tenant.log()}


def test_a_plan_whose_agent_was_made_since_is_stale(tenant):
    """Its first answers are denials, and the new agent's call has none."""
    agent = limited(tenant, 10)
    alias = f"late-{agent}"
    calls = [call(agent), call(alias)]
    assert "error" in keyed(tenant, calls, **WHOLE).json()["results"][1]
    assert keyed(tenant, calls, **WHOLE).headers["Idempotency-Replayed"] == "true"
    limited(tenant, 10, alias=alias)
    answer = keyed(tenant, calls, **WHOLE)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "IDEMPOTENCY_STALE")
    assert len(tenant.log(agent_id=agent)) == 1


def test_evaluations_are_repeated_too(tenant):
    """Several, or one; the order of names does not matter."""
    agent = limited(tenant, 10)
    one = {
        "subject": {"type": "agent", "id": agent},
        "action": {"name": "call"},
        "resource": {"type": "tool", "id": "file.read"},
    }
    for body in ({"evaluations": [one, one]}, one):
        named = {"Idempotency-Key": f"{agent} {len(body)}"}
        sent = [
            tenant.reader.post("/access/v1/evaluations", json=each, headers=named)
            for each in (body, dict(reversed(body.items())))
        ]
        assert [each.status_code for each in sent] == [200, 200]
        assert sent[0].json() == sent[1].json()
        assert sent[1].headers["Idempotency-Replayed"] == "true"
    assert len(tenant.log(agent_id=agent)) == 3


def test_each_call_of_a_batch_counts_as_an_idempotency_key(tenant):
    """So batches keep no more answers than single calls may."""
    agent = limited(tenant, 10)
    key_id = tenant.admin.get("/v1/api-keys").json()[-1]["id"]

    async def counted(client):
        return sum(
            int(each.split()[1]) for each in await client.call("HVALS", Keyspace(tenant.id).answer_counts(key_id))
        )

    before = tenant.in_store(counted)
    ids(keyed(tenant, [call(agent)] * 3))
    assert tenant.in_store(counted) - before == 3


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
    assert tenant.admin.get("/v1/approvals", params={"agent_id": agent}).json() == []


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
