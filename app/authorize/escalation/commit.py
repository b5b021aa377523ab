"""Calls that need a person's approval: the commit requests it, joins the request, or uses the approval."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from app.authorize.commit import (
    ApprovalStep,
    CommitAnswer,
    CommitQuestion,
    Escalates,
    Overtaken,
    Stale,
    require_stale,
)
from app.authorize.escalation.open_approvals import OpenApprovals
from app.authorize.escalation.request import (
    ApprovalRequest,
    Bounds,
    bound_context,
    form_of,
    may_show_more,
    no_open_approval,
    shown_parameters,
    without,
)
from app.errors import StoreUnavailable
from app.model.bound_call import texts_apart
from app.model.decisions import AuthorizeRequest, Decision, Result
from app.model.escalations import Escalation
from app.model.plans import Check
from app.pdp import CompiledAgent
from app.pdp.escalations import approved_plan, asking_beside, asking_rule, distinct, escalations
from app.redaction.redactor import Redactor
from app.redaction.signer import Purpose, Signer
from app.runtime.fairness.thread_pool import Pool

ATTEMPTS = 16
Commit = Callable[[CommitQuestion], Awaitable[CommitAnswer]]

_QUICK_BYTES = 64 * 1024
_Run = Callable[..., Awaitable[Any]]


class EscalatedCommit(Struct, frozen=True, kw_only=True):
    """Commits calls that may need approval. Without REMIT_SECRET nothing can be bound, so no person is asked."""

    approvals: OpenApprovals
    signer: Signer
    bounds: Bounds
    pool: Pool
    redactor: Redactor

    async def commit(
        self, question: CommitQuestion, agent: CompiledAgent, now_us: int, commit: Commit
    ) -> Decision | Stale:
        """The decision. It carries the approval if a person must be asked, and is allowed if one has approved.

        question: without a step. now_us: the time for which its plan was made.
        Raises ApprovalMismatch if the request names an approval that is not the call's, or no longer open.
        """
        request, plan, workspace_id = question.request, question.plan, question.caller.workspace_id
        decision_id, key_id = question.decision_id, question.caller.key_id
        is_quick = len(request.body) <= _QUICK_BYTES and agent.is_quick(request)
        in_thread = partial(self.pool.run, workspace_id)
        run = _at_once if is_quick else in_thread
        bound, said, digest = await run(self._bound, agent, request, question.caller.root)
        probe = ApprovalStep(step="probe", approval_id=decision_id, digest=digest or "", asker_id=key_id)
        if digest is None:
            return (
                _final(await commit(question)) if not request.approval_id else await _unasked(question, probe, commit)
            )
        full: tuple[int, ...] = ()
        # What else is full and asks people is for the same approval; it leaves the outcome as it is.
        beside = await run(asking_beside, agent, request, plan, key_id)
        if beside:
            restated = (replace(each, when_full=plan.outcome) for each in beside)
            question = replace(question, plan=replace(plan, quotas=(*plan.quotas, *restated)))
        if plan.outcome.result is not Result.ESCALATED:
            answer = await commit(replace(question, approval=probe))
            if not isinstance(answer, Escalates):
                return _final(answer)
            full = answer.full
        parameters = request.recorded_parameters
        # In a thread, because it takes a while to find secrets in long strings.
        if may_show_more(request):
            parameters = await in_thread(shown_parameters, request, self.redactor, self.signer, workspace_id)
        is_logged = parameters is request.recorded_parameters
        # Only the store's clock can tell whether the approval that the caller named has expired.
        now_ms = 0 if request.approval_id else now_us // 1000
        checks = (*plan.quotas, *beside)
        base = await run(escalations, agent, request, now_us)
        asked = ApprovalRequest(
            question,
            agent,
            now_ms,
            bound=tuple(bound),
            digest=digest,
            said=said,
            parameters=without(parameters, said),
            is_logged=is_logged,
            base=base,
            checks=checks,
        )
        return await self._settle(asked, full, commit, run)

    def _bound(
        self, agent: CompiledAgent, request: AuthorizeRequest, asker: str
    ) -> tuple[dict[str, Any], list[str], str | None]:
        """The part of the context that is bound, the parameters that are not, and the MAC of everything bound.

        Without a secret there is no MAC.
        """
        bound, descriptive = bound_context(agent, request), agent.descriptive(request.tool_name)
        form = form_of(asker, request, bound, descriptive)
        return bound, texts_apart(request.parameters, descriptive), self.signer.mac(Purpose.CALL, form)

    async def _settle(
        self, asked: ApprovalRequest, full: tuple[int, ...], commit: Commit, run: _Run
    ) -> Decision | Stale:
        """Do what the call's approval requires, and retry while others change it or the quotas."""
        question, agent, workspace_id = asked.question, asked.agent, asked.question.caller.workspace_id
        beyond: tuple[Escalation, ...] = ()
        # A call that names its approval is never new.
        current = None if question.request.approval_id else await self.approvals.likely(workspace_id, asked.digest)
        for _ in range(ATTEMPTS):
            current = current or await self.approvals.stored(workspace_id, asked.digest)
            asking = distinct((*(each for each, _ in asked.base), *_asking(agent, asked.checks, full), *beyond))
            step = asked.step(current, asking, full, self.bounds)
            plan = question.plan
            if step.step == "ask":
                step = replace(
                    step,
                    values=await run(asked.origins, full),
                    commands=await run(asked.commands, self.redactor.is_secret),
                    said=await run(asked.texts, self.redactor, self.signer, workspace_id),
                    other_reasons=asked.other_reasons(full),
                )
            if step.step == "probe":
                return await _unasked(question, step, commit)
            if step.step == "use":
                plan = await run(approved_plan, agent, question.request, plan, current.approved, question.caller.key_id)
            answer = await commit(replace(question, plan=plan, approval=step))
            if isinstance(answer, Escalates) and step.step == "use":
                beyond = _asking(agent, plan.quotas, answer.full)
                # A covered quota that is full all the same cannot track another value: no approval helps.
                if current.covers(beyond, agent.policy_ids):
                    return _final(await commit(question))
            elif isinstance(answer, Escalates):
                full = answer.full
            elif not isinstance(answer, Overtaken):
                self.approvals.remember(asked.digest, answer)
                return answer
            else:
                ended = current.id if answer.ended else asked.ended
                asked, current = replace(asked, now_ms=answer.time_us // 1000, ended=ended), None
        raise StoreUnavailable(f"The call's approval changed {ATTEMPTS} times during one decision; try again")


async def _at_once(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _asking(agent: CompiledAgent, checks: tuple[Check, ...], full: tuple[int, ...]) -> tuple[Escalation, ...]:
    """The conditions under which people may approve, from the full quotas of a plan."""
    found = (checks[number - 1] for number in full)
    asked = (agent.escalation(check.policy_id, asking_rule(check)) for check in found)
    return tuple(each for each in asked if each is not None)


async def _unasked(question: CommitQuestion, probe: ApprovalStep, commit: Commit) -> Decision | Stale:
    """The decision, if it needs no approval. Raises ApprovalMismatch."""
    answer = await commit(replace(question, approval=probe))
    if isinstance(answer, Escalates):
        raise no_open_approval()
    return _final(answer)


def _final(answer: CommitAnswer) -> Decision | Stale:
    return answer if isinstance(answer, Decision) else require_stale(answer)
