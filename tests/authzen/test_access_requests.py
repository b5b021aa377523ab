"""The access request and approval profile, as a client has it that was written from its text alone."""

import json
from contextlib import ExitStack
from datetime import datetime

import pytest
from approval_steps import SECRET
from profile_client import NotRequestable, ProfileClient, Refused
from receivers import Receiver
from servers import Replica
from standardwebhooks import Webhook
from tenants import Tenant

from app.store.keyspace import Keyspace

PUBLIC = "https://pdp.example.com"
REFUND = {
    "subject": {"type": "user", "id": "alice", "properties": {"department": "sales"}},
    "action": {"name": "refund"},
    "resource": {"type": "booking", "id": "ZFA04Y", "properties": {"amount": 900}},
    "context": {"time": "2026-11-20T12:00:00Z"},
}


@pytest.fixture(scope="module")
def asking_replica(store):
    running = Replica(
        store.url,
        REMIT_PUBLIC_URL=PUBLIC,
        REMIT_SECRET=SECRET,
        REMIT_WEBHOOK_HTTP="true",
        REMIT_WEBHOOK_NETWORKS="127.0.0.0/8",
    )
    yield running
    running.stop()


@pytest.fixture
def tenant(asking_replica, store):
    made = Tenant(store.url, asking_replica)
    agent = made.new_agent(alias="alice", type="user")["id"]
    asks = {"type": "approval_required", "tools": ["booking.refund"]}
    made.new_policy(agent, {"type": "tool_allowlist", "tools": ["booking.*"]}, asks)
    yield made
    made.close()


@pytest.fixture
def pep_of(asking_replica):
    """Clients with other keys."""
    with ExitStack() as stack:
        yield lambda key: ProfileClient(sender(stack.enter_context(asking_replica.client(key))), PUBLIC)


def sender(http):
    def send(method, url, body=None, headers=None):
        return http.request(method, url.removeprefix(PUBLIC), json=body, headers=headers)

    return send


@pytest.fixture
def pep(tenant):
    return ProfileClient(sender(tenant.reader), PUBLIC)


def requested(pep, question=REFUND, **more):
    """The task that was made of a denial."""
    decision, context = pep.evaluate(question)
    assert not decision
    status, answer = pep.submit(pep.submission(question, context, **more), context)
    assert (status, answer["task"]["status"]) == (202, "pending")
    return answer["task"]


def decide(tenant, task, verb="approve", **fields):
    answer = tenant.admin.post(f"/v1/approvals/{task['id']}/{verb}", json=fields)
    assert answer.status_code == 200, answer.text


def with_amount(amount):
    resource = {**REFUND["resource"], "properties": {"amount": amount}}
    return {**REFUND, "resource": resource}


def refused(act, *args, **fields):
    """The problem of a refusal: its status and the end of its type."""
    with pytest.raises(Refused) as error:
        act(*args, **fields)
    assert error.value.media == "application/problem+json"
    assert error.value.problem["status"] == error.value.status
    return error.value.status, error.value.type


def test_a_denial_is_recognised_by_what_is_bound_of_it(tenant, pep):
    """What only describes the call may read differently when access is requested; anything else may not."""
    rule = {"type": "approval_required", "tools": ["booking.note"], "approval": {"descriptive": ["text"]}}
    tenant.new_policy(tenant.admin.get("/v1/agents/alice").json()["id"], rule, kind="guardrail", name="notes")
    first, other, reworded = (
        REFUND | {"action": {"name": "note"}, "resource": {"type": "booking", "id": "n", "properties": properties}}
        for properties in ({"text": "a", "pages": 1}, {"text": "a", "pages": 2}, {"text": "b", "pages": 1})
    )
    _, context = pep.evaluate(first)
    assert refused(pep.submit, pep.submission(other, context), context)[0] == 400
    assert pep.submit(pep.submission(reworded, context), context)[0] == 202


def test_an_access_request_is_completed(tenant, pep):
    """Denied, requested, approved, evaluated again: and only once, as the rule says."""
    decision, context = pep.evaluate(REFUND)
    assert (decision, context["reason"]) == (False, "approval_required")
    assert context["access_request"]["endpoint"] == f"{PUBLIC}/access/v1/requests"
    task = requested(pep, REFUND)
    assert pep.permits(REFUND, pep.read(task)) == (False, {})
    decide(tenant, task)
    read = pep.read(task)
    approval = read["result"]["approval"]
    decision, context = pep.permits(REFUND, read)
    assert decision
    assert context["approval"]["id"] == approval["id"]
    assert context["approval"]["approved_until"] == approval["approved_until"]
    decision, context = pep.permits(REFUND, pep.read(task))
    assert (decision, context["reason"], pep.next_action(context)) == (False, "approval_expired", "request")


def test_a_person_sees_why_and_the_log_has_it(tenant, pep):
    """Members added at submission are shown with secrets redacted, and bind nothing."""
    _, context = pep.evaluate(REFUND)
    body = pep.submission(REFUND, context, requested_access={"emergency": True}, client={"id": "portal"})
    body["context"] = {"business_justification": "cancelled flight", "password": "hunter2"}
    _, answer = pep.submit(body, context)
    shown = tenant.admin.get(f"/v1/approvals/{answer['task']['id']}").json()["accessRequest"]
    assert shown["context"]["business_justification"] == "cancelled flight"
    assert "hunter2" not in json.dumps(shown)
    assert (shown["requestedAccess"], shown["client"]) == ({"emergency": True}, {"id": "portal"})
    entry = tenant.log(limit=1)[0]
    assert (entry["code"], entry["approvalId"]) == ("access_requested", answer["task"]["id"])
    assert entry["context"]["client"] == {"id": "portal"}


def test_a_denied_request_permits_nothing(tenant, pep):
    task = requested(pep)
    decide(tenant, task, "deny")
    read = pep.read(task)
    assert (read["task"]["status"], "result" in read) == ("denied", False)
    assert "links" not in read["task"]


def test_a_request_is_cancelled_once(tenant, pep):
    task = requested(pep)
    assert pep.cancel(task, reason="withdrawn", comment="no longer needed")["status"] == "cancelled"
    assert refused(pep.cancel, task) == (409, "invalid_task_state")
    assert tenant.log(limit=1)[0]["reason"].endswith("no longer needed")


def test_a_request_expires(tenant, pep):
    """Undecided, its task is gone; its denial can no longer be submitted."""
    _, context = pep.evaluate(REFUND)
    body = pep.submission(REFUND, context)
    _, answer = pep.submit(body, context, key="first")
    expire(tenant, answer["task"]["id"])
    assert refused(pep.read, answer["task"]) == (410, "task_expired")
    assert refused(pep.cancel, answer["task"]) == (410, "task_expired")
    assert refused(pep.submit, body, context) == (410, "expired_denial")


def expire(tenant, approval_id):
    """The approval was to be decided long ago."""
    tenant.in_store(lambda client: client.call("HSET", Keyspace(tenant.id).approval(approval_id), "expires_ms", 1))


def test_an_approval_is_for_the_exact_question(tenant, pep):
    """With any other argument, subject or action it is out of scope: a fresh access request is needed."""
    task = requested(pep)
    decide(tenant, task)
    approval = pep.read(task)["result"]["approval"]
    others = [
        with_amount(901),
        {**REFUND, "subject": {**REFUND["subject"], "properties": {"department": "legal"}}},
        {**REFUND, "action": {"name": "refund", "properties": {"soft": True}}},
    ]
    for other in others:
        decision, context = pep.evaluate(other, approval)
        assert (decision, context["reason"]) == (False, "out_of_scope")
        assert pep.next_action(context) == "request"
        assert context["access_request"]["expires_at"] == context["approval"]["expires_at"]
    assert pep.evaluate(REFUND | {"context": {"time": "2026-11-20T12:30:00Z"}}, approval)[0]


def test_a_number_is_compared_by_value(tenant, pep):
    """900, 900.0 and 9e2 are one number, and "900" is none: from the denial to the submission to the evaluation."""
    _, context = pep.evaluate(REFUND)
    body = pep.submission(with_amount(900.0), context)
    assert refused(pep.submit, {**body, "resource": with_amount("900")["resource"]}, context)[0] == 400
    _, answer = pep.submit(body, context)
    decide(tenant, answer["task"])
    asked = {**with_amount(1234567), "context": {"approval": pep.read(answer["task"])["result"]["approval"]}}
    headers = {"Content-Type": "application/json"}
    for spelling, wanted in (("900.0000000000000000001", False), ("9e2", True)):
        spelled = json.dumps(asked).replace("1234567", spelling)
        answer = tenant.reader.post("/access/v1/evaluation", content=spelled, headers=headers)
        assert answer.json()["decision"] is wanted


def test_an_actor_is_not_part_of_the_scope(tenant, pep):
    """`subject.properties.act` may move to `client.actor`, who must be an agent of this key's."""
    acting = {**REFUND, "subject": {"type": "user", "id": "alice", "properties": {"act": {"sub": "bot"}}}}
    tenant.new_agent(alias="bot")
    _, context = pep.evaluate(acting)
    moved = {**REFUND, "subject": {"type": "user", "id": "alice"}}
    body = pep.submission(moved, context, client={"actor": {"id": "bot"}})
    assert pep.submit(body, context)[0] == 202
    for actor in (
        {"id": "nobody"},
        {"id": "bot", "issuer": "https://else.example"},
        {"id": "bot", "act": {"sub": "x"}},
    ):
        body["client"] = {"actor": actor}
        with pytest.raises(Refused) as error:
            pep.submit(body, context)
        assert (error.value.status, error.value.problem["type"]) == (403, "about:blank")


def test_nothing_but_the_callers_own_approval_counts(tenant, pep, pep_of):
    """One of another key, one that does not exist, and one of another service: terminal for that approval."""
    task = requested(pep)
    decide(tenant, task)
    approval = pep.read(task)["result"]["approval"]
    stranger = pep_of(tenant.new_key(["read"])["key"])
    for pep_with, carried in (
        (stranger, approval),
        (pep, {**approval, "id": "0190a0c0-0000-7000-8000-000000000000"}),
        (pep, {**approval, "id": "apr_01HX4Y8E2NE3Y2X7P0K4JE6WVH"}),
        (pep, {**approval, "state": "eyJhbGciOiJub25lIn0.e30."}),
    ):
        decision, context = pep_with.evaluate(REFUND, carried)
        assert (decision, context["reason"], pep.next_action(context)) == (False, "approval_unverifiable", "none")
    assert pep.evaluate(REFUND, approval)[0]


def test_several_evaluations_each_carry_their_approval(tenant, pep):
    """In one request; too many that are not the caller's do not take the decisions of the others away."""
    task = requested(pep)
    decide(tenant, task)
    carried = pep.read(task)["result"]["approval"]
    other = {**carried, "id": "0190a0c0-0000-7000-8000-000000000000"}
    each = [{**REFUND, "context": {"approval": approval}} for approval in (carried, carried, *[other] * 25)]
    answer = tenant.reader.post("/access/v1/evaluations", json={"evaluations": each})
    first, again, *others = answer.json()["evaluations"]
    assert sorted([first["decision"], again["decision"]]) == [False, True]
    assert not any(each["decision"] for each in others)
    assert {each["context"].get("reason", "limited") for each in others} <= {"approval_unverifiable", "limited"}
    several = {"evaluations": each[1:], "options": {"evaluations_semantic": "deny_on_first_deny"}}
    assert len(tenant.reader.post("/access/v1/evaluations", json=several).json()["evaluations"]) == 1


def test_policy_still_decides_after_approval(tenant, pep):
    """What is denied now stays denied, and asking again will not help."""
    task = requested(pep)
    decide(tenant, task)
    agent = tenant.admin.get("/v1/agents/alice").json()["id"]
    tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["booking.refund"]})
    decision, context = pep.permits(REFUND, pep.read(task))
    assert (decision, pep.next_action(context), "access_request" in context) == (False, "none", False)


def test_a_submission_is_idempotent(tenant, pep):
    """The same key and body get the same task, whatever became of it; another body is refused."""
    _, context = pep.evaluate(REFUND)
    body = pep.submission(REFUND, context)
    _, first = pep.submit(body, context, key="k-1")
    reordered = dict(reversed(body.items()))
    assert pep.submit(reordered, context, key="k-1")[1] == first
    assert len([each for each in tenant.log(limit=10) if each["code"] == "access_requested"]) == 1
    body["context"] = {"business_justification": "another"}
    assert refused(pep.submit, body, context, key="k-1") == (409, "duplicate_request")
    decide(tenant, first["task"], "deny")
    status, again = pep.submit(reordered, context, key="k-1")
    assert (status, again["task"]["status"]) == (201, "denied")


def test_a_request_that_is_decided_already_completes_at_once(tenant, pep):
    _, context = pep.evaluate(REFUND)
    decide(tenant, {"id": context["approval"]["id"]})
    status, answer = pep.submit(pep.submission(REFUND, context), context)
    assert (status, answer["task"]["status"]) == (201, "approved")
    assert pep.permits(REFUND, answer)[0]


def test_a_repeated_denial_leads_to_the_same_task(pep):
    """Each evaluation has its own id; they share one approval."""
    _, first = pep.evaluate(REFUND)
    _, second = pep.evaluate(REFUND)
    assert first["evaluation_id"] != second["evaluation_id"]
    tasks = [pep.submit(pep.submission(REFUND, each), each)[1]["task"] for each in (first, second)]
    assert tasks[0] == tasks[1]


def test_a_submission_must_be_bound_to_its_denial(tenant, pep, pep_of):
    """To that question, that key and that evaluation; a token that nobody gave out binds nothing."""
    _, context = pep.evaluate(REFUND)
    _, other = pep.evaluate(with_amount(901))
    body = pep.submission(REFUND, context)
    changed = [
        {**body, "resource": with_amount(901)["resource"]},
        {**body, "subject": {"type": "user", "id": "alice"}},
        {**body, "subject": {"type": "user", "id": "nobody"}},
        {**body, "denial": {**body["denial"], "evaluation_id": other["evaluation_id"]}},
        {**body, "denial": {**body["denial"], "evaluation_id": "eval_1"}},
        {**body, "denial": {"expires_at": body["denial"]["expires_at"]}},
        {**body, "denial": {**body["denial"], "binding_token": "eyJhbGciOiJub25lIn0.e30."}},
        {name: value for name, value in body.items() if name != "denial"},
        {"subject": body["subject"], "items": [{name: body[name] for name in ("resource", "action")}]},
    ]
    for each in changed:
        assert refused(pep.submit, each, context) == (400, "invalid_denial_binding")
    stranger = pep_of(tenant.new_key(["read"])["key"])
    assert refused(stranger.submit, body, context) == (400, "invalid_denial_binding")
    allowed = {**REFUND, "action": {"name": "read"}}
    _, granted = pep.evaluate(allowed)
    body = {**allowed, "denial": {**body["denial"], "evaluation_id": granted["evaluation_id"]}}
    assert refused(pep.submit, body, context) == (400, "not_requestable")


def test_only_what_waits_for_people_is_requestable(tenant, pep):
    denied = {**REFUND, "resource": {"type": "ledger", "id": "1"}}
    decision, context = pep.evaluate(denied)
    assert not decision
    with pytest.raises(NotRequestable):
        pep.submission(denied, context)


def test_who_may_not_see_a_task_gets_404(tenant, pep, pep_of, asking_replica, store):
    """Keys bound to another agent, keys of another workspace, and ids of nothing."""
    task = requested(pep)
    other = tenant.new_agent(alias="carol")["id"]
    bound = pep_of(tenant.new_key(["authorize"], agents=[other])["key"])
    elsewhere = Tenant(store.url, asking_replica)
    try:
        for stranger in (bound, pep_of(elsewhere.read_key)):
            assert refused(stranger.read, task) == (404, "unknown_task")
            assert refused(stranger.cancel, task) == (404, "unknown_task")
    finally:
        elsewhere.close()
    for task_id in ("nothing", "0190a0c0-0000-7000-8000-000000000000", "tAAAA", "t" + "A" * 43):
        unknown = {"status_endpoint": f"{PUBLIC}/access/v1/requests/{task_id}"}
        assert refused(pep.read, unknown) == (404, "unknown_task")
    assert pep_of(tenant.new_key(["authorize"])["key"]).read(task)["task"]["status"] == "pending"


def test_several_denials_are_requested_together(tenant, pep):
    """One task; each item is decided, and completed, by itself."""
    questions = [with_amount(1), with_amount(2), with_amount(3)]
    denials = [pep.evaluate(each)[1] for each in questions]
    body = {"subject": REFUND["subject"], "context": REFUND["context"], "items": []}
    for question, context in zip(questions, denials, strict=True):
        whole = pep.submission(question, context)
        body["items"].append({name: whole[name] for name in ("resource", "action", "denial")})
    _, answer = pep.submit(body, denials[0], key="bundle")
    task = answer["task"]
    assert [each["resource"] for each in task["items"]] == [each["resource"] for each in questions]
    assert pep.submit(body, denials[0], key="bundle")[1] == answer
    decide(tenant, {"id": denials[0]["approval"]["id"]})
    decide(tenant, {"id": denials[1]["approval"]["id"]}, "deny")
    assert pep.read(task)["task"]["status"] == "pending"
    cancelled = pep.cancel(task)
    assert cancelled["status"] == "partial"
    assert [each["status"] for each in cancelled["items"]] == ["approved", "denied", "cancelled"]
    assert refused(pep.cancel, task) == (409, "invalid_task_state")
    result = pep.read(task)["task"]["items"][0]["result"]
    assert pep.evaluate(questions[0], result["approval"])[0]
    body["items"][1] = body["items"][0]
    assert refused(pep.submit, body, denials[0])[0] == 400


def test_a_key_is_kept_a_day_longer_than_any_item_can_be_decided(tenant, pep):
    """The item that is submitted last may be the one whose time is over first."""
    questions = [with_amount(1), with_amount(2)]
    denials = [pep.evaluate(each)[1] for each in questions]
    items = [pep.submission(question, context) for question, context in zip(questions, denials, strict=True)]
    last, keyspace = denials[1]["approval"]["id"], Keyspace(tenant.id)
    tenant.in_store(lambda client: client.call("HINCRBY", keyspace.approval(last), "expires_ms", -60_000))
    body = {"subject": REFUND["subject"], "context": REFUND["context"]}
    body["items"] = [{name: each[name] for name in ("resource", "action", "denial")} for each in items]
    _, answer = pep.submit(body, denials[0], key="bundle")
    [kept] = tenant.in_store(lambda client: client.call("KEYS", keyspace.submission("*")))
    ends_ms = tenant.in_store(lambda client: client.call("PEXPIRETIME", kept))
    expires = datetime.fromisoformat(answer["task"]["expires_at"])
    assert ends_ms >= expires.timestamp() * 1000 + 24 * 3600 * 1000


@pytest.fixture
def receiver():
    listening = Receiver()
    yield listening
    listening.close()


def test_a_callback_tells_how_it_ended(tenant, pep, receiver):
    """At a webhook that an administrator has registered for it, signed, with the state that the PEP gave."""
    made = tenant.admin.post("/v1/webhooks", json={"url": receiver.url, "events": ["access_request.completed"]}).json()
    state = {"flow": 12345678901234567890.55, "text": "é"}
    callback = {"endpoint": receiver.url, "state": state, "events": ["approved", "partial"]}
    task = requested(pep, callback=callback)
    ignored = requested(pep, with_amount(2), callback=callback)
    decide(tenant, ignored, "deny")
    decide(tenant, task)
    receiver.wait(1)
    headers, body = receiver.got[0]
    told = Webhook(made["secret"]).verify(body, headers)
    assert told["state"] == state
    assert (told["task"]["id"], told["task"]["status"], "result" in told) == (task["id"], "approved", False)
    assert pep.permits(REFUND, pep.read(told["task"]))[0]
    assert len(receiver.got) == 1


def test_a_callback_goes_nowhere_else(tenant, pep, receiver):
    """Neither to an address that nobody registered, nor to a webhook for other events."""
    tenant.admin.post("/v1/webhooks", json={"url": receiver.url, "events": ["approval.decided"]})
    _, context = pep.evaluate(REFUND)
    for endpoint in (receiver.url, "http://169.254.169.254/", "https://attacker.example/"):
        body = pep.submission(REFUND, context, callback={"endpoint": endpoint})
        with pytest.raises(Refused) as error:
            pep.submit(body, context)
        assert (error.value.status, error.value.problem["type"]) == (400, "about:blank")
    mixed = {"url": receiver.url, "events": ["approval.decided", "access_request.completed"]}
    assert tenant.admin.post("/v1/webhooks", json=mixed).status_code == 400


def test_without_a_public_url_nothing_is_requestable(replica, store):
    """Every URL of a task is absolute."""
    made = Tenant(store.url, replica)
    try:
        agent = made.new_agent(alias="alice", type="user")["id"]
        made.new_policy(agent, {"type": "approval_required", "tools": ["booking.refund"]})
        context = made.reader.post("/access/v1/evaluation", json=REFUND).json()["context"]
        assert "access_request" not in context
        answer = made.reader.post("/access/v1/requests", json={})
        assert (answer.status_code, answer.json()["type"]) == (404, "about:blank")
    finally:
        made.close()
