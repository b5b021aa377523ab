"""The hot path on one screen: cached policies → plan → commit → decision."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.authorize.agent_cache import AgentCache, CachedAgent
from app.authorize.commit import CommitAnswer, CommitDecision, CommitQuestion, Stale, require_stale
from app.authorize.commit.batch import batched
from app.authorize.escalation.commit import EscalatedCommit
from app.authorize.escalation.named import NamedApprovals
from app.errors import AgentNotFound, ApprovalMismatch, InsufficientScope, StoreUnavailable
from app.model.api_keys import KEY_SESSION, Caller
from app.model.decisions import AuthorizeRequest, Decision, Result
from app.model.ids import Ids, uuid_of
from app.pdp import CompiledAgent, decide, decide_at_length
from app.runtime.clock import StoreClock, monotonic_us
from app.runtime.fairness.loop_budget import LoopBudget
from app.runtime.fairness.thread_pool import InTurns, Pool
from app.runtime.metrics import Metrics

ATTEMPTS = 16
Json = dict[str, Any]
BOUND_ELSEWHERE = "The key is bound to other agents; it may not ask for decisions about this one"


class Authorizer(Struct, frozen=True, kw_only=True):
    """Decides tool calls. Only the commit can allow one: a stale cache can cost a retry, never a wrong answer.

    commit: turns its plans into decisions; escalated: does so where people may have to approve.
    kept: the context as logged, with the user's request; takes it as logged without, and as the caller sent it.
    """

    agents: AgentCache[CompiledAgent]
    commit: CommitDecision
    escalated: EscalatedCommit
    named: NamedApprovals
    clock: StoreClock
    ids: Ids
    metrics: Metrics
    pool: Pool
    budget: LoopBudget
    kept: Callable[[bytes, Json], bytes]

    def for_batch(self) -> "Authorizer":
        """The same, with commits that go to the store together."""
        return replace(self, commit=batched(self.commit))

    def in_turns(self) -> "Authorizer":
        """The same, for the calls of one batch, of which only a few take threads at a time."""
        pool = InTurns(self.pool)
        return replace(self, pool=pool, escalated=replace(self.escalated, pool=pool))

    def forget(self, caller: Caller, question: CommitQuestion, stale: Stale) -> None:
        """Drop the agent of a plan that was out of date."""
        self.metrics.went_stale(version_moved=stale.version_moved)
        if stale.version_moved and question.cached is not None:
            self.agents.drop(caller.workspace_id, question.request.agent_id, question.cached)

    async def authorize(self, caller: Caller, request: AuthorizeRequest, arrived_us: int) -> Decision:
        """Decide one tool call; its entry is in the audit log when this returns.

        request: its agent_id may be an id or an alias; entry and answer carry the id.
        arrived_us: when the request arrived, by our monotonic clock; the latency counts from there.
        Raises AgentNotFound, Unauthorized (the key was revoked in the meantime), InsufficientScope (the key may not ask
        about this agent), StoreUnavailable, Overloaded.
        """
        if caller.agents is not None or caller.session_from is not None:
            request = _bound(caller, request)
        called, asked_us = request.agent_id, monotonic_us()
        now_us = self.clock.at(asked_us)
        decision_id = self.ids.new(now_us // 1000)
        for _ in range(ATTEMPTS):
            cached = self.agents.recall(caller.workspace_id, called)
            # What was cached may have changed, so only the store may refuse: a key bound to another agent than the one
            # that has this alias now, or a type that the agent does not have.
            if (
                cached is None
                or (request.agent_id != cached.agent_id and not caller.may_ask_for(cached.agent_id))
                or (request.agent_type and request.agent_type != cached.agent.type)
            ):
                cached = await self._load(caller, called)
                asked_us = monotonic_us()
                if request.agent_type not in ("", cached.agent.type):
                    raise AgentNotFound("No agent of this type has this id or alias")
            if request.agent_id != cached.agent_id:  # called by its alias, which may have moved since the last attempt
                request = _about(caller, request, cached.agent_id)
            agent = cached.compiled
            if agent.is_quick(request):
                plan = self.budget.run(caller.workspace_id, caller.root, decide, agent, request, now_us, caller.key_id)
            else:  # large patterns over long strings take many milliseconds, during which every other call would wait
                plan = await self.pool.run(caller.workspace_id, decide_at_length, agent, request, now_us, caller.key_id)
                asked_us = monotonic_us()
            at_us, waited_us = self.clock.at(arrived_us), asked_us - arrived_us
            logged = self._with_request(request) if agent.keeps_requests else request
            question = CommitQuestion(
                caller,
                logged,
                cached.tokens,
                plan,
                decision_id=decision_id,
                arrived_us=at_us,
                waited_us=waited_us,
                cached=cached,
            )
            if plan.may_escalate:
                answer: CommitAnswer = await self._ask(question, agent, now_us)
            else:
                answer = await self.commit(question)
            if isinstance(answer, Decision):
                return answer if not agent.agent_messages else with_message(answer, agent)
            stale = require_stale(answer)
            self.metrics.went_stale(version_moved=stale.version_moved)
            now_us, asked_us = stale.time_us, monotonic_us()
            if stale.version_moved:
                self.agents.drop(caller.workspace_id, request.agent_id, cached)
        raise StoreUnavailable(f"The agent's policies changed {ATTEMPTS} times during one decision; try again")

    def _with_request(self, request: AuthorizeRequest) -> AuthorizeRequest:
        """The call, of which the log keeps what the user asked for."""
        context = request.context
        return replace(request, recorded_context=self.kept(request.recorded_context, context)) if context else request

    async def _ask(self, question: CommitQuestion, agent: CompiledAgent, now_us: int) -> Decision | Stale:
        """Commit a call that may need approval."""
        ask = partial(self.escalated.commit, question, agent, now_us, self.commit)
        if not question.request.approval_id:
            return await ask()
        try:
            return await self.named.checked(question, ask)
        except ApprovalMismatch:
            if not question.request.asks_anew:
                raise
        misfit = await self.named.misfit(question, agent)
        unnamed = replace(question, request=replace(question.request, approval_id=""))
        answer = await self.escalated.commit(unnamed, agent, now_us, self.commit)
        return replace(answer, misfit=misfit) if isinstance(answer, Decision) else answer

    async def _load(self, caller: Caller, called: str) -> CachedAgent[CompiledAgent]:
        """The agent as the store has it. Raises AgentNotFound; InsufficientScope if the key is bound to others."""
        try:
            return await self.agents.load(caller.workspace_id, called)
        except AgentNotFound:
            if not caller.may_ask_for(called):
                raise InsufficientScope(BOUND_ELSEWHERE) from None
            raise


def _bound(caller: Caller, request: AuthorizeRequest) -> AuthorizeRequest:
    """The request of a key that is bound to agents or a session. Raises InsufficientScope if it names another agent.

    If it names an alias, the agent is not known yet.
    """
    called = request.agent_id
    if caller.agents is not None and not caller.may_ask_for(called) and uuid_of(called) is not None:
        raise InsufficientScope(BOUND_ELSEWHERE)
    return request if caller.session_from is None else in_its_session(caller, request)


def in_its_session(caller: Caller, request: AuthorizeRequest) -> AuthorizeRequest:
    """The request of a key that is one session, the `context.session` that policies and log see.

    What the request said before is replaced. No request of another key is in a session with such a name.
    """
    session = KEY_SESSION + caller.key_id
    recorded = msgspec.json.decode(request.recorded_context or b"{}") | {"session": session}
    context = {**(request.context or {}), "session": session}
    return replace(request, context=context, recorded_context=msgspec.json.encode(recorded), session=session)


def with_message(decision: Decision, agent: CompiledAgent) -> Decision:
    """The decision with its policy's message to the agent; an allowed call gets none."""
    outcome = decision.outcome
    message = None if outcome.policy_id is None else agent.agent_messages.get(outcome.policy_id)
    if message is None or outcome.result is Result.ALLOWED:
        return decision
    return replace(decision, agent_message=message)


def _about(caller: Caller, request: AuthorizeRequest, agent_id: str) -> AuthorizeRequest:
    """The request with the agent's id in place of its alias. Raises InsufficientScope if the key may not ask."""
    if not caller.may_ask_for(agent_id):
        raise InsufficientScope(BOUND_ELSEWHERE)
    return replace(request, agent_id=agent_id)
