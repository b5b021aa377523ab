"""A person decides with their own key while the agent's call waits, on a real service."""

from dataclasses import replace

import pytest
from cases import NO, PATIENT, YES
from service import answer, header, problem

from remit_client import ApprovalPending, AsyncRemit, Denied, Refused, Remit, calls
from remit_client import gate as gates
from remit_client.gate import ToolCall

MAIL = {"to": "ann@example.com"}
KEY = "svc_" + "0" * 32


@pytest.fixture(scope="session")
def person(service, admin):
    """A client whose key may only decide approvals."""
    key = admin.send(calls.create_api_key("Eve", ["approve"])).key
    with Remit(service.url, key, timeout=20) as remit:
        yield remit


def when_waiting(decide):
    """A hook for httpx that decides an approval at the moment when its status is requested."""

    def hook(request):
        _, found, approval_id = request.url.path.partition("/v1/approvals/")
        if found:
            decide(approval_id)

    return {"event_hooks": {"request": [hook]}}


def test_a_tool_runs_once_a_person_has_approved_it(service, asking_key, agent, person):
    sent = []
    with Remit(service.url, asking_key, timeout=20, http_options=when_waiting(person.approve)) as remit:

        @remit.guard(agent, "mail.send", wait=9.5)
        def send_mail(to):
            sent.append(to)

        send_mail("ann@example.com")
    assert sent == ["ann@example.com"]
    [approval] = person.send(calls.list_approvals(agent=agent))
    assert approval.status == "consumed"
    assert [verdict.by_name for verdict in approval.approvals] == ["Eve"]


async def test_an_async_tool_runs_once_a_person_has_approved_it(service, asking_key, agent, person):
    approve = when_waiting(person.approve)["event_hooks"]["request"][0]

    async def hook(request):
        approve(request)

    sent, options = [], {"event_hooks": {"request": [hook]}}
    async with (
        AsyncRemit(service.url, asking_key, timeout=20, http_options=options) as remit,
        remit.guard(agent, "mail.send", MAIL, wait=9.5) as decision,
    ):
        sent.append(decision.result)
    assert sent == ["allowed"]


def test_what_a_person_denies_does_not_run_and_says_who_and_why(service, asking_key, agent, person):
    options = when_waiting(lambda approval_id: person.deny(approval_id, note="not today"))
    with (
        Remit(service.url, asking_key, timeout=20, http_options=options) as remit,
        pytest.raises(Denied, match=r"Eve.*not today"),
        remit.guard(agent, "mail.send", MAIL, wait=9.5),
    ):
        raise AssertionError


def test_the_wait_for_a_person_ends(remit, agent):
    """A fraction of a second is waited for as well, rounded up."""
    with pytest.raises(ApprovalPending) as pending, remit.guard(agent, "mail.send", MAIL, wait=0.5):
        raise AssertionError
    assert remit.approval(pending.value.approval_id, wait=0.5).status == "pending"


def test_an_approval_is_for_exactly_the_same_call(remit, agent, person):
    asked = remit.authorize(agent, "mail.send", MAIL)
    granted = person.approve(asked.approval.id, note="go on", uses=1, valid_seconds=60)
    assert granted.status == "approved"
    assert remit.authorize(agent, "mail.send", {"to": "bob@example.com"}).result == "escalated"
    assert remit.authorize(agent, "mail.send", MAIL).allowed
    assert remit.authorize(agent, "mail.send", MAIL).result == "escalated"


def test_a_named_approval_is_used_or_nobody_is_asked(remit, agent, person):
    first, second = (remit.authorize(agent, "mail.send", {"to": f"{name}@b.c"}).approval.id for name in "ab")
    person.approve(first)
    with pytest.raises(Refused, match="APPROVAL_MISMATCH"):
        remit.authorize(agent, "mail.send", {"to": "a@b.c"}, approval_id=second)
    assert remit.authorize(agent, "mail.send", {"to": "a@b.c"}, approval_id=first).allowed
    with pytest.raises(Refused, match="APPROVAL_MISMATCH"):
        remit.authorize(agent, "mail.send", {"to": "a@b.c"}, approval_id=first)
    assert [each.id for each in remit.send(calls.list_approvals("pending", agent))] == [second]


async def test_a_named_approval_is_used_by_an_async_client(service, asking_key, remit, agent, person):
    asked = remit.authorize(agent, "mail.send", MAIL).approval.id
    person.approve(asked)
    async with AsyncRemit(service.url, asking_key, timeout=20) as client:
        assert (await client.authorize(agent, "mail.send", MAIL, approval_id=asked)).allowed
        with pytest.raises(Refused, match="APPROVAL_MISMATCH"):
            await client.authorize(agent, "mail.send", MAIL, approval_id=asked)


def test_the_key_that_asked_cancels_its_request(remit, agent):
    asked = remit.authorize(agent, "mail.send", MAIL)
    assert remit.cancel(asked.approval.id, note="not needed").status == "cancelled"


def test_approvals_are_listed_in_pages(remit, agent, person):
    asked = [remit.authorize(agent, "mail.send", {"to": f"{name}@b.c"}).approval.id for name in "abc"]
    first = person.send(calls.list_approvals("pending", agent, limit=2))
    rest = person.send(calls.list_approvals("pending", agent, limit=2, cursor=first[-1].id))
    assert [one.id for one in first + rest] == asked[::-1]
    for tool, found in (("mail.send", asked), ("mail.read", [])):
        several = person.send(calls.list_approvals("pending,denied", agent, tool=tool))
        assert [one.id for one in several] == found[::-1]


ONE = ToolCall("pay", {"amount": 1}, place=("here", 1))


def test_a_call_at_one_place_is_one_call_and_another_place_another(service, admin, asking_key):
    """Its arguments are part of the name; without a name, every question counts."""
    agent = admin.send(calls.create_agent("desk")).id
    limit = {"maxCalls": 2, "windowSeconds": 3600}
    admin.send(calls.create_policy(agent, "two", [{"type": "rate_limit", "tools": ["*"], "rateLimit": limit}]))
    with Remit(service.url, asking_key, timeout=20) as remit:
        (gate, _), (unnamed, _) = gates.gates(remit, agent), gates.gates(remit, agent, named=False)
        one = [gate.judge(ONE) for _ in range(3)]
        assert {each.decision.id for each in one} == {one[0].decision.id}
        assert isinstance(gate.judge(replace(ONE, arguments={"amount": 2})), gates.Run)
        assert isinstance(gate.judge(replace(ONE, place=("there", 1))), gates.Refused)
        assert isinstance(unnamed.judge(ONE), gates.Refused)


@pytest.mark.parametrize("lost", ["IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_STALE", "LIMIT_REACHED"])
def test_a_call_whose_name_is_lost_is_judged_without_one(faulty, lost):
    """It is counted again, and never let through because of the name."""
    server = faulty(problem(409, lost), answer(200, NO))
    with Remit(server.url, KEY, **PATIENT) as remit:
        assert isinstance(gates.gates(remit, "desk")[0].judge(ONE), gates.Refused)
    assert [bool(header(each, b"Idempotency-Key")) for each in server.asked] == [True, False]


def test_any_other_refusal_of_a_named_call_is_one(faulty):
    server = faulty(problem(404, "AGENT_NOT_FOUND"))
    with Remit(server.url, KEY, **PATIENT) as remit, pytest.raises(Refused):
        gates.gates(remit, "desk")[0].judge(ONE)
    assert len(server.asked) == 1


def test_a_persons_no_is_read_though_the_service_does_not_say_whose(faulty):
    ended = YES | {"allowed": False, "result": "escalated", "approval": {"id": "a1", "status": "expired"}}
    server = faulty(answer(200, ended), problem(404, "APPROVAL_NOT_FOUND"))
    with Remit(server.url, KEY, **PATIENT) as remit:
        said = gates.gates(remit, "desk")[0].judge(ONE)
    assert isinstance(said, gates.Refused)
    assert "the approval is expired" in said.text.lower()
