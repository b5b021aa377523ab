"""The part of a commit that deals with approvals: its arguments, and what its reply means."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.model.api_keys import Caller
from app.model.approvals import DEFAULT_TERMS, ApprovalStatus, ApprovalTerms
from app.model.decision_codes import DecisionCode
from app.model.decisions import ApprovalRef, AuthorizeRequest, Decision, Outcome, Result
from app.model.times import rfc3339
from app.redis_client.client import Value
from app.redis_client.replies import number_of, reading
from app.store.keyspace import Keyspace

_NO_ROOM = "Too many approvals wait for people already"
"""Exactly as in `commit_decision`."""


class ApprovalStep(Struct, frozen=True, kw_only=True):
    """What the commit does if a person must approve; if the step does not apply, the reply is `Escalates`.

    step: ask = create an approval, attach = join the pending one, use = use the approved one, probe = nothing.
    held_id, held_version: the call's approval as it was read. full: the quotas that the plan takes to be full.
    terms, rules, policies: the approval's conditions, the fingerprints of the rules that ask, and their policies' ids.
    asker_id: the key that asked for the approval.
    bound, digest: what the approval binds, and its MAC. hides: whether people see less than that.
    parameters: as people see them; empty = as in the log.
    agent_max, workspace_max: approvals that may be open at once.
    """

    step: str
    approval_id: str
    digest: str
    held_id: str = ""
    held_version: str = "0"
    full: tuple[int, ...] = ()
    terms: ApprovalTerms = DEFAULT_TERMS
    rules: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    asker_id: str = ""
    bound: tuple[str, ...] = ()
    hides: bool = False
    parameters: bytes = b""
    agent_max: int = 100
    workspace_max: int = 10_000


def approval_keys(keyspace: Keyspace, agent_id: str, approval: ApprovalStep) -> list[str]:
    """The keys of the step, in the order of the script's header."""
    return [
        keyspace.approval(approval.approval_id),
        keyspace.approval_call(approval.digest),
        keyspace.approvals,
        keyspace.approvals_open,
        keyspace.agent_approvals(agent_id),
        keyspace.approval_events,
        keyspace.key(approval.asker_id),
    ]


def approval_args(
    approval: ApprovalStep, request: AuthorizeRequest, caller: Caller, outcome: Outcome, decision_id: str
) -> list[Value]:
    """The arguments of the step, in the order of the script's header. outcome: the call's if no quota is full."""
    return [
        approval.step,
        approval.approval_id,
        approval.held_id,
        approval.held_version,
        "".join(f"{number} " for number in approval.full),
        approval.terms.expires_seconds * 1000,
        _asked(approval, request, caller, outcome, decision_id) if approval.step == "ask" else "",
        approval.agent_max,
        approval.workspace_max,
    ]


def _asked(
    approval: ApprovalStep, request: AuthorizeRequest, caller: Caller, outcome: Outcome, decision_id: str
) -> bytes:
    """The fields of an approval that never change, and its initial record, for `whole_record`.

    Built here, because each field that the script would have to write costs the store more than all of this.
    """
    terms, rule = approval.terms, outcome.rule
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
            "policy_id": outcome.policy_id or "",
            "rule": "" if rule is None else f"{rule.index} {rule.type}",
            "reason": outcome.reason,
            "decisions": decision_id,
            "lasts_ms": str(terms.expires_seconds * 1000),
            "required": str(terms.approvals),
            "valid_ms": str(terms.valid_seconds * 1000),
            "max_uses": str(terms.max_uses),
            "rules": " ".join(approval.rules),
            "policies": " ".join(approval.policies),
        }
    )


def with_approval(
    decision_id: str, outcome: Outcome, latency_us: int, time_us: int, approval: ApprovalStep, became: str
) -> Decision:
    """The decision, once the script has done the step or found no room for another approval."""
    what, _, ends_ms = became.partition(" ")
    if what == "refused":
        reason = f"{_NO_ROOM}; {outcome.reason}"
        refused = replace(outcome, result=Result.DENIED, reason=reason, code=DecisionCode.APPROVALS_FULL)
        return Decision(decision_id, refused, None, latency_us, time_us)
    status = ApprovalStatus.APPROVED if what == "used" else ApprovalStatus.PENDING
    with reading(f"The record of approval {approval.approval_id}"):
        ref = ApprovalRef(approval.approval_id, status, rfc3339(number_of(ends_ms)))
    return Decision(decision_id, outcome, None, latency_us, time_us, approval=ref)
