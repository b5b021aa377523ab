"""Explains calls without making them: the hot path with a tracer, and a commit that writes nothing."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET, Struct

from app.authorize.authorizer import in_its_session, with_message
from app.authorize.commit import CommitAnswer, CommitDecision, CommitQuestion, require_stale
from app.authorize.escalation.commit import EscalatedCommit
from app.errors import StoreUnavailable
from app.explain.rule_states import read_rule_states
from app.model.agents import Agent
from app.model.api_keys import Caller
from app.model.decision_codes import next_action
from app.model.decisions import AuthorizeRequest, Decision, Outcome, Result, ShadowOutcome
from app.model.drafts import id_if_stored
from app.model.explanations import Explanation, ShadowExplanation
from app.model.ids import Ids
from app.model.policies import Policy
from app.model.times import rfc3339
from app.pdp import CompiledAgent
from app.pdp.explained import explained_agent, policy_parts
from app.pdp.trace import Trace, trace
from app.redis_client.client import Client
from app.runtime.clock import StoreClock
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agents import Agents
from app.store.governed_agents import GovernedAgent

ATTEMPTS = 16
Drafting = Callable[[Agent, Sequence[Policy]], Sequence[Policy]]
"""Given an agent and the policies that govern it, returns the policies to judge it by."""


class _Judged(Struct, frozen=True):
    """A traced call, and the decision that would have been committed."""

    governed: GovernedAgent
    traced: Trace
    decision: Decision


class Explainer:
    """Explains the answer to a call that is not made. Nothing is taken, logged, created or cached.

    unwritten: a commit that writes nothing. escalated: as for decisions.
    """

    def __init__(
        self,
        client: Client,
        agents: Agents,
        unwritten: CommitDecision,
        escalated: EscalatedCommit,
        clock: StoreClock,
        ids: Ids,
        compile_agent: Callable[[Agent, Sequence[Policy], Mapping[str, int]], CompiledAgent],
        pool: FairThreadPool,
    ) -> None:
        self._client = client
        self._agents = agents
        self._unwritten = unwritten
        self._escalated = escalated
        self._clock = clock
        self._ids = ids
        self._compile = compile_agent
        self._pool = pool

    async def explain(
        self, caller: Caller, request: AuthorizeRequest, at_us: int | None = None, drafting: Drafting | None = None
    ) -> Explanation:
        """The answer that `authorize` would give this caller, and the part of every rule in it.

        request: its agent_id is an id, not an alias, and it has no idempotency key.
        at_us: the store's time of the supposed call; None for now. For a time in the past, quotas are as they are now.
        Raises as `Authorizer.authorize` does.
        """
        if caller.session_from is not None:
            request = in_its_session(caller, request)
        judged = await self._judge(caller, request, at_us, drafting or (lambda _, policies: policies))
        decision, outcome = judged.decision, judged.decision.outcome
        rule_states = await read_rule_states(self._client, caller.workspace_id, request.agent_id, judged.traced, at_us)
        names = {each.policy.id: each.policy.name for each in judged.traced.policies}
        # Rounded up, as authorize does.
        retry_ms = None if decision.retry_after_us is None else -(-decision.retry_after_us // 1000)
        return Explanation(
            allowed=outcome.result is Result.ALLOWED,
            result=outcome.result,
            policy_id=id_if_stored(outcome.policy_id),
            policy_name=names.get(outcome.policy_id or ""),
            rule=outcome.rule,
            reason=outcome.reason,
            code=outcome.code,
            next_action=next_action(outcome.code, waiting_helps=retry_ms is not None),
            retry_after_seconds=None if retry_ms is None else retry_ms / 1000,
            at=rfc3339(decision.time_us // 1000),
            agent=explained_agent(judged.governed.agent),
            policies=policy_parts(judged.traced, outcome, request, rule_states),
            approval=decision.approval or UNSET,
            agent_message=decision.agent_message or UNSET,
            shadow=UNSET if decision.shadow is None else _shadow_of(decision.shadow, outcome, names),
        )

    async def _judge(self, caller: Caller, request: AuthorizeRequest, at_us: int | None, drafting: Drafting) -> _Judged:
        """Decide the call as `Authorizer.authorize` does, and retry while the plan is stale."""
        workspace_id = caller.workspace_id
        now_us = self._clock.now_us() if at_us is None else at_us
        for _ in range(ATTEMPTS):
            governed = await self._agents.load(workspace_id, request.agent_id)
            policies = drafting(governed.agent, governed.policies)
            agent = await self._pool.run(workspace_id, self._compile, governed.agent, policies, governed.shared_marks)
            traced = await self._pool.run(workspace_id, trace, agent, policies, request, now_us, caller.key_id)
            question = CommitQuestion(
                caller,
                request,
                governed.tokens,
                traced.plan,
                decision_id=self._ids.new(now_us // 1000),
                arrived_us=now_us,
                now_us=at_us,
            )
            if traced.plan.may_escalate:
                answer: CommitAnswer = await self._escalated.commit(question, agent, now_us, self._unwritten)
            else:
                answer = await self._unwritten(question)
            if isinstance(answer, Decision):
                return _Judged(governed, traced, with_message(answer, agent))
            now_us = require_stale(answer).time_us
        raise StoreUnavailable(f"The agent's policies changed {ATTEMPTS} times during one explanation; try again")


def _shadow_of(would: ShadowOutcome, outcome: Outcome, names: Mapping[str, str]) -> ShadowExplanation:
    return ShadowExplanation(
        changes=would.result is not outcome.result,
        result=would.result,
        policy_id=id_if_stored(would.policy_id),
        policy_name=names.get(would.policy_id),
        rule=would.rule,
    )
