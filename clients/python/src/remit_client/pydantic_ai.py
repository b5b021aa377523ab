"""pydantic-ai: a toolset that wraps another and asks before each call."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from remit_client import ApprovalPending, AsyncRemit, NotAllowed, Remit
from remit_client.enforcement import Options, async_enforcer

if TYPE_CHECKING:
    from typing_extensions import Unpack


class RemitToolset(WrapperToolset[Any]):
    """A tool of `wrapped` runs only if Remit allows the call; otherwise the model is told why not.

    defer: a call that a person must approve ends the run with DeferredToolRequests (add it to `output_type`), which
    hold the approval's id as metadata. Without it, the model is told to repeat the call later.
    If there is no decision, the run ends with the RemitError, and the tool has not run.
    """

    def __init__(
        self,
        wrapped: AbstractToolset[Any],
        remit: Remit | AsyncRemit,
        agent: str,
        *,
        defer: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(wrapped)
        self._enforcer = async_enforcer(remit, agent, **options)
        self._defers = defer

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """The tool's answer. Raises ToolFailed, which the model reads, or ApprovalRequired if `defer` is set."""
        tool_args = copy.deepcopy(tool_args)
        session = getattr(ctx, "conversation_id", None) or ctx.run_id
        try:
            await self._enforcer.check(name, tool_args, {"session": session} if session else {})
        except ApprovalPending as pending:
            if self._defers and not ctx.tool_call_approved:
                raise ApprovalRequired({"approval_id": pending.approval_id, "message": str(pending)}) from pending
            raise ToolFailed(pending.for_agent()) from pending
        except NotAllowed as refusal:
            raise ToolFailed(refusal.for_agent()) from refusal
        return await self.wrapped.call_tool(name, tool_args, ctx, tool)
