"""The commit's part for approvals: its keys and arguments, and what its reply means."""

import msgspec
from msgspec.structs import replace

from app.authorize.commit.arguments import CommitArguments
from app.authorize.commit.question import ApprovalStep, CommitQuestion
from app.authorize.commit.reply import CommitReply
from app.model.approvals import ApprovalStatus
from app.model.decision_codes import DecisionCode
from app.model.decisions import ApprovalRef, Decision, Result
from app.model.times import rfc3339
from app.redis_client.client import Value
from app.redis_client.replies import decoding_record, number_of

_NO_ROOM = "Too many approvals wait for people already"
"""Exactly as in `commit_decision`."""


def add_approval(arguments: CommitArguments, question: CommitQuestion, approval: ApprovalStep) -> None:
    """Add the part, in the order of its header. A probe needs neither keys nor other arguments."""
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


def with_approval(decision: Decision, approval: ApprovalStep, reply: CommitReply) -> Decision:
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
