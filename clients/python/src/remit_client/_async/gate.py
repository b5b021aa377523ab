"""Judges calls where a framework makes them: the core of adapters whose framework comes back to a call."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from remit_client._async.enforcement import AsyncEnforcer
from remit_client.errors import ApprovalPending, NotAllowed
from remit_client.models import Json
from remit_client.verdicts import Place, Refused, Run, Verdict, Waits

if TYPE_CHECKING:
    from collections.abc import Mapping

R = TypeVar("R")


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

    async def run(
        self,
        judged: Run,
        tool: Callable[[dict[str, Any]], Awaitable[R]],
        *,
        pauses: tuple[type[BaseException], ...] = (),
        has_failed: Callable[[R], bool] = lambda _: False,
        resumable: Callable[[], bool] = lambda: False,
    ) -> R:
        """What the tool answers to the arguments that were judged; its end is reported as by `ended`.

        pauses: what it raises if it has not ended. has_failed: of an answer. resumable: asked once the tool has ended.
        """
        try:
            answer = await tool(judged.arguments)
        except pauses:
            raise
        except Exception:  # a cancelled call is not reported: nobody knows how far it got
            await self.ended(judged, failed=True, resumable=resumable())
            raise
        await self.ended(judged, answer, failed=has_failed(answer), resumable=resumable())
        return answer

    async def ended(self, run: Run, result: Any = None, *, failed: bool = False, resumable: bool = False) -> None:
        """The tool has run to its end; report that if `report_outcome` is on, and the records of its result.

        resumable: the framework saves where it stands before the call ends, and could come back to it once more. So the
        outcome is reported in any case, which ends the call's name: the same leg, sent again, is another call.
        """
        if failed:
            await self._enforcer.report(run.decision, "failed", always=resumable)
        else:
            await self._enforcer.executed(run.decision, run.tool, run.arguments, result, always=resumable)
