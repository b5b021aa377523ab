"""The commit: the one call that turns a plan into a decision, with its part for approvals, and a first answer again."""

from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.authorize.commit.arguments import PER_CALL, CommitArguments
from app.authorize.commit.question import ApprovalStep, CommitQuestion
from app.authorize.commit.quotas import add_quotas, final_outcome
from app.authorize.commit.reply import CommitAnswer, CommitReply, without_decision
from app.authorize.commit.shadow import shadow_outcome
from app.errors import IdempotencyStale, StoreUnavailable
from app.model.api_keys import Caller
from app.model.approvals import ENDS, ApprovalStatus
from app.model.decision_codes import DecisionCode
from app.model.decisions import ApprovalRef, Decision, Idempotency, Outcome, Result, RuleRef
from app.model.plans import FOREVER_US
from app.model.rules import recorded_code, usual_code
from app.model.times import rfc3339
from app.redis_client.client import Value
from app.redis_client.packed_call import BatchedCalls, ScriptCall, ScriptRunner
from app.redis_client.replies import as_record, decoding_record, number_of
from app.runtime.clock import StoreClock, monotonic_us
from app.store.keyspace import keyspace_of
from app.store.policy_owners import group_token

_NO_ROOM = "Too many approvals wait for people already"
"""Exactly as in `commit_decision`."""


class CommitDecision(Struct, frozen=True):
    """Typed face of `lua/commit_decision.lua`, and its only caller.

    runner: what runs the script. answered: called with the us of every round trip.
    backlog_max: how many unsealed entries a workspace may have.
    patience_us: how long the runner waits for a reply; an entry recorded later counts as unanswered. None: nothing is
    ever written, and the answer is what the decision would have been.
    first_answers_max: how many Idempotency-Keys of one API key have their answers kept.
    diverged: called with each result that shadow policies would have changed, and the result they would have given.
    tripped: called for each denial that fills a breaker, with what that one does.
    crowded: called for each call refused because a rule already tracks as many values or sessions as it may.
    filling: called for each approval with which something has four fifths of those that it may have open.
    together: sends its calls with those of the same batch; None = each by itself, as it comes.
    """

    runner: ScriptRunner
    clock: StoreClock
    backlog_max: int
    answered: Callable[[int], None] = lambda _round_trip_us: None
    patience_us: int | None = 250_000
    first_answers_max: int = 1_000_000
    diverged: Callable[[str, str], None] = lambda _result, _would: None
    tripped: Callable[[str], None] = lambda _action: None
    crowded: Callable[[str], None] = lambda _what: None
    filling: Callable[[str], None] = lambda _what: None
    together: BatchedCalls | None = None

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
        if self.together is not None:
            call = self.together.joined(call)
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
            await self.runner.reset_connections()
            raise StoreUnavailable("The store answered another decision than the one that was asked for")
        if now_us is None:
            received_us = monotonic_us()
            self.answered(received_us - sent_us)
            self.clock.observe(sent_us, received_us, reply.time_us)
        if reply.status == "committed" or (self.patience_us is None and reply.status == "explained"):
            return self._decision(question, reply)
        if reply.status == "repeated" and request.idempotency is not None:
            return await _first_decision(self.runner, question.caller, request.idempotency, reply.time_us // 1000)
        return without_decision(reply)

    def _decision(self, question: CommitQuestion, reply: CommitReply) -> Decision:
        """The decision that the script has logged."""
        plan, approval = question.plan, question.approval
        outcome = final_outcome(plan, reply) if reply.full or reply.crowded else plan.outcome
        decision = Decision(reply.decision_id, outcome, reply.retry_us or None, reply.latency_us, reply.time_us)
        if reply.crowded:
            self.crowded(reply.crowded)
        if reply.tripped:
            self.tripped(reply.tripped)
        if reply.filling:
            self.filling(reply.filling)
        if approval is not None and reply.approval:
            decision = _with_approval(decision, approval, reply)
        if plan.shadow is not None:
            decision = replace(decision, shadow=shadow_outcome(plan.shadow, reply))
            if reply.would != decision.outcome.result:
                self.diverged(decision.outcome.result, reply.would)
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
        call = self.runner.prepare(arguments.complete(), arguments.keys, PER_CALL, arguments.fixed)
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
        arguments.fixed += (f"room:{self.backlog_max}", self.patience_us or 0, caller.logged_as)
        add_quotas(arguments, plan, question.decision_id)
        outcome = plan.outcome
        if outcome.code is not usual_code(outcome.result, None if outcome.rule is None else outcome.rule.type):
            arguments.add_part("codes", (), (outcome.code,))
        if tokens.groups:
            versions_of_groups = (f"{group_token(digest)} {token or '-'} " for digest, token in tokens.groups)
            arguments.add_part("groups", (), ("".join(versions_of_groups),))
        if plan.holds_from_us or plan.holds_until_us != FOREVER_US:
            arguments.add_part("interval", (), (plan.holds_from_us, plan.holds_until_us))
        if question.approval is not None:
            _add_approval(arguments, question, question.approval)
        if (asked := request.idempotency) is not None:
            macs = (asked.body_digest, *asked.former_digests)
            if asked.batch:
                batch = keyspace.keyed_batch(caller.key_id, asked.batch)
                arguments.add_part("keyed_batches", (batch,), (" ".join(macs),))
            stored = (keyspace.answer_counts(caller.key_id), keyspace.first_answer(caller.key_id, asked.key_digest))
            step = question.approval
            used = step.approval_id if step is not None and step.step == "use" else ""
            arguments.add_part("first_answers", stored, (" ".join((str(self.first_answers_max), *macs)), used))
        if self.patience_us is None:
            arguments.add_part("explained", (), ())
        return arguments


async def _first_decision(runner: ScriptRunner, caller: Caller, idempotency: Idempotency, now_ms: int) -> Decision:
    """The decision that the first request with this Idempotency-Key got, with the status that its approval has now."""
    name = keyspace_of(caller.workspace_id).first_answer(caller.key_id, idempotency.key_digest)
    reply = await runner.call("HGETALL", name)
    if reply in ({}, []):
        raise StoreUnavailable("The first answer to this Idempotency-Key has just expired; try again")
    # The script has found the answer to this request; if this is another's, the reply is not this command's.
    is_record = isinstance(reply, dict) or (isinstance(reply, list) and len(reply) % 2 == 0)
    record = as_record(reply) if is_record else {}
    if record.get("body_digest") not in {idempotency.body_digest, *idempotency.former_digests}:
        await runner.reset_connections()
        raise StoreUnavailable("The store answered another decision than the one that was asked for")
    with decoding_record("The first answer to this Idempotency-Key"):
        decision = _decision_of(record)
    if decision.outcome.result is Result.ALLOWED:
        await _require_not_ended(runner, caller, decision.id)
    if "approvalId" in record:
        with decoding_record("The approval that the first answer to this Idempotency-Key names"):
            named = await _named(runner, caller, record["approvalId"], decision.outcome.result, now_ms)
        return replace(decision, approval=named)
    return decision


async def _require_not_ended(runner: ScriptRunner, caller: Caller, decision_id: str) -> None:
    """Raise IdempotencyStale if the call's outcome was reported: it was one call, and has ended."""
    if await runner.call("GET", keyspace_of(caller.workspace_id).outcome(decision_id)) is not None:
        raise IdempotencyStale(
            "The outcome of the call that this Idempotency-Key allowed was reported, so another one needs a new key"
        )


async def _named(
    runner: ScriptRunner, caller: Caller, approval_id: str, result: Result, now_ms: int
) -> ApprovalRef | None:
    """The approval that a first answer used, or asked for, with its status as it is now.

    Raises IdempotencyStale if it asked for one that would let a call through now, or has.
    """
    record = as_record(await runner.call("HGETALL", keyspace_of(caller.workspace_id).approval(approval_id)))
    if result is Result.ALLOWED:
        until_ms = record.get("usable_until_ms")
        return (
            None
            if until_ms is None
            else ApprovalRef(approval_id, ApprovalStatus.APPROVED, rfc3339(number_of(until_ms)))
        )
    status = ApprovalStatus(record["status"])
    ends_ms = record.get(ENDS.get(status, ""))
    if ends_ms is not None and now_ms >= number_of(ends_ms):
        status = ApprovalStatus.EXPIRED
    if status in (ApprovalStatus.APPROVED, ApprovalStatus.CONSUMED):
        raise IdempotencyStale(
            "The approval that this Idempotency-Key was answered with lets calls through, or has let one through, and "
            "nothing was decided now; ask again with a new one"
        )
    return ApprovalRef(approval_id, status, rfc3339(number_of(record["expires_ms"])))


def _decision_of(record: dict[str, str]) -> Decision:
    """The decision of a stored first answer."""
    index, _, kind = record["rule"].partition(" ")
    result, rule = Result(record["result"]), RuleRef(int(index), kind) if kind else None
    code = recorded_code(result, kind or None, record.get("code"))
    outcome = Outcome(result, record["policyId"] or None, rule, record["reason"], code)
    return Decision(
        record["id"],
        outcome,
        _microseconds(record["retryUs"]) or None,
        _microseconds(record["latencyUs"]),
        _microseconds(record["timeUs"]),
        repeated=True,
    )


def _microseconds(text: str) -> int:
    """A time or a span as the commit wrote it. Raises ValueError."""
    return number_of(text[:-3] or "0") * 1000 + number_of(text[-3:])


def _add_approval(arguments: CommitArguments, question: CommitQuestion, approval: ApprovalStep) -> None:
    """Add the part for approvals, in the order of its header. A probe needs neither keys nor other arguments."""
    if approval.step == "probe":
        arguments.add_part("approvals", (), (approval.step,))
        return
    keyspace = arguments.keyspace
    keys = [
        keyspace.approval(approval.approval_id),
        keyspace.approval_call(approval.digest),
        keyspace.approvals,
        keyspace.approvals_open,
        keyspace.agent_approvals(arguments.agent_id),
        keyspace.key_approvals(approval.asker_id),
        keyspace.rule_approvals(arguments.agent_id, approval.rules[0] if approval.rules else ""),
        keyspace.approval_events,
        keyspace.key(approval.asker_id),
    ]
    step: list[Value] = [
        approval.step,
        approval.approval_id,
        approval.current_id,
        approval.current_version,
        "".join(f"{number} " for number in approval.full),
        approval.terms.expires_seconds * 1000,
        _asked(question, approval) if approval.step == "ask" else "",
        approval.agent_max,
        approval.workspace_max,
        approval.rule_max,
        approval.other_reasons,
    ]
    arguments.add_part("approvals", keys, step)


def _asked(question: CommitQuestion, approval: ApprovalStep) -> bytes:
    """The fields of an approval that never change, and its initial record, for `whole_record`.

    Built here, because each field that the script would have to write costs the store more than all of this.
    """
    request, caller, outcome = question.request, question.caller, question.plan.outcome
    terms, rule = approval.terms, outcome.rule
    remembers = {"memories": " ".join(approval.memories)} if approval.memories else {}
    return msgspec.json.encode(
        {
            "agent_id": request.agent_id,
            "tool_name": request.tool_name,
            "action": request.action,
            "parameters": (approval.parameters or request.recorded_parameters).decode(),
            "context": request.recorded_context.decode(),
            "bound": msgspec.json.encode(approval.bound).decode(),
            "hides": "1" if approval.hides else "0",
            "digest": approval.digest,
            "key_id": caller.key_id,
            "key_name": caller.name,
            "key_via": caller.via,
            "key_person": caller.person,
            "policy_id": outcome.policy_id or "",
            "rule": "" if rule is None else f"{rule.index} {rule.type}",
            "reason": outcome.reason + approval.other_reasons,
            "decisions": question.decision_id,
            "values": approval.values.decode(),
            **({"commands": approval.commands.decode()} if approval.commands else {}),
            **({"agent_says": approval.said.decode()} if approval.said else {}),
            **({"plan": request.plan} if request.plan else {}),
            "lasts_ms": str(terms.expires_seconds * 1000),
            "required": str(terms.approvals),
            "valid_ms": str(terms.valid_seconds * 1000),
            "max_uses": str(terms.max_uses),
            **({"who": msgspec.json.encode(terms.approvers).decode()} if terms.approvers else {}),
            **({} if terms.fresh is None else {"fresh_s": str(terms.fresh)}),
            "rules": " ".join(approval.rules),
            "policies": " ".join(approval.policies),
            **remembers,
        }
    )


def _with_approval(decision: Decision, approval: ApprovalStep, reply: CommitReply) -> Decision:
    """The decision, once the script has done the step or found no room for another approval."""
    if reply.approval == "refused":
        outcome = decision.outcome
        reason = f"{_NO_ROOM}; {outcome.reason}"
        refused = replace(outcome, result=Result.DENIED, reason=reason, code=DecisionCode.APPROVALS_FULL)
        return replace(decision, outcome=refused)
    status = ApprovalStatus.APPROVED if reply.approval == "used" else ApprovalStatus.PENDING
    with decoding_record(f"The record of approval {approval.approval_id}"):
        ref = ApprovalRef(approval.approval_id, status, rfc3339(number_of(reply.ends_ms)))
    return replace(decision, approval=ref)
