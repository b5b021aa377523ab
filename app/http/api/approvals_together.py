"""/v1/approvals/decide: several approvals in one request, each decided by itself."""

from enum import StrEnum
from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec import UNSET, Meta, Struct, UnsetType

from app.approvals.approvals import unknown_approval
from app.errors import AppError
from app.http.api.approvals import ApprovalNote
from app.http.endpoint import endpoint
from app.http.openapi.examples.approvals import DECIDE_TOGETHER, DECIDED_TOGETHER
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
    """

    approvals: Annotated[list[SeenApproval], Meta(min_length=1, max_length=TOGETHER_MAX)]
    decision: Verdict

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({each.id for each in self.approvals}) < len(self.approvals):
            raise FieldError("approvals", "must name each approval once")


class DecidedApproval(Struct, frozen=True, omit_defaults=True):
    """What became of one approval: either it was decided, or there is an error.

    id: As it was given.
    approval: The approval, decided.
    error: Why it was not decided, as `…/approve` or `…/deny` would answer.
    """

    id: str
    approval: Approval | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


@endpoint(
    "POST",
    "/v1/approvals/decide",
    tag="Approvals",
    scopes=(Scope.ADMIN, Scope.APPROVE),
    examples=DECIDE_TOGETHER,
    example=DECIDED_TOGETHER,
)
async def decide_together(
    data: JSONBody[DecideTogether], caller: NamedDependency[Caller], records: NamedDependency[Records]
) -> list[DecidedApproval]:
    """Decide several approvals.

    Each is decided by itself, in the order given, as if its id and version were sent to `…/approve` or `…/deny`; one
    that cannot be decided does not stop the others. The status is 200 even if none could. A call that hides something
    must be approved singly.
    """
    return [await _decided(records, caller, each, data) for each in data.approvals]


async def _decided(records: Records, caller: Caller, seen: SeenApproval, data: DecideTogether) -> DecidedApproval:
    try:
        approval = await records.approvals.decide(
            caller.workspace_id,
            id_in_path(seen.id, unknown_approval()),
            _STATUS[data.decision],
            by=caller.actor,
            note=data.note,
            if_match=frozenset((seen.version,)),
        )
    except AppError as error:
        return DecidedApproval(seen.id, error=Problem(error.code, error.message, error.details))
    return DecidedApproval(seen.id, approval=approval)
