"""Microsoft Agent Framework: a function middleware that asks before each tool call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from agent_framework import (
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    MiddlewareFailure,
    MiddlewareTermination,
)
from agent_framework.exceptions import UserInputRequiredException

from remit_client import AsyncRemit, Remit, RemitError
from remit_client.gate import Framework, Options, Run, ToolCall, Waits, async_gate

if TYPE_CHECKING:
    from typing_extensions import Unpack

FRAMEWORK = Framework(pauses=(UserInputRequiredException, MiddlewareTermination))


class RemitMiddleware(FunctionMiddleware):
    """A tool runs only if Remit allows the call; otherwise the model is told why not. Make it the last middleware.

    request_approval: a call that a person must approve ends the run with the framework's approval request, which has
    the approval's id as an additional property. Answer it once the approval is decided, in the same session. Without
    it, the model is told to repeat the call later.
    If there is no decision, the run ends with MiddlewareFailure, whose cause is the RemitError, and the tool has not
    run.
    """

    def __init__(
        self, remit: Remit | AsyncRemit, agent: str, *, request_approval: bool = False, **options: Unpack[Options]
    ) -> None:
        self._gate = async_gate(remit, agent, FRAMEWORK, **options)
        self._requests = request_approval

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the tool with the arguments that were judged, or make the result why not."""
        occurrence = str(context.metadata.get("function_call_occurrence_id"))
        call = ToolCall(
            context.function.name,
            dict(context.arguments),
            context={"session": context.session and context.session.session_id},
            # Made by the framework for each occurrence of a call, and kept. One of a model's server is not used.
            place=(occurrence,) if occurrence.startswith("af-call-") else None,
            resumable=lambda: "approval_response" in context.metadata,
        )
        try:
            verdict = await self._gate.judge(call)
        except (RemitError, TypeError) as error:  # other exceptions would be the tool's, and the run would go on
            raise MiddlewareFailure(str(error)) from error
        if isinstance(verdict, Waits) and self._requests and "approval_response" not in context.metadata:
            context.result = _request(context, verdict)
            raise MiddlewareTermination(verdict.message)
        if not isinstance(verdict, Run):
            context.result = verdict.text
            return

        async def run(judged: dict[str, Any]) -> Any:
            context.arguments = judged
            await call_next()
            return context.result

        await self._gate.run(verdict, run)


def _request(context: FunctionInvocationContext, waits: Waits) -> Content:
    call_id = context.metadata["call_id"]
    occurrence = context.metadata.get("function_call_occurrence_id", call_id)
    call = Content.from_function_call(call_id, context.function.name, arguments=dict(context.arguments), id=occurrence)
    said = {"approval_id": waits.approval_id, "message": waits.message}
    return Content.from_function_approval_request(occurrence, call, additional_properties=said)
