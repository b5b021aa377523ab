"""The hook in Strands: it stands after the others, also for calls that no model made, and reports how a call ended."""

import json

import pytest
from bedrock_agentcore import BedrockAgentCoreApp
from cases import PATIENT, YES
from drivers_older_mcp import StrandsModel
from scripted import PARAMETERS
from service import answer
from starlette.testclient import TestClient
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent
from test_adapters import KEY

from remit_client import Remit
from remit_client.strands import RemitHook


def desk(remit, run, *hooks, calls=(("c1", PARAMETERS),), **options):
    """An agent that makes the calls of one tool, which runs `run`. hooks: registered after Remit's."""

    @tool(context=True)
    def refund_create(amount: int, tool_context) -> str:
        """Pay back."""
        return run(amount, tool_context)

    model, every = StrandsModel([list(calls)]), [RemitHook(remit, "desk", **options), *hooks]
    return Agent(model, tools=[refund_create], hooks=every, callback_handler=None)


def sent(request):
    return json.loads(request.partition(b"\r\n\r\n")[2])


def test_what_another_hook_makes_of_the_arguments_is_judged(faulty):
    """Also of one that is registered later."""

    def doubles(event: BeforeToolCallEvent) -> None:
        event.tool_use = {**event.tool_use, "input": {"amount": 240}}

    server, ran = faulty(answer(200, YES)), []
    desk(Remit(server.url, KEY, **PATIENT), lambda amount, _: ran.append(amount), doubles)("refund")
    assert (sent(server.asked[0])["parameters"], ran) == ({"amount": 240}, [240])


def test_what_another_hook_has_cancelled_is_not_judged(faulty):
    def cancels(event: BeforeToolCallEvent) -> None:
        event.cancel_tool = "closed"

    server = faulty(answer(200, YES))
    desk(Remit(server.url, KEY, **PATIENT), None, cancels)("refund")
    assert server.asked == []


def test_a_call_that_the_program_makes_is_judged(faulty):
    """Each time, since no message has it."""
    server, ran = faulty(answer(200, YES)), []
    agent = desk(Remit(server.url, KEY, **PATIENT), lambda amount, _: ran.append(amount))
    for _ in range(2):
        agent.tool.refund_create(amount=5)
    assert [(sent(each)["parameters"], b"idempotency-key" in each.lower()) for each in server.asked] == [
        ({"amount": 5}, False)
    ] * 2
    assert ran == [5, 5]


def fails(amount, context):
    raise OSError("the bank is away")


@pytest.mark.parametrize(
    ("run", "reported"),
    [
        (lambda amount, context: "paid", ["executed"]),
        (fails, ["failed"]),
        (lambda amount, context: context.interrupt("really?"), []),
    ],
    ids=["it runs", "it fails", "it pauses"],
)
def test_how_a_call_ended_is_reported_once_it_has(faulty, run, reported):
    server = faulty(answer(200, YES))
    desk(Remit(server.url, KEY, **PATIENT), run, report_outcome=True)("refund")
    assert [sent(each)["status"] for each in server.asked[1:]] == reported


def test_records_are_made_of_the_result(faulty):
    server = faulty(answer(200, YES))

    def records(tool, parameters, result):
        return {"receipt:1": {"said": result["content"][0]["text"]}}

    desk(Remit(server.url, KEY, **PATIENT), lambda amount, _: "paid", records=records)("refund")
    assert sent(server.asked[1])["records"] == {"receipt:1": {"said": "paid"}}


def test_on_agentcore_the_session_is_that_of_its_runtime(faulty):
    """As the page has it, through the runtime's own server."""
    server, app = faulty(answer(200, YES)), BedrockAgentCoreApp()
    remit = Remit(server.url, KEY, **PATIENT)

    @app.entrypoint
    async def invoke(payload, context):
        agent = desk(remit, lambda amount, _: "paid", context={"session": context.session_id})
        return str(await agent.invoke_async(payload["prompt"]))

    header = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": "s" * 33}
    said = TestClient(app).post("/invocations", json={"prompt": "refund"}, headers=header)
    assert said.status_code == 200, said.text
    assert sent(server.asked[0])["context"] == {"session": "s" * 33}
