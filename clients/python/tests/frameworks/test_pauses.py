"""Where Remit and the tool itself pause a run, each gets the answer to its own question."""

from importlib.util import find_spec

import pytest
from cases import PATIENT, YES
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from service import answer
from test_adapters import ESCALATED, KEY

from remit_client import Remit
from remit_client.langchain import RemitMiddleware

THREAD = {"configurable": {"thread_id": "s1"}}
ASKS, ALLOWS = answer(200, ESCALATED), answer(200, YES)


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **kwargs):
        return self


class TriesTwice(AgentMiddleware):
    """Repeats a tool that fails."""

    def wrap_tool_call(self, request, handler):
        try:
            return handler(request)
        except OSError:
            return handler(request)

    async def awrap_tool_call(self, request, handler):
        try:
            return await handler(request)
        except OSError:
            return await handler(request)


class Graph:
    """An agent whose model calls a tool once, or as often as `ids` says. The tool asks "really?" and keeps the answer.

    ran: what the tool was answered. asked: the values of the pauses that wait.
    """

    def __init__(self, url, ids=("c1",), outside=()):
        self.ran, self.asked, self.fails = [], [], 0

        @tool
        def refund_create(amount: int) -> str:
            """Pay back."""
            really = interrupt("really?")
            if self.fails:
                self.fails -= 1
                raise OSError("the bank is away")
            self.ran.append(really)
            return "paid"

        calls = [{"name": "refund_create", "args": {"amount": 1}, "id": each} for each in ids]
        guard = RemitMiddleware(Remit(url, KEY, **PATIENT), "desk", interrupt=True)
        model = Scripted(messages=iter([AIMessage("", tool_calls=calls), AIMessage("done")]))
        self._agent = create_agent(model, [refund_create], middleware=[*outside, guard], checkpointer=InMemorySaver())

    async def go(self, given, asynchronous):
        if asynchronous:
            said = await self._agent.ainvoke(given, THREAD)
        else:
            said = self._agent.invoke(given, THREAD)
        self.pauses = said.get("__interrupt__", ())
        self.asked = [each.value if isinstance(each.value, str) else "Remit" for each in self.pauses]
        return said["messages"][-2].content if not self.pauses else None


BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


@BOTH
async def test_the_answer_to_remits_pause_is_not_the_tools(faulty, asynchronous):
    """The tool's own question is asked after it, and another yes answers it."""
    graph = Graph(faulty(ASKS, ALLOWS).url)
    await graph.go({"messages": ["refund"]}, asynchronous)
    assert graph.asked == ["Remit"]
    await graph.go(Command(resume="for Remit"), asynchronous)
    assert (graph.asked, graph.ran) == (["really?"], [])
    await graph.go(Command(resume="for the tool"), asynchronous)
    assert (graph.asked, graph.ran) == ([], ["for the tool"])


@BOTH
async def test_the_answers_are_told_apart_by_the_ids_of_the_pauses(faulty, asynchronous):
    graph = Graph(faulty(ASKS, ALLOWS).url)
    await graph.go({"messages": ["refund"]}, asynchronous)
    for word in ("for Remit", "for the tool"):
        await graph.go(Command(resume={graph.pauses[0].id: word}), asynchronous)
    assert (graph.asked, graph.ran) == ([], ["for the tool"])


@BOTH
async def test_where_remit_does_not_pause_the_tool_gets_its_answer(faulty, asynchronous):
    graph = Graph(faulty(ALLOWS).url)
    await graph.go({"messages": ["refund"]}, asynchronous)
    assert graph.asked == ["really?"]
    await graph.go(Command(resume="for the tool"), asynchronous)
    assert graph.ran == ["for the tool"]


@BOTH
async def test_where_remit_asks_only_after_the_tool_has_an_answer_nothing_runs(faulty, asynchronous):
    """Policies may change between two legs. The answer was to the tool, so it pauses nothing and allows nothing."""
    graph = Graph(faulty(ALLOWS, ASKS).url)
    await graph.go({"messages": ["refund"]}, asynchronous)
    said = await graph.go(Command(resume="for the tool"), asynchronous)
    assert "once it is approved" in said
    assert graph.ran == []


@BOTH
async def test_of_two_calls_that_wait_one_is_answered_and_the_other_still_waits(faulty, asynchronous):
    graph = Graph(faulty(ASKS, ASKS, ALLOWS).url, ids=("c1", "c2"))
    await graph.go({"messages": ["refund"]}, asynchronous)
    first, second = (each.id for each in graph.pauses)
    assert graph.asked == ["Remit", "Remit"]
    await graph.go(Command(resume={first: "for Remit"}), asynchronous)
    assert (sorted(graph.asked), graph.ran) == (["Remit", "really?"], [])
    if find_spec("langgraph.pregel._task_status"):  # older versions do not count a task that was answered before
        with pytest.raises(RuntimeError, match="specify the interrupt id"):
            await graph.go(Command(resume="for whom?"), asynchronous)
    await graph.go(Command(resume={second: "for Remit"}), asynchronous)
    assert (graph.asked, graph.ran) == (["really?", "really?"], [])
    await graph.go(Command(resume={each.id: "for the tool" for each in graph.pauses}), asynchronous)
    assert (graph.asked, graph.ran) == ([], ["for the tool"] * 2)


@BOTH
async def test_a_call_that_is_tried_again_keeps_the_answers(faulty, asynchronous):
    """A middleware outside Remit's repeats a tool that fails, in the run that was resumed."""
    graph = Graph(faulty(ASKS, ALLOWS).url, outside=[TriesTwice()])
    graph.fails = 1
    await graph.go({"messages": ["refund"]}, asynchronous)
    await graph.go(Command(resume="for Remit"), asynchronous)
    await graph.go(Command(resume="for the tool"), asynchronous)
    assert (graph.asked, graph.ran, graph.fails) == (["really?"], [], 0)
    await graph.go(Command(resume="for the second try"), asynchronous)
    assert (graph.asked, graph.ran) == ([], ["for the tool"])
