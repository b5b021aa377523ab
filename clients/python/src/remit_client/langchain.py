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
from remit_client.gate import Options, Place, Refused, Run, Waits, async_gate, gate
from remit_client.user_requests import request_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Answer = ToolMessage | Command[Any]
MARK = "remit: paused"


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
        self,
        remit: Remit | AsyncRemit,
        agent: str,
        *,
        interrupt: bool = False,
        user_request: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__()
        self._gate = gate(remit, agent, **options)
        self._async_gate = async_gate(remit, agent, **options)
        self._interrupts = interrupt
        self._has_user = user_request

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        """The tool's answer, or why it was not called."""
        was_paused, call = self._was_paused(request), request.tool_call
        verdict = self._gate.judge(call["name"], call["args"], self._vouched(request), _place(request))
        if not isinstance(verdict, Run):
            return self._refused(request, verdict, was_paused=was_paused)
        ran: Answer = self._gate.run(verdict, lambda judged: handler(_with(request, judged)), **_outcome(request))
        return ran

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """As `wrap_tool_call`, with `await`."""
        was_paused, call = self._was_paused(request), request.tool_call
        verdict = await self._async_gate.judge(call["name"], call["args"], self._vouched(request), _place(request))
        if not isinstance(verdict, Run):
            return self._refused(request, verdict, was_paused=was_paused)
        return await self._async_gate.run(verdict, lambda judged: handler(_with(request, judged)), **_outcome(request))

    def _vouched(self, request: ToolCallRequest) -> dict[str, str]:
        return _session(request) | (_request(request) if self._has_user else {})

    def _was_paused(self, request: ToolCallRequest) -> bool:
        return self._interrupts and _takes_answer(_configurable(request))

    def _refused(self, request: ToolCallRequest, verdict: Refused | Waits, *, was_paused: bool) -> ToolMessage:
        call = request.tool_call
        if self._interrupts and not was_paused and isinstance(verdict, Waits):
            value = {"approval_id": verdict.approval_id, "tool": verdict.tool, "message": verdict.message}
            _pause(_configurable(request), value)
        return ToolMessage(verdict.text, tool_call_id=call["id"], name=call["name"], status="error")


def _with(request: ToolCallRequest, judged: dict[str, Any]) -> ToolCallRequest:
    """The request with the arguments that were judged, which nobody else can change."""
    return request.override(tool_call={**request.tool_call, "args": judged})


def _outcome(request: ToolCallRequest) -> dict[str, Any]:
    """How a gate tells what became of the call."""
    pad = _configurable(request).get("__pregel_scratchpad")
    return {
        "pauses": (GraphBubbleUp,),
        "has_failed": lambda answer: isinstance(answer, ToolMessage) and answer.status == "error",
        "resumable": lambda: bool(pad and pad.resume),
    }


def _place(request: ToolCallRequest) -> Place:
    """The task, which is the same when it is resumed, and the call's id, unless the message has it twice.

    Without a checkpointer, no graph is resumed.
    """
    conf, call_id = _configurable(request), request.tool_call["id"]
    task = conf.get("__pregel_task_id")
    last = next((each for each in reversed(_messages(request)) if getattr(each, "type", "") == "ai"), None)
    ids = [call["id"] for call in getattr(last, "tool_calls", ())]
    return (task, call_id) if task and conf.get("__pregel_checkpointer") and ids.count(call_id) == 1 else None


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


def _config(request: ToolCallRequest) -> Any:
    return getattr(request.runtime, "config", None) or {}


def _configurable(request: ToolCallRequest) -> dict[str, Any]:
    return _config(request).get("configurable") or {}


def _session(request: ToolCallRequest) -> dict[str, str]:
    session = _configurable(request).get("thread_id") or _config(request).get("run_id")
    return {"session": str(session)} if session else {}


def _request(request: ToolCallRequest) -> dict[str, str]:
    """The human messages, except those that a middleware wrote, such as a summary, or that are an agent's by name."""
    human = (each for each in _messages(request) if getattr(each, "type", "") == "human" and not each.name)
    return request_of(each.content for each in human if "lc_source" not in each.additional_kwargs)


def _messages(request: ToolCallRequest) -> list[Any]:
    state: Any = request.state
    return list((state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)) or ())
