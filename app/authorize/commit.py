"""The commit: the one call that turns a plan into a decision."""

from collections.abc import Callable

from msgspec.structs import replace

from app.authorize.agent_cache import CachedAgent
from app.authorize.approval_step import ApprovalStep, approval_args, approval_keys, with_approval
from app.authorize.breaker_part import TRIPPED
from app.authorize.commit_answers import Answer, without_decision
from app.authorize.commit_arguments import VARYING, CommitArguments
from app.authorize.idempotency import first_decision
from app.authorize.quota_part import add_quotas, final_outcome, outcome_args
from app.authorize.shadow_part import shadow_outcome
from app.authorize.store_clock import StoreClock
from app.errors import StoreUnavailable
from app.lanes.lane import monotonic_us
from app.model.api_keys import Caller
from app.model.decisions import FOREVER_US, AuthorizeRequest, Decision, Plan, ShadowPlan, Tokens
from app.pdp import CompiledAgent
from app.redis_client.packed_call import ScriptCall, ScriptRunner
from app.redis_client.replies import is_reply
from app.redis_client.scripts import COMMIT_WITH_PARTS
from app.store.keyspace import keyspace_of
from app.store.policy_owners import group_token


class CommitDecision:
    """Typed face of `lua/commit_decision.lua`, and its only caller.

    backlog_max: how many unsealed entries a workspace may have. answered: called with the us of every round trip.
    patience_us: how long the runner waits for a reply; an entry recorded later counts as unanswered. None: nothing is
    ever written, and the answer is what the decision would have been.
    first_answers_max: how many Idempotency-Keys of one API key have their answers kept.
    diverged: called with each result that shadow policies would have changed, and the result they would have given.
    tripped: called for each denial that suspends its agent.
    crowded: called for each call refused because a rule already tracks as many values or sessions as it may.
    """

    def __init__(
        self,
        runner: ScriptRunner,
        clock: StoreClock,
        backlog_max: int,
        answered: Callable[[int], None] = lambda _round_trip_us: None,
        patience_us: int | None = 250_000,
        first_answers_max: int = 1_000_000,
        diverged: Callable[[str, str], None] = lambda _result, _would: None,
        tripped: Callable[[], None] = lambda: None,
        crowded: Callable[[str], None] = lambda _what: None,
    ) -> None:
        self._runner = runner
        self._diverged = diverged
        self._answered = answered
        self._tripped = tripped
        self._crowded = crowded
        self._clock = clock
        self._backlog = f"room:{backlog_max}"
        self._first_answers_max = first_answers_max
        self._patience_us = patience_us
        self._done = "committed" if patience_us is not None else "explained"

    async def __call__(
        self,
        caller: Caller,
        request: AuthorizeRequest,
        tokens: Tokens,
        plan: Plan,
        decision_id: str,
        arrived_us: int,
        waited_us: int = 0,
        held: CachedAgent[CompiledAgent] | None = None,
        *,
        now_us: int | None = None,
        approval: ApprovalStep | None = None,
    ) -> Answer:
        """The decision, already in the audit stream; or why there is none, with nothing written.

        tokens: the version tokens that the plan was made from.
        arrived_us: the request's arrival by the store's clock; the entry's latency counts from it.
        waited_us: how long ago that was by our own monotonic clock.
        held: the agent's cache entry, with its packed commits.
        now_us: for tests; in production the store is the clock.
        approval: None = nobody is asked, and a call that escalates is answered as escalated.
        If the idempotency key was used before, the decision is the earlier one, provided that the agent and its
        policies have not changed.
        Raises Unauthorized or ApiKeyExpired if the API key is no longer valid; IdempotencyConflict if the idempotency
        key was used for another request, IdempotencyStale if the agent or its policies have changed since;
        StoreUnavailable if the backlog is full or the store did not answer (the decision may then be in the log,
        although nobody received it).
        """
        call = self._prepared(caller, request, tokens, plan, decision_id, held, approval)
        sent_us = monotonic_us()
        reply = await call(
            arrived_us,
            waited_us if now_us is None else f"{waited_us} {now_us}",
            decision_id,
            request.action,
            request.recorded_parameters,
            request.recorded_context,
            plan.outcome.reason,
        )
        # If replies were off by one, this caller and every later one would get someone else's answer.
        if not is_reply(COMMIT_WITH_PARTS, reply) or reply[1] != decision_id:
            await self._runner.distrust()
            raise StoreUnavailable("The store answered another decision than the one that was asked for")
        status, _, time_text, latency_us, full, retry_us, approval_text = reply
        time_us = int(time_text)
        if now_us is None:
            received_us = monotonic_us()
            self._answered(received_us - sent_us)
            self._clock.observe(sent_us, received_us, time_us)

        if status == self._done:
            outcome = final_outcome(plan, full)
            if not 0 <= full <= len(plan.quotas):
                self._crowded("values" if full < 0 else "sessions")
            said = ""
            if plan.shadow is not None:
                approval_text, _, said = approval_text.partition("\n")
            if approval_text and approval_text.endswith(TRIPPED):
                approval_text = approval_text.removesuffix(TRIPPED)
                self._tripped()
            if approval is not None and approval_text:
                decision = with_approval(decision_id, outcome, latency_us, time_us, approval, approval_text)
            else:
                decision = Decision(decision_id, outcome, retry_us or None, latency_us, time_us)
            return decision if plan.shadow is None else self._beside_shadow(decision, plan.shadow, said)
        if status == "repeated" and request.idempotency is not None:
            return await first_decision(self._runner, caller, request.idempotency)
        return without_decision(status, time_us, approval_text)

    def _beside_shadow(self, decision: Decision, shadow: ShadowPlan, said: str) -> Decision:
        """The decision, with the outcome that the script reports for shadow policies."""
        would = shadow_outcome(shadow, said)
        if would.result is not decision.outcome.result:
            self._diverged(decision.outcome.result, would.result)
        return replace(decision, shadow=would)

    def _prepared(
        self,
        caller: Caller,
        request: AuthorizeRequest,
        tokens: Tokens,
        plan: Plan,
        decision_id: str,
        held: CachedAgent[CompiledAgent] | None,
        approval: ApprovalStep | None,
    ) -> ScriptCall:
        """The script call with every argument that is the same for each request; cached if the plan recurs."""
        may_recur = request.idempotency is None and approval is None
        if may_recur and held is not None:
            kept = held.calls.get(request.tool_name, caller.key_id, plan)
            if kept is not None:
                return kept
        words = self._words(caller, request, tokens, plan, decision_id, held, approval)
        call = self._runner.prepare(words.complete(), words.keys, VARYING, words.settled)
        if may_recur and held is not None and held.compiled.recurs(plan, request.tool_name):
            held.keep_call(request.tool_name, caller.key_id, plan, call, words.bytes_held())
        return call

    def _words(
        self,
        caller: Caller,
        request: AuthorizeRequest,
        tokens: Tokens,
        plan: Plan,
        decision_id: str,
        held: CachedAgent[CompiledAgent] | None,
        approval: ApprovalStep | None,
    ) -> CommitArguments:
        """The script call's keys, and the arguments that are the same for each request."""
        versions = {} if held is None else held.compiled.versions
        keyspace = keyspace_of(caller.workspace_id)
        result, policy, rule, _ = outcome_args(plan.outcome, versions)
        words = CommitArguments(
            [keyspace.key(caller.key_id), keyspace.agent(request.agent_id), keyspace.commits, keyspace.audit_stream],
            [
                request.tool_name,
                f"{tokens.agent} {tokens.workspace}",
                self._backlog,
                self._patience_us or 0,
                *(request.agent_id, caller.key_id, result, policy, rule),
            ],
        )
        add_quotas(words, keyspace, request.agent_id, plan, decision_id, versions)
        if tokens.groups:
            versions_of_groups = (f"{group_token(digest)} {token or '-'} " for digest, token in tokens.groups)
            words.add_part("groups", (), ("".join(versions_of_groups),))
        if plan.holds_from_us or plan.holds_until_us != FOREVER_US:
            words.add_part("interval", (), (plan.holds_from_us, plan.holds_until_us))
        if approval is not None:
            step = approval_args(approval, request, caller, plan.outcome, decision_id)
            words.add_part("approvals", approval_keys(keyspace, request.agent_id, approval), step)
        if (asked := request.idempotency) is not None:
            kept = (keyspace.answer_counts(caller.key_id), keyspace.first_answer(caller.key_id, asked.key_digest))
            digests = " ".join((str(self._first_answers_max), asked.body_digest, *asked.former_digests))
            words.add_part("first_answers", kept, (digests,))
        if self._patience_us is None:
            words.add_part("explained", (), ())
        return words
