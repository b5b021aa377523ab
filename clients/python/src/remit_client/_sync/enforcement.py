# Written by unasync.py from _async/enforcement.py; change that.
"""Enforces decisions on an agent's tools: the core of the guard and of every adapter."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from remit_client.arguments import frozen
from remit_client.errors import ApprovalPending, Denied, NotAnOutage, RemitError, Unavailable
from remit_client.models import Decision, Json
from remit_client.wire import encode

if TYPE_CHECKING:
    from remit_client._sync.client import Remit

Context = Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None
ToolName = Mapping[str, str] | Callable[[str], str] | None
OnUnavailable = Literal["deny", "allow"]
LARGE_BYTES = 64 * 1024
SETTLED = ("approved", "consumed")
logger = logging.getLogger("remit_client")


class Enforcer:
    """Lets those calls of one agent through that Remit allows, and raises for all others.

    context: what the caller vouches for. If it is a function, it is called for every decision.
    wait: seconds an escalated call waits for a person.
    on_unavailable: with "allow", calls of up to 64 KiB go through without a decision during an outage, each with a
    warning. What the agent itself can cause is no outage (`NotAnOutage`).
    tool_name: from the framework's names of tools to those in policies; a mapping leaves others as they are.
    """

    def __init__(
        self,
        remit: Remit,
        agent: str,
        *,
        context: Context = None,
        wait: float = 0.0,
        on_unavailable: OnUnavailable = "deny",
        report_outcome: bool = False,
        tool_name: ToolName = None,
    ) -> None:
        if on_unavailable not in ("deny", "allow"):
            raise ValueError('on_unavailable must be "deny" or "allow"')
        self.remit = remit
        self.agent = agent
        self.reports_outcome = report_outcome
        self._context = context
        self._wait = wait
        self._on_unavailable = on_unavailable
        self._tool_name = tool_name

    def policy_name(self, tool: str) -> str:
        """The name that policies have for a tool."""
        return self._tool_name(tool) if callable(self._tool_name) else (self._tool_name or {}).get(tool, tool)

    def check(self, tool: str, parameters: Json, context: Json | None = None) -> Decision:
        """The decision that allows this call. Raises Denied, ApprovalPending or another RemitError: do not run it.

        context: for this call only, such as {"session": …}. The enforcer's own context takes precedence.
        """
        tool, parameters = self.policy_name(tool), frozen(parameters)
        given = self._context() if callable(self._context) else self._context
        vouched = {**(context or {}), **(given or {})}
        try:
            decision = self.remit.authorize(self.agent, tool, parameters, context=vouched or None)
        except Unavailable as error:
            if self._on_unavailable != "allow" or isinstance(error, NotAnOutage):
                raise
            if len(encode([tool, parameters]) or b"") > LARGE_BYTES:
                raise NotAnOutage(f"{error} A call this large may itself be the cause.") from error
            logger.warning('%s The tool "%s" runs without a decision: on_unavailable="allow".', error, tool)
            return Decision("", allowed=True, result="unavailable", reason=str(error))
        if decision.result == "escalated":
            decision = self._ask_a_person(tool, parameters, vouched, decision)
        if not decision.allowed:
            raise Denied(tool, decision)
        return decision

    def report(self, decision: Decision, status: str) -> None:
        """Report the outcome of the call if `report_outcome` is on. If that fails, it is only logged."""
        if not (self.reports_outcome and decision.id):
            return
        try:
            self.remit.report_outcome(decision, status)
        except RemitError as error:
            logger.warning("The outcome of decision %s was not reported: %s", decision.id, error)

    def _ask_a_person(self, tool: str, parameters: Json, context: Json, decision: Decision) -> Decision:
        """The decision after a person has approved the call. Raises Denied or ApprovalPending."""
        until = time.monotonic() + self._wait
        asked = None
        while decision.result == "escalated":
            left = until - time.monotonic()
            if decision.approval is None or left <= 0 or decision.approval.id == asked:
                raise ApprovalPending(tool, decision)
            asked = decision.approval.id
            try:
                approval = self.remit.approval(asked, wait=left)
            except RemitError as error:
                raise ApprovalPending(tool, decision) from error
            if approval.status == "pending":
                raise ApprovalPending(tool, decision)
            if approval.status not in SETTLED:
                raise Denied(tool, decision, approval)
            # Send the same request again: the approval covers only this call, and policies may have changed.
            decision = self.remit.authorize(self.agent, tool, parameters, context=context or None)
        return decision
