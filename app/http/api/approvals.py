"""/v1/approvals: requested by escalated decisions, compared with earlier calls, decided singly or together."""

import asyncio
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any

from litestar import Request, Response
from msgspec import UNSET, Meta, Struct, UnsetType

from app.approvals.approvals import unknown_approval
from app.approvals.following import ApprovalEvent, Events
from app.errors import (
    AgentNotFound,
    AppError,
    ApprovalChanged,
    ApprovalDecided,
    ApprovalNotFound,
    AuditLogDamaged,
    NotAnApprover,
    OwnApproval,
    SignInTooOld,
)
from app.http.authentication import raw_key_in_use
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.headers import version_header
from app.http.openapi.described_headers import ETAG, IF_MATCH_APPROVAL, NEXT_CURSOR
from app.http.problems import Problem
from app.http.references import id_in_path, with_agent_id
from app.model.api_keys import Caller, Scope
from app.model.approvals import (
    Approval,
    ApprovalQuery,
    ApprovalStatus,
    ApprovalSummary,
    Grant,
    Seconds,
    SummaryQuery,
)
from app.model.fields import VersionNumber
from app.model.query_fields import QueryFields
from app.model.text import FieldError, VisibleLines, require_visible
from app.model.usual import Usual
from app.replica import Records, Services
from app.store.optimistic import Versions

WAIT_MAX_S = 60
TOGETHER_MAX = 100
"""Approvals that one request decides."""

_WITHDRAW: dict[str, Any] = {"tag": "Approvals", "scopes": (Scope.READ, Scope.APPROVE, Scope.AUTHORIZE)}
_SEE_ONE: dict[str, Any] = {**_WITHDRAW, "scopes": (Scope.READ, Scope.VIEW, Scope.APPROVE, Scope.AUTHORIZE)}
_DECIDING = (ApprovalNotFound, ApprovalDecided, ApprovalChanged, OwnApproval, NotAnApprover, SignInTooOld)
_WRITE: dict[str, Any] = {"tag": "Approvals", "scopes": (Scope.ADMIN, Scope.APPROVE)}


class Waiting(QueryFields, frozen=True):
    """How long to wait for a decision.

    wait: Answer as soon as it is no longer pending, or after this many seconds.
    """

    wait: Annotated[int, Meta(ge=0, le=WAIT_MAX_S)] = 0


class ApprovalNote(Body, frozen=True):
    """A note given with a denial or a cancellation.

    note: For the log and for whoever asked; may contain line breaks.
    """

    note: Annotated[VisibleLines, Meta(max_length=2000)] = ""

    def __post_init__(self) -> None:
        require_visible("note", self.note, lines=True)


class ApproveCall(ApprovalNote, frozen=True):
    """An approval, and what it permits: at most what the rule that asked allows.

    uses: How many calls it permits; as many as the rule allows if left out.
    valid_seconds: How long it can be used, in seconds; as long as the rule allows if left out.
    accept_hidden: true confirms that the person knows they do not see everything the approval is bound to.
    """

    aliases = {"validSeconds": "valid_seconds", "acceptHidden": "accept_hidden"}  # noqa: RUF012 - a ClassVar of Body

    uses: Annotated[int, Meta(ge=1, le=1000)] | UnsetType = UNSET
    valid_seconds: Seconds | UnsetType = UNSET
    accept_hidden: bool = False


@endpoint(
    "GET",
    "/v1/approvals",
    tag="Approvals",
    scopes=(Scope.READ, Scope.VIEW, Scope.APPROVE),
    errors=(AgentNotFound,),
    headers=NEXT_CURSOR,
)
async def list_approvals(params: ApprovalQuery, caller: Caller, records: Records) -> Response[list[Approval]]:
    """List approvals, waiting and decided."""
    params = await with_agent_id(records, caller, params)
    found, before = await records.approvals.page(caller.workspace_id, params, caller)
    return Response(found, headers={} if before is None else {"X-Next-Cursor": before})


@endpoint(
    "GET",
    "/v1/approvals/summary",
    tag="Approvals",
    scopes=(Scope.READ, Scope.VIEW, Scope.APPROVE),
    errors=(AgentNotFound,),
)
async def get_approval_summary(params: SummaryQuery, caller: Caller, records: Records) -> ApprovalSummary:
    """Count what waits.

    With the calls that have waited longest, in brief, and how long people took for the latest that they decided.
    """
    params = await with_agent_id(records, caller, params)
    return await records.approvals.summary(caller.workspace_id, params)


@endpoint("GET", "/v1/approvals/{approval_id}", **_SEE_ONE, errors=(ApprovalNotFound,), headers=ETAG)
async def get_approval(
    approval_id: str, request: Request[Any, Any, Any], params: Waiting, caller: Caller, services: Services
) -> Response[Approval]:
    """Read one approval, or wait until it is decided."""
    wanted = _known(approval_id)
    approval = await services.records.approvals.get(caller.workspace_id, wanted)
    if not (caller.has_any((Scope.READ, Scope.VIEW, Scope.APPROVE)) or caller.may_ask_for(approval.agent_id)):
        raise unknown_approval()
    if params.wait and approval.status is ApprovalStatus.PENDING:
        raw_key = raw_key_in_use(request)
        approval = await _decided(services, caller, raw_key, wanted, params.wait)
    return _answer(approval)


@endpoint(
    "POST",
    "/v1/approvals/{approval_id}/approve",
    **_WRITE,
    errors=_DECIDING,
    headers=ETAG,
    request_headers=(IF_MATCH_APPROVAL,),
)
async def approve_call(
    approval_id: str, data: ApproveCall, caller: Caller, records: Records, if_match: Versions
) -> Response[Approval]:
    """Approve the call.

    When the agent asks again, it is allowed, unless its policies have come to require more. Whoever asked can never
    approve. If the rule requires several people, each uses a key of their own; rotated keys, and keys that one of them
    created, count as that person.
    """
    approval = await records.approvals.decide(
        caller.workspace_id,
        _known(approval_id),
        ApprovalStatus.APPROVED,
        by=caller.actor,
        note=data.note,
        grant=Grant(uses=data.uses, valid_seconds=data.valid_seconds),
        if_match=if_match,
        accepts_hidden=data.accept_hidden,
    )
    return _answer(approval)


@endpoint(
    "POST",
    "/v1/approvals/{approval_id}/deny",
    **_WRITE,
    errors=_DECIDING,
    headers=ETAG,
    request_headers=(IF_MATCH_APPROVAL,),
)
async def deny_call(
    approval_id: str, data: ApprovalNote, caller: Caller, records: Records, if_match: Versions
) -> Response[Approval]:
    """Deny the call."""
    return await _refuse(records, caller, approval_id, ApprovalStatus.DENIED, data, if_match)


@endpoint(
    "POST",
    "/v1/approvals/{approval_id}/cancel",
    **_WITHDRAW,
    errors=_DECIDING,
    headers=ETAG,
    request_headers=(IF_MATCH_APPROVAL,),
)
async def cancel_approval(
    approval_id: str, data: ApprovalNote, caller: Caller, records: Records, if_match: Versions
) -> Response[Approval]:
    """Withdraw the request, or what was approved and is not used yet.

    While it waits, only with the key that asked, or one that was rotated from it or into it. Once it is approved, and
    as long as it permits another call, also by whoever may decide; whoever approved it is one of them.
    """
    return await _refuse(records, caller, approval_id, ApprovalStatus.CANCELLED, data, if_match)


async def _refuse(
    records: Records, caller: Caller, approval_id: str, verdict: ApprovalStatus, data: ApprovalNote, if_match: Versions
) -> Response[Approval]:
    approval = await records.approvals.decide(
        caller.workspace_id,
        _known(approval_id),
        verdict,
        by=caller.actor,
        note=data.note,
        if_match=if_match,
        may_decide=caller.has_any((Scope.APPROVE,)),
    )
    return _answer(approval)


async def _decided(services: Services, caller: Caller, raw_key: str, approval_id: str, wait_s: int) -> Approval:
    """The approval once it is decided, or as it is after `wait_s` seconds or when the replica stops.

    Raises Unauthorized once the key is revoked or expired: such a key is told nothing more.
    """
    wake, follower = asyncio.Event(), services.streams.approval_follower
    async with follower.subscribed(caller.workspace_id, wake, key_id=caller.key_id) as events:
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await _until_decided(services, caller, raw_key, approval_id, events, wake)
    await services.decisions.authenticator.authenticate(raw_key)
    return await services.records.approvals.get(caller.workspace_id, approval_id)


async def _until_decided(
    services: Services, caller: Caller, raw_key: str, approval_id: str, events: Events, wake: asyncio.Event
) -> None:
    """Return once the approval is decided or the replica stops. Raises Unauthorized once the key does not count."""
    while not services.streams.stopping.is_set():
        # These reads see what happened before the subscription, the queue what happens after it.
        left_s = await services.decisions.authenticator.seconds_left(raw_key)
        key_ends = None if left_s is None else asyncio.get_running_loop().time() + left_s
        approval = await services.records.approvals.get(caller.workspace_id, approval_id)
        if approval.status is not ApprovalStatus.PENDING:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout_at(key_ends):
                await _until_told(events, wake, approval_id)


async def _until_told(events: Events, wake: asyncio.Event, approval_id: str) -> None:
    """Return once an event has come that may be about the approval, or about the key that waits."""
    while not any(event is None or event.approval_id == approval_id for event in _taken(events)):
        await wake.wait()
        wake.clear()


def _taken(events: Events) -> list[ApprovalEvent | None]:
    return [events.get_nowait() for _ in range(events.qsize())]


def _answer(approval: Approval) -> Response[Approval]:
    return Response(approval, headers=version_header(approval.version))


def _known(approval_id: str) -> str:
    """The id in lower case. Raises ApprovalNotFound if it is not an id."""
    return id_in_path(approval_id, unknown_approval())


@endpoint(
    "GET",
    "/v1/approvals/{approval_id}/usual",
    tag="Approvals",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT, Scope.APPROVE),
    errors=(ApprovalNotFound, AuditLogDamaged),
)
async def get_usual(approval_id: str, caller: Caller, services: Services) -> Usual:
    """Compare the call with what its agent was allowed to do with the tool.

    Each value of the parameters beside those of the latest 50 allowed calls: least, median and most of numbers, the
    most frequent other values, and in words what is unusual. What the log hides is neither compared nor shown.
    """
    approval = await services.records.approvals.get(caller.workspace_id, _known(approval_id))
    return await services.explanations.usual_calls.beside(caller.workspace_id, approval)


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
    denied = [await _decided_singly(records, caller, each, Verdict.DENY, data.note) for each in data.struck_out or ()]
    decided = [await _decided_singly(records, caller, each, data.decision, data.note) for each in data.approvals]
    return [*denied, *decided]


async def _decided_singly(
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
