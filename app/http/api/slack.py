"""/v1/slack: people decide in Slack, by the session that they have here."""

import logging
from typing import Any
from urllib.parse import parse_qs

import msgspec
from litestar import Request, Response
from litestar.background_tasks import BackgroundTask
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from msgspec import UNSET

from app.errors import AppError, InsufficientScope, Invalid, LockedOut, NotFound, PayloadTooLarge, Unauthorized
from app.http.authentication import note_failure, peer_of
from app.http.bodies import MAX_BODY_BYTES, read_body
from app.http.endpoint import endpoint
from app.http.headers import single_headers
from app.http.problems import nothing_here
from app.http.queries import decode_query
from app.model.actors import Via
from app.model.api_keys import Caller, Scope
from app.model.approvals import Approval, ApprovalStatus
from app.model.query_fields import QueryFields
from app.replica import Services
from app.webhooks.slack import only_text, review_message
from app.webhooks.slack_app import APPROVE, DENY, Pressed, SlackApp, pressed_in

log = logging.getLogger(__name__)
_TIMESTAMP, _SIGNATURE = b"x-slack-request-timestamp", b"x-slack-signature"
_SIGNED = frozenset({_TIMESTAMP, _SIGNATURE})
_VERDICTS = {APPROVE: ApprovalStatus.APPROVED, DENY: ApprovalStatus.DENIED}
_decode = msgspec.json.Decoder(dict[str, Any]).decode


async def _signed_instead(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Slack has no key: it signs its requests."""
    decode_query(connection.scope["query_string"], QueryFields)


@endpoint(
    "POST",
    "/v1/slack",
    tag="Approvals",
    scopes=(),
    status=200,
    answer=None,
    errors=(Invalid, Unauthorized, NotFound, LockedOut, PayloadTooLarge),
    litestar={"guards": [_signed_instead]},
)
async def slack_pressed(request: Request[Any, Any, Any], services: Services) -> Response[None]:
    """Take what somebody pressed in Slack.

    For Slack alone: a form with a `payload`, signed with the signing secret of the app. It is answered at once; what
    becomes of it, whoever pressed sees in Slack.
    """
    app = services.consequences.delivery.slack
    if app is None:
        raise nothing_here()
    try:
        given = single_headers(request.scope["headers"], _SIGNED)
        body = await read_body(request.receive, MAX_BODY_BYTES)
        app.require_signed(_text(given.get(_TIMESTAMP)), _text(given.get(_SIGNATURE)), body)
    except Unauthorized as error:
        note_failure(services.decisions, peer_of(request.scope), request.scope["headers"], error)
        raise
    try:
        [payload] = parse_qs(body.decode(), strict_parsing=True, max_num_fields=1)["payload"]
        pressed = pressed_in(_decode(payload))
    except (ValueError, KeyError, RecursionError):
        raise Invalid("The body must be a form with one field, `payload`, that is a JSON object") from None
    task = None if pressed is None else BackgroundTask(_act, services, app, pressed)
    return Response(None, status_code=200, background=task)


def _text(header: bytes | None) -> str:
    return "" if header is None else header.decode("latin-1")


async def _act(services: Services, app: SlackApp, pressed: Pressed) -> None:
    """Show the call, or decide it, and tell whoever pressed what came of it; never raises."""
    workspace_id = ""
    try:
        if pressed.action in _VERDICTS:
            workspace_id, approval_id, version = app.decided(pressed.value, pressed.user)
            caller = await _person(services, app, workspace_id, pressed)
            told = await _decided(services, caller, approval_id, version, _VERDICTS[pressed.action])
            message = only_text(told, instead=True)
        else:
            workspace_id, approval_id = app.reviewed(pressed.value)
            caller = await _person(services, app, workspace_id, pressed)
            message = await _review(services, app, caller, approval_id, pressed.user)
    except AppError as error:
        message = only_text(error.message, instead=pressed.action in _VERDICTS)
    except Exception:
        log.exception("what somebody pressed in Slack could not be done")
        message = only_text("Something went wrong here; the service's log says what. Nothing was decided")
    try:
        await app.answer(workspace_id, pressed.answer_url, message)
    except AppError as error:
        log.warning("who pressed a button in Slack was told nothing: %s", error)


async def _person(services: Services, app: SlackApp, workspace_id: str, pressed: Pressed) -> Caller:
    """Who pressed the button, by their newest session here. Raises Unauthorized, InsufficientScope."""
    address = await app.address_of(workspace_id, pressed)
    session = await services.records.sign_ins.of_address(workspace_id, address)
    if session is None:
        raise Unauthorized(
            f"Nobody with the address {address} has signed in to this workspace within the last 8 hours, or your "
            f"identity provider has not verified it. Sign in at {_console(services)}, then press the button again"
        )
    caller = await services.decisions.authenticator.elsewhere(workspace_id, session, Via.SLACK)
    if not caller.has_any((Scope.APPROVE,)):
        raise InsufficientScope(f"{session.name} may not decide: none of your groups has the scope approve")
    return caller


async def _review(services: Services, app: SlackApp, caller: Caller, approval_id: str, user: str) -> dict[str, Any]:
    """The message that shows a call that waits, or says why it is not decided here."""
    approval = await services.records.approvals.get(caller.workspace_id, approval_id)
    if approval.status is not ApprovalStatus.PENDING:
        return only_text(f"It waits no more: the approval is {approval.status}")
    if elsewhere := _only_in_the_console(services, approval):
        return only_text(elsewhere)
    usual = await services.explanations.usual_calls.beside(caller.workspace_id, approval)
    agent = await services.records.agents.get(caller.workspace_id, approval.agent_id)
    call = msgspec.json.decode(msgspec.json.encode(approval))
    entry = {"agentId": approval.agent_id, "toolName": approval.tool_name, "reason": approval.reason}
    value = app.decide_value(caller.workspace_id, approval_id, approval.version, user)
    data = {"agentName": agent.name, "entry": entry, "approval": call}
    return review_message(data, usual, value, f"{_console(services)}/approvals/{approval_id}")


async def _decided(services: Services, caller: Caller, approval_id: str, version: int, verdict: ApprovalStatus) -> str:
    """Decide the approval as it was shown, and say what it is now."""
    approvals = services.records.approvals
    if elsewhere := _only_in_the_console(services, await approvals.get(caller.workspace_id, approval_id)):
        return elsewhere
    decided = await approvals.decide(
        caller.workspace_id, approval_id, verdict, by=caller.actor, if_match=frozenset((version,))
    )
    approved = sum(each.verdict is ApprovalStatus.APPROVED for each in decided.approvals)
    so_far = f"; {approved} of {decided.required} have approved" if decided.required > 1 else ""
    return f"{decided.tool_name} is {decided.status}{so_far}. You decided as {caller.name}"


def _only_in_the_console(services: Services, approval: Approval) -> str:
    """Why the call is decided in the console alone; "" if it can be decided here."""
    where = f"Decide it in the console: {_console(services)}/approvals/{approval.id}"
    if approval.fresh is not UNSET:
        return (
            f"The rule asks for a sign-in of the last {approval.fresh} seconds, which Slack does not know of. {where}"
        )
    if approval.hides:
        return f"Some of the call is redacted or shortened, which has to be acknowledged. {where}"
    return ""


def _console(services: Services) -> str:
    return f"{(services.settings.public_url or '').rstrip('/')}/console"
