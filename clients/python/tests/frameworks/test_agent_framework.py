"""The middleware in Microsoft's Agent Framework: beside its own approvals, after other middleware, and at the end."""

import json
from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest
from agent_framework import (
    Agent,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    Message,
    UserInputRequiredException,
    tool,
)
from cases import PATIENT, YES
from drivers import FrameworkModel
from scripted import PARAMETERS
from service import answer, problem
from test_adapters import ESCALATED, KEY

from remit_client import NotAllowed, Remit
from remit_client.agent_framework import RemitMiddleware

DENIED = YES | {"allowed": False, "result": "denied", "reason": "it is closed"}


class Desk:
    """An agent whose model calls a tool once, which runs `run`.

    before: middleware that stands before Remit's. ran: what the tool ran with. asked: what Remit was asked.
    """

    def __init__(self, server, run=None, before=(), approval_mode="never_require", **options):
        self._server, self.ran = server, []

        @tool(approval_mode=approval_mode)
        def refund_create(amount: int) -> str:
            """Pay back."""
            self.ran.append(amount)
            return run() if run else "paid"

        guard = RemitMiddleware(Remit(server.url, KEY, **PATIENT), "desk", **options)
        model = FrameworkModel([[("c1", PARAMETERS)]])
        self._agent = Agent(model, tools=[refund_create], middleware=[*before, guard])
        self._session = self._agent.create_session()

    async def go(self, said="refund"):
        """What the model reads of the tool; the requests for approval, if there are any."""
        read = await self._agent.run(said, session=self._session)
        self.requests = read.user_input_requests
        return self.requests or read.messages[-2].contents[0].result

    async def approve(self):
        return await self.go(Message("user", [each.to_function_approval_response(True) for each in self.requests]))

    @property
    def asked(self):
        return [json.loads(each.partition(b"\r\n\r\n")[2]) for each in self._server.asked]


async def test_a_pending_approval_is_the_frameworks_request(faulty):
    desk = Desk(faulty(answer(200, ESCALATED), answer(200, YES)), request_approval=True)
    [request] = await desk.go()
    assert request.additional_properties["approval_id"] == "a1"
    assert (request.function_call.name, request.function_call.parse_arguments()) == ("refund_create", PARAMETERS)
    assert (await desk.approve(), desk.ran) == ("paid", [120])


@pytest.mark.parametrize(
    ("decision", "says"), [(DENIED, "is closed"), (ESCALATED, "once it is approved")], ids=["denied", "waits"]
)
async def test_the_frameworks_own_approval_does_not_outrank_remit(faulty, decision, says):
    """It is asked for first. After it, Remit must allow."""
    desk = Desk(faulty(answer(200, decision)), approval_mode="always_require", request_approval=True)
    await desk.go()
    assert desk.asked == []
    assert says in await desk.approve()
    assert (desk.ran, len(desk.asked)) == ([], 1)


async def test_what_other_middleware_makes_of_the_arguments_is_judged(faulty):
    class Doubles(FunctionMiddleware):
        async def process(self, context, call_next):
            context.arguments = {"amount": 2 * context.arguments["amount"]}
            await call_next()

    desk = Desk(faulty(answer(200, YES)), before=[Doubles()])
    await desk.go()
    assert ([each["parameters"] for each in desk.asked], desk.ran) == ([{"amount": 240}], [240])


async def test_without_a_decision_the_run_ends(faulty):
    """An ordinary exception of a middleware would be the tool's error, which the model reads before it goes on."""
    desk = Desk(faulty(problem(503, "STORE_UNAVAILABLE")))
    with pytest.raises(Exception, match="STORE_UNAVAILABLE") as raised:
        await desk.go()
    assert raised.value.__cause__ is not None
    assert not isinstance(raised.value.__cause__, NotAllowed)
    assert desk.ran == []


def fails():
    raise OSError("the bank is away")


def pauses():
    call = Content.from_function_call("c1", "refund_create", arguments=PARAMETERS)
    raise UserInputRequiredException([Content.from_function_approval_request("c1", call)])


@pytest.mark.parametrize(("run", "reported"), [(None, ["executed"]), (fails, ["failed"]), (pauses, [])])
async def test_how_a_call_ended_is_reported_once_it_has_ended(faulty, run, reported):
    desk = Desk(faulty(answer(200, YES)), run, report_outcome=True)
    await desk.go()
    assert [each["status"] for each in desk.asked[1:]] == reported


async def test_an_id_that_a_models_client_gives_names_nothing(faulty):
    """Only the framework's own are never the same for two calls."""
    for occurrence, is_named in (("af-call-1", True), ("fc_1", False)):
        server, metadata = faulty(answer(200, YES)), {"call_id": "c1", "function_call_occurrence_id": occurrence}
        context = FunctionInvocationContext(SimpleNamespace(name="refund_create"), PARAMETERS, metadata=metadata)
        await RemitMiddleware(Remit(server.url, KEY, **PATIENT), "desk").process(context, AsyncMock())
        assert (b"idempotency-key" in server.asked[0].lower()) is is_named
