"""Signing in with the identity provider: the way there, the way back, and its word that somebody signed out."""

import base64
import hmac
import html
import re
import secrets
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs

import msgspec
from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.handlers import BaseRouteHandler
from msgspec import UNSET, Struct, UnsetType

from app.errors import AppError, CrossSite, Invalid, NotFound, ProviderUnavailable, SeveralWorkspaces, Unauthorized
from app.http.api.sessions import workspace_id_of
from app.http.authentication import note_failure, peer_of
from app.http.bodies import read_body
from app.http.cookies import FLOW_COOKIE, cookie_in, flow_cookie, require_same_origin, set_cookie
from app.http.endpoint import endpoint
from app.http.problems import nothing_here
from app.model.actors import Via
from app.model.identity_provider import IdentityProvider
from app.model.sign_ins import CHOICE_SECONDS, SignIn, WaitingSignIn
from app.redaction.signer import Purpose, Signer
from app.replica import Services

SIGN_IN, CALLBACK, LOGOUT = "/console/sign-in", "/console/callback", "/console/backchannel-logout"
WORKSPACE = "/console/workspace"
_ENDPOINT: dict[str, Any] = {"tag": "Sessions", "scopes": ()}
_CHOICE_BYTES = 4 * 1024
_LOGOUT_BYTES = 32 * 1024
_CLOCKS_APART_S = 30
_is_code = re.compile(r"[!-~]{1,4096}", re.ASCII).fullmatch
_is_age = re.compile(r"[0-9]{1,4}|1[0-9]{4}|2[0-8][0-9]{3}", re.ASCII).fullmatch
HTML = "text/html; charset=utf-8"
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}
_WITH_A_FORM = {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace("form-action 'none'", "form-action 'self'"),
    "Referrer-Policy": "same-origin",  # with `no-referrer`, the Origin of a form is `null`
}
_NO_FLOW = Cookie(FLOW_COOKIE, value="", max_age=0, secure=True, httponly=True, samesite="lax", path="/")
is_console_path = re.compile(r"/console(/[\w~-][\w.~-]*)*/?(\?[!-\"$-~]*)?", re.ASCII).fullmatch
"""No empty segment and none of dots: browsers would resolve them. After `?`, nothing leads elsewhere."""


def is_sign_in(path: str, method: str, query: bytes) -> bool:
    """True if a request below /console is part of signing in, and not for the console's page."""
    return path in (CALLBACK, LOGOUT, WORKSPACE) or (path == SIGN_IN and method in {"GET", "HEAD"} and bool(query))


class ProviderView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The identity provider.

    name: What people call it.
    issuer: Its issuer.
    cli_client_id: The client with which `remit login` signs in; left out = it cannot.
    """

    name: str
    issuer: str
    cli_client_id: str | UnsetType = UNSET


class SignInOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    """How people can sign in, besides with an API key.

    provider: The identity provider, at `/console/sign-in?to=/console`; null = none.
    only: True if people sign in to the console in no other way.
    """

    provider: ProviderView | None
    only: bool = False


class _Flow(Struct, frozen=True, kw_only=True):
    """A sign-in on its way, which the browser keeps in a cookie.

    state, nonce, verifier: random, and known to nobody but that browser: they bind the provider's answer to it.
    to: the path of the console to go to afterwards. workspace: its name; "" = not chosen.
    max_age: seconds since they showed their credentials, at most; None = any. begun_s: when, since the epoch.
    """

    state: str
    nonce: str
    verifier: str
    to: str
    workspace: str
    max_age: int | None
    begun_s: int

    def signed(self, signer: Signer) -> str:
        """The cookie's value."""
        written = base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")
        return f"{written}.{signer.mac(Purpose.SIGN_IN, written.encode())}"

    @classmethod
    def of(cls, cookie: str, signer: Signer) -> "_Flow | None":
        """What is written in a cookie's value; None unless it was signed here."""
        written, _, mac = cookie.rpartition(".")
        wanted = signer.macs(Purpose.SIGN_IN, written.encode())
        if not any(hmac.compare_digest(mac.encode(), each.encode()) for each in wanted):
            return None
        return msgspec.json.decode(base64.urlsafe_b64decode(written + "=" * (-len(written) % 4)), type=cls)


async def _no_key(_: ASGIConnection[Any, Any, Any, Any], __: BaseRouteHandler) -> None:
    """These requests prove in other ways who they are from; limits on addresses apply to them."""


_GUARDED: dict[str, Any] = {"guards": [_no_key], "response_headers": HEADERS, "media_type": HTML}


@endpoint(
    "GET",
    "/v1/sign-in",
    **_ENDPOINT,
)
async def sign_in_options(services: Services) -> SignInOptions:
    """Read how people can sign in."""
    provider = services.provider
    if provider is None:
        return SignInOptions(provider=None)
    view = ProviderView(name=provider.name, issuer=provider.issuer, cli_client_id=provider.cli_client_id or UNSET)
    return SignInOptions(provider=view, only=services.settings.oidc_only)


@endpoint("GET", SIGN_IN, **_ENDPOINT, status=302, answer=None, errors=(Invalid, NotFound), litestar=_GUARDED)
async def go_to_provider(request: Request[Any, Any, Any], services: Services) -> Response[str]:
    """Sign in with the identity provider.

    For browsers. `to` says where to go afterwards, a path of the console; `workspace` which one, if there are several;
    `max_age` how many seconds ago they may have shown their credentials to the provider, which otherwise asks again.
    """
    provider, query = _required(services), _query(request)
    to = query.get("to", "/console")
    if not is_console_path(to):
        raise Invalid.at("to", "must be a path of the console, such as /console/approvals")
    max_age = query.get("max_age", "")
    if max_age and not _is_age(max_age):
        raise Invalid.at("max_age", "must be a number of seconds, at most 28800")
    flow = _Flow(
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(32),
        to=to,
        workspace=query.get("workspace", ""),
        max_age=int(max_age) if max_age else None,
        begun_s=int(time.time()),
    )
    try:
        where = await provider.authorization_url(flow.state, flow.nonce, flow.verifier, flow.max_age)
    except AppError as error:
        return error_page(error)
    headers = HEADERS | {"Location": where, "Set-Cookie": flow_cookie(flow.signed(_signer(services)))}
    return Response("", status_code=302, headers=headers)


@endpoint("GET", CALLBACK, **_ENDPOINT, status=303, answer=None, errors=(NotFound,), litestar=_GUARDED)
async def come_back(request: Request[Any, Any, Any], services: Services) -> Response[str]:
    """Come back from the identity provider.

    For browsers: with a code, and in the browser that was sent there, this signs in. Somebody with access to several
    workspaces gets a page on which to choose one.
    """
    provider, flow_ends = _required(services), False
    try:
        query = _query(request)
        flow = _flow_in(request, services)
        if not hmac.compare_digest(query.get("state", "").encode(), flow.state.encode()):
            # Another tab's, or a stranger's: neither ends the sign-in that this browser began last.
            raise Unauthorized("The answer's state is not the one that this browser was sent with; sign in again")
        flow_ends = True
        await provider.require_issuer(query.get("iss"))
        if "error" in query:
            raise Unauthorized(f"The identity provider refused: {re.sub('[^a-z_]', '', query['error'])[:40]}")
        if not _is_code(query.get("code", "")):
            raise Unauthorized("The answer has no code")
        if not await services.records.sign_ins.use_flow(flow.state):
            raise Unauthorized("This sign-in has had its answer; sign in again")
        claims, kept = await provider.redeem(query["code"], flow.verifier, flow.nonce, flow.max_age)
        if kept:  # an address will show it
            await services.records.sign_ins.use_id_token(provider.issuer, kept)
        return await _signed_in(services, provider, WaitingSignIn(claims, kept, flow.to), flow.workspace)
    except AppError as error:
        _note_failure(request, services, error)
        return error_page(error, flow_ends=flow_ends)


@endpoint("POST", WORKSPACE, **_ENDPOINT, status=303, answer=None, errors=(CrossSite, NotFound), litestar=_GUARDED)
async def choose_workspace(request: Request[Any, Any, Any], services: Services) -> Response[str]:
    """Choose a workspace.

    For the form of that page, in the browser that got it, once: the session is of this workspace.
    """
    provider, flow_ends = _required(services), False
    try:
        require_same_origin("POST", request.scope["headers"], services.settings.public_url)
        form = await _form(request, _CHOICE_BYTES)
        code, workspace = _once(form, "code"), _once(form, "workspace")
        if not hmac.compare_digest(code.encode(), (cookie_in(request.scope["headers"], FLOW_COOKIE) or "").encode()):
            raise Unauthorized("The form is not the one that this browser got last; sign in again")
        flow_ends = True
        waiting = await services.records.sign_ins.take_waiting(code)
        if waiting is None:
            raise Unauthorized("The form was used already, or is older than ten minutes; sign in again")
        await provider.require_issuer(waiting.claims["iss"])  # it may have waited while another one was set
        return await _signed_in(services, provider, waiting, workspace)
    except AppError as error:
        _note_failure(request, services, error)
        return error_page(error, flow_ends=flow_ends)


async def _signed_in(
    services: Services, provider: IdentityProvider, waiting: WaitingSignIn, workspace: str
) -> Response[str]:
    """The end of a sign-in, or the page on which to choose a workspace."""
    try:
        name, identity = provider.identity(waiting.claims, workspace, waiting.id_token)
    except SeveralWorkspaces as error:
        code = await services.records.sign_ins.ask_workspace(waiting)
        return workspace_page(WORKSPACE, code, [each.message for each in error.details])
    workspace_id = await workspace_id_of(services, name)
    session, token = await services.records.sign_ins.create(workspace_id, identity, Via.CONSOLE)
    return signed_in(session, token, waiting.to)


@endpoint("POST", LOGOUT, **_ENDPOINT, status=200, answer=None, errors=(Invalid, NotFound), litestar=_GUARDED)
async def log_out(request: Request[Any, Any, Any], services: Services) -> Response[str]:
    """End the sessions of somebody who signed out elsewhere.

    For the identity provider: a logout token (OpenID Connect Back-Channel Logout 1.0). Each works once.
    """
    provider = _required(services)
    token = _once(await _form(request, _LOGOUT_BYTES), "logout_token")
    try:
        signed_out = await provider.logged_out(token)
    except Unauthorized as error:
        _note_failure(request, services, error)
        raise Invalid.at("logout_token", error.message) from None
    ids = await services.records.workspaces.by_name()
    named = dict.fromkeys(each.workspace for each in provider.table)
    if not await services.records.sign_ins.sign_out_once([ids[name] for name in named if name in ids], signed_out):
        raise Invalid.at("logout_token", "was used before")
    return Response("", status_code=200, headers=HEADERS)


def _required(services: Services) -> IdentityProvider:
    if services.provider is None:
        raise nothing_here()
    return services.provider


async def _form(request: Request[Any, Any, Any], most: int) -> dict[str, list[str]]:
    """The fields of a form. Raises Invalid, PayloadTooLarge."""
    try:
        return parse_qs((await read_body(request.receive, most)).decode("ascii"), max_num_fields=10)
    except (UnicodeDecodeError, ValueError):
        raise Invalid("The form cannot be read") from None


def _once(form: dict[str, list[str]], name: str) -> str:
    """A field that must be given once. Raises Invalid."""
    if len(values := form.get(name, [])) != 1:
        raise Invalid.at(name, "must be given once, in a form")
    return values[0]


def _query(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The query, in which everything is given once. Raises Invalid."""
    try:
        found = parse_qs(request.scope["query_string"].decode("ascii"), keep_blank_values=True, max_num_fields=20)
    except (UnicodeDecodeError, ValueError):
        raise Invalid("The query cannot be read") from None
    for name, values in found.items():
        if len(values) > 1:
            raise Invalid.at(name if name.isidentifier() else "query", "is given twice")
    return {name: values[0] for name, values in found.items()}


def _flow_in(request: Request[Any, Any, Any], services: Services) -> _Flow:
    """The sign-in that this browser was sent away with.

    Raises Unauthorized, also if this service did not write it: it asks the provider about no others.
    """
    flow = _Flow.of(cookie_in(request.scope["headers"], FLOW_COOKIE) or "", _signer(services))
    if flow is None or not -_CLOCKS_APART_S <= time.time() - flow.begun_s <= CHOICE_SECONDS + _CLOCKS_APART_S:
        raise Unauthorized("This browser has not begun to sign in, or took more than ten minutes; sign in again")
    return flow


def _signer(services: Services) -> Signer:
    """Signs the cookies of flows, the same on all replicas: a provider needs one of these secrets."""
    settings = services.settings
    return Signer(settings.secrets or [(settings.oidc_client_secret or "").encode()])


def _note_failure(request: Request[Any, Any, Any], services: Services, error: AppError) -> None:
    note_failure(services.decisions, peer_of(request.scope), request.scope["headers"], error)


def error_page(error: AppError, *, flow_ends: bool = True) -> Response[str]:
    """The sentence of an error as a page; what it quotes is text.

    flow_ends: the browser forgets what it was sent to the provider with.
    """
    body = _page(
        "Not signed in", f'<p>{html.escape(error.message)}</p><p><a href="/console">Back to the console</a></p>'
    )
    status = 503 if isinstance(error, ProviderUnavailable) else error.status
    forgets = {"Set-Cookie": flow_cookie("")} if flow_ends else {}
    return Response(body, status_code=status, media_type=HTML, headers=HEADERS | forgets)


def workspace_page(action: str, code: str, names: Iterable[str]) -> Response[str]:
    """A form with a button for each workspace. It works only with its code in the browser's cookie, too."""
    buttons = "".join(
        f'<p><button name="workspace" value="{html.escape(each)}">{html.escape(each)}</button></p>' for each in names
    )
    form = f'<form method="post" action="{action}"><input type="hidden" name="code" value="{code}">{buttons}</form>'
    body = _page("Choose a workspace", f"<p>You have access to several. A session is of one.</p>{form}")
    answer = Response(body, status_code=200, media_type=HTML, headers=HEADERS | _WITH_A_FORM)
    answer.headers["Set-Cookie"] = flow_cookie(code)
    return answer


def signed_in(session: SignIn, token: str, to: str) -> Response[str]:
    """The browser has the session's cookie, no longer that of the flow, and goes on to a path of the console."""
    where = {"Location": to if is_console_path(to) else "/console"}
    answer = Response("", status_code=303, media_type=HTML, headers=HEADERS | where, cookies=[_NO_FLOW])
    answer.headers["Set-Cookie"] = set_cookie(token, (session.ends_ms - session.created_ms) // 1000)
    return answer


def _page(title: str, body: str) -> str:
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Remit: {title}</title>'
    return f"{head}<h1>{title}</h1>{body}</html>"
