"""Authentication: the Authorization header, the scope each endpoint requires, and addresses that fail too often."""

import contextlib
import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from app.errors import AppError, InsufficientScope, Invalid, LockedOut, Unauthorized
from app.http.answers import Header
from app.http.cookies import require_same_origin, session_cookie
from app.http.headers import AUTHORIZATION, change_reason, raw_key_of, single_headers
from app.http.queries import decode_query
from app.model.actors import ChangedBy
from app.model.api_keys import ASKING, TOKEN_TYPE, Caller, Scope
from app.model.query_fields import QueryFields
from app.replica import Decisions
from app.runtime.fairness.asking_key import asking_key

_ONLY = frozenset({AUTHORIZATION})
_FORWARDED = b"x-forwarded-for"
Guard = Callable[[ASGIConnection[Any, Any, Any, Any], BaseRouteHandler], Awaitable[None]]


def requires(*scopes: Scope, query: type[QueryFields] = QueryFields) -> Guard:
    """A guard that admits a request if its key is valid now and has one of the scopes, or admin, and decodes its query.

    It runs before the body is read: an unauthenticated client must not be able to make the service parse 256 KiB of
    JSON. A parameter that is not in the struct of the query is refused: `DELETE …?dry_run=true` must not delete.
    """
    required = " or ".join(scopes)

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        decisions = connection.app.state.services.decisions
        try:
            raw_key = _raw_key_or_token(connection.scope, decisions.settings.public_url)
            caller = await decisions.authenticator.authenticate(raw_key)
        except Unauthorized as error:
            note_failure(decisions, peer_of(connection.scope), connection.scope["headers"], error)
            raise
        if not caller.has_any(scopes):
            raise InsufficientScope(f"This endpoint requires the scope {required}; the key has {listed_scopes(caller)}")
        asking_key.set(caller.root)
        connection.scope["state"]["caller"] = caller
        connection.scope["state"]["raw_key"] = raw_key
        connection.scope["state"]["params"] = decode_query(connection.scope["query_string"], query)

    guard.scopes = scopes  # type: ignore[attr-defined]
    return guard


def _raw_key_or_token(scope: Any, public_url: str | None) -> str:
    """The API key or the session's token in the Authorization header, or the token in the cookie.

    Raises Unauthorized, Invalid if both are given, CrossSite.
    """
    token = session_cookie(scope["headers"])
    header = single_headers(scope["headers"], _ONLY).get(AUTHORIZATION)
    if token is None:
        return raw_key_of(header)
    if header is not None:
        raise Invalid("The request has both an Authorization header and a session's cookie; send one of them")
    require_same_origin(scope["method"], scope["headers"], public_url)
    return token


def require_asking(caller: Caller) -> None:
    """Raise InsufficientScope unless the key may ask for decisions, at least for some agents."""
    if not caller.has_any(ASKING):
        raise InsufficientScope(
            f"This endpoint requires the scope read or authorize; the key has {listed_scopes(caller)}"
        )


async def judged_anew(decisions: Decisions, raw_key: str, error: Unauthorized) -> Caller:
    """The caller, if the key is a token that its issuer's changed rules still let in; otherwise raises the error.

    error: with which a commit has refused the key. Raises InsufficientScope if the caller may no longer ask.
    """
    decisions.authenticator.forget(raw_key)
    if not raw_key.startswith(TOKEN_TYPE):
        raise error
    caller = await decisions.authenticator.authenticate_once(raw_key)
    require_asking(caller)
    return caller


def note_failure(decisions: Decisions, peer: str | None, headers: Iterable[Header], error: AppError) -> None:
    """If the error is a failed authentication, count it for the address that the request came from."""
    if isinstance(error, Unauthorized):
        decisions.auth_failures.note(peer, _forwarded(headers))


def require_not_locked_out(decisions: Decisions, peer: str | None, headers: Iterable[Header], *, cookies: bool) -> None:
    """Raise LockedOut if the request's address is locked out, unless its key has worked on this replica.

    cookies: the key may be that of a session in a cookie.
    """
    failures = decisions.auth_failures
    if failures.locked_until[0] == 0.0 or not (wait_s := failures.wait_s(peer, _forwarded(headers))):
        return
    if not has_worked(decisions, headers, cookies=cookies):
        raise LockedOut(math.ceil(wait_s))


def require_key(headers: Iterable[Header], *, cookies: bool) -> None:
    """Raise Unauthorized if nothing in the headers has the form of a key; the store is not asked.

    cookies: the key may be that of a session in a cookie. Whoever authenticates says whatever else is wrong.
    """
    with contextlib.suppress(Invalid):
        if not cookies or session_cookie(headers) is None:
            raw_key_of(single_headers(headers, _ONLY).get(AUTHORIZATION))


def is_refused(decisions: Decisions, peer: str | None, headers: Iterable[Header], *, cookies: bool) -> bool:
    """True if a request that needs a key is refused for its address or its headers alone."""
    try:
        require_not_locked_out(decisions, peer, headers, cookies=cookies)
        require_key(headers, cookies=cookies)
    except (LockedOut, Unauthorized):
        return True
    return False


def has_worked(decisions: Decisions, headers: Iterable[Header], *, cookies: bool = True) -> bool:
    """True if the request's key has worked on this replica.

    cookies: the key may be that of a session in a cookie.
    """
    raw_key = _raw_key_in(headers, cookies=cookies)
    return raw_key is not None and decisions.authenticator.has_worked(raw_key)


def known_caller(decisions: Decisions, headers: Iterable[Header], *, cookies: bool = False) -> Caller | None:
    """The caller with the request's key, if the key has worked in this process; the store is not asked.

    cookies: the key may be that of a session in a cookie.
    """
    raw_key = _raw_key_in(headers, cookies=cookies)
    return None if raw_key is None else decisions.authenticator.cached(raw_key)


def _raw_key_in(headers: Iterable[Header], *, cookies: bool) -> str | None:
    """The API key of a request, known or not. None if no header has the form of one."""
    try:
        token = session_cookie(headers) if cookies else None
        return token or raw_key_of(single_headers(headers, _ONLY).get(AUTHORIZATION))
    except (Unauthorized, Invalid):
        return None


def peer_of(scope: Any) -> str | None:
    """The address at the other end of the connection."""
    client = scope.get("client")
    return None if client is None else client[0]


def _forwarded(headers: Iterable[Header]) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name == _FORWARDED]


def provide_caller(request: Request[Any, Any, Any]) -> Caller:
    """The caller that the guard has admitted."""
    caller: Caller = request.scope["state"]["caller"]
    return caller


def raw_key_in_use(request: Request[Any, Any, Any]) -> str:
    """The API key or token with which the guard has admitted the request."""
    raw_key: str = request.scope["state"]["raw_key"]
    return raw_key


def provide_changed_by(request: Request[Any, Any, Any]) -> ChangedBy:
    """The caller, and the reason given for a change. Raises Invalid."""
    return ChangedBy(provide_caller(request).actor, change_reason(request))


def provide_params(request: Request[Any, Any, Any]) -> QueryFields:
    """The query that the guard has decoded."""
    params: QueryFields = request.scope["state"]["params"]
    return params


def listed_scopes(caller: Caller) -> str:
    """The scopes that a key has, for a message."""
    return ", ".join(sorted(caller.scopes)) or "none"
