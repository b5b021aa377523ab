"""Claude Agent SDK: a PreToolUse hook for every call, and `can_use_tool` for calls that would prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from claude_agent_sdk.types import CanUseTool

from remit_client import AsyncRemit, Remit
from remit_client.errors import for_agent
from remit_client.gate import Framework, Options, Run, ToolCall, Waits, async_gate

if TYPE_CHECKING:
    from typing_extensions import Unpack

HOOK_S = 60.0


def remit_hooks(
    remit: Remit | AsyncRemit,
    agent: str,
    *,
    allowed: Literal["continue", "allow"] = "continue",
    pending: Literal["deny", "ask"] = "deny",
    **options: Unpack[Options],
) -> dict[Literal["PreToolUse"], list[HookMatcher]]:
    """For `ClaudeAgentOptions(hooks=…)`: a tool of any kind runs only if Remit allows the call.

    allowed: after Remit allows a call, ask the SDK's own permissions, too ("continue"), or run the tool ("allow").
    pending: if a call needs a person's approval in Remit, deny it for now ("deny") or let the SDK prompt ("ask").
    If anything goes wrong, the call is denied, with a message that says what to do.
    """
    gate = async_gate(remit, agent, **options)

    async def before_tool(event: Any, _call_id: str | None, _context: Any) -> Any:
        try:
            session = {"session": event["session_id"]}
            verdict = await gate.judge(ToolCall(event["tool_name"], event["tool_input"], session))
        except Exception as error:  # noqa: BLE001 - if a hook raises, the SDK continues
            return _answer("deny", for_agent(error))
        if not isinstance(verdict, Run):
            return _answer(pending if isinstance(verdict, Waits) else "deny", verdict.text)
        return _answer("allow", "Allowed by Remit") if allowed == "allow" else {}

    # Without this option, the tool runs if a hook does not answer in time. SDKs before 0.2.177 lack it.
    fails: Any = {"on_failure": "block"} if "on_failure" in HookMatcher.__dataclass_fields__ else {}
    return {"PreToolUse": [HookMatcher(hooks=[before_tool], timeout=HOOK_S + options.get("wait", 0.0), **fails)]}


def can_use_tool(remit: Remit | AsyncRemit, agent: str, **options: Unpack[Options]) -> CanUseTool:
    """For `ClaudeAgentOptions(can_use_tool=…)`, which the SDK calls only when it would otherwise prompt."""
    gate = async_gate(remit, agent, Framework(goes_on=True), **options)

    async def decide(
        tool: str, parameters: dict[str, Any], _context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        verdict = await gate.judge(ToolCall(tool, parameters))
        return PermissionResultAllow() if isinstance(verdict, Run) else PermissionResultDeny(message=verdict.text)

    return decide


def _answer(decision: str, reason: str) -> dict[str, Any]:
    said = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": said}
