"""Judges calls where a framework makes them: the core of adapters whose framework comes back to a call."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from remit_client._async.enforcement import AsyncEnforcer
from remit_client.errors import ApprovalPending, NotAllowed
from remit_client.models import Json
from remit_client.verdicts import Place, Refused, Run, Verdict, Waits

if TYPE_CHECKING:
    from collections.abc import Mapping


class AsyncGate:
    """Judges each call of one agent once, however often the framework comes back to it."""

    def __init__(self, enforcer: AsyncEnforcer) -> None:
        self._enforcer = enforcer

    async def judge(
        self, tool: str, arguments: Mapping[str, Any], context: Json | None = None, place: Place = None
    ) -> Verdict:
        """What to do with the call. Raises RemitError if there is no decision: do not run the tool."""
        given = copy.deepcopy(dict(arguments))
        try:
            decision = await self._enforcer.check(tool, given, context, place)
        except ApprovalPending as pending:
            said = pending.for_agent(), str(pending), pending.approval_id
            return Waits(pending.tool, *said, pending.decision)
        except NotAllowed as refusal:
            return Refused(refusal.for_agent(), refusal.decision)
        return Run(given, decision, tool)

    async def ended(self, run: Run, result: Any = None, *, failed: bool = False) -> None:
        """The tool has run to its end; report that if `report_outcome` is on, and the records of its result."""
        if failed:
            await self._enforcer.report(run.decision, "failed")
        else:
            await self._enforcer.executed(run.decision, run.tool, run.arguments, result)
