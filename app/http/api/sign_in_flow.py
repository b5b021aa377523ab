"""Signing in with the identity provider: the way there, the way back, and its word that somebody signed out."""

import base64
import binascii
import hmac
import html
import re
import secrets
from typing import Any
from urllib.parse import parse_qs

from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from msgspec import UNSET, Struct, UnsetType

from app.errors import AppError, Invalid, NotFound, ProviderUnavailable, Unauthorized
from app.http.bodies import read_body
from app.http.cookies import FLOW_COOKIE, cookie_in, flow_cookie, set_cookie
from app.http.endpoint import endpoint
from app.http.problems import nothing_here
from app.model.identity_provider import IdentityProvider
from app.model.via import Via
from app.replica import Services

SIGN_IN, CALLBACK, LOGOUT = "/console/sign-in", "/console/callback", "/console/backchannel-logout"
_FLOW: dict[str, Any] = {"tag": "Sessions", "scopes": ()}
_HTML = "text/html; charset=utf-8"
_LOGOUT_BYTES = 32 * 1024
_is_path = re.compile(r"/console(/[\w~-][\w.~-]*)*/?(\?[\w.~/%&=+:-]*)?", re.ASCII).fullmatch
"""No empty segment and none of dots: browsers would resolve them."""
_is_code = re.compile(r"[!-~]{1,4096}", re.ASCII).fullmatch
_is_age = re.compile(r"[0-9]{1,4}|1[0-9]{4}|2[0-8][0-9]{3}", re.ASCII).fullmatch
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}


def is_sign_in(path: str, method: str, query: bytes) -> bool:
    """True if a request below /console is part of signing in, and not for the console's page."""
    return path in (CALLBACK, LOGOUT) or (path == SIGN_IN and method == "GET" and bool(query))


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
    """

    provider: ProviderView | None


async def _no_key(_: ASGIConnection[Any, Any, Any, Any], __: BaseRouteHandler) -> None:
    """These requests prove in other ways who they are from; limits on addresses apply to them."""


_GUARDED: dict[str, Any] = {"guards": [_no_key], "response_headers": _HEADERS, "media_type": _HTML}


@endpoint(
    "GET",
    "/v1/sign-in",
    **_FLOW,
    example={"provider": {"name": "Example SSO", "issuer": "https://sso.example.com", "cliClientId": "remit-cli"}},
)
async def sign_in_options(services: NamedDependency[Services]) -> SignInOptions:
    """Read how people can sign in."""
    provider = services.provider
    if provider is None:
        return SignInOptions(provider=None)
    view = ProviderView(name=provider.name, issuer=provider.issuer, cli_client_id=provider.cli_client_id or UNSET)
    return SignInOptions(provider=view)


@endpoint("GET", SIGN_IN, **_FLOW, status=302, answer=None, errors=(Invalid, NotFound), litestar=_GUARDED)
async def go_to_provider(request: Request[Any, Any, Any], services: NamedDependency[Services]) -> Response[str]:
    """Sign in with the identity provider.

    For browsers. `to` says where to go afterwards, a path of the console; `workspace` which one, if there are several;
    `max_age` how many seconds ago they may have shown their credentials to the provider, which otherwise asks again.
    """
    provider, query = _required(services), _query(request)
    to = query.get("to", "/console")
    if not _is_path(to):
        raise Invalid.at("to", "must be a path of the console, such as /console/approvals")
    max_age = query.get("max_age", "")
    if max_age and not _is_age(max_age):
        raise Invalid.at("max_age", "must be a number of seconds, at most 28800")
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    try:
        where = await provider.authorization_url(state, nonce, verifier, int(max_age) if max_age else None)
    except AppError as error:
        return _page(error)
    cookie = flow_cookie(".".join([state, nonce, verifier, _packed(to), _packed(query.get("workspace", "")), max_age]))
    return Response("", status_code=302, headers=_HEADERS | {"Location": where, "Set-Cookie": cookie})


@endpoint("GET", CALLBACK, **_FLOW, status=302, answer=None, errors=(NotFound,), litestar=_GUARDED)
async def come_back(request: Request[Any, Any, Any], services: NamedDependency[Services]) -> Response[str]:
    """Come back from the identity provider.

    For browsers: with a code, and in the browser that was sent there, this signs in.
    """
    provider = _required(services)
    try:
        query = _query(request)
        state, nonce, verifier, to, workspace, max_age = _flow_in(request)
        if not hmac.compare_digest(query.get("state", "").encode(), state.encode()):
            raise Unauthorized("The answer's state is not the one that this browser was sent with; sign in again")
        await provider.require_issuer(query.get("iss"))
        if "error" in query:
            raise Unauthorized(f"The identity provider refused: {re.sub('[^a-z_]', '', query['error'])[:40]}")
        if not _is_code(query.get("code", "")):
            raise Unauthorized("The answer has no code")
        claims = await provider.redeem(query["code"], verifier, nonce, int(max_age) if max_age else None)
        name, identity = provider.identity(claims, workspace)
        workspace_id = await services.records.workspaces.find(name)
        session, token = await services.records.sign_ins.create(workspace_id, identity, Via.CONSOLE)
    except AppError as error:
        return _page(error)
    headers = _HEADERS | {"Location": to if _is_path(to) else "/console"}
    answer = Response("", status_code=302, headers=headers)
    answer.headers["Set-Cookie"] = set_cookie(token, (session.ends_ms - session.created_ms) // 1000)
    return answer


@endpoint("POST", LOGOUT, **_FLOW, status=200, answer=None, errors=(Invalid, NotFound), litestar=_GUARDED)
async def log_out(request: Request[Any, Any, Any], services: NamedDependency[Services]) -> Response[str]:
    """End the sessions of somebody who signed out elsewhere.

    For the identity provider: a logout token (OpenID Connect Back-Channel Logout 1.0). Each works once.
    """
    provider = _required(services)
    try:
        form = parse_qs((await read_body(request.receive, _LOGOUT_BYTES)).decode("ascii"), max_num_fields=10)
        [token] = form["logout_token"]
    except (UnicodeDecodeError, ValueError, KeyError):
        raise Invalid.at("logout_token", "must be given once, in a form") from None
    try:
        claims = await provider.logged_out(token)
    except Unauthorized as error:
        raise Invalid.at("logout_token", error.message) from None
    if not await services.records.sign_ins.first_seen(
        provider.issuer, str(claims["jti"]), claims["exp"] - claims["iat"] + 60
    ):
        raise Invalid.at("logout_token", "was used before")
    person = provider.person(claims["sub"]) if isinstance(claims.get("sub"), str) else None
    sid = claims["sid"] if isinstance(claims.get("sid"), str) else None
    for name in dict.fromkeys(each.workspace for each in provider.table):
        workspace_id = (await services.records.workspaces.by_name()).get(name)
        if workspace_id is not None:
            await services.records.sign_ins.end_of_person(workspace_id, person, sid)
    return Response("", status_code=200, headers=_HEADERS)


def _required(services: Services) -> IdentityProvider:
    if services.provider is None:
        raise nothing_here()
    return services.provider


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


def _flow_in(request: Request[Any, Any, Any]) -> tuple[str, str, str, str, str, str]:
    """State, nonce, verifier, path, workspace and max_age, as this browser was sent away with them.

    Raises Unauthorized.
    """
    parts = (cookie_in(request.scope["headers"], FLOW_COOKIE) or "").split(".")
    if len(parts) != 6 or not all(parts[:3]) or (parts[5] and not _is_age(parts[5])):  # noqa: PLR2004 - as it was made
        raise Unauthorized("This browser has not begun to sign in, or took more than ten minutes; sign in again")
    return parts[0], parts[1], parts[2], _unpacked(parts[3]), _unpacked(parts[4]), parts[5]


def _packed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _unpacked(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""


def _page(error: AppError) -> Response[str]:
    """The sentence of an error as a page; what it quotes is text. The flow is over."""
    body = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Remit: not signed in</title>'
        f"<h1>Not signed in</h1><p>{html.escape(error.message)}</p>"
        '<p><a href="/console">Back to the console</a></p></html>'
    )
    status = 503 if isinstance(error, ProviderUnavailable) else error.status
    return Response(body, status_code=status, media_type=_HTML, headers=_HEADERS | {"Set-Cookie": flow_cookie("")})
