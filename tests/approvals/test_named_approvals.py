"""`approval_id` in a call: only that approval lets it through, and no new one is requested."""

import concurrent.futures
import uuid
from collections import Counter

import pytest
from approval_steps import ALLOW, ASK, approve, ask
from command_line import run_remit
from servers import Replica, clean_env
from tenants import Tenant


def named(tenant, agent_id, approval_id, amount=5, headers=None, **fields):
    """The whole answer to one refund that names its approval."""
    call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": amount}, **fields}
    return tenant.reader.post("/v1/authorize", json=call | {"approval_id": approval_id}, headers=headers)


def require_mismatch(answer):
    """Fail unless the call is refused with the sentence that all mismatches get."""
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "APPROVAL_MISMATCH"), answer.text
    assert answer.json()["error"]["message"] == (
        "approval_id names no open approval of this very call; nothing was decided, and nobody was asked. Read the "
        "approval, or ask anew without approval_id"
    )


def test_an_id_in_capitals_is_the_same_id(tenant, agent_id):
    """As in every other place."""
    asked = ask(tenant, agent_id)
    assert named(tenant, agent_id, asked["approval"]["id"].upper()).json()["approval"] == asked["approval"]


@pytest.mark.parametrize("ending", ["denied", "suspended"])
def test_a_finished_approval_is_not_requested_again(tenant, agent_id, person, ending):
    """No approval is requested, and the log says who named it. Without the id, a new one is."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    if ending == "denied":
        person.post(f"/v1/approvals/{approval_id}/deny", json={}).raise_for_status()
    else:
        for status in ("suspended", "active"):
            tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": status}).raise_for_status()
    logged = tenant.log(agent_id=agent_id)
    require_mismatch(named(tenant, agent_id, approval_id))
    noted, *others = tenant.log(agent_id=agent_id)
    assert others == logged
    assert (noted["type"], noted["code"], noted["result"]) == ("approval", "approval_mismatch", None)
    assert (noted["approvalId"], noted["toolName"], noted["parameters"]) == (approval_id, "refund.create", {})
    assert person.get("/v1/approvals?status=pending").json() == []
    assert ask(tenant, agent_id)["approval"]["id"] != approval_id


def test_unknown_approvals_and_those_of_others_are_answered_alike(tenant, agent_id, person, store):
    """Whether it belongs to another call, agent or workspace, or to none: a client that tries ids learns nothing."""
    ask(tenant, agent_id)
    other = tenant.new_agent()["id"]
    tenant.new_policy(other, ALLOW, ASK)
    stranger = Tenant(store.url, tenant.replica)
    theirs = stranger.new_agent()["id"]
    stranger.new_policy(theirs, ALLOW, ASK)
    foreign = [ask(tenant, agent_id, 6), ask(tenant, other), ask(stranger, theirs)]
    approve(person, foreign[0]["approval"]["id"])
    approve(person, foreign[1]["approval"]["id"])
    waiting = person.get("/v1/approvals?status=pending").json()
    answers = [
        named(tenant, agent_id, each)
        for each in (*(each["approval"]["id"] for each in foreign), foreign[0]["id"][:-1] + "0", str(uuid.uuid4()))
    ]
    for answer in answers:
        require_mismatch(answer)
        assert answer.content == answers[0].content
    assert [each["code"] for each in tenant.log()[: len(answers)]] == ["approval_mismatch"] * len(answers)
    assert person.get("/v1/approvals?status=pending").json() == waiting
    stranger.close()


def test_without_a_secret_no_approval_belongs_to_a_call(tenant, agent_id, store):
    """Nothing can be bound, so a call that escalates is refused, while a denial stays a denial."""
    bare = Replica(store.url, REMIT_COMPACT="false")
    try:
        with bare.client(tenant.read_key) as client:
            call = {"agent_id": agent_id, "tool_name": "refund.create", "approval_id": str(uuid.uuid4())}
            require_mismatch(client.post("/v1/authorize", json=call))
            denied = client.post("/v1/authorize", json=call | {"tool_name": "rm"}).json()
            assert denied["result"] == "denied"
    finally:
        bare.stop()


def test_an_idempotency_key_covers_the_approval_id(tenant, agent_id, person):
    """A retry gets the first answer, even once the approval is used; another approval makes it a different request."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    approve(person, approval_id)
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first, again = (named(tenant, agent_id, approval_id, headers=headers) for _ in range(2))
    assert (first.json()["result"], again.content) == ("allowed", first.content)
    assert again.headers["Idempotency-Replayed"] == "true"
    for other in (named(tenant, agent_id, str(uuid.uuid4()), headers=headers), without(tenant, agent_id, headers)):
        assert (other.status_code, other.json()["error"]["code"]) == (409, "IDEMPOTENCY_CONFLICT")


def test_a_refusal_leaves_the_idempotency_key_unused(tenant, agent_id):
    """The same key can be used for the corrected request."""
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    require_mismatch(named(tenant, agent_id, str(uuid.uuid4()), headers=headers))
    assert without(tenant, agent_id, headers).json()["result"] == "escalated"


def without(tenant, agent_id, headers):
    call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": 5}}
    return tenant.reader.post("/v1/authorize", json=call, headers=headers)


@pytest.mark.parametrize("wrong", ["", "x", "018bcfe568007000800000000000000a", 5, None, {}, [], "\u0000"], ids=repr)
def test_a_malformed_approval_id_is_400_and_says_where(tenant, agent_id, wrong):
    """Not 409, because the client's code is wrong, not its approval."""
    answer = named(tenant, agent_id, wrong)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["error"]["details"][0]["path"] == "$.approval_id"


def test_two_spellings_that_differ_are_400(tenant, agent_id):
    """As for the agent and the tool."""
    answer = named(tenant, agent_id, str(uuid.uuid4()), approvalId=str(uuid.uuid4()))
    assert answer.status_code == 400
    assert "approvalId" in answer.json()["error"]["message"]


def test_of_a_hundred_calls_that_name_an_approval_one_uses_it(tenant, agent_id, person, replicas):
    """On two replicas: the others are told that it is used, or that they have named too many; nobody else is asked."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    approve(person, approval_id)
    clients = [each.client(tenant.read_key) for each in replicas]
    call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": 5}, "approval_id": approval_id}
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: clients[n % 2].post("/v1/authorize", json=call), range(100)))
    for client in clients:
        client.close()
    said = Counter(answer.status_code for answer in answers)
    assert (said[200], said[409] + said[429]) == (1, 99)
    assert person.get("/v1/approvals?status=pending").json() == []
    logged = [each["result"] or each["code"] for each in tenant.log(agent_id=agent_id)]
    mismatches = ["approval_mismatch"] * said[409]
    assert logged == [*mismatches, "allowed", "approval_approved", "escalated"]


def test_whoever_guesses_what_an_approval_hides_is_stopped_and_logged(tenant, agent_id, person, replicas):
    """Answers to guesses would tell the redacted value. Replicas count together; a call without the id is answered."""
    made = tenant.authorize(agent_id, "refund.create", parameters={"pin": "0042"})["approval"]
    approve(person, made["id"], acceptHidden=True)
    call = {"agent_id": agent_id, "tool_name": "refund.create", "approval_id": made["id"]}
    clients = [each.client(tenant.read_key) for each in replicas]
    answers = [clients[n % 2].post("/v1/authorize", json=call | {"parameters": {"pin": f"{n:04}"}}) for n in range(43)]
    assert [each.status_code for each in answers] == [409] * 20 + [429] * 23
    refused = answers[-1]
    assert (refused.json()["error"]["code"], refused.headers["Retry-After"]) == ("TOO_MANY_MISMATCHES", "60")
    assert [each["code"] for each in tenant.log(limit=21)][:20] == ["approval_mismatch"] * 20
    del call["approval_id"]
    assert clients[0].post("/v1/authorize", json=call | {"parameters": {"pin": "0042"}}).json()["result"] == "allowed"
    for client in clients:
        client.close()


def test_only_the_key_that_asked_can_name_or_use_an_approval(tenant, agent_id, person, store):
    """Another key that makes the same call asks for itself, and leaves the first approval as it is."""
    asked = ask(tenant, agent_id)["approval"]["id"]
    other = tenant.new_key(["read"])
    call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": 5}}
    with tenant.replica.client(other["key"]) as client:
        require_mismatch(client.post("/v1/authorize", json=call | {"approval_id": asked}))
        second = client.post("/v1/authorize", json=call).json()["approval"]["id"]
        assert second != asked
        approve(person, asked)
        require_mismatch(client.post("/v1/authorize", json=call | {"approval_id": asked}))
        again = client.post("/v1/authorize", json=call).json()
        assert (again["result"], again["approval"]["id"]) == ("escalated", second)
    assert ask(tenant, agent_id)["result"] == "allowed"


def test_a_rotated_key_uses_what_its_predecessor_asked_for(tenant, agent_id, person, store):
    """And joins it before that: they are one holder."""
    first = tenant.new_key(["read"])
    call = {"agent_id": agent_id, "tool_name": "refund.create", "parameters": {"amount": 5}}
    with tenant.replica.client(first["key"]) as client:
        asked = client.post("/v1/authorize", json=call).json()["approval"]["id"]
    words = ["key", "rotate", first["id"], "-w", tenant.id, "--raw"]
    made = run_remit(words, clean_env() | {"REMIT_REDIS_URL": store.url})
    with tenant.replica.client(made.stdout.strip()) as client:
        assert client.post("/v1/authorize", json=call).json()["approval"]["id"] == asked
        approve(person, asked)
        assert client.post("/v1/authorize", json=call | {"approval_id": asked}).json()["result"] == "allowed"


def test_another_action_is_another_call(tenant, agent_id, person):
    """People approve the action that they see."""
    approve(person, ask(tenant, agent_id, action="preview")["approval"]["id"])
    assert ask(tenant, agent_id, action="drop")["result"] == "escalated"
    assert ask(tenant, agent_id, action="preview")["result"] == "allowed"
