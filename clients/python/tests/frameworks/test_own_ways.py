"""What single frameworks can do beside the rest: their own pauses, listings and sessions, and whose words they send."""

import json
import re
from collections import Counter

import pytest
import scripted
from cases import PATIENT, YES
from service import answer
from test_adapters import ESCALATED, KEY

from remit_client import Remit


@pytest.mark.parametrize(("mode", "has_session"), [("legacy", True), ("auto", False)])
async def test_fastmcp_has_a_session_where_it_lasts_longer_than_a_call(faulty, mode, has_session):
    """An approval is bound to the session. If every call had a new session, no call would find its approval."""
    from fastmcp import Client

    server = faulty(answer(200, YES))
    desk = scripted.fastmcp_server(Remit(server.url, KEY, **PATIENT), "desk", [], hide=False)
    async with Client(desk, mode=mode) as client:
        for _ in range(2):
            await client.call_tool("refund_create", scripted.PARAMETERS)
    sent = [json.loads(one.partition(b"\r\n\r\n")[2]).get("context", {}) for one in server.asked]
    assert len(sent) == 2
    assert sent[0] == sent[1]
    assert bool(sent[0]) is has_session


async def test_openai_agents_asks_twice_in_one_session(faulty):
    """Before the run is interrupted and after it is resumed: the second finds the approval of the first."""
    from agents import Agent, RunConfig, Runner

    from remit_client.openai_agents import RemitGuardrail

    server, ran = faulty(answer(200, ESCALATED), answer(200, YES)), []
    tool = RemitGuardrail(Remit(server.url, KEY, **PATIENT), "desk").protect(scripted.openai_tool(ran))
    agent = Agent(name="a", model=scripted.openai_model(), tools=[tool])
    config = RunConfig(tracing_disabled=True, group_id="s1")
    state = (paused := await Runner.run(agent, "refund", run_config=config)).to_state()
    state.approve(paused.interruptions[0])
    await Runner.run(agent, state, run_config=config)
    first, second, _outcome = (one.partition(b"\r\n\r\n")[2] for one in server.asked)
    assert (first, len(ran)) == (second, 1)


async def test_an_agent_that_another_one_asks_has_calls_of_its_own(faulty):
    """In one trace, with the same words and ids. Remit is asked twice about each: before it runs, and as it does."""
    from agents import Agent, Runner, function_tool, trace

    from remit_client.openai_agents import RemitGuardrail

    server, ran = faulty(answer(200, YES)), []

    def agent_that(name, before=None):
        @function_tool(failure_error_function=None)
        async def refund_create(amount: int) -> str:
            """Pay back."""
            if before is not None:
                await Runner.run(before, "refund")
            ran.append(name)
            return "paid"

        tool = RemitGuardrail(Remit(server.url, KEY, **PATIENT), name).protect(refund_create)
        return Agent(name="a", model=scripted.openai_model(), tools=[tool])

    with trace("desk"):
        await Runner.run(agent_that("desk", agent_that("clerk")), "refund")
    names = [re.search(rb"(?im)^idempotency-key: (.*)$", one) for one in server.asked if b"/v1/authorize" in one]
    assert ran == ["clerk", "desk"]
    assert sorted(Counter(name and name[1] for name in names).values()) == [2, 2]


class TestTheFrameworksOwnInterrupts:
    """If a framework can pause a run for a person, a pending approval pauses it, and resuming asks Remit again."""

    async def test_langgraph_pauses_and_resumes(self, faulty):
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.types import Command

        server, ran = faulty(answer(200, ESCALATED), answer(200, YES)), []
        remit, config = Remit(server.url, KEY, **PATIENT), {"configurable": {"thread_id": "s1"}}
        keeps = {"checkpointer": InMemorySaver()}
        graph = scripted.langchain_agent(remit, "desk", ran, middleware=keeps, interrupt=True)
        paused = await graph.ainvoke({"messages": ["refund"]}, config)
        assert paused["__interrupt__"][0].value["approval_id"] == "a1"
        assert not ran
        await graph.ainvoke(Command(resume=True), config)
        assert len(ran) == 1

    async def test_langgraph_resumed_too_early_tells_the_model(self, faulty):
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.types import Command

        server, ran = faulty(answer(200, ESCALATED)), []
        remit, config = Remit(server.url, KEY, **PATIENT), {"configurable": {"thread_id": "s1"}}
        keeps = {"checkpointer": InMemorySaver()}
        graph = scripted.langchain_agent(remit, "desk", ran, middleware=keeps, interrupt=True)
        await graph.ainvoke({"messages": ["refund"]}, config)
        said = await graph.ainvoke(Command(resume=True), config)
        assert "once it is approved" in said["messages"][-2].content
        assert not ran

    async def test_openai_agents_interrupts_and_resumes(self, faulty):
        from agents import Agent, RunConfig, Runner

        from remit_client.openai_agents import RemitGuardrail

        server, ran = faulty(answer(200, ESCALATED), answer(200, YES)), []
        tool = RemitGuardrail(Remit(server.url, KEY, **PATIENT), "desk").protect(scripted.openai_tool(ran))
        agent = Agent(name="a", model=scripted.openai_model(), tools=[tool])
        quiet = RunConfig(tracing_disabled=True)
        paused = await Runner.run(agent, "refund", run_config=quiet)
        assert not ran
        state = paused.to_state()
        state.approve(paused.interruptions[0])
        said = await Runner.run(agent, state, run_config=quiet)
        assert (said.final_output, len(ran)) == ("paid", 1)

    async def test_openai_agents_own_approval_does_not_outrank_remit(self, faulty):
        from agents import Agent, RunConfig, Runner

        from remit_client.openai_agents import RemitGuardrail

        server, ran = faulty(answer(200, ESCALATED)), []
        tool = RemitGuardrail(Remit(server.url, KEY, **PATIENT), "desk").protect(scripted.openai_tool(ran))
        agent = Agent(name="a", model=scripted.openai_model(), tools=[tool])
        quiet = RunConfig(tracing_disabled=True)
        state = (paused := await Runner.run(agent, "refund", run_config=quiet)).to_state()
        state.approve(paused.interruptions[0])
        said = await Runner.run(agent, state, run_config=quiet)
        assert "once it is approved" in said.final_output
        assert not ran

    async def test_pydantic_ai_defers_and_resumes(self, faulty):
        from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

        server, ran = faulty(answer(200, ESCALATED), answer(200, YES)), []
        agent = scripted.pydantic_agent(
            Remit(server.url, KEY, **PATIENT), "desk", ran, output_type=[str, DeferredToolRequests], defer=True
        )
        paused = await agent.run("refund")
        [call] = paused.output.approvals
        assert paused.output.metadata[call.tool_call_id]["approval_id"] == "a1"
        assert not ran
        results = DeferredToolResults(approvals={call.tool_call_id: True})
        said = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
        assert (said.output, len(ran)) == ("paid", 1)


async def test_fastmcp_hides_what_can_never_be_allowed(faulty):
    from fastmcp import Client

    tools = {"tools": [{"name": "refund_create", "status": "denied"}, {"name": "other", "status": "allowed"}]}
    server = scripted.fastmcp_server(Remit(faulty(answer(200, tools)).url, KEY, **PATIENT), "desk", [])
    async with Client(server) as client:
        assert await client.list_tools() == []


async def test_fastmcp_lists_all_where_the_service_cannot_say(remit, agent):
    from fastmcp import Client

    async with Client(scripted.fastmcp_server(remit, agent, [])) as client:
        assert [tool.name for tool in await client.list_tools()] == ["refund_create"]


TURNS = "Write to ann.\nAnd to ben."


async def langchain_talks(remit, ran, **options):
    """Two turns of the user, beside what a summary, another agent and the model said."""
    from langchain_core.messages import AIMessage, HumanMessage

    parts = [{"type": "text", "text": "And to ben."}, {"type": "image_url", "image_url": {"url": "data:,eve"}}]
    said = [
        HumanMessage("Summary: write to eve.", additional_kwargs={"lc_source": "summarization"}),
        HumanMessage("Write to ann."),
        AIMessage("And eve?"),
        HumanMessage("To eve, too.", name="planner"),
        HumanMessage(parts),
    ]
    await scripted.langchain_agent(remit, "desk", ran, **options).ainvoke({"messages": said})


async def openai_talks(remit, ran, protects=False, **options):
    """Two turns of the user, beside one of the model's."""
    from agents import Agent, RunConfig, Runner

    from remit_client.openai_agents import RemitGuardrail

    guard, tool = RemitGuardrail(remit, "desk", **options), scripted.openai_tool(ran)
    if protects:
        guard.protect(tool)
    else:
        tool.tool_input_guardrails = [guard]
    parts = [{"type": "input_text", "text": "And to ben."}, {"type": "input_image", "image_url": "data:,eve"}]
    said = [
        {"role": "user", "content": "Write to ann."},
        {"role": "assistant", "content": "And eve?"},
        {"role": "developer", "content": "Write to eve."},
        {"role": "user", "content": parts},
    ]
    agent = Agent(name="a", model=scripted.openai_model(), tools=[tool])
    await Runner.run(agent, said, run_config=RunConfig(tracing_disabled=True))


async def openai_protected_talks(remit, ran, **options):
    await openai_talks(remit, ran, protects=True, **options)


async def pydantic_talks(remit, ran, **options):
    """A prompt of several parts, after a message that looks like an earlier one."""
    from pydantic_ai import ImageUrl
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    history = [ModelRequest([UserPromptPart("Write to eve.")]), ModelResponse([TextPart("And eve?")])]
    prompt = ["Write to ann.", ImageUrl("https://eve.example/x.png"), "And to ben."]
    await scripted.pydantic_agent(remit, "desk", ran, **options).run(prompt, message_history=history)


@pytest.mark.parametrize(
    "talks", [langchain_talks, openai_talks, openai_protected_talks, pydantic_talks], ids=lambda one: one.__name__
)
async def test_what_the_user_said_is_sent_if_the_messages_are_the_users(talks, faulty):
    """And nothing of it otherwise: a sub-agent's "user" is a model."""
    for options, wanted in (({"user_request": True}, TURNS), ({}, None)):
        server, ran = faulty(answer(200, YES)), []
        await talks(Remit(server.url, KEY, **PATIENT), ran, **options)
        sent = json.loads(server.asked[0].partition(b"\r\n\r\n")[2]).get("context", {})
        assert (sent.get("request"), len(ran)) == (wanted, 1)


def test_of_the_users_turns_the_newest_texts_that_fit_are_sent():
    """32 KiB, which is what the service takes."""
    from remit_client.user_requests import MAX_BYTES, request_of

    assert request_of([None, {"text": "a"}, [{"type": "tool", "text": "b"}, {"type": "text", "text": 5}]]) == {}
    long = "x" * (MAX_BYTES - 5)
    assert request_of(["old", long, "new"]) == {"request": f"{long}\nnew"}
    assert request_of(["old", f"{long}x", "new"]) == {"request": "new"}
    assert request_of(["half a pair \ud83d"]) == {"request": "half a pair \ud83d"}  # the service refuses it


async def test_a_resumed_call_has_the_request_of_the_paused_one(faulty):
    """An approval is for a call with the same request."""
    from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

    server, ran = faulty(answer(200, ESCALATED), answer(200, YES)), []
    agent = scripted.pydantic_agent(
        Remit(server.url, KEY, **PATIENT),
        "desk",
        ran,
        output_type=[str, DeferredToolRequests],
        defer=True,
        user_request=True,
    )
    paused = await agent.run("Write to ann.")
    results = DeferredToolResults(approvals={paused.output.approvals[0].tool_call_id: True})
    await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
    first, second = (json.loads(one.partition(b"\r\n\r\n")[2])["context"]["request"] for one in server.asked[:2])
    assert (first, second, len(ran)) == ("Write to ann.", "Write to ann.", 1)
