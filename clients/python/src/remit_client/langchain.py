"""LangChain and LangGraph: a middleware that asks before each tool call."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, interrupt

from remit_client import AsyncRemit, Remit
from remit_client.gate import Framework, Refused, ToolCall, UserOptions, Waits, gates

if TYPE_CHECKING:
    from typing_extensions import Unpack

Answer = ToolMessage | Command[Any]
MARK = "remit: paused"
LANGGRAPH = Framework(
    pauses=(GraphBubbleUp,), has_failed=lambda answer: isinstance(answer, ToolMessage) and answer.status == "error"
)


class RemitMiddleware(AgentMiddleware[Any, Any]):
    """A tool runs only if Remit allows the call; otherwise the model is told why not.

    interrupt: a call that a person must approve pauses the graph (LangGraph's `interrupt`), whose value has the
    approval's id. Resume it once the approval is decided; the tool's own interrupts get answers of their own. Without
    `interrupt`, the model is told to repeat the call later.
    user_request: the human messages are the user's own, and are sent as `context.request`. Leave it out for an agent
    that another agent talks to, or that a schedule starts: then a model or a program has written them.
    If there is no decision, the run ends with the RemitError, and the tool has not run.
    """

    def __init__(
        self, remit: Remit | AsyncRemit, agent: str, *, interrupt: bool = False, **options: Unpack[UserOptions]
    ) -> None:
        super().__init__()
        self._gate, self._async_gate = gates(remit, agent, LANGGRAPH, **options)
        self._interrupts = interrupt

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        """The tool's answer, or why it was not called."""
        otherwise = self._otherwise(request)
        return self._gate.answer(_call(request), lambda judged: handler(_with(request, judged)), otherwise)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """As `wrap_tool_call`, with `await`."""
        otherwise = self._otherwise(request)
        return await self._async_gate.answer(_call(request), lambda judged: handler(_with(request, judged)), otherwise)

    def _otherwise(self, request: ToolCallRequest) -> Callable[[Refused | Waits], Answer]:
        """What is done if the call is not allowed. If its last pause was Remit's, the answer to it is taken."""
        conf, call = _configurable(request), request.tool_call
        was_paused = self._interrupts and _takes_answer(conf)

        def refuse(verdict: Refused | Waits) -> ToolMessage:
            if self._interrupts and not was_paused and isinstance(verdict, Waits):
                _pause(conf, {"approval_id": verdict.approval_id, "tool": verdict.tool, "message": verdict.message})
            return ToolMessage(verdict.text, tool_call_id=call["id"], name=call["name"], status="error")

        return refuse


def _call(request: ToolCallRequest) -> ToolCall:
    """The human messages are the user's, except those that a middleware wrote, such as a summary, or an agent by name.

    The task is the same when it is resumed. Without a checkpointer, no graph is resumed.
    """
    conf, state, call = _configurable(request), request.state, request.tool_call
    messages = (state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)) or ()
    human = (each for each in messages if getattr(each, "type", "") == "human" and not each.name)
    answers = (each.tool_calls for each in reversed(messages) if getattr(each, "type", "") == "ai")
    ids = [each["id"] for each in next(answers, ())]
    task, pad = conf.get("__pregel_task_id"), conf.get("__pregel_scratchpad")
    is_named = task and conf.get("__pregel_checkpointer") and ids.count(call["id"]) == 1
    return ToolCall(
        call["name"],
        call["args"],
        context={"session": str(conf.get("thread_id") or _config(request).get("run_id") or "")},
        turns=(each.content for each in human if "lc_source" not in each.additional_kwargs),
        place=(task, call["id"]) if is_named else None,
        resumable=lambda: bool(pad and pad.resume),
    )


def _with(request: ToolCallRequest, judged: dict[str, Any]) -> ToolCallRequest:
    """The request with the arguments that were judged, which nobody else can change."""
    return request.override(tool_call={**request.tool_call, "args": judged})


def _config(request: ToolCallRequest) -> Any:
    return getattr(request.runtime, "config", None) or {}


def _configurable(request: ToolCallRequest) -> dict[str, Any]:
    return _config(request).get("configurable") or {}


# A graph that is resumed runs its task again from the beginning, and gives the answers so far to the task's interrupts
# in their order. Once Remit allows a call, it does not interrupt any more, so the tool would get the answer to Remit's
# pause as the answer to its own first question. So a pause of Remit is two entries: a mark, and the answer.


def _pause(conf: dict[str, Any], value: dict[str, Any]) -> None:
    """Pauses the graph, and marks the pause as Remit's. Does nothing where the tool already has an answer."""
    pad = conf["__pregel_scratchpad"]
    if pad.interrupt_counter() == len(pad.resume):
        pad.resume.append({MARK: value})
        conf["__pregel_send"]([("__resume__", pad.resume)])  # kept in the checkpoint with the pause
        interrupt(value)


def _takes_answer(conf: dict[str, Any]) -> bool:
    """Whether the next pause of this task was Remit's. Its answer is taken; without one, the graph pauses again."""
    pad = conf["__pregel_scratchpad"]
    place = pad.interrupt_counter()
    mark = pad.resume[place] if place < len(pad.resume) else None
    if isinstance(mark, dict) and MARK in mark:
        interrupt(mark[MARK])
        return True
    pad.interrupt_counter._counter = itertools.count(place).__next__  # noqa: SLF001 - the tool's own is the next one
    return False
