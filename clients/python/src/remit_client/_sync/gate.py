# Written by unasync.py from _async/gate.py; change that.
"""Judges calls where a framework makes them: the core of adapters, also where the framework comes back to a call."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from remit_client._sync.enforcement import Enforcer
from remit_client.errors import ApprovalPending, NotAllowed, for_agent
from remit_client.user_requests import request_of
from remit_client.verdicts import Framework, Refused, Run, ToolCall, Verdict, Waits

R = TypeVar("R")


class Gate:
    """Judges each call of one agent once, however often the framework comes back to it."""

    def __init__(self, enforcer: Enforcer, framework: Framework, *, user_request: bool = False) -> None:
        self._enforcer = enforcer
        self._framework = framework
        self._has_user = user_request

    def judge(self, call: ToolCall) -> Verdict:
        """What to do with the call. Raises RemitError or NotJson if there is no decision: do not run the tool."""
        try:
            given = copy.deepcopy(dict(call.arguments))
            vouched = {name: value for name, value in call.context.items() if value not in (None, "")}
            vouched |= request_of(call.turns) if self._has_user else {}
            decision = self._enforcer.check(call.tool, given, vouched, call.place)
        except ApprovalPending as pending:
            said = pending.for_agent(), str(pending), pending.approval_id
            return Waits(pending.tool, *said, pending.decision, pending)
        except NotAllowed as refusal:
            return Refused(refusal.for_agent(), refusal.decision, refusal)
        except Exception as error:
            if not self._framework.goes_on:
                raise
            return Refused(for_agent(error), None, error)
        return Run(given, decision, call.tool, call.resumable)

    def answer(
        self,
        call: ToolCall,
        tool: Callable[[dict[str, Any]], R],
        otherwise: Callable[[Refused | Waits], R],
    ) -> R:
        """What the tool answers to the arguments that were judged, as by `run`, or what `otherwise` does instead."""
        verdict = self.judge(call)
        return self.run(verdict, tool) if isinstance(verdict, Run) else otherwise(verdict)

    def run(self, judged: Run, tool: Callable[[dict[str, Any]], R]) -> R:
        """What the tool answers to the arguments that were judged; its end is reported as by `ended`."""
        try:
            answer = tool(judged.arguments)
        except self._framework.pauses:
            raise
        except Exception:  # a cancelled call is not reported: nobody knows how far it got
            self.ended(judged, failed=True)
            raise
        self.ended(judged, answer, failed=self._framework.has_failed(answer))
        return answer

    def ended(self, run: Run, result: Any = None, *, failed: bool = False) -> None:
        """The tool has run to its end; report that if `report_outcome` is on, or if the call is `resumable`, and the
        records of its result.
        """
        always = run.resumable()
        if failed:
            self._enforcer.report(run.decision, "failed", always=always)
        else:
            self._enforcer.executed(run.decision, run.tool, run.arguments, result, always=always)
