"""Every adapter, through its framework: what is allowed runs, and nothing else."""

import json

import pytest
import scripted
from cases import CASES, PATIENT, YES
from service import answer

from remit_client import AsyncRemit, NotAllowed, Remit, calls

KEY = "svc_" + "0" * 32
EVERY = [*scripted.RAISING, *scripted.ANSWERING]
OF_THE_NEWER_MCP = [
    scripted.langchain,
    scripted.langchain_sync,
    scripted.openai_agents_protected,
    scripted.pydantic_ai,
    scripted.google_adk,
    scripted.llama_index,
    scripted.fastmcp,
]
REPORTING = [] if scripted.OLDER_MCP else OF_THE_NEWER_MCP
RULES = [
    {"type": "parameter_constraint", "tools": ["refund_create"], "parameters": {"amount": {"max": 500}}},
]
ESCALATED = YES | {
    "allowed": False,
    "result": "escalated",
    "reason": "a person must see this",
    "approval": {"id": "a1", "status": "pending", "expiresAt": "2026-11-22T05:00:00.000Z"},
}


@pytest.fixture
def desk(admin):
    made = admin.send(calls.create_agent("desk"))
    admin.send(calls.create_policy(made.id, "small refunds", RULES))
    return made.id


@pytest.mark.parametrize("framework", EVERY, ids=lambda one: one.__name__)
async def test_an_allowed_call_runs_and_is_in_the_log(framework, remit, desk, admin):
    ran = []
    await framework(remit, desk, ran)
    assert len(ran) == 1
    [entry] = admin.send(calls.list_audit_logs(agent_id=desk, result="allowed"))
    assert (entry.tool_name, entry.parameters, entry.result) == ("refund_create", scripted.PARAMETERS, "allowed")


@pytest.mark.parametrize("framework", EVERY, ids=lambda one: one.__name__)
async def test_a_denied_call_does_not_run_and_the_model_reads_why(framework, remit, desk, admin):
    admin.send(calls.create_policy(desk, "closed", [{"type": "tool_denylist", "tools": ["*"]}]))
    ran = []
    said = await framework(remit, desk, ran)
    assert not ran
    assert '"refund_create" is on the denylist of policy "closed"' in said
    assert len(admin.send(calls.list_audit_logs(agent_id=desk))) == 1, "one call, one request"


@pytest.mark.parametrize("framework", EVERY, ids=lambda one: one.__name__)
async def test_the_session_of_the_framework_is_in_the_context(framework, faulty):
    server, ran = faulty(answer(200, YES)), []
    await framework(AsyncRemit(server.url, KEY, **PATIENT), "desk", ran, context={"user": "ann"})
    asked = [one for one in server.asked if one.startswith(b"POST /v1/authorize")]
    sent = json.loads(asked[-1].partition(b"\r\n\r\n")[2])["context"]
    assert sent.pop("user") == "ann"
    if framework in (
        scripted.langchain,
        scripted.langchain_sync,
        scripted.openai_agents,
        scripted.google_adk,
        scripted.agent_framework,
        scripted.claude_hook,
    ):
        assert sent == {"session": "s1"}
    elif framework in (scripted.pydantic_ai, scripted.strands):
        assert sent["session"]


@pytest.mark.parametrize("framework", REPORTING, ids=lambda one: one.__name__)
async def test_records_of_a_result_are_reported(framework, faulty):
    """With the arguments that were judged, and the tool's result as the framework has it."""
    server, ran = faulty(answer(200, YES)), []
    remit = Remit(server.url, KEY, **PATIENT)
    await framework(
        remit,
        "desk",
        ran,
        records=lambda tool, given, result: {"paid": {"tool": tool, **given, "is_paid": "paid" in str(result)}},
    )
    asked = (json.loads(each.partition(b"\r\n\r\n")[2]) for each in server.asked)
    [sent] = (each for each in asked if "status" in each)
    record = {"tool": "refund_create", **scripted.PARAMETERS, "is_paid": True}
    assert (sent, len(ran)) == ({"status": "executed", "records": {"paid": record}}, 1)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("framework", EVERY, ids=lambda one: one.__name__)
async def test_a_tool_does_not_run_without_a_yes(framework, case, at):
    """The cases of test_fails_closed.py: without an answer the run ends, and the model reads a refusal."""
    ran = []
    remit = Remit(at(case), KEY, **case.limits)
    if framework in scripted.RAISING and not issubclass(case.raised, NotAllowed):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - some frameworks wrap it
            await framework(remit, "desk", ran)
        assert case.raised in kinds(raised.value)
    else:
        said = await framework(remit, "desk", ran)
        assert "was not run" in said or "once it is approved" in said
        assert KEY not in said
    assert not ran


def kinds(error):
    """The types of an exception and its causes."""
    found = []
    while error is not None:
        found.append(type(error))
        error = error.__cause__ or error.__context__
    return found


def approved_later(faulty):
    """A service in which the person says yes while the agent waits."""
    approval = {"id": "a1", "status": "approved", "approvals": []}
    return faulty(answer(200, ESCALATED), answer(200, approval), answer(200, YES)).url


@pytest.mark.parametrize("framework", EVERY, ids=lambda one: one.__name__)
async def test_with_wait_an_approved_call_runs_after_the_yes(framework, faulty):
    ran = []
    await framework(Remit(approved_later(faulty), KEY, **PATIENT), "desk", ran, wait=20)
    assert len(ran) == 1


@pytest.mark.parametrize("framework", EVERY, ids=lambda one: one.__name__)
async def test_what_a_person_denies_does_not_run(framework, faulty):
    denial = {"id": "a1", "status": "denied", "approvals": [{"by": {"name": "Eve"}, "note": "not today"}]}
    ran = []
    again = ESCALATED | {"approval": ESCALATED["approval"] | {"status": "denied"}}
    answers = [answer(200, each) for each in (ESCALATED, denial, again, denial)]
    said = await framework(Remit(faulty(*answers).url, KEY, **PATIENT), "desk", ran, wait=20)
    assert not ran
    assert "Eve" in said
    assert "not today" in said
