"""The commit: the one call that turns a plan into a decision."""

from collections.abc import Callable

from msgspec.structs import replace

from app.authorize.commit.approvals import add_approval, with_approval
from app.authorize.commit.arguments import PER_CALL, CommitArguments
from app.authorize.commit.first_answers import first_decision
from app.authorize.commit.question import CommitQuestion
from app.authorize.commit.quotas import add_quotas, final_outcome
from app.authorize.commit.reply import CommitAnswer, CommitReply, without_decision
from app.authorize.commit.shadow import shadow_outcome
from app.authorize.store_clock import StoreClock
from app.errors import StoreUnavailable
from app.model.decisions import Decision
from app.model.plans import FOREVER_US
from app.redis_client.packed_call import ScriptCall, ScriptRunner
from app.runtime.clock import monotonic_us
from app.store.keyspace import keyspace_of
from app.store.policy_owners import group_token


class CommitDecision:
    """Typed face of `lua/commit_decision.lua`, and its only caller.

    backlog_max: how many unsealed entries a workspace may have. answered: called with the us of every round trip.
    patience_us: how long the runner waits for a reply; an entry recorded later counts as unanswered. None: nothing is
    ever written, and the answer is what the decision would have been.
    first_answers_max: how many Idempotency-Keys of one API key have their answers kept.
    diverged: called with each result that shadow policies would have changed, and the result they would have given.
    tripped: called for each denial that fills a breaker, with what that one does.
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
        tripped: Callable[[str], None] = lambda _action: None,
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

    @property
    def runner(self) -> ScriptRunner:
        """What runs the script."""
        return self._runner

    async def __call__(self, question: CommitQuestion) -> CommitAnswer:
        """The decision, already in the audit stream; or why there is none, with nothing written.

        If the idempotency key was used before, the decision is the earlier one. It is a new one if the approval that
        the earlier asked for is used now, or if the earlier allowed nothing and the agent or its policies have changed.
        Raises Unauthorized or ApiKeyExpired if the API key is no longer valid; IdempotencyConflict if the idempotency
        key was used for another request, IdempotencyStale if what it allowed has ended or may be forbidden now;
        StoreUnavailable if the backlog is full or the store did not answer (the decision may then be in the log,
        although it never arrived).
        """
        call = self._packed(question)
        request, now_us = question.request, question.now_us
        sent_us = monotonic_us()
        raw = await call(
            question.arrived_us,
            question.waited_us if now_us is None else f"{question.waited_us} {now_us}",
            question.decision_id,
            request.action,
            request.recorded_parameters,
            request.recorded_context,
            question.plan.outcome.reason,
        )
        reply = CommitReply.of(raw, question.decision_id)
        # If replies were off by one, this caller and every later one would get someone else's answer.
        if reply is None:
            await self._runner.reset_connections()
            raise StoreUnavailable("The store answered another decision than the one that was asked for")
        if now_us is None:
            received_us = monotonic_us()
            self._answered(received_us - sent_us)
            self._clock.observe(sent_us, received_us, reply.time_us)
        if reply.status == self._done:
            return self._decision(question, reply)
        if reply.status == "repeated" and request.idempotency is not None:
            return await first_decision(self._runner, question.caller, request.idempotency, reply.time_us // 1000)
        return without_decision(reply)

    def _decision(self, question: CommitQuestion, reply: CommitReply) -> Decision:
        """The decision that the script has logged."""
        plan, approval = question.plan, question.approval
        outcome = final_outcome(plan, reply) if reply.full or reply.crowded else plan.outcome
        decision = Decision(reply.decision_id, outcome, reply.retry_us or None, reply.latency_us, reply.time_us)
        if reply.crowded:
            self._crowded(reply.crowded)
        if reply.tripped:
            self._tripped(reply.tripped)
        if approval is not None and reply.approval:
            decision = with_approval(decision, approval, reply)
        if plan.shadow is not None:
            decision = replace(decision, shadow=shadow_outcome(plan.shadow, reply))
            if reply.would != decision.outcome.result:
                self._diverged(decision.outcome.result, reply.would)
        return decision

    def _packed(self, question: CommitQuestion) -> ScriptCall:
        """The script call with every argument that is the same for each request; cached if the plan recurs."""
        plan, tool, key_id = question.plan, question.request.tool_name, question.caller.record
        cached = question.cached if question.request.idempotency is None and question.approval is None else None
        if cached is not None:
            packed = cached.commits.get(tool, key_id, plan)
            if packed is not None:
                return packed
        arguments = self._arguments(question)
        call = self._runner.prepare(arguments.complete(), arguments.keys, PER_CALL, arguments.fixed)
        if cached is not None and cached.compiled.recurs(plan, tool):
            cached.keep_commit(tool, key_id, plan, call, arguments.packed_bytes())
        return call

    def _arguments(self, question: CommitQuestion) -> CommitArguments:
        """The script call's keys, and the arguments that are the same for each request."""
        caller, request, tokens, plan = question.caller, question.request, question.tokens, question.plan
        keyspace, agent_id = keyspace_of(caller.workspace_id), request.agent_id
        versions = {} if question.cached is None else question.cached.compiled.versions
        keys = [keyspace.key(caller.record), keyspace.agent(agent_id), keyspace.commits, keyspace.audit_stream]
        arguments = CommitArguments(keyspace, agent_id, versions, keys)
        result, policy, rule, _ = arguments.outcome(plan.outcome)
        arguments.fixed += (request.tool_name, f"{tokens.agent} {tokens.workspace}", agent_id, result, policy, rule)
        arguments.fixed += (self._backlog, self._patience_us or 0, caller.logged_as)
        add_quotas(arguments, plan, question.decision_id)
        if tokens.groups:
            versions_of_groups = (f"{group_token(digest)} {token or '-'} " for digest, token in tokens.groups)
            arguments.add_part("groups", (), ("".join(versions_of_groups),))
        if plan.holds_from_us or plan.holds_until_us != FOREVER_US:
            arguments.add_part("interval", (), (plan.holds_from_us, plan.holds_until_us))
        if question.approval is not None:
            add_approval(arguments, question, question.approval)
        if (asked := request.idempotency) is not None:
            macs = (asked.body_digest, *asked.former_digests)
            if asked.batch:
                batch = keyspace.keyed_batch(caller.key_id, asked.batch)
                arguments.add_part("keyed_batches", (batch,), (" ".join(macs),))
            stored = (keyspace.answer_counts(caller.key_id), keyspace.first_answer(caller.key_id, asked.key_digest))
            step = question.approval
            used = step.approval_id if step is not None and step.step == "use" else ""
            arguments.add_part("first_answers", stored, (" ".join((str(self._first_answers_max), *macs)), used))
        if self._patience_us is None:
            arguments.add_part("explained", (), ())
        return arguments
