"""/v1/approvals/decide: several approvals in one request, each decided by itself."""

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from app.approvals.approvals import unknown_approval
from app.errors import AppError
from app.http.api.approvals import ApprovalNote
from app.http.endpoint import endpoint
from app.http.problems import Problem
from app.http.references import id_in_path
from app.model.api_keys import Caller, Scope
from app.model.approvals import Approval, ApprovalStatus
from app.model.fields import VersionNumber
from app.model.text import FieldError
from app.replica import Records

TOGETHER_MAX = 100


class Verdict(StrEnum):
    """What people say to a call that waits."""

    APPROVE = "approve"
    DENY = "deny"


_STATUS = {Verdict.APPROVE: ApprovalStatus.APPROVED, Verdict.DENY: ApprovalStatus.DENIED}


class SeenApproval(Struct, frozen=True, forbid_unknown_fields=True):
    """An approval as the person saw it.

    id: The approval.
    version: Its version when it was read; if it has changed since, it is not decided.
    """

    id: str
    version: VersionNumber


class DecideTogether(ApprovalNote, frozen=True, kw_only=True):
    """One verdict on several approvals.

    approvals: Those to decide, each once.
    decision: The verdict on each.
    struck_out: Those that are denied although the others are approved, such as calls of a plan that should not be made.
    """

    aliases = {"struckOut": "struck_out"}  # noqa: RUF012 - a ClassVar of Body

    approvals: Annotated[list[SeenApproval], Meta(min_length=1, max_length=TOGETHER_MAX)]
    decision: Verdict
    struck_out: Annotated[list[SeenApproval], Meta(max_length=TOGETHER_MAX)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        named = [*self.approvals, *(self.struck_out or ())]
        if len({each.id for each in named}) < len(named):
            raise FieldError("approvals", "must name each approval once")
        if self.struck_out and self.decision is Verdict.DENY:
            raise FieldError("struck_out", "the others are denied as well; name all of them in approvals")


class DecidedApproval(Struct, frozen=True, omit_defaults=True):
    """What became of one approval: either it was decided, or there is an error.

    id: As it was given.
    approval: The approval, decided.
    error: Why it was not decided, as `…/approve` or `…/deny` would answer.
    """

    id: str
    approval: Approval | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


@endpoint("POST", "/v1/approvals/decide", tag="Approvals", scopes=(Scope.ADMIN, Scope.APPROVE))
async def decide_together(data: DecideTogether, caller: Caller, records: Records) -> list[DecidedApproval]:
    """Decide several approvals.

    Those struck out are denied, first; the others get the verdict. Each is decided by itself, as if its id and version
    were sent to `…/approve` or `…/deny`, and the answers are in the order in which they are decided; one that cannot be
    decided does not stop the others. The status is 200 even if none could. A call that hides something must be approved
    singly.
    """
    denied = [await _decided(records, caller, each, Verdict.DENY, data.note) for each in data.struck_out or ()]
    decided = [await _decided(records, caller, each, data.decision, data.note) for each in data.approvals]
    return [*denied, *decided]


async def _decided(
    records: Records, caller: Caller, seen: SeenApproval, verdict: Verdict, note: str
) -> DecidedApproval:
    try:
        approval = await records.approvals.decide(
            caller.workspace_id,
            id_in_path(seen.id, unknown_approval()),
            _STATUS[verdict],
            by=caller.actor,
            note=note,
            if_match=frozenset((seen.version,)),
        )
    except AppError as error:
        return DecidedApproval(seen.id, error=Problem(error.code, error.message, error.details))
    return DecidedApproval(seen.id, approval=approval)
