# Written by unasync.py from _async/gate.py; change that.
"""Judges calls where a framework makes them: the core of adapters whose framework comes back to a call."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from remit_client._sync.enforcement import Enforcer
from remit_client.errors import ApprovalPending, NotAllowed
from remit_client.models import Json
from remit_client.verdicts import Place, Refused, Run, Verdict, Waits

if TYPE_CHECKING:
    from collections.abc import Mapping

R = TypeVar("R")


class Gate:
    """Judges each call of one agent once, however often the framework comes back to it."""

    def __init__(self, enforcer: Enforcer) -> None:
        self._enforcer = enforcer

    def judge(
        self, tool: str, arguments: Mapping[str, Any], context: Json | None = None, place: Place = None
    ) -> Verdict:
        """What to do with the call. Raises RemitError if there is no decision: do not run the tool."""
        given = copy.deepcopy(dict(arguments))
        try:
            decision = self._enforcer.check(tool, given, context, place)
        except ApprovalPending as pending:
            said = pending.for_agent(), str(pending), pending.approval_id
            return Waits(pending.tool, *said, pending.decision)
        except NotAllowed as refusal:
            return Refused(refusal.for_agent(), refusal.decision)
        return Run(given, decision, tool)

    def run(
        self,
        judged: Run,
        tool: Callable[[dict[str, Any]], R],
        *,
        pauses: tuple[type[BaseException], ...] = (),
        has_failed: Callable[[R], bool] = lambda _: False,
        resumable: Callable[[], bool] = lambda: False,
    ) -> R:
        """What the tool answers to the arguments that were judged; its end is reported as by `ended`.

        pauses: what it raises if it has not ended. has_failed: of an answer. resumable: asked once the tool has ended.
        """
        try:
            answer = tool(judged.arguments)
        except pauses:
            raise
        except Exception:  # a cancelled call is not reported: nobody knows how far it got
            self.ended(judged, failed=True, resumable=resumable())
            raise
        self.ended(judged, answer, failed=has_failed(answer), resumable=resumable())
        return answer

    def ended(self, run: Run, result: Any = None, *, failed: bool = False, resumable: bool = False) -> None:
        """The tool has run to its end; report that if `report_outcome` is on, and the records of its result.

        resumable: the framework saves where it stands before the call ends, and could come back to it once more. So the
        outcome is reported in any case, which ends the call's name: the same leg, sent again, is another call.
        """
        if failed:
            self._enforcer.report(run.decision, "failed", always=resumable)
        else:
            self._enforcer.executed(run.decision, run.tool, run.arguments, result, always=resumable)
