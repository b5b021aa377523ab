"""Approvals over HTTP, from the question to the call that a person let through."""

import concurrent.futures
import time
import uuid

import pytest
from approval_steps import ALLOW, ASK, approve, ask
from command_line import run_remit
from servers import clean_env
from tenants import Tenant


@pytest.mark.parametrize("amount", ["5", 6, [5], None, True], ids=str)
def test_a_similar_call_is_not_let_through(tenant, agent_id, person, amount):
    """An approval is for exactly these arguments."""
    approve(person, ask(tenant, agent_id, 5)["approval"]["id"])
    assert ask(tenant, agent_id, amount)["result"] == "escalated"
    assert ask(tenant, agent_id, 5)["result"] == "allowed"


def test_another_user_or_session_is_another_call(tenant, agent_id, person):
    """Context that a policy reads is bound, too; other context is not."""
    of_ann = {"user": "ann", "session": "s1", "trace": "1"}
    approve(person, ask(tenant, agent_id, context=of_ann)["approval"]["id"])
    assert ask(tenant, agent_id, context={**of_ann, "user": "bob"})["result"] == "escalated"
    assert ask(tenant, agent_id, context={**of_ann, "session": "s2"})["result"] == "escalated"
    assert ask(tenant, agent_id, context={**of_ann, "trace": "2"})["result"] == "allowed"


LIMITED = {"tools": ["refund.*"], "effect": "escalate"}
BESIDE = {
    "limit": {**LIMITED, "type": "rate_limit", "rateLimit": {"maxCalls": 1, "windowSeconds": 3600}},
    "limit per value": {
        **LIMITED,
        "type": "rate_limit",
        "rateLimit": {"maxCalls": 1, "windowSeconds": 3600, "per": ["context.user"]},
    },
    "budget": {
        **LIMITED,
        "type": "budget",
        "budget": {"parameter": "amount", "max": 100, "windowSeconds": 3600},
    },
    "sequence": {**LIMITED, "type": "sequence", "sequence": {"forbiddenAfter": ["refund.*"]}},
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_one_approval_answers_every_rule_that_asks_about_the_call(tenant, person, beside, first):
    """A rule that always asks, and one beside it that asks because it is full; people see both reasons."""
    agent = tenant.new_agent()
    large = {**ASK, "when": {"parameters": {"amount": {"above": 10}}}}
    rules = [BESIDE[beside], large] if first else [large, BESIDE[beside]]
    tenant.new_policy(agent["id"], ALLOW, *rules)
    of_ann = {"context": {"user": "ann", "session": "s"}}
    assert ask(tenant, agent["id"], 5, **of_ann)["result"] == "allowed"
    asked = ask(tenant, agent["id"], 99, **of_ann)
    assert (asked["result"], asked["rule"]["type"]) == ("escalated", "approval_required")
    shown = person.get(f"/v1/approvals/{asked['approval']['id']}").json()
    assert shown["reason"].startswith(f"{asked['reason']}; ")
    assert ask(tenant, agent["id"], 99, **of_ann)["approval"]["id"] == shown["id"]
    approve(person, shown["id"])
    assert [ask(tenant, agent["id"], 99, **of_ann)["result"] for _ in range(2)] == ["allowed", "escalated"]


def test_an_approval_does_not_grow_with_the_policies_that_ask(tenant, person):
    """Of twelve reasons, people see nine, and how many more there are."""
    agent = tenant.new_agent()["id"]
    for number in range(12):
        tenant.new_policy(agent, ALLOW, ASK, name=f"policy {number}")
    asked = ask(tenant, agent, 99)
    reason = person.get(f"/v1/approvals/{asked['approval']['id']}").json()["reason"]
    assert reason.count("; ") == 9
    assert reason.endswith("; and 3 more")


def test_racing_calls_that_two_rules_ask_about_share_one_approval(tenant, person, replicas):
    """Forty on two replicas ask people once; then the approval lets one of forty through."""
    agent = tenant.new_agent()["id"]
    large = {**ASK, "when": {"parameters": {"amount": {"above": 10}}}}
    tenant.new_policy(agent, ALLOW, large, BESIDE["limit"])
    assert ask(tenant, agent, 5)["result"] == "allowed"
    clients = [each.client(tenant.read_key) for each in replicas]
    call = {"agent_id": agent, "tool_name": "refund.create", "parameters": {"amount": 99}}

    def race():
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda n: clients[n % 2].post("/v1/authorize", json=call).json(), range(40)))
        return [each["result"] for each in answers], {each["approval"]["id"] for each in answers}

    results, [approval_id] = race()
    assert set(results) == {"escalated"}
    approve(person, approval_id)
    results, _ = race()
    assert (results.count("allowed"), results.count("escalated")) == (1, 39)
    for client in clients:
        client.close()


def test_a_limit_that_fills_after_people_were_asked_asks_anew(tenant, person):
    """What was not full was not shown, so nobody has approved it."""
    agent = tenant.new_agent()
    large = {**ASK, "when": {"parameters": {"amount": {"above": 10}}}}
    tenant.new_policy(agent["id"], ALLOW, large, BESIDE["limit"])
    asked = ask(tenant, agent["id"], 99)
    approve(person, asked["approval"]["id"])
    assert ask(tenant, agent["id"], 5)["result"] == "allowed"
    again = ask(tenant, agent["id"], 99)
    assert (again["result"], again["approval"]["id"] == asked["approval"]["id"]) == ("escalated", False)
    approve(person, again["approval"]["id"])
    assert ask(tenant, agent["id"], 99)["result"] == "allowed"


def test_a_call_that_a_limit_denies_waits_for_that_limit_alone(tenant, person):
    """Not for another one that only asks people, as a rule does anyway: room in it would not change the answer."""
    agent = tenant.new_agent()["id"]
    large = {**ASK, "when": {"parameters": {"amount": {"above": 10}}}}
    denies, asks = ({"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": seconds}}
                    for seconds in (60, 3600))  # fmt: skip
    tenant.new_policy(agent, ALLOW, large, denies, asks | {"effect": "escalate"})
    assert ask(tenant, agent, 5)["result"] == "allowed"
    denied = ask(tenant, agent, 99)
    assert (denied["result"], denied["rule"]["index"]) == ("denied", 2)
    assert 0 < denied["retryAfterSeconds"] <= 60


def test_an_approver_may_grant_less_and_never_more(tenant, person):
    """The rule's terms are the maximum."""
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], ALLOW, {**ASK, "approval": {"maxUses": 3, "validSeconds": 600}})
    approval_id = ask(tenant, agent["id"])["approval"]["id"]
    for more in ({"uses": 4}, {"validSeconds": 601}):
        answer = person.post(f"/v1/approvals/{approval_id}/approve", json=more)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    approve(person, approval_id, uses=2)
    assert [ask(tenant, agent["id"])["result"] for _ in range(3)] == ["allowed", "allowed", "escalated"]


def test_racing_repeats_of_a_single_use_approval_allow_one_call(tenant, agent_id, person, replicas):
    """A hundred on two replicas."""
    approve(person, ask(tenant, agent_id)["approval"]["id"])
    clients = [each.client(tenant.read_key) for each in replicas]
    call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": 5}}
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: clients[n % 2].post("/v1/authorize", json=call), range(100)))
    for client in clients:
        client.close()
    results = [answer.json().get("result") for answer in answers]
    assert (results.count("allowed"), results.count("escalated")) == (1, 99)
    assert len(person.get("/v1/approvals?status=pending").json()) == 1


def test_a_wait_ends_when_somebody_decides_on_another_replica(tenant, agent_id, person, replicas):
    """Within a round trip, without polling."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool, replicas[1].client(tenant.read_key) as other:
        waiting = pool.submit(other.get, f"/v1/approvals/{approval_id}?wait=30")
        approve(person, approval_id)
        assert waiting.result(timeout=20).json()["status"] == "approved"


def replaced(store, tenant, key_id):
    """The key has a successor, and expires a second later."""
    words = ["key", "rotate", key_id, "-w", tenant.id, "--overlap", "1s"]
    run_remit(words, clean_env() | {"REMIT_REDIS_URL": store.url}).check_returncode()


@pytest.mark.parametrize("end", ["revoked", "expired", "replaced"])
@pytest.mark.slow
def test_a_wait_ends_with_its_key(store, tenant, agent_id, replicas, end):
    """When the trail says that it is revoked, or when it expires; it does not learn the outcome any more."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
    key = tenant.new_key(["read"], **({"expires_at": soon} if end == "expired" else {}))
    with concurrent.futures.ThreadPoolExecutor(1) as pool, replicas[1].client(key["key"]) as other:
        waiting = pool.submit(other.get, f"/v1/approvals/{approval_id}?wait=30")
        for _ in range(20):
            ask(tenant, agent_id)  # by then it waits
        if end == "replaced":
            replaced(store, tenant, key["id"])
        if end == "revoked":
            assert tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
        answer = waiting.result(timeout=20)
    code = "UNAUTHORIZED" if end == "revoked" else "API_KEY_EXPIRED"
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, code)


def test_hidden_values_must_be_accepted_explicitly(tenant, agent_id, person):
    """Secrets are redacted, so a person does not see everything that is bound."""
    made = tenant.authorize(agent_id, "refund.create", parameters={"password": "hunter2"})
    approval = person.get(f"/v1/approvals/{made['approval']['id']}").json()
    assert (approval["parameters"], approval["hides"]) == ({"password": "[REDACTED]"}, True)
    assert person.post(f"/v1/approvals/{approval['id']}/approve", json={}).status_code == 400
    assert approve(person, approval["id"], acceptHidden=True)["status"] == "approved"
    other = tenant.authorize(agent_id, "refund.create", parameters={"password": "hunter3"})
    assert other["result"] == "escalated"


def test_a_read_key_decides_nothing(tenant, agent_id):
    """The scope is `approve`, and admin has it."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    answer = tenant.reader.post(f"/v1/approvals/{approval_id}/approve", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
    assert tenant.admin.post(f"/v1/approvals/{approval_id}/deny", json={"note": "no"}).json()["status"] == "denied"
    assert tenant.admin.post(f"/v1/approvals/{approval_id}/deny", json={}).status_code == 409


def test_another_workspaces_approval_is_unknown(tenant, agent_id, store):
    """Like anything in another workspace."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    stranger = Tenant(store.url, tenant.replica)
    for path in (approval_id, str(uuid.uuid4()), "nonsense"):
        answer = stranger.admin.get(f"/v1/approvals/{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "APPROVAL_NOT_FOUND")
    assert stranger.admin.get("/v1/approvals").json() == []
    stranger.close()


class Named:
    """A call with an Idempotency-Key, asked on whichever replica."""

    def __init__(self, tenant, agent_id, amount=5):
        call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": amount}}
        self._asked = {"json": call, "headers": {"Idempotency-Key": str(uuid.uuid4())}}
        self._reader = tenant.reader

    def ask(self, reader=None):
        return (reader or self._reader).post("/v1/authorize", **self._asked)


def test_a_named_call_waits_for_people_and_then_uses_their_approval_once(tenant, agent_id, person, replicas):
    """Every replica repeats the question while it waits; the answer after the approval takes its place."""
    named = Named(tenant, agent_id)
    with replicas[1].client(tenant.read_key) as other:
        first, again = named.ask(), named.ask(other)
        assert (again.json(), again.headers["Idempotency-Replayed"]) == (first.json(), "true")
        shown = person.get(f"/v1/approvals/{first.json()['approval']['id']}").json()
        assert shown["requests"] == 1
        approve(person, shown["id"])
        allowed = [named.ask(other), named.ask(), named.ask(other)]
    assert {each.json()["id"] for each in allowed} == {allowed[0].json()["id"]} != {first.json()["id"]}
    assert allowed[0].json()["result"] == "allowed"
    assert person.get(f"/v1/approvals/{shown['id']}").json()["status"] == "consumed"
    assert Named(tenant, agent_id).ask().json()["result"] == "escalated", "another call"


@pytest.mark.parametrize("verdict", ["deny", "cancel"])
def test_a_named_call_that_people_refused_asks_nobody_again(tenant, agent_id, person, verdict):
    """It gets its first answer, with what became of the approval."""
    named = Named(tenant, agent_id)
    first = named.ask().json()
    decides = tenant.reader if verdict == "cancel" else person
    ended = decides.post(f"/v1/approvals/{first['approval']['id']}/{verdict}", json={}).json()
    again = named.ask().json()
    assert again == first | {"approval": first["approval"] | {"status": ended["status"]}}
    assert person.get("/v1/approvals", params={"status": "pending"}).json() == []


def test_a_named_call_that_a_full_limit_asked_about_waits_for_people(tenant, person):
    """Room in the limit does not answer the question; the approval does, and is used once."""
    limit = {**BESIDE["limit"], "rateLimit": {"maxCalls": 1, "windowSeconds": 3600, "refundable": True}}
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, ALLOW, limit)
    taken = ask(tenant, agent, 1)
    named, other = Named(tenant, agent), Named(tenant, agent, 6)
    first = named.ask().json()
    assert (first["result"], other.ask().json()["result"]) == ("escalated", "escalated")
    approve(person, first["approval"]["id"])
    assert [named.ask().json()["result"] for _ in range(2)] == ["allowed", "allowed"]
    for decision_id in (taken["id"], named.ask().json()["id"]):
        report = tenant.reader.post(f"/v1/decisions/{decision_id}/outcome", json={"status": "not_executed"})
        assert report.status_code == 200
    assert (other.ask().json()["result"], ask(tenant, agent, 7)["result"]) == ("escalated", "allowed")


def test_an_approval_that_another_call_has_used_is_not_this_calls(tenant, agent_id, person):
    """It is 409: nobody is asked in vain, and whoever asks without the key is asked about anew."""
    named = Named(tenant, agent_id)
    approve(person, named.ask().json()["approval"]["id"])
    assert ask(tenant, agent_id, 5)["result"] == "allowed"
    stale = named.ask()
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "IDEMPOTENCY_STALE")


def test_a_named_call_that_waits_is_judged_by_policies_that_have_changed(tenant, agent_id, person):
    """The first answer allowed nothing, so a suspension or another policy counts at once."""
    named, suspended = Named(tenant, agent_id), Named(tenant, agent_id, 6)
    first = named.ask().json()
    suspended.ask()
    tenant.new_policy(agent_id, {"type": "tool_denylist", "tools": ["refund.*"]}, kind="guardrail")
    assert (first["result"], named.ask().json()["result"]) == ("escalated", "denied")
    tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": "suspended"})
    assert "suspended" in suspended.ask().json()["reason"]


def test_a_retry_of_a_call_that_was_let_through_names_its_approval_again(tenant, agent_id, person, replicas):
    """Any replica repeats the first answer, byte for byte, even once the approval is used up."""
    approve(person, ask(tenant, agent_id)["approval"]["id"])
    call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": 5}}
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first = tenant.reader.post("/v1/authorize", json=call, headers=headers)
    with replicas[1].client(tenant.read_key) as other:
        again = other.post("/v1/authorize", json=call, headers=headers)
    assert (first.json()["result"], first.json()["approval"]["status"]) == ("allowed", "approved")
    assert again.content == first.content


def test_an_approved_call_goes_past_a_budget_that_asks_and_is_counted(tenant, person):
    """The amount counts for later calls."""
    agent = tenant.new_agent()
    budget = {"parameter": "amount", "max": 10, "windowSeconds": 3600}
    tenant.new_policy(
        agent["id"], ALLOW, {"type": "budget", "tools": ["refund.*"], "budget": budget, "effect": "escalate"}
    )
    assert ask(tenant, agent["id"], 8)["result"] == "allowed"
    over = ask(tenant, agent["id"], 5)
    assert over["result"] == "escalated"
    approve(person, over["approval"]["id"])
    assert ask(tenant, agent["id"], 5)["result"] == "allowed"
    assert ask(tenant, agent["id"], 1)["result"] == "escalated"


def test_an_approved_call_uses_up_what_came_before_it(tenant, person):
    """People let it pass whatever came before; what comes before the next must come after it."""
    agent_id = tenant.new_agent()["id"]
    large = {"when": {"parameters": {"sum": {"min": 100}}}}
    told = {"type": "sequence", "tools": ["pay"], "sequence": {"requiresBefore": ["ask_user"], "once": True}}
    tenant.new_policy(agent_id, {"type": "tool_allowlist", "tools": ["*"]})
    tenant.new_policy(
        agent_id,
        told | {"effect": "escalate"},
        {"type": "approval_required", "tools": ["pay"]} | large,
        kind="guardrail",
    )

    def ask(tool, amount=0):
        return tenant.authorize(agent_id, tool, parameters={"sum": amount}, context={"session": "s"})

    approve(person, ask("pay", 500)["approval"]["id"])
    assert ask("ask_user")["result"] == "allowed"

    assert ask("pay", 500)["reason"] == 'Approved by "ann"'

    refused = ask("pay", 1)
    assert (refused["result"], refused["rule"]) == ("escalated", {"index": 0, "type": "sequence"})
    assert ask("ask_user")["result"] == "allowed"
    assert [ask("pay", 1)["result"] for _ in range(2)] == ["allowed", "escalated"]


def test_an_approved_call_passes_a_sequence_and_leaves_its_marks(tenant, person):
    """The approval lets one call through despite what the session did before; the call is remembered like any other."""
    agent_id = tenant.new_agent()["id"]
    careful = {"type": "sequence", "tools": ["pay"], "sequence": {"forbiddenAfter": ["mail"]}, "effect": "escalate"}
    paid = {"type": "sequence", "tools": ["close"], "sequence": {"requiresBefore": ["pay"]}, "effect": "escalate"}
    tenant.new_policy(agent_id, {"type": "tool_allowlist", "tools": ["*"]})
    policy = tenant.new_policy(agent_id, careful, paid, kind="guardrail")
    session = {"context": {"session": "s"}}
    assert tenant.authorize(agent_id, "mail", **session)["result"] == "allowed"
    asked = tenant.authorize(agent_id, "pay", **session)
    assert (asked["result"], asked["rule"]) == ("escalated", {"index": 0, "type": "sequence"})
    assert tenant.authorize(agent_id, "close", **session)["result"] == "escalated"
    approve(person, asked["approval"]["id"])

    passed = tenant.authorize(agent_id, "pay", **session)

    assert (passed["result"], passed["reason"]) == ("allowed", 'Approved by "ann"')
    assert tenant.authorize(agent_id, "close", **session)["result"] == "allowed"
    again = tenant.authorize(agent_id, "pay", **session)
    assert (again["result"], again["approval"]["status"]) == ("escalated", "pending")

    approve(person, again["approval"]["id"])
    changed = [careful | {"sequence": {"forbiddenAfter": ["mail", "web"]}}, paid]
    assert tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"rules": changed}).status_code == 200
    asked_anew = tenant.authorize(agent_id, "pay", **session)
    assert (asked_anew["result"], asked_anew["approval"]["status"]) == ("escalated", "pending")


def test_a_full_limit_that_asks_tells_how_long_to_wait(tenant, person):
    """To the call that asks, to one that joins, and to their retries; not if room would not change the answer."""
    agent = tenant.new_agent()["id"]
    limit = {"type": "rate_limit", "tools": ["*"], "effect": "escalate"}
    tenant.new_policy(agent, ALLOW, limit | {"rateLimit": {"maxCalls": 1, "windowSeconds": 3600}})
    call = {"agent_id": agent, "tool_name": "refund.create", "parameters": {"amount": 5}}
    assert tenant.authorize(agent, "refund.create", parameters={"amount": 5})["result"] == "allowed"
    asked, joined = (
        tenant.reader.post("/v1/authorize", json=call, headers={"Idempotency-Key": name}).json() for name in "ab"
    )
    assert asked["approval"]["id"] == joined["approval"]["id"]
    assert 0 < joined["retryAfterSeconds"] <= asked["retryAfterSeconds"] <= 3600
    for name, first in (("a", asked), ("b", joined)):
        assert tenant.reader.post("/v1/authorize", json=call, headers={"Idempotency-Key": name}).json() == first
    tenant.new_policy(agent, ALLOW, ASK)
    assert ask(tenant, agent)["retryAfterSeconds"] is None


def test_the_reason_of_an_approval_says_why_each_rule_asks(tenant, person):
    """Those that asked because of what the call says, and those that looked something up; each once."""
    agent = tenant.new_agent()["id"]
    asks = {"tools": ["refund.*"], "effect": "escalate"}
    large = {**asks, "type": "parameter_constraint", "parameters": {"amount": {"max": 10}}}
    known = {**asks, "type": "parameter_constraint", "parameters": {"to": {"approvedBefore": {"withinSeconds": 60}}}}
    tenant.new_policy(agent, ALLOW, ASK, large, known, {**asks, "type": "pinned_request"}, name="refunds")
    call = {"agent_id": agent, "tool_name": "refund.create", "parameters": {"amount": 99, "to": "ann"}}
    asked = tenant.reader.post("/v1/authorize", json=call).json()
    shown = person.get(f"/v1/approvals/{asked['approval']['id']}").json()
    assert shown["reason"].split("; ") == [
        '"refund.create" needs a person\'s approval under policy "refunds"',
        'Parameter "amount" is 99, above the maximum 10',
        'No person has approved such a call with the same "to" in the last 60 s',
        "context.request is not the request that was pinned for context.session",
    ]
