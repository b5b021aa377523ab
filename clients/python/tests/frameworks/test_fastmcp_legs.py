"""FastMCP: a tool that asks its client is called once more with the answer. All legs of one call are judged once."""

import mcp_types
import pytest
from cases import PATIENT
from fastmcp import Client, Context, FastMCP
from fastmcp.exceptions import ToolError

from remit_client import AsyncRemit, calls
from remit_client.fastmcp import RemitMiddleware

QUESTIONS = 2
SCHEMA = {"type": "object", "properties": {}}


class Desk:
    """A server whose tool asks two questions, or one if it does not keep in its state how many it has asked."""

    def __init__(self, service, admin, key, *, limit=1, asks=False, keeps=True, **options):
        self.admin, self.keeps, self.ran = admin, keeps, []
        self.agent = admin.send(calls.create_agent("desk")).id
        rate = {"type": "rate_limit", "rateLimit": {"maxCalls": limit, "windowSeconds": 3600}}
        rule = {"type": "approval_required"} if asks else rate
        rules = [{"tools": ["refund_create"], **each} for each in ({"type": "tool_allowlist"}, rule)]
        admin.send(calls.create_policy(self.agent, "desk", rules))
        self.guard = RemitMiddleware(AsyncRemit(service.url, key, **PATIENT), self.agent, **options)
        self.server = FastMCP("desk", middleware=[self.guard])
        self.server.tool(self.refund_create)

    async def refund_create(self, amount: int, ctx: Context) -> str | mcp_types.InputRequiredResult:
        """Pay back."""
        asked = int(ctx.request_state or 0) if self.keeps else QUESTIONS - 1 + bool(ctx.input_responses)
        if asked < QUESTIONS:
            question = mcp_types.ElicitRequest(
                params=mcp_types.ElicitRequestFormParams(message="really?", requested_schema=SCHEMA)
            )
            state = str(asked + 1) if self.keeps else None
            return mcp_types.InputRequiredResult(input_requests={"q": question}, request_state=state)
        self.ran.append(amount)
        return "paid"

    def client(self):
        async def says_yes(*_):
            return {}

        return Client(self.server, elicitation_handler=says_yes)

    def logged(self):
        """The results of its decisions, and "outcome" for each that was reported."""
        entries = self.admin.send(calls.list_audit_logs(agent_id=self.agent, limit=1000))
        return [each.result or "outcome" for each in reversed(entries)]


async def first_leg(client, amount=1):
    return await client.session.call_tool("refund_create", {"amount": amount}, allow_input_required=True)


async def next_leg(client, asked, amount=1):
    """What the tool answers, once its question is answered."""
    said = {"q": mcp_types.ElicitResult(action="accept", content={})}
    return await client.session.call_tool(
        "refund_create",
        {"amount": amount},
        input_responses=said,
        request_state=asked.request_state,
        allow_input_required=True,
    )


@pytest.fixture
def desk(service, admin, asking_key):
    return lambda **options: Desk(service, admin, asking_key, **options)


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_call_of_several_legs_takes_one_place(desk, keeps):
    stage = desk(keeps=keeps)
    async with stage.client() as client:
        await client.call_tool("refund_create", {"amount": 1})
        with pytest.raises(ToolError, match="was not run"):
            await client.call_tool("refund_create", {"amount": 1})
    assert (stage.ran, stage.logged()) == ([1], ["allowed", "denied"])


@pytest.mark.parametrize("keeps", [True, False])
async def test_calls_that_differ_in_nothing_take_a_place_each(desk, keeps):
    stage = desk(keeps=keeps, limit=2)
    async with stage.client() as client:
        asked = [await first_leg(client) for _ in range(3)]
        for _ in range(QUESTIONS if keeps else 1):
            asked = [await next_leg(client, one) for one in asked[:2]]
    assert [one.is_error for one in asked] == [False, False]
    assert (stage.ran, stage.logged()) == ([1, 1], ["allowed", "allowed", "denied"])


async def test_an_approval_lets_all_legs_of_one_call_through(desk, person):
    stage = desk(asks=True)
    async with stage.client() as client:
        for _ in range(2):
            with pytest.raises(ToolError, match="needs a person's approval"):
                await client.call_tool("refund_create", {"amount": 1})
            if not stage.ran:
                [pending] = person.send(calls.list_approvals("pending", stage.agent))
                person.approve(pending.id)
                await client.call_tool("refund_create", {"amount": 1})
    assert stage.ran == [1]


@pytest.mark.parametrize("amount", [1, 2])
async def test_a_leg_without_a_question_takes_a_place(desk, amount):
    """Sent again, with other arguments or without a first leg: what a client writes lets nothing pass."""
    stage = desk(keeps=False)
    async with stage.client() as client:
        asked = await first_leg(client)
        said = [await next_leg(client, asked, amount) for _ in range(3)]
    assert stage.ran == ([1] if amount == 1 else [])
    assert [one.is_error for one in said] == [amount != 1, True, True]
    assert stage.logged().count("allowed") == 1


async def test_a_suspension_binds_between_two_legs(desk):
    stage = desk()
    async with stage.client() as client:
        asked = await first_leg(client)
        stage.admin.send(calls.update_agent(stage.agent, status="suspended"))
        said = await next_leg(client, asked)
    assert said.is_error
    assert stage.ran == []


async def test_the_outcome_is_reported_once_the_tool_has_ended(desk):
    stage = desk(report_outcome=True)
    async with stage.client() as client:
        asked = await first_leg(client)
        before = stage.logged()
        said = await next_leg(client, await next_leg(client, asked))
    assert (said.is_error, before, stage.logged()) == (False, ["allowed"], ["allowed", "outcome"])


async def test_of_too_many_questions_the_oldest_are_forgotten(desk, monkeypatch):
    monkeypatch.setattr("remit_client.legs.LEGS_MAX", 2)
    stage = desk(keeps=False, limit=3)
    async with stage.client() as client:
        asked = [await first_leg(client, amount) for amount in (1, 2, 3)]
        said = [await next_leg(client, one, amount) for one, amount in zip(asked, (1, 2, 3), strict=True)]
    assert [one.is_error for one in said] == [True, False, False]
