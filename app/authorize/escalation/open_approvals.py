"""The approval that a call has already, as this replica remembers it or as the store has it."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from msgspec import Struct

from app.authorize.commit import CommitAnswer
from app.model.approvals import ENDS, OPEN, ApprovalStatus, policies_that_asked, whole_record
from app.model.decisions import Decision
from app.model.escalations import Escalation
from app.pdp.escalations import Approved
from app.redis_client.replies import as_record, decoding_record, number_of
from app.store.keyspace import Keyspace

_KNOWN_MAX = 4_096


class CurrentApproval(Struct, frozen=True):
    """The approval that a call is known to have, and its record; empty if none is known."""

    id: str
    record: dict[str, str]

    def covers(self, asking: tuple[Escalation, ...], governing: Collection[str]) -> bool:
        """True if it was requested for all these rules, and all policies that asked still govern the agent."""
        rules, policies = self.record.get("rules", "").split(), policies_that_asked(self.record)
        return {each.fingerprint for each in asking} <= set(rules) and set(policies) <= set(governing)

    @property
    def approved(self) -> Approved:
        """What people have approved, once they have."""
        record = self.record
        reason = f'Approved by "{record["approved_by"]}"'
        return Approved(record["rules"].split(), record.get("memories", "").split(), reason)

    def is_open(self, status: ApprovalStatus, now_ms: int) -> bool:
        """True if it has this status and its time has not passed."""
        if self.record.get("status") != status:
            return False
        with decoding_record(f"The record of approval {self.id}"):
            return now_ms < number_of(self.record[ENDS[status]])


class OpenApprovals:
    """Finds the approvals of calls, by the digest of what is bound. Only the commit can be sure.

    read: runs a read command within the time limit of a decision.
    """

    def __init__(self, read: Callable[..., Awaitable[Any]]) -> None:
        self._read = read
        self._newest: OrderedDict[str, str] = OrderedDict()

    async def likely(self, workspace_id: str, digest: str) -> CurrentApproval | None:
        """The call's approval as this replica remembers it; None = ask the store.

        A call that is new here is nearly always new everywhere, so its commit is sent without asking the store first.
        """
        known = self._newest.get(digest)
        if known is None:
            return NO_APPROVAL
        approval = await self._of_id(workspace_id, known)
        return approval if approval.record.get("status") in OPEN else None

    async def stored(self, workspace_id: str, digest: str) -> CurrentApproval:
        """The call's approval as the store has it."""
        approval_id = await self._read("GET", Keyspace(workspace_id).approval_call(digest))
        return await self._of_id(workspace_id, approval_id) if approval_id else NO_APPROVAL

    def remember(self, digest: str, answer: CommitAnswer) -> None:
        """Remember the ids of the newest approvals requested here."""
        if isinstance(answer, Decision) and answer.approval is not None:
            self._newest[digest] = answer.approval.id
            self._newest.move_to_end(digest)
            if len(self._newest) > _KNOWN_MAX:
                self._newest.popitem(last=False)

    async def _of_id(self, workspace_id: str, approval_id: str) -> CurrentApproval:
        with decoding_record("The current approval of the call"):
            record = whole_record(as_record(await self._read("HGETALL", Keyspace(workspace_id).approval(approval_id))))
            "".join(record.values()).encode()  # bytes that are not UTF-8 were read as surrogates
            return CurrentApproval(approval_id, record)


NO_APPROVAL = CurrentApproval("", {})
