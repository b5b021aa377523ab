"""Calls that need a person's approval: the commit requests it, joins the request, or uses the approval."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from app.authorize.approvals import (
    ApprovalRequest,
    CurrentApproval,
    bound_context,
    hides,
    may_show_more,
    no_open_approval,
    shown_parameters,
)
from app.authorize.commit import (
    ApprovalStep,
    CommitAnswer,
    CommitQuestion,
    Escalates,
    Overtaken,
    Stale,
    require_stale,
)
from app.errors import StoreUnavailable
from app.fairness.thread_pool import Pool
from app.model.approvals import OPEN, ApprovalStatus, whole_record
from app.model.canonical_call import canonical_call
from app.model.decisions import AuthorizeRequest, Check, Decision, Result
from app.model.escalations import Escalation, together
from app.pdp import CompiledAgent
from app.pdp.escalations import approved_plan, asking_beside, asking_rule, distinct, escalations
from app.redaction.redactor import Redactor
from app.redaction.signer import Purpose, Signer
from app.redis_client.replies import as_record, decoding_record
from app.store.keyspace import Keyspace

ATTEMPTS = 16
_KNOWN_MAX = 4_096
Commit = Callable[[CommitQuestion], Awaitable[CommitAnswer]]

_QUICK_BYTES = 64 * 1024
_Run = Callable[..., Awaitable[Any]]


class Bounds(Struct, frozen=True):
    """The approvals that may be open at once: of an agent, and of a workspace."""

    agent: int = 100
    workspace: int = 10_000


class EscalatedCalls:
    """Commits calls that may need approval. Without REMIT_SECRET nothing can be bound, so no person is asked.

    read: runs a read command within the time limit of a decision.
    """

    def __init__(
        self,
        read: Callable[..., Awaitable[Any]],
        signer: Signer,
        bounds: Bounds,
        pool: Pool,
        redactor: Redactor | None = None,
    ) -> None:
        self._read = read
        self._redactor = redactor
        self._signer = signer
        self._bounds = bounds
        self._pool = pool
        self._last_known: OrderedDict[str, str] = OrderedDict()

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
        run = _at_once if is_quick else partial(self._pool.run, workspace_id)
        bound, digest = await run(self._bound, agent, request, question.caller.root)
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
        if self._redactor is not None and may_show_more(request):
            parameters = await self._pool.run(workspace_id, shown_parameters, request, self._redactor, self._signer)
        # Only the store's clock can tell whether the approval that the caller named has expired.
        now_ms = 0 if request.approval_id else now_us // 1000
        checks = (*plan.quotas, *beside)
        base = await run(escalations, agent, request, now_us)
        asked = ApprovalRequest(question, agent, now_ms, tuple(bound), digest, parameters, base, checks)
        return await self._settle(asked, full, commit, run)

    def _bound(self, agent: CompiledAgent, request: AuthorizeRequest, asker: str) -> tuple[dict[str, Any], str | None]:
        """The part of the context that is bound, and the MAC of everything bound; None without a secret."""
        bound = bound_context(agent, request)
        form = canonical_call(asker, request.agent_id, request.tool_name, request.action, request.body, bound)
        return bound, self._signer.mac(Purpose.CALL, form)

    async def _settle(
        self, asked: ApprovalRequest, full: tuple[int, ...], commit: Commit, run: _Run
    ) -> Decision | Stale:
        """Do what the call's approval requires, and retry while others change it or the quotas."""
        question, agent = asked.question, asked.agent
        beyond: tuple[Escalation, ...] = ()
        ended = ""
        current: CurrentApproval | None = await self._recalled(asked)
        for _ in range(ATTEMPTS):
            if current is None:
                current = await self._current(asked)
            asking = distinct((*(each for each, _ in asked.base), *_asking(agent, asked.checks, full), *beyond))
            step = self._step(asked, current, asking, full, ended)
            plan = question.plan
            if step.step == "ask":
                step = replace(step, values=await run(asked.origins, full), other_reasons=asked.other_reasons(full))
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
                self._recall(asked.digest, answer)
                return answer
            else:
                asked = replace(asked, now_ms=answer.time_us // 1000)
                ended, current = current.id if answer.ended else ended, None
        raise StoreUnavailable(f"The call's approval changed {ATTEMPTS} times during one decision; try again")

    def _step(
        self,
        asked: ApprovalRequest,
        current: CurrentApproval,
        asking: tuple[Escalation, ...],
        full: tuple[int, ...],
        ended: str,
    ) -> ApprovalStep:
        """What the commit is to do about the call's approval. ended: an approval that it has reported as ended.

        probe: the request names an approval that does not apply, so no person may be asked.
        """
        step = ApprovalStep(
            step="use", approval_id=current.id, digest=asked.digest, current_id=current.id,
            current_version=current.record.get("version", "0"), full=full, asker_id=current.record.get("key_id", ""),
        )  # fmt: skip
        decision_id, key_id = asked.question.decision_id, asked.question.caller.key_id
        named = asked.question.request.approval_id
        if current.id != ended and named in ("", current.id) and current.covers(asking, asked.agent.policy_ids):
            if current.is_open(ApprovalStatus.APPROVED, asked.now_ms):
                return step
            if current.is_open(ApprovalStatus.PENDING, asked.now_ms):
                return replace(step, step="attach")
        if named:
            return replace(
                step, step="probe", approval_id=asked.question.decision_id, asker_id=asked.question.caller.key_id
            )
        return replace(
            step,
            step="ask",
            approval_id=decision_id,
            current_version="0",
            terms=together(asking),
            rules=tuple(each.fingerprint for each in asking),
            policies=tuple(dict.fromkeys(each.policy_id for each in asking)),
            asker_id=key_id,
            bound=asked.bound,
            memories=asked.agent.memories,
            hides=hides(asked.question.request, asked.parameters),
            parameters=asked.parameters,
            agent_max=self._bounds.agent,
            workspace_max=self._bounds.workspace,
        )

    async def _recalled(self, asked: ApprovalRequest) -> CurrentApproval | None:
        """The call's approval as this replica remembers it; None = ask the store. Only the commit can be sure.

        A call that is new here is nearly always new everywhere, so its commit is sent without asking the store first. A
        call that names its approval is never new.
        """
        if asked.question.request.approval_id:
            return None
        known = self._last_known.get(asked.digest)
        if known is None:
            return CurrentApproval("", {})
        current = await self._read_approval(asked.question.caller.workspace_id, known)
        return current if current.record.get("status") in OPEN else None

    def _recall(self, digest: str, answer: CommitAnswer) -> None:
        """Remembers the ids of the newest approvals requested here."""
        if isinstance(answer, Decision) and answer.approval is not None:
            self._last_known[digest] = answer.approval.id
            self._last_known.move_to_end(digest)
            if len(self._last_known) > _KNOWN_MAX:
                self._last_known.popitem(last=False)

    async def _current(self, asked: ApprovalRequest) -> CurrentApproval:
        """The call's approval as the store has it."""
        workspace_id = asked.question.caller.workspace_id
        approval_id = await self._read("GET", Keyspace(workspace_id).approval_call(asked.digest)) or ""
        return await self._read_approval(workspace_id, approval_id) if approval_id else CurrentApproval("", {})

    async def _read_approval(self, workspace_id: str, approval_id: str) -> CurrentApproval:
        with decoding_record("The current approval of the call"):
            record = whole_record(as_record(await self._read("HGETALL", Keyspace(workspace_id).approval(approval_id))))
            "".join(record.values()).encode()  # bytes that are not UTF-8 were read as surrogates
            return CurrentApproval(approval_id, record)


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
