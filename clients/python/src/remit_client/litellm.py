"""LiteLLM: a guardrail of its gateway that asks before each call of an MCP tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks

from remit_client import AsyncRemit, Remit
from remit_client.gate import Framework, Options, Run, ToolCall, async_gate

if TYPE_CHECKING:
    from litellm.proxy._types import UserAPIKeyAuth

ON_CALLS = GuardrailEventHooks.pre_mcp_call
LISTS = "list_mcp_tools"
OWN = {"event_hook": ON_CALLS, "default_on": True, "run_in_parallel": False, "scan_raw_request": False}
"""Whatever the configuration says: for each call, on the arguments that earlier guardrails have left."""


class RemitGuardrail(CustomGuardrail):
    """A call of an MCP tool passes only if Remit allows it; otherwise the caller reads why not.

    Name it in the gateway's configuration, or subclass it to find agents in another way. It judges every call: no
    request and no key can turn it off. If there is no decision, the call does not pass.
    remit: the client; by default one of REMIT_URL and REMIT_API_KEY.
    agent: the agent of all calls, by its id or alias. By default it is the alias of the key, else that of its team.
    options: those of every adapter, and LiteLLM's own.
    """

    def __init__(self, remit: Remit | None = None, agent: str | None = None, **options: Any) -> None:
        self._options = {name: options.pop(name) for name in Options.__annotations__.keys() & options.keys()}
        super().__init__(**{**options, **OWN})
        self._remit = AsyncRemit() if remit is None else AsyncRemit.of(remit)
        self._agent = agent

    def should_run_guardrail(self, data: Any, event_type: GuardrailEventHooks) -> bool:  # noqa: ARG002 - LiteLLM's
        """True for each call of a tool, whatever the request asks for."""
        return event_type is ON_CALLS

    async def async_pre_call_hook(
        self,
        user_api_key_dict: UserAPIKeyAuth,
        cache: Any,  # noqa: ARG002 - LiteLLM's
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """The request, with the arguments that were judged. Raises GuardrailRaisedException, which the caller reads.

        LiteLLM also asks about each tool that it lists, as about a call without arguments, which is none.
        """
        if call_type == LISTS:
            return data
        agent = self.agent_of(user_api_key_dict)
        if not agent:
            raise _refusal("It was not run: neither the key nor its team has an alias that names an agent.")
        arguments = data.get("modified_arguments") or data["mcp_arguments"] or {}
        call = ToolCall(self.tool_of(data), arguments, self.context_of(user_api_key_dict))
        verdict = await async_gate(self._remit, agent, Framework(goes_on=True), **self._options).judge(call)
        if not isinstance(verdict, Run):
            raise _refusal(verdict.text) from verdict.cause
        return {**data, "modified_arguments": verdict.arguments}

    def agent_of(self, key: UserAPIKeyAuth) -> str | None:
        """The agent whose call it is. None: nobody's, so the call does not pass."""
        return self._agent or key.key_alias or key.team_alias

    def tool_of(self, data: Mapping[str, Any]) -> str:
        """The name that policies have for the tool: that of its server, a dot, and its own."""
        server, tool = data.get("mcp_server_name"), data["mcp_tool_name"]
        return f"{server}.{tool}" if server else str(tool)

    def context_of(self, key: UserAPIKeyAuth) -> dict[str, str | None]:
        """What the gateway vouches for: the user of the key, as `context.user`, if it has one."""
        return {"user": key.user_id}


def _refusal(why: str) -> GuardrailRaisedException:
    return GuardrailRaisedException("remit", why, should_wrap_with_default_message=False)
