"""Records over HTTP: what a runtime reported of a call is what rules of the session read, and what people approve."""

import pytest
from approval_steps import approve

CABIN = {
    "of": "reservation:{parameters.reservation_id}",
    "from": ["get_reservation"],
    "fields": {"cabin": {"notEnum": ["basic_economy"]}},
}
ALLOW = {"type": "tool_allowlist", "tools": ["*"]}


def rule(effect="deny", **more):
    return {"type": "parameter_constraint", "tools": ["update"], "record": CABIN | more, "effect": effect}


@pytest.fixture
def runtime(tenant):
    """A client whose key may ask and report records."""
    with tenant.replica.client(tenant.new_key(["authorize", "record"])["key"]) as client:
        yield client


@pytest.fixture
def agent_id(tenant):
    made = tenant.new_agent()["id"]
    tenant.new_policy(made, ALLOW)
    return made


class Runtime:
    """Makes calls of one agent in one session, and reports what they result in."""

    def __init__(self, client, agent_id, session="s"):
        self.client, self.agent_id, self.session = client, agent_id, session

    def ask(self, tool, **parameters):
        body = {"agent_id": self.agent_id, "tool_name": tool, "parameters": parameters}
        answer = self.client.post("/v1/authorize", json=body | {"context": {"session": self.session}})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def report(self, records, tool="get_reservation"):
        decided = self.ask(tool)
        path = f"/v1/decisions/{decided['id']}/outcome"
        return self.client.post(path, json={"status": "executed", "records": records})

    def said(self, name="reservation:4WQ150", tool="get_reservation", **fields):
        answer = self.report({name: fields}, tool)
        assert answer.status_code in (200, 201), answer.text


@pytest.fixture
def calls(runtime, agent_id):
    return Runtime(runtime, agent_id)


def test_a_rule_reads_what_was_reported_in_the_session(tenant, calls):
    """The record of this id, of this agent, session and tool; and the entry says what was read."""
    tenant.new_policy(calls.agent_id, rule(), kind="guardrail")
    assert calls.ask("update", reservation_id="4WQ150")["result"] == "denied"

    calls.said(cabin="economy", status="booked")

    assert calls.ask("update", reservation_id="4WQ150")["result"] == "allowed"
    newest = tenant.log()[0]
    read = {"of": "reservation:{parameters.reservation_id}", "fields": {"cabin": "economy"}}
    assert newest["records"] == [read]
    assert calls.ask("update", reservation_id="OTHER1")["result"] == "denied"
    assert tenant.log()[0]["records"] == [read | {"fields": None}]
    calls.said(cabin="basic_economy")
    refused = calls.ask("update", reservation_id="4WQ150")
    assert (refused["result"], refused["rule"]["type"]) == ("denied", "parameter_constraint")
    assert refused["reason"] == (
        'Not reported of reservation:{parameters.reservation_id} by "get_reservation" in the last 3600 s: '
        '"cabin" is not "basic_economy"'
    )
    assert tenant.log()[0]["records"] == [read | {"fields": {"cabin": "basic_economy"}}]


def test_a_record_counts_for_its_agent_its_session_and_the_tools_that_the_rule_names(tenant, calls):
    """And for no other call: what another agent was told, or another tool said, is no proof."""
    tenant.new_policy(calls.agent_id, rule(), kind="guardrail")
    other = tenant.new_agent()["id"]
    tenant.new_policy(other, ALLOW)

    Runtime(calls.client, other).said(cabin="economy")
    Runtime(calls.client, calls.agent_id, "t").said(cabin="economy")
    calls.said(cabin="economy", tool="search")
    calls.said(name="reservation:4WQ15", cabin="economy")
    calls.said(name="4WQ150", cabin="economy")
    calls.said(name="reservation:4WQ150", class_="economy")

    assert calls.ask("update", reservation_id="4WQ150")["result"] == "denied"
    calls.said(cabin="economy")
    assert calls.ask("update", reservation_id="4WQ150")["result"] == "allowed"


def test_an_approval_shows_what_was_read_and_lets_nothing_else_through(tenant, person, calls):
    """If the record says something else by the time it is used, a person is asked anew."""
    tenant.new_policy(calls.agent_id, rule("escalate"), kind="guardrail")
    calls.said(cabin="basic_economy")
    first = calls.ask("update", reservation_id="4WQ150")["approval"]["id"]
    shown = person.get(f"/v1/approvals/{first}").json()
    assert shown["records"] == [{"of": "reservation:{parameters.reservation_id}", "fields": {"cabin": "basic_economy"}}]
    approve(person, first)
    calls.said(cabin="first", name="reservation:OTHER1")
    calls.said(cabin="basic_economy", seats=3)
    assert calls.ask("update", reservation_id="4WQ150")["reason"] == 'Approved by "ann"'
    assert tenant.log()[0]["records"] == shown["records"]

    second = calls.ask("update", reservation_id="4WQ150")["approval"]["id"]
    approve(person, second)
    calls.said(seats=2)
    third = calls.ask("update", reservation_id="4WQ150")

    assert (third["result"], third["approval"]["id"] == second) == ("escalated", False)
    asked = person.get(f"/v1/approvals/{third['approval']['id']}").json()
    assert asked["records"] == [{"of": "reservation:{parameters.reservation_id}", "fields": {}}]
    assert calls.ask("update", reservation_id="4WQ150")["approval"]["id"] == third["approval"]["id"]


def test_another_rule_that_asks_binds_what_is_read_too(tenant, person, calls):
    """Whichever rule asks: a person who sees a record approves the call with that."""
    tenant.new_policy(calls.agent_id, rule(), {"type": "approval_required", "tools": ["update"]}, kind="guardrail")
    calls.said(cabin="economy")
    asked = calls.ask("update", reservation_id="4WQ150")["approval"]["id"]
    assert person.get(f"/v1/approvals/{asked}").json()["records"][0]["fields"] == {"cabin": "economy"}
    approve(person, asked)
    calls.said(cabin="business")
    again = calls.ask("update", reservation_id="4WQ150")
    assert (again["result"], again["approval"]["id"] == asked) == ("escalated", False)
    calls.said(cabin="basic_economy")
    assert calls.ask("update", reservation_id="4WQ150")["result"] == "denied"


@pytest.mark.parametrize(
    ("wanted", "passes", "fails"),
    [
        ({"enum": ["a b", 1, None]}, ["a b", 1, 1.0, None], ["a", "1", True, 2, False]),
        ({"notEnum": ["x", 5]}, ["y", "", 6], ["x", 5, 5.0, True, None]),
        ({"min": 1, "max": 2.5}, [1, 2.5, 1.0], [0.9, 3, "2", True, None]),
        ({"enum": [True]}, [True], [False, 1, "true"]),
        ({"enum": ['caf\u00e9 "x" \\ \n y', "="]}, ['caf\u00e9 "x" \\ \n y', "="], ["cafe"]),
    ],
    ids=lambda each: str(each)[:20],
)
def test_a_field_is_compared_in_type_and_value(tenant, calls, wanted, passes, fails):
    """By the commit, as the explanation says it."""
    tenant.new_policy(calls.agent_id, rule(fields={"x y": wanted}), kind="guardrail")
    for values, result in ((passes, "allowed"), (fails, "denied")):
        for value in values:
            calls.report({"reservation:1": {"x y": value}}).raise_for_status()
            assert calls.ask("update", reservation_id=1)["result"] == result, value
            body = {"agent_id": calls.agent_id, "tool_name": "update", "parameters": {"reservation_id": 1}}
            told = tenant.admin.post("/v1/explain", json=body | {"context": {"session": "s"}}).json()
            assert told["result"] == result, value
            part = told["policies"][-1]["rules"][0]
            assert part["record"]["fields"] == {"x y": value}
            assert (part["part"], part["reason"] is None) == (
                ("passed", True) if result == "allowed" else ("failed", False)
            )


@pytest.mark.parametrize("value", [None, "", "x" * 129, 1.5, True, ["4WQ150"], {"a": 1}], ids=str)
def test_a_call_that_does_not_say_which_record_fails(tenant, calls, value):
    """A text or whole number of 1 to 128 characters."""
    tenant.new_policy(calls.agent_id, rule(), kind="guardrail")
    refused = calls.ask("update", reservation_id=value)
    assert (refused["result"], refused["code"]) == ("denied", "parameter_invalid")


def test_a_call_without_a_session_fails(tenant, runtime, agent_id):
    """Nothing was reported in no session, and nothing can be."""
    calls = Runtime(runtime, agent_id, "")
    tenant.new_policy(agent_id, rule(), kind="guardrail")
    assert calls.ask("update", reservation_id="4WQ150")["result"] == "denied"
    assert calls.report({"reservation:4WQ150": {"cabin": "economy"}}).json()["error"]["code"] == "OUTCOME_CONFLICT"


def test_only_a_key_with_the_scope_reports_records(tenant, agent_id):
    """Whoever asks for decisions may report how calls end, but rules do not believe what it says of their results."""
    decided = tenant.authorize(agent_id, "get_reservation", context={"session": "s"})
    path, report = f"/v1/decisions/{decided['id']}/outcome", {"status": "executed"}
    refused = tenant.reader.post(path, json=report | {"records": {"a": {"b": 1}}})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
    assert tenant.reader.post(path, json=report).status_code in (200, 201)


@pytest.mark.parametrize(
    "body",
    [
        {"status": "failed", "records": {"a": {"b": 1}}},
        {"status": "executed", "records": {f"r{n}": {"b": 1} for n in range(17)}},
        {"status": "executed", "records": {"a": {f"f{n}": 1 for n in range(17)}}},
        {"status": "executed", "records": {"a": {"b": "x" * 4096}}},
        {"status": "executed", "records": {"a": {"b": [1]}}},
        {"status": "executed", "records": {"a": {"b": 2**53}}},
        {"status": "executed", "records": {"": {"b": 1}}},
    ],
    ids=["failed", "17 records", "17 fields", "over 4 KiB", "an array", "a large number", "no name"],
)
def test_a_report_is_bounded(calls, body):
    """16 records of 16 scalar fields, 4 KiB in all, of a call that was executed."""
    decided = calls.ask("get_reservation")
    refused = calls.client.post(f"/v1/decisions/{decided['id']}/outcome", json=body)
    assert refused.status_code == 400, refused.text
    assert calls.client.post(f"/v1/decisions/{decided['id']}/outcome", json={"status": "executed"}).is_success


def test_a_session_keeps_the_newest_sixteen_records(tenant, calls):
    """What is reported again is new again."""
    tenant.new_policy(calls.agent_id, rule(), kind="guardrail")
    for number in range(16):
        calls.said(name=f"reservation:{number}", cabin="economy")
    calls.said(name="reservation:0", cabin="economy")
    calls.said(name="reservation:16", cabin="economy")
    results = [calls.ask("update", reservation_id=number)["result"] for number in (0, 1, 2, 16)]
    assert results == ["allowed", "denied", "allowed", "allowed"]


def test_a_repeated_report_adds_nothing(tenant, calls):
    """A call has one result; what a retry says is the first answer, whatever it reports."""
    tenant.new_policy(calls.agent_id, rule(), kind="guardrail")
    decided = calls.ask("get_reservation")
    path = f"/v1/decisions/{decided['id']}/outcome"
    report = {"status": "executed", "records": {"reservation:4WQ150": {"cabin": "basic_economy"}}}
    first = calls.client.post(path, json=report).json()
    report["records"]["reservation:4WQ150"]["cabin"] = "economy"
    assert calls.client.post(path, json=report).json() == first
    assert calls.ask("update", reservation_id="4WQ150")["result"] == "denied"


def test_secrets_are_neither_kept_nor_shown(tenant, calls):
    """A value that the log would not show is stored as the log would have it, so no rule can compare it."""
    wanted = {"password": {"enum": ["hunter2"]}, "note": {"enum": ["fine"]}}
    tenant.new_policy(calls.agent_id, rule(fields=wanted), kind="guardrail")
    calls.said(password="hunter2", note="fine")
    refused = calls.ask("update", reservation_id="4WQ150")
    assert refused["result"] == "denied"
    assert "hunter2" not in refused["reason"]
    assert tenant.log()[0]["records"][0]["fields"] == {"password": "[REDACTED]", "note": "fine"}


def test_a_shadow_policy_reads_records_and_changes_no_answer(tenant, person, calls):
    """What it reads is in no entry, and binds no approval."""
    tenant.new_policy(calls.agent_id, rule(), kind="guardrail", mode="shadow")
    assert calls.ask("update", reservation_id="4WQ150")["result"] == "allowed"
    newest = tenant.log()[0]
    assert (newest["shadow"]["result"], "records" in newest) == ("denied", False)
    calls.said(cabin="economy")
    assert calls.ask("update", reservation_id="4WQ150")["result"] == "allowed"
    assert "shadow" not in tenant.log()[0]
