"""`approvedBefore` over HTTP: what people approved counts for the agent, the tool and the value, as long as said."""

import concurrent.futures
import hashlib

import msgspec
import pytest
from approval_steps import SECRET, answering, approve

from app.redaction.signer import Purpose, Signer
from app.store.keyspace import Keyspace

ALLOW = {"type": "tool_allowlist", "tools": ["send.*"]}


def to_known(name="to", seconds=3600, **fields):
    known = {name: {"approvedBefore": {"withinSeconds": seconds}}}
    return {"type": "parameter_constraint", "tools": ["send.*"], "parameters": known, "effect": "escalate", **fields}


@pytest.fixture
def agent_id(tenant):
    agent = tenant.new_agent()
    agent["policy"] = tenant.new_policy(agent["id"], ALLOW, to_known())
    return agent["id"]


def send(tenant, agent_id, to="ann", tool="send.mail", **parameters):
    return tenant.authorize(agent_id, tool, parameters={"to": to, **parameters})


def send_approved(tenant, person, agent_id, to="ann", tool="send.mail", **parameters):
    """A call that a person approves and the agent makes."""
    approve(person, send(tenant, agent_id, to, tool, **parameters)["approval"]["id"])
    made = send(tenant, agent_id, to, tool, **parameters)
    assert made["result"] == "allowed", made
    return made


def remembered(tenant, agent_id):
    answer = tenant.admin.get(f"/v1/agents/{agent_id}/remembered")
    assert answer.status_code == 200, answer.text
    return answer.json()


def policy_of(tenant, agent_id):
    return tenant.admin.get("/v1/policies", params={"agent_id": agent_id}).json()[0]


def change(tenant, agent_id, **fields):
    path = f"/v1/policies/{policy_of(tenant, agent_id)['id']}"
    tenant.admin.patch(path, json=fields).raise_for_status()


def test_a_value_that_a_person_approved_passes_from_then_on(tenant, agent_id, person):
    """Of the same parameter and tool, whatever the other parameters are; the answer names the policy, not a person."""
    send_approved(tenant, person, agent_id, subject="hello")
    again = send(tenant, agent_id, subject="something else")
    assert (again["result"], "approval" in again) == ("allowed", False)
    assert again["reason"].startswith("Policy")
    for other in ("ANN", "ann ", "anne", "an", "a\u0301nn"):
        assert send(tenant, agent_id, other)["result"] == "escalated"
    assert send(tenant, agent_id, tool="send.sms")["result"] == "escalated"


def test_what_was_approved_for_one_action_does_not_count_for_another(tenant, agent_id, person):
    """Whoever lets an agent preview a mail to somebody has not let it send one."""
    for action, other in (("preview", "authorize"), ("authorize", "preview"), ("preview", "send")):
        to = f"{action} before {other}"
        call = {"parameters": {"to": to}, "action": action}
        approve(person, tenant.authorize(agent_id, "send.mail", **call)["approval"]["id"])
        results = [tenant.authorize(agent_id, "send.mail", **call)["result"] for _ in range(2)]
        assert results == ["allowed", "allowed"]
        assert tenant.authorize(agent_id, "send.mail", **call | {"action": other})["result"] == "escalated"


def test_what_an_earlier_build_remembered_without_the_action_counts_for_none(tenant, agent_id, person):
    """A person may have approved it for a preview: after an upgrade, people are asked anew."""
    policy, rule = policy_of(tenant, agent_id), to_known()
    known = [sorted(rule["tools"]), [["to", {"withinSeconds": 3600}]]]
    memory = hashlib.sha256(msgspec.json.encode(known)).hexdigest()[:16]
    name = hashlib.sha256(f"{policy['id']} {memory} 1 0 0".encode()).hexdigest()[:32]
    macs = Signer([SECRET.encode()]).macs(Purpose.REMEMBERED, msgspec.json.encode([agent_id, "send.mail", "to", "ann"]))

    async def remember(client):
        now_ms = int((await client.call("TIME"))[0]) * 1000
        await client.call(
            "HSET", Keyspace(tenant.id).remembered(agent_id, name), macs[0], f"{now_ms} {policy['id']} to"
        )

    tenant.in_store(remember)
    assert send(tenant, agent_id)["result"] == "escalated"
    assert remembered(tenant, agent_id) == []


def test_nothing_is_remembered_that_nobody_approved(tenant, agent_id, person):
    """Not what was asked, denied, or approved and never used."""
    asked = send(tenant, agent_id)
    assert send(tenant, agent_id, n=1)["result"] == "escalated"
    person.post(f"/v1/approvals/{asked['approval']['id']}/deny", json={}).raise_for_status()
    assert send(tenant, agent_id)["result"] == "escalated"
    approve(person, send(tenant, agent_id, "bob")["approval"]["id"])
    assert send(tenant, agent_id, "bob", n=1)["result"] == "escalated"
    assert remembered(tenant, agent_id) == []


def test_another_agent_of_the_same_policy_remembers_its_own(tenant, person):
    """A rule of a group remembers for each agent by itself."""
    one, other = (tenant.new_agent(groups=["senders"])["id"] for _ in range(2))
    body = {"group": "senders", "name": "known", "rules": [ALLOW, to_known()]}
    assert tenant.admin.post("/v1/policies", json=body).status_code == 201
    send_approved(tenant, person, one)
    assert send(tenant, one, n=1)["result"] == "allowed"
    assert send(tenant, other)["result"] == "escalated"


@pytest.mark.parametrize("value", [5, True, None, {"a": 1}, ["ann"]], ids=str)
def test_only_texts_are_remembered(tenant, agent_id, person, value):
    """Any other value is asked about each time."""
    for _ in range(2):
        answer = send(tenant, agent_id, value)
        assert (answer["result"], "ann" not in answer["reason"]) == ("escalated", True)
        approve(person, answer["approval"]["id"])
        assert send(tenant, agent_id, value)["result"] == "allowed"
    assert remembered(tenant, agent_id) == []


def test_each_element_of_a_list_must_be_known(tenant, person):
    """Known ones in any number and order; a single unknown one is asked about."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, ALLOW, to_known("to[*]"))
    send_approved(tenant, person, agent_id, ["ann", "bob"])
    assert send(tenant, agent_id, ["bob", "ann", "bob"])["result"] == "allowed"
    assert send(tenant, agent_id, ["bob"])["result"] == "allowed"
    assert send(tenant, agent_id, ["bob", "eve"])["result"] == "escalated"
    assert send(tenant, agent_id, "bob")["result"] == "escalated"
    many = [f"person {number}" for number in range(65)]
    for _ in range(2):
        send_approved(tenant, person, agent_id, many)
    assert len(remembered(tenant, agent_id)) == 2


def test_values_of_one_rule_were_approved_in_one_call(tenant, person):
    """Of two harmless calls nobody makes a third: a known name with the address that was approved for another one."""
    agent_id = tenant.new_agent()["id"]
    known = {name: {"approvedBefore": {"withinSeconds": 3600}, "required": False} for name in ("name", "to[*]", "list")}
    tenant.new_policy(agent_id, ALLOW, to_known(parameters=known))

    def result(**call):
        return tenant.authorize(agent_id, "send.mail", parameters=call | {"n": 1})["result"]

    ann, eve = {"name": "Ann", "to": ["ann@x.com", "ann@y.com"]}, {"name": "Eve", "to": ["eve@y.com"]}
    for call in (ann, eve):
        send_approved(tenant, person, agent_id, **call)
    assert [result(**call) for call in (ann, eve, ann | {"to": ["ann@y.com"]})] == ["allowed"] * 3
    mixed = (
        {"to": eve["to"]},
        {"to": [*ann["to"], *eve["to"]]},
        {"list": "Ann"},
        {"name": "ann@x.com"},
        {"name": "Eve"},
    )
    assert [result(**ann | other) for other in mixed] == ["escalated"] * len(mixed)
    assert [result(to=ann["to"]), result(name="Ann")] == ["escalated", "allowed"]


def test_values_of_one_element_were_approved_in_one_call(tenant, person):
    """Elements count each by itself, but none is put together from two: a known payee with another one's account."""
    agent_id = tenant.new_agent()["id"]
    each = {"approvedBefore": {"withinSeconds": 3600}, "required": False}
    tenant.new_policy(agent_id, ALLOW, to_known(parameters={"pay[*].name": each, "pay[*].bank.iban": each, "by": each}))

    def result(*pay, **call):
        return tenant.authorize(agent_id, "send.mail", parameters={"pay": list(pay), **call, "n": 1})["result"]

    ann, eve = ({"name": name, "bank": {"iban": iban}} for name, iban in (("Ann", "1"), ("Eve", "2")))
    for call in ({"pay": [ann, ann | {"amount": 5}], "by": "x"}, {"pay": [eve], "by": "x"}):
        send_approved(tenant, person, agent_id, **call)
    assert [result(ann, by="x"), result(eve, ann | {"amount": 9}, ann, by="x")] == ["allowed"] * 2
    mixed = ann | {"bank": eve["bank"]}
    decoy = ann | {"bank.iban": "2"}
    unlike = ([mixed], [ann, mixed], [decoy], [{"name": "Ann"}], [{"bank": ann["bank"]}], [None], [[ann]], ["Ann"])
    assert [result(*pay, by="x") for pay in unlike] == ["escalated"] * 5 + ["allowed"] + ["escalated"] * 2
    assert [result(ann, by="y"), result(ann)] == ["escalated"] * 2


def test_values_of_an_array_in_an_array_stay_with_their_element(tenant, person):
    """An account is not moved from one payee to the next, however deep the list of payees is."""
    agent_id = tenant.new_agent()["id"]
    each = {"approvedBefore": {"withinSeconds": 3600}, "required": False}
    tenant.new_policy(agent_id, ALLOW, to_known(parameters={"a[*].b[*].name": each, "a[*].b[*].iban": each}))
    ann, bob = {"name": "Ann"}, {"name": "Bob"}
    send_approved(tenant, person, agent_id, a=[{"b": [ann | {"iban": "1"}, bob]}])
    asked = [[ann | {"iban": "1"}, bob], [ann, bob | {"iban": "1"}], [ann, bob, {"iban": "1"}]]
    calls = [{"a": [{"b": b}], "n": 1} for b in asked]
    results = [tenant.authorize(agent_id, "send.mail", parameters=call)["result"] for call in calls]
    assert results == ["allowed", "escalated", "escalated"]


def test_one_question_covers_all_that_is_unknown(tenant, person):
    """A failure of another rule is asked about together with an unknown value, but not with a known one."""
    agent_id = tenant.new_agent()["id"]
    body = {"type": "parameter_constraint", "tools": ["send.*"], "effect": "escalate"}
    strict = to_known(approval={"approvals": 2})
    tenant.new_policy(agent_id, ALLOW, {**body, "parameters": {"text": {"enum": ["hi"]}}}, strict)
    asked = send(tenant, agent_id, text="ho")
    approval = person.get(f"/v1/approvals/{asked['approval']['id']}").json()
    assert (approval["required"], approval["rule"]["index"]) == (2, 1)
    approve(person, approval["id"])
    with answering(tenant) as second:
        approve(second, approval["id"])
    assert send(tenant, agent_id, text="ho")["result"] == "allowed"
    assert send(tenant, agent_id, text="hi")["result"] == "allowed"
    asked = send(tenant, agent_id, text="hu")
    assert person.get(f"/v1/approvals/{asked['approval']['id']}").json()["required"] == 1
    approve(person, asked["approval"]["id"])
    assert send(tenant, agent_id, text="hu")["result"] == "allowed"


def test_a_rule_can_know_values_or_find_them_in_the_request(tenant, person):
    """With `unless`, the rule asks about neither."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, ALLOW, to_known(unless={"parameters": {"to": {"fromRequest": "exact"}}}))
    context = {"request": "Write to bob, please."}
    assert tenant.authorize(agent_id, "send.mail", parameters={"to": "bob"}, context=context)["result"] == "allowed"
    call = {"parameters": {"to": "ann"}, "context": context}
    approve(person, tenant.authorize(agent_id, "send.mail", **call)["approval"]["id"])
    assert tenant.authorize(agent_id, "send.mail", **call)["result"] == "allowed"
    again = {"parameters": {"to": "ann", "n": 1}, "context": {"request": "And now?"}}
    assert tenant.authorize(agent_id, "send.mail", **again)["result"] == "allowed"


FORGETTING = {
    "the rule is left out and comes back": [{"rules": [ALLOW]}, {"rules": [ALLOW, to_known()]}],
    "the time changes": [{"rules": [ALLOW, to_known(seconds=60)]}],
    "the time changes and changes back": [{"rules": [ALLOW, to_known(seconds=60)]}, {"rules": [ALLOW, to_known()]}],
    "the tools change": [{"rules": [ALLOW, to_known(tools=["send.*", "post"])]}],
    "the policy is disabled for a while": [{"enabled": False}, {"enabled": True}],
    "the policy is in shadow mode for a while": [{"mode": "shadow"}, {"mode": "enforce"}],
}  # fmt: skip


@pytest.mark.parametrize("edits", FORGETTING.values(), ids=FORGETTING)
def test_an_edit_after_which_the_rule_no_longer_says_so_forgets(tenant, agent_id, person, edits):
    """Also if a later edit says so again."""
    send_approved(tenant, person, agent_id)
    for fields in edits:
        change(tenant, agent_id, **fields)
    assert remembered(tenant, agent_id) == []
    assert send(tenant, agent_id, n=1)["result"] == "escalated"


def test_other_edits_forget_nothing(tenant, agent_id, person):
    """Of the name, the priority, other rules, what the rule applies to, and of the agent."""
    send_approved(tenant, person, agent_id)
    other = {"type": "rate_limit", "tools": ["send.*"], "rateLimit": {"maxCalls": 9, "windowSeconds": 60}}
    known = to_known(unless={"parameters": {"to": {"enum": ["me"]}}})
    change(tenant, agent_id, name="another", priority=5, rules=[other, ALLOW, known])
    tenant.admin.patch(f"/v1/agents/{agent_id}", json={"name": "another"}).raise_for_status()
    assert send(tenant, agent_id, n=1)["result"] == "allowed"


def test_a_suspended_agent_forgets(tenant, agent_id, person):
    """Once it is active again, people are asked anew."""
    send_approved(tenant, person, agent_id)
    for status in ("suspended", "active"):
        tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": status}).raise_for_status()
        assert remembered(tenant, agent_id) == []
    assert send(tenant, agent_id, n=1)["result"] == "escalated"


def test_people_see_what_is_remembered_and_revoke_it(tenant, agent_id, person):
    """By approval and time, not by value; the store has MACs only. A revocation is a change of the agent."""
    made = send_approved(tenant, person, agent_id, "ann@example.org")
    [one] = remembered(tenant, agent_id)
    policy = policy_of(tenant, agent_id)
    assert (one["policyId"], one["rule"]) == (policy["id"], {"index": 1, "type": "parameter_constraint"})
    assert (one["parameter"], one["approvalId"]) == ("to", made["approval"]["id"])
    approval = person.get(f"/v1/approvals/{one['approvalId']}").json()
    assert one["approvedAt"] == approval["approvals"][0]["at"]

    async def stored(client):
        names = await client.call("KEYS", f"*{tenant.id}*:remembered:*")
        return names, [await client.call("HGETALL", name) for name in names]

    assert "ann@" not in str(tenant.in_store(stored))
    answer = tenant.admin.delete(f"/v1/agents/{agent_id}/remembered", headers={"Change-Reason": "a mistake"})
    assert (answer.status_code, remembered(tenant, agent_id)) == (204, [])
    assert send(tenant, agent_id, "ann@example.org", n=1)["result"] == "escalated"
    newest = tenant.admin.get("/v1/changes?limit=1").json()[0]
    assert newest["reason"] == "a mistake"
    assert (newest["resourceId"], newest["after"]["remembersSince"]) == (agent_id, newest["after"]["version"])


def test_an_approval_from_before_a_revocation_is_used_but_not_remembered(tenant, agent_id, person):
    """People revoked what had been approved until then."""
    approve(person, send(tenant, agent_id)["approval"]["id"])
    assert tenant.admin.delete(f"/v1/agents/{agent_id}/remembered").status_code == 204
    assert send(tenant, agent_id)["result"] == "allowed"
    assert remembered(tenant, agent_id) == []
    assert send(tenant, agent_id, n=1)["result"] == "escalated"


def end_its_time(tenant, agent_id):
    """Make what is remembered an hour older than it is."""

    async def age(client):
        for name in await client.call("KEYS", f"*{tenant.id}*:remembered:*"):
            for digest in await client.call("HKEYS", name):
                ms, rest = (await client.call("HGET", name, digest)).split(" ", 1)
                await client.call("HSET", name, digest, f"{int(ms) - 3_600_000} {rest}")

    tenant.in_store(age)


def test_a_value_counts_from_its_approval_on_and_no_longer_than_said(tenant, agent_id, person):
    """By the store's clock; each further use of an approval counts from the approval, too."""
    send_approved(tenant, person, agent_id)
    assert len(remembered(tenant, agent_id)) == 1
    end_its_time(tenant, agent_id)

    async def left(client):
        [name] = await client.call("KEYS", f"*{tenant.id}*:remembered:*")
        return name, await client.call("PTTL", name)

    name, ttl_ms = tenant.in_store(left)
    assert name.startswith(Keyspace(tenant.id).remembered(agent_id, ""))
    assert 0 < ttl_ms <= 3_600_000
    assert remembered(tenant, agent_id) == []
    assert send(tenant, agent_id, n=1)["result"] == "escalated"


def test_an_explanation_says_what_is_remembered(tenant, agent_id, person):
    """And neither asks a person nor remembers anything."""
    call = {"agent_id": agent_id, "tool_name": "send.mail", "parameters": {"to": "ann"}}

    def explained():
        answer = tenant.reader.post("/v1/explain", json=call)
        assert answer.status_code == 200, answer.text
        return answer.json()

    first = explained()
    assert (first["result"], first["rule"]["index"]) == ("escalated", 1)
    assert first["policies"][0]["rules"][1]["part"] == "failed", first["policies"][0]["rules"][1]
    send_approved(tenant, person, agent_id)
    then = explained()
    assert (then["result"], then["policies"][0]["rules"][1]["part"]) == ("allowed", "passed")


def test_a_shadow_policy_shows_what_it_would_have_let_through(tenant, person):
    """It remembers what people approve for other rules, apart from what it remembers when enforced."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, ALLOW, {"type": "approval_required", "tools": ["send.*"]})
    tenant.new_policy(agent_id, ALLOW, to_known(), mode="shadow", priority=9)
    send_approved(tenant, person, agent_id)
    assert send(tenant, agent_id, n=1)["result"] == "escalated"
    newest = tenant.log(limit=1)[0]
    assert newest["shadow"]["result"] == "allowed"
    assert send(tenant, agent_id, "bob")["result"] == "escalated"
    assert "shadow" not in tenant.log(limit=1)[0] or tenant.log(limit=1)[0]["shadow"]["result"] == "escalated"


def revoke(tenant, agent_id):
    assert tenant.admin.delete(f"/v1/agents/{agent_id}/remembered").status_code == 204


def suspend_for_a_while(tenant, agent_id):
    for status in ("suspended", "active"):
        tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": status}).raise_for_status()


def edit_and_undo(tenant, agent_id):
    for rules in ([ALLOW, to_known(seconds=60)], [ALLOW, to_known()]):
        change(tenant, agent_id, rules=rules)


@pytest.mark.parametrize("end", [revoke, end_its_time, suspend_for_a_while, edit_and_undo])
def test_what_one_replica_remembers_another_knows_at_once(tenant, agent_id, person, replicas, end):
    """A call races with what makes its value count no longer: no answer after that lets the value through."""
    clients = [each.client(tenant.read_key) for each in replicas]
    call = {"agent_id": agent_id, "tool_name": "send.mail", "parameters": {"to": "ann", "n": 1}}
    for _ in range(2):
        send_approved(tenant, person, agent_id)
        assert clients[1].post("/v1/authorize", json=call).json()["result"] == "allowed"
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            racing = [pool.submit(clients[n % 2].post, "/v1/authorize", json=call) for n in range(8)]
            end(tenant, agent_id)
            after = [pool.submit(clients[n % 2].post, "/v1/authorize", json=call) for n in range(8)]
        assert {each.result().json()["result"] for each in racing} <= {"allowed", "escalated", "denied"}
        assert {each.result().json()["result"] for each in after} == {"escalated"}
    for client in clients:
        client.close()


def test_a_host_that_a_person_approved_passes_in_its_session(tenant, person):
    """Any page of it, with the same scheme and port; in another session, and of another host, people are asked."""
    agent_id = tenant.new_agent()["id"]
    known = {"url": {"approvedBefore": {"of": "host", "in": "session", "withinSeconds": 3600}}}
    rule = {"type": "parameter_constraint", "tools": ["get"], "effect": "escalate", "parameters": known}
    tenant.new_policy(agent_id, {"type": "tool_allowlist", "tools": ["*"]}, rule)

    def get(url, session="s"):
        context = {"session": session} if session else {}
        return tenant.authorize(agent_id, "get", parameters={"url": url}, context=context)

    first = get("https://docs.example/a")
    approve(person, first["approval"]["id"])
    assert get("https://docs.example/a", "t")["result"] == "escalated"
    assert get("https://docs.example/a")["reason"] == 'Approved by "ann"'

    for url in ("https://docs.example/b", "https://DOCS.example:443/?q=1", "https://docs.example./"):
        assert get(url)["result"] == "allowed", url
    others = (
        "http://docs.example/a",
        "https://docs.example:8443/",
        "https://docs.example.evil.example/",
        "docs.example",
    )
    for url in (*others, "https://docs.example@evil.example/", "https://docs.example/\t"):
        assert get(url)["result"] == "escalated", url
    assert get("https://docs.example/b", "t")["result"] == "escalated"
    assert get("https://docs.example/b", None)["rule"] == {"index": 1, "type": "parameter_constraint"}
    [shown] = remembered(tenant, agent_id)
    assert (shown["parameter"], shown["approvalId"]) == ("url", first["approval"]["id"])
    asked = get("https://other.example/")["approval"]["id"]
    assert person.get(f"/v1/approvals/{asked}").json()["boundContext"] == ["session"]


def test_people_are_not_told_that_a_page_was_approved_of_which_they_approved_the_host(tenant, person):
    """Another rule asks about the call: its page may be one that nobody has seen."""
    agent_id = tenant.new_agent()["id"]
    known = {"url": {"approvedBefore": {"of": "host", "withinSeconds": 3600}}}
    rule = {"type": "parameter_constraint", "tools": ["get"], "effect": "escalate", "parameters": known}
    asks = {"type": "approval_required", "tools": ["get"], "when": {"parameters": {"n": {"min": 1}}}}
    tenant.new_policy(agent_id, {"type": "tool_allowlist", "tools": ["*"]}, rule, asks)
    parameters = {"url": "https://docs.example/a", "n": 0}
    approve(person, tenant.authorize(agent_id, "get", parameters=parameters)["approval"]["id"])
    assert tenant.authorize(agent_id, "get", parameters=parameters)["result"] == "allowed"

    asked = tenant.authorize(agent_id, "get", parameters={"url": "https://docs.example/b", "n": 1})

    shown = person.get(f"/v1/approvals/{asked['approval']['id']}").json()["values"]
    assert [each["origin"] for each in shown if each["path"] == "url"] == ["unverified"]
