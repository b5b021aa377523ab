"""A call as people are asked about it, and the approval it has."""

from collections.abc import Collection

from msgspec import Struct

from app.model.approvals import ApprovalStatus, policies_that_asked
from app.model.decisions import AuthorizeRequest, Plan
from app.model.escalations import Escalation
from app.pdp import CompiledAgent
from app.redis_client.replies import number_of, reading


class ApprovalRequest(Struct, frozen=True):
    """A call as people are asked about it.

    now_ms: the store's time, estimated; 0 = unknown. bound: the part of its context that the approval binds.
    digest: the MAC of everything bound.
    """

    workspace_id: str
    request: AuthorizeRequest
    agent: CompiledAgent
    plan: Plan
    now_ms: int
    decision_id: str
    key_id: str
    bound: tuple[str, ...]
    digest: str
    parameters: bytes


class HeldApproval(Struct, frozen=True):
    """The approval that a call is known to have, and its record; empty if none is known."""

    id: str
    record: dict[str, str]

    def covers(self, asking: tuple[Escalation, ...], governing: Collection[str]) -> bool:
        """Whether it was requested for all these rules, and all policies that asked still govern the agent."""
        rules, policies = self.record.get("rules", "").split(), policies_that_asked(self.record)
        return {each.fingerprint for each in asking} <= set(rules) and set(policies) <= set(governing)

    def is_open(self, status: ApprovalStatus, now_ms: int) -> bool:
        """Whether it has this status and its time has not passed."""
        ends = "expires_ms" if status is ApprovalStatus.PENDING else "usable_until_ms"
        if self.record.get("status") != status:
            return False
        with reading(f"The record of approval {self.id}"):
            return now_ms < number_of(self.record[ends])
