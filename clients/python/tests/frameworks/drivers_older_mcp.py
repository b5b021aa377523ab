"""The drivers of the frameworks that need an older `mcp`."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

from crewai import Agent as CrewAgent
from crewai import BaseLLM, Crew, Task
from crewai.tools import tool as crew_tool
from driver import NAME, Driver
from strands import Agent, ToolContext, tool
from strands.models import Model
from strands.session import FileSessionManager

from remit_client.crewai import RemitTool
from remit_client.strands import RemitHook


class StrandsModel(Model):
    """Makes the calls of one answer after the other since the user has said something."""

    def __init__(self, calls):
        self._calls = calls

    def get_config(self):
        return {}

    def update_config(self, **config):
        raise NotImplementedError

    async def structured_output(self, *args, **kwargs):
        raise NotImplementedError
        yield

    async def stream(self, messages, *args, **kwargs):
        begun = max(n for n, each in enumerate(messages) if each["role"] == "user" and "text" in each["content"][0])
        turn = sum(each["role"] == "assistant" for each in messages[begun:])
        asked = self._calls[turn] if turn < len(self._calls) else []
        yield {"messageStart": {"role": "assistant"}}
        for call, arguments in asked:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": NAME, "toolUseId": call}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        if not asked:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if asked else "end_turn"}}


class Strands(Driver):
    """A tool pauses with interrupts of its own, each of which is answered by its name. Sessions are files.

    What it does for `invoke_async` is `stream_async`, read to the end.
    """

    KEPT = ()
    CANNOT: ClassVar = {
        "other arguments than were approved are another call": "a pause is resumed with an answer only",
        "arguments that were edited at the pause are judged": "a pause is resumed with an answer only",
    }

    def __init__(self, *args):
        self._temporary = tempfile.TemporaryDirectory()
        self._folder = Path(self._temporary.name)
        super().__init__(*args)

    def keep_in(self, folder):
        self._folder = Path(folder)

    def _make(self, remit):
        other = self._agent_that(remit, 0) if self._delegates else None
        self._desk = self._agent_that(
            remit, self._pauses, other, session_manager=FileSessionManager("s1", str(self._folder / "now"))
        )

    def _agent_that(self, remit, pauses, other=None, **keeps):
        @tool(context=True)
        async def refund_create(amount: int, tool_context: ToolContext) -> str:
            """Pay back."""
            for n in range(pauses):
                if tool_context.interrupt(f"really? {n}") != "yes":
                    return "the user said no"
            if other is not None:
                await other.invoke_async("refund")
            self.ran.append(amount)
            return "paid"

        hooks = [RemitHook(remit, self.agent, interrupt=True)]
        return Agent(StrandsModel(self.calls), tools=[refund_create], hooks=hooks, callback_handler=None, **keeps)

    async def start(self):
        await self._go("refund")

    @property
    def _waiting(self):
        return [each for each in self._desk._interrupt_state.interrupts.values() if each.response is None]

    async def resume(self, answer="yes"):
        await self._go([{"interruptResponse": {"interruptId": each.id, "response": answer}} for each in self._waiting])

    async def refuse(self):
        await self.resume("no")

    async def again(self):
        now = self._folder / "now"
        shutil.rmtree(now)
        self._before.rename(now)
        self.restart()
        await self._go(self._prompt)

    async def _go(self, prompt):
        self._before, self._prompt = self._folder / "before", prompt
        shutil.rmtree(self._before, ignore_errors=True)
        shutil.copytree(self._folder / "now", self._before)
        await self._desk.invoke_async(prompt)
        results = [
            block["toolResult"] for each in self._desk.messages for block in each["content"] if "toolResult" in block
        ]
        self.said = results[-1]["content"][0]["text"] if results else ""


class CrewModel(BaseLLM):
    """Makes the calls of one answer after the other, by the model's own means or, with `native=False`, in its text.

    read: what it has read of its last call.
    """

    def __init__(self, calls, native=True):
        super().__init__(model="scripted")
        self._calls, self._native, self.read = list(calls), native, ""

    def supports_function_calling(self):
        return self._native

    def call(self, messages, *args, **kwargs):
        results = [
            each["content"] for each in messages if each["role"] == "tool" or "Observation:" in str(each["content"])
        ]
        self.read = str(results[-1]) if results else ""
        asked = self._calls.pop(0) if self._calls else []
        if self._native and asked:
            return [
                {"id": call, "type": "function", "function": {"name": NAME, "arguments": json.dumps(arguments)}}
                for call, arguments in asked
            ]
        if asked:
            return f"Thought: pay\nAction: {NAME}\nAction Input: {json.dumps(asked[0][1])}"
        return "done" if self._native else "Thought: I now know the final answer\nFinal Answer: done"


def crew_of(model, tools):
    desk = CrewAgent(role="desk", goal="refund", backstory="a desk", llm=model, tools=tools)
    return Crew(agents=[desk], tasks=[Task(description="refund", expected_output="a word", agent=desk)], cache=True)


class CrewAI(Driver):
    """A tool neither pauses nor learns which call it runs for."""

    COMES_BACK = False

    def _make(self, remit):
        other = self._tool_that(remit) if self._delegates else None
        self._tool = self._tool_that(remit, other)

    def _tool_that(self, remit, other=None):
        @crew_tool(NAME)
        def refund_create(amount: int) -> str:
            """Pay back."""
            if other is not None:
                crew_of(CrewModel(self.calls), [other]).kickoff()
            self.ran.append(amount)
            return "paid"

        return RemitTool(refund_create, remit, self.agent)

    async def start(self):
        model = CrewModel(self.calls)
        await crew_of(model, [self._tool]).kickoff_async()
        self.said = model.read


DRIVERS = [Strands, CrewAI]
