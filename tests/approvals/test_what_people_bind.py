"""What an approval is bound to, what people are shown, and two people who decide at once."""

import concurrent.futures
import threading

import msgspec
import pytest
from approval_steps import ALLOW, ASK, approve, ask

from app.authorize.escalation.request import may_show_more
from app.model.decisions import AuthorizeRequest

SHOWN_WHOLE, CUT = 15_000, 20_000
"""Letters of a parameter: the log keeps 16 KiB of parameters whole."""


@pytest.mark.parametrize("required", [1, 2])
def test_two_concurrent_approvals_both_count_only_if_two_are_needed(tenant, person, replicas, required):
    """On two replicas: if one person suffices, the other is told that it is decided; if two are needed, both count."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, ALLOW, {**ASK, "approval": {"approvals": required}})
    keys = [tenant.new_key(["approve"], name=name)["key"] for name in ("bob", "eve")]
    for amount in range(10):
        approval_id, together = ask(tenant, agent, amount)["approval"]["id"], threading.Barrier(2)

        def decide(number, approval_id=approval_id, together=together):
            with replicas[number].client(keys[number]) as client:
                together.wait(60)
                return client.post(f"/v1/approvals/{approval_id}/approve", json={})

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(decide, range(2)))
        refused = [each.json()["error"]["code"] for each in answers if each.status_code != 200]
        assert refused == ["APPROVAL_DECIDED"] * (2 - required)
        shown = person.get(f"/v1/approvals/{approval_id}").json()
        assert (shown["status"], len(shown["approvals"])) == ("approved", required)
        assert [ask(tenant, agent, amount)["result"] for _ in range(2)] == ["allowed", "escalated"]


def test_parameters_too_long_to_show_must_be_accepted_and_are_bound(tenant, agent_id, person):
    """A person sees parameters of up to 16 KiB in full."""
    whole, cut = (
        tenant.authorize(agent_id, "refund.create", parameters={"text": "x" * length})["approval"]["id"]
        for length in (SHOWN_WHOLE, CUT)
    )
    shown = person.get(f"/v1/approvals/{whole}").json()
    assert (shown["hides"], shown["parameters"]) == (False, {"text": "x" * SHOWN_WHOLE})
    assert approve(person, whole)["status"] == "approved"

    assert person.get(f"/v1/approvals/{cut}").json()["hides"] is True
    refused = person.post(f"/v1/approvals/{cut}/approve", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert refused.json()["error"]["details"][0]["path"] == "$.acceptHidden"
    assert approve(person, cut, acceptHidden=True)["status"] == "approved"
    middle = "x" * (CUT // 2) + "y" + "x" * (CUT // 2 - 1)
    for text, result in ((middle, "escalated"), ("x" * CUT, "allowed")):
        assert tenant.authorize(agent_id, "refund.create", parameters={"text": text})["result"] == result


@pytest.mark.parametrize(
    ("parameters", "shown", "hidden"),
    [
        ('{"x": 12345678901234567890.55}', {"x": {"number": "12345678901234567890.55"}}, False),
        ('{"x": [0.10000000000000000555]}', {"x": [{"number": "0.10000000000000000555"}]}, False),
        ('{"x": 1e-400}', {"x": {"number": "1e-400"}}, False),
        ('{"x": 1e-99999999999999999999}', {"x": {"number": "1e-99999999999999999999"}}, False),
        ('{"x": 9007199254740993, "y": 0.1, "z": 1e2}', {"x": 9007199254740993, "y": 0.1, "z": 100.0}, False),
        ('{"x": "12345678901234567890.55"}', {"x": "12345678901234567890.55"}, False),
        ('{"x": "svc_0123456789abcdef0123456789abcdef"}', {"x": "svc_01234567..."}, True),
        ('{"svc_0123456789abcdef0123456789abcdef": 1}', {"svc_01234567...": 1}, True),
    ],
)
def test_a_person_sees_every_digit_that_is_bound_or_is_told(tenant, agent_id, person, parameters, shown, hidden):
    """Numbers that readers round are shown as text; a raw key is cut, and that is said."""
    body = f'{{"agent_id": "{agent_id}", "tool_name": "refund.create", "parameters": {parameters}}}'
    answer = tenant.reader.post("/v1/authorize", content=body)
    assert answer.status_code == 200
    seen = person.get(f"/v1/approvals/{answer.json()['approval']['id']}").json()
    assert (seen["parameters"], seen["hides"]) == (shown, hidden)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"parameters": {"x": 1}}, False),
        ({"parameters": {"x": "1e400"}}, True),
        ({"agent_id": "019a0000-0000-7000-8000-0000001e4000"}, False),
        ({"parameters": {"x": "1e400"}, "approval_id": "019a0000-0000-7000-8000-000000000000"}, False),
    ],
)
def test_only_parameters_of_calls_that_may_ask_are_looked_at_in_a_thread(fields, wanted):
    """An id with digits like 1e400 moved a call to the slow lane, which then read again what the fast lane had read."""
    body, approval_id = msgspec.json.encode(fields), fields.get("approval_id", "")
    call = AuthorizeRequest("a", "t", "authorize", {}, b"{}", written=body, approval_id=approval_id)
    assert may_show_more(call) is wanted


def test_a_rounded_number_in_the_context_is_hidden(tenant, agent_id, person):
    """The context is shown as in the log."""
    context = '{"user": "ann", "limit": 0.10000000000000000555}'
    body = f'{{"agent_id": "{agent_id}", "tool_name": "refund.create", "context": {context}}}'
    approval = tenant.reader.post("/v1/authorize", content=body).json()["approval"]
    assert person.get(f"/v1/approvals/{approval['id']}").json()["hides"] is True


def test_context_is_bound_once_a_policy_reads_it(tenant, agent_id, person):
    """An earlier approval is then for a different call, because nobody has seen the context that counts now."""
    of_eu = {"user": "ann", "region": "eu"}
    before = ask(tenant, agent_id, context=of_eu)["approval"]["id"]
    assert person.get(f"/v1/approvals/{before}").json()["boundContext"] == ["user"]
    approve(person, before)
    tenant.new_policy(
        agent_id, {**ASK, "when": {"context": {"region": {"enum": ["eu", "us"]}}}}, kind="guardrail", name="regions"
    )

    after = ask(tenant, agent_id, context=of_eu)

    assert (after["result"], after["approval"]["id"] == before) == ("escalated", False)
    assert person.get(f"/v1/approvals/{after['approval']['id']}").json()["boundContext"] == ["region", "user"]
    approve(person, after["approval"]["id"])
    assert ask(tenant, agent_id, context={**of_eu, "region": "us"})["result"] == "escalated"
    assert ask(tenant, agent_id, context=of_eu)["result"] == "allowed"


@pytest.mark.parametrize(
    "near",
    [
        b'{"a": "5"}', b'{"a": [5]}', b'{"a": 5, "b": null}', b'{"A": 5}', b'{"a ": 5}',
        b'{"a": 5, "": 0}', b'{"a": -5}', b'{"a": 5.0000000000000000001}', b'{"a": true}', b"{}",
    ],
    ids=bytes.decode,
)  # fmt: skip
def test_another_value_needs_an_approval_of_its_own(tenant, agent_id, person, near):
    """However alike it looks."""

    def call(parameters):
        body = b'{"agent_id": "%b", "tool_name": "refund.create", "parameters": %b}' % (agent_id.encode(), parameters)
        return tenant.reader.post("/v1/authorize", content=body).json()

    approve(person, call(b'{"a": 5}')["approval"]["id"])
    assert call(near)["result"] == "escalated"
    assert call(b'{"a": 5}')["result"] == "allowed"


@pytest.mark.parametrize(("asked", "same"), [("5", "\t5 "), ("5", "5.0"), ("5.0", "5"), ("5", "50e-1"), ("0", "-0.0")])
def test_another_spelling_of_a_value_is_the_same_call(tenant, agent_id, person, asked, same):
    """As RFC 8785 has it: numbers are their values."""

    def call(value):
        body = f'{{"agent_id": "{agent_id}", "tool_name": "refund.create", "parameters": {{"\\u0061": {value}}}}}'
        return tenant.reader.post("/v1/authorize", content=body).json()

    approve(person, call(asked)["approval"]["id"])
    assert call(same)["result"] == "allowed"


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ('"\\u00e9"', '"e\\u0301"'),
        ('"\\ufb01"', '"fi"'),
        ("9007199254740992", "9007199254740993"),
        ('"a"', '"a\\u0301"'),
        ("1e400", "1e401"),
        ("[1, 2]", "[2, 1]"),
        ("[[]]", "[{}]"),
        ("0.1", "0.10000000000000001"),
    ],
)
def test_values_that_some_parser_confuses_are_different_calls(tenant, agent_id, person, asked, near):
    """Whatever two parsers make of them; a refused body lets nothing through, either."""

    def call(value):
        body = f'{{"agent_id": "{agent_id}", "tool_name": "refund.create", "parameters": {{"a": {value}}}}}'
        answer = tenant.reader.post("/v1/authorize", content=body.encode())
        return answer.json() if answer.status_code == 200 else {"result": "refused"}

    first = call(asked)
    if first["result"] == "escalated":
        approve(person, first["approval"]["id"])
        assert call(near)["result"] in ("escalated", "refused")
        assert call(asked)["result"] == "allowed"
    else:
        assert asked == "1e400"
