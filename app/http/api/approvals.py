"""/v1/approvals: requested by escalated decisions, decided here."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Meta, UnsetType

from app.approvals.approvals import unknown_approval
from app.approvals.following import ApprovalEvent
from app.http.agent_references import agent_in_query
from app.http.authentication import raw_key_of, requires
from app.http.bodies import Body
from app.http.etag import version_header
from app.http.litestar_bodies import BodyDTO
from app.http.paths import id_in_path
from app.http.queries import MAX_LIMIT, Query
from app.model.api_keys import Caller, Scope
from app.model.approvals import Approval, ApprovalQuery, ApprovalStatus, Grant, Seconds
from app.model.text import VisibleLines, require_visible
from app.replica import Services
from app.store.optimistic import Versions

DEFAULT_LIMIT = 100
WAIT_MAX_S = 60
ALIASES = {"agentId": "agent_id"}


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


@get("/v1/approvals", guards=[requires(Scope.READ, Scope.APPROVE)])
async def list_approvals(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[list[Approval]]:
    """Approvals that match every filter, newest first; X-Next-Cursor asks for the page after this one."""
    query = Query(request, known=("status", "agent_id", "limit", "cursor"), aliases=ALIASES)
    status = query.choice("status", [each.value for each in ApprovalStatus])
    found, before = await services.approvals.page(
        caller.workspace_id,
        ApprovalQuery(
            status=None if status is None else ApprovalStatus(status),
            agent_id=await agent_in_query(services, caller, query),
            limit=query.number("limit", least=1, most=MAX_LIMIT) or DEFAULT_LIMIT,
            before=query.uuid("cursor"),
        ),
    )
    return Response(found, headers={} if before is None else {"X-Next-Cursor": before})


@get("/v1/approvals/{approval_id:str}", guards=[requires(Scope.READ, Scope.APPROVE, Scope.AUTHORIZE)])
async def get_approval(
    approval_id: FromPath[str], request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[Approval]:
    """One approval as it is now; with `wait`, as soon as it is no longer pending, or after that many seconds."""
    wait_s = Query(request, known=("wait",)).number("wait", least=0, most=WAIT_MAX_S) or 0
    wanted = _known(approval_id)
    approval = await services.approvals.get(caller.workspace_id, wanted)
    if not (caller.has_any((Scope.READ, Scope.APPROVE)) or caller.may_ask_for(approval.agent_id)):
        raise unknown_approval()
    if wait_s and approval.status is ApprovalStatus.PENDING:
        raw_key = raw_key_of(request.headers.get("authorization", "").encode("latin-1"))
        approval = await _decided(services, caller, raw_key, wanted, wait_s)
    return _answer(approval)


@post(
    "/v1/approvals/{approval_id:str}/approve",
    guards=[requires(Scope.ADMIN, Scope.APPROVE)],
    dto=BodyDTO,
    status_code=200,
)
async def approve_call(
    approval_id: FromPath[str],
    data: JSONBody[ApproveCall],
    caller: Handed[Caller],
    services: Handed[Services],
    if_match: Handed[Versions],
) -> Response[Approval]:
    """Approve the call. Once enough people have, it is allowed when the agent asks again."""
    approval = await services.approvals.decide(
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


@post(
    "/v1/approvals/{approval_id:str}/deny", guards=[requires(Scope.ADMIN, Scope.APPROVE)], dto=BodyDTO, status_code=200
)
async def deny_call(
    approval_id: FromPath[str],
    data: JSONBody[ApprovalNote],
    caller: Handed[Caller],
    services: Handed[Services],
    if_match: Handed[Versions],
) -> Response[Approval]:
    """Deny the call. If the agent requests it again, people are asked again."""
    return await _refuse(services, caller, approval_id, ApprovalStatus.DENIED, data, if_match)


@post(
    "/v1/approvals/{approval_id:str}/cancel",
    guards=[requires(Scope.READ, Scope.APPROVE, Scope.AUTHORIZE)],
    dto=BodyDTO,
    status_code=200,
)
async def cancel_approval(
    approval_id: FromPath[str],
    data: JSONBody[ApprovalNote],
    caller: Handed[Caller],
    services: Handed[Services],
    if_match: Handed[Versions],
) -> Response[Approval]:
    """Withdraw the request, with the key that asked; nobody needs to decide it any more."""
    return await _refuse(services, caller, approval_id, ApprovalStatus.CANCELLED, data, if_match)


async def _refuse(
    services: Services,
    caller: Caller,
    approval_id: str,
    verdict: ApprovalStatus,
    data: ApprovalNote,
    if_match: Versions,
) -> Response[Approval]:
    approval = await services.approvals.decide(
        caller.workspace_id,
        _known(approval_id),
        verdict,
        by=caller.actor,
        note=data.note,
        if_match=if_match,
    )
    return _answer(approval)


async def _decided(services: Services, caller: Caller, raw_key: str, approval_id: str, wait_s: int) -> Approval:
    """The approval once it is decided, or as it is after `wait_s` seconds or when the replica stops.

    Raises Unauthorized once the key is revoked or expired: such a key is told nothing more.
    """
    wake = asyncio.Event()
    async with services.approval_follower.subscribed(caller.workspace_id, wake, key_id=caller.key_id) as events:
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                # These reads see what happened before the subscription, the queue what happens after it.
                concerned = True
                while not services.stopping.is_set():
                    if concerned:
                        left_s = await services.authenticator.seconds_left(raw_key)
                        key_ends = None if left_s is None else asyncio.get_running_loop().time() + left_s
                        approval = await services.approvals.get(caller.workspace_id, approval_id)
                        if approval.status is not ApprovalStatus.PENDING:
                            break
                    concerned = await _something_came(events, wake, approval_id, key_ends)
    await services.authenticator.authenticate(raw_key)
    return await services.approvals.get(caller.workspace_id, approval_id)


async def _something_came(
    events: asyncio.Queue[ApprovalEvent | None], wake: asyncio.Event, approval_id: str, key_ends: float | None
) -> bool:
    """Whether something may have changed: an event arrived, or the loop's time is past `key_ends`."""
    try:
        async with asyncio.timeout_at(key_ends):
            await wake.wait()
    except TimeoutError:
        return True
    wake.clear()
    came = [events.get_nowait() for _ in range(events.qsize())]
    return any(event is None or event.approval_id == approval_id for event in came)


def _answer(approval: Approval) -> Response[Approval]:
    return Response(approval, headers=version_header(approval.version))


def _known(approval_id: str) -> str:
    """The id in its canonical form. Raises ApprovalNotFound if it is not an id."""
    return id_in_path(approval_id, unknown_approval())
