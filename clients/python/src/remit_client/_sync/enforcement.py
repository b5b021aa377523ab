# Written by unasync.py from _async/enforcement.py; change that.
"""Enforces decisions on an agent's tools: the core of the guard and of every adapter."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from remit_client.arguments import frozen
from remit_client.errors import ApprovalPending, Denied, NotAnOutage, Refused, RemitError, Unavailable
from remit_client.models import Approval, Decision, Json
from remit_client.verdicts import Place, name_of
from remit_client.wire import encode

if TYPE_CHECKING:
    from remit_client._sync.client import Remit
    from remit_client.calls import Records

Context = Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None
ToolName = Mapping[str, str] | Callable[[str], str] | None
OnUnavailable = Literal["deny", "allow"]
RecordsOf = Callable[[str, Json, Any], "Records | None"]
"""From a call's tool, parameters and result to what rules may read of it; None if there is nothing to say."""
LARGE_BYTES = 64 * 1024
SETTLED = ("approved", "consumed")
LOST = ("IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_STALE", "LIMIT_REACHED")
"""Why a name cannot be used: the call is then judged, and counted, without one."""
logger = logging.getLogger("remit_client")


class Enforcer:
    """Lets those calls of one agent through that Remit allows, and raises for all others.

    context: what the caller vouches for. If it is a function, it is called for every decision.
    wait: seconds an escalated call waits for a person.
    on_unavailable: with "allow", calls of up to 64 KiB go through without a decision during an outage, each with a
    warning, after Remit has been asked once more. What the agent itself can cause is no outage (`NotAnOutage`).
    records: what rules may read of the result of a call that was executed; it is reported before the agent sees that.
    tool_name: from the framework's names of tools to those in policies; a mapping leaves others as they are.
    named: whether a call is named by its place, where it has one; otherwise every question is a call of its own.
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
        records: RecordsOf | None = None,
        tool_name: ToolName = None,
        named: bool = True,
    ) -> None:
        if on_unavailable not in ("deny", "allow"):
            raise ValueError('on_unavailable must be "deny" or "allow"')
        self.remit = remit
        self.agent = agent
        self.reports_outcome = report_outcome
        self._records = records
        self._context = context
        self._wait = wait
        self._on_unavailable = on_unavailable
        self._retries = 1 if on_unavailable == "allow" else 0
        self._tool_name = tool_name
        self._named = named

    def policy_name(self, tool: str) -> str:
        """The name that policies have for a tool."""
        return self._tool_name(tool) if callable(self._tool_name) else (self._tool_name or {}).get(tool, tool)

    def check(self, tool: str, parameters: Json, context: Json | None = None, place: Place = None) -> Decision:
        """The decision that allows this call. Raises Denied, ApprovalPending or another RemitError: do not run it.

        context: for this call only, such as {"session": …}. The enforcer's own context takes precedence.
        place: questions about the same call at the same place are one call, which counts once.
        """
        tool, parameters = self.policy_name(tool), frozen(parameters)
        given = self._context() if callable(self._context) else self._context
        vouched = {**(context or {}), **(given or {})}
        name = name_of(self.agent, tool, parameters, place) if place is not None and self._named else None
        try:
            decision = self._ask(tool, parameters, vouched, name)
        except Unavailable as error:
            if self._on_unavailable != "allow" or isinstance(error, NotAnOutage):
                raise
            if len(encode([tool, parameters]) or b"") > LARGE_BYTES:
                raise NotAnOutage(f"{error} A call this large may itself be the cause.") from error
            logger.warning('%s The tool "%s" runs without a decision: on_unavailable="allow".', error, tool)
            return Decision("", allowed=True, result="unavailable", reason=str(error))
        if decision.result == "escalated":
            decision = self._ask_a_person(tool, parameters, vouched, name, decision)
        if not decision.allowed:
            raise Denied(tool, decision)
        return decision

    def executed(
        self,
        decision: Decision,
        tool: str,
        parameters: Json,
        result: Any,
        *,
        always: bool = False,
    ) -> None:
        """Report that the call was executed, and what rules may read of its result, if there is anything to report."""
        records = None
        if self._records is not None and decision.id:
            try:
                records = self._records(self.policy_name(tool), parameters, result)
            except Exception:  # the tool has run, and its result must not be lost
                logger.exception("The records of decision %s could not be made", decision.id)
        self.report(decision, "executed", records, always=always)

    def report(
        self,
        decision: Decision,
        status: str,
        records: Records | None = None,
        *,
        always: bool = False,
    ) -> None:
        """Report the outcome of the call if `report_outcome` is on, there are records, or `always`. It ends the call's
        name. If it fails, that is only logged.
        """
        if not ((self.reports_outcome or records or always) and decision.id):
            return
        try:
            self.remit.report_outcome(decision, status, records)
        except RemitError as error:
            logger.warning("The outcome of decision %s was not reported: %s", decision.id, error)

    def _ask(self, tool: str, parameters: Json, context: Json, name: str | None) -> Decision:
        asked = (self.agent, tool, parameters)
        if name is not None or self._retries:
            try:
                return self.remit.authorize(
                    *asked, context=context or None, idempotency_key=name, retries=self._retries
                )
            except Refused as error:
                if error.code not in LOST:
                    raise
        return self.remit.authorize(*asked, context=context or None)

    def _ask_a_person(
        self, tool: str, parameters: Json, context: Json, name: str | None, decision: Decision
    ) -> Decision:
        """The decision after a person has approved the call. Raises Denied or ApprovalPending."""
        until = time.monotonic() + self._wait
        asked = None
        while decision.result == "escalated":
            left = until - time.monotonic()
            if decision.approval is not None and decision.approval.status not in (None, "pending"):
                raise Denied(tool, decision, self._ended(decision.approval.id, decision.approval.status))
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
            decision = self._ask(tool, parameters, context, name)
        return decision

    def _ended(self, approval_id: str, status: str) -> Approval:
        """The approval that people refused, or that ended; with who and why, if the service says so."""
        try:
            return self.remit.approval(approval_id)
        except RemitError:
            return Approval(approval_id, status)
