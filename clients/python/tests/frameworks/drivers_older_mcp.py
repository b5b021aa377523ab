"""The drivers of the frameworks that need an older `mcp`."""

from __future__ import annotations

import json
import tempfile
from typing import ClassVar

from driver import NAME, Driver
from strands import Agent, ToolContext, tool
from strands.models import Model
from strands.session import FileSessionManager

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
    """A tool pauses with interrupts of its own, each of which is answered by its name. Sessions are files."""

    CANNOT: ClassVar = {"other arguments than were approved are another call": "a pause is resumed with an answer only"}

    def __init__(self, *args):
        self._folder = tempfile.TemporaryDirectory()
        super().__init__(*args)

    def _make(self, remit):
        @tool(context=True)
        def refund_create(amount: int, tool_context: ToolContext) -> str:
            """Pay back."""
            for n in range(self._pauses):
                if tool_context.interrupt(f"really? {n}") != "yes":
                    return "the user said no"
            self.ran.append(amount)
            return "paid"

        calls = [[(call, {"amount": amount}) for call, amount in each] for each in self._calls]
        self._desk = Agent(
            StrandsModel(calls),
            tools=[refund_create],
            hooks=[RemitHook(remit, self._agent, interrupt=True)],
            session_manager=FileSessionManager("s1", self._folder.name),
            callback_handler=None,
        )

    async def start(self):
        await self._go("refund")

    async def resume(self, answer="yes"):
        waiting = [each for each in self._desk._interrupt_state.interrupts.values() if each.response is None]
        await self._go([{"interruptResponse": {"interruptId": each.id, "response": answer}} for each in waiting])

    async def refuse(self):
        await self.resume("no")

    async def _go(self, prompt):
        await self._desk.invoke_async(prompt)
        results = [
            block["toolResult"] for each in self._desk.messages for block in each["content"] if "toolResult" in block
        ]
        self.said = results[-1]["content"][0]["text"] if results else ""


DRIVERS = [Strands]
