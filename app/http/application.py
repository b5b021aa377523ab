"""The Litestar application: every route, and what surrounds them."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from msgspec import json

from app.errors import LockedOut, StoreUnavailable, TooManyRequests, Unauthorized, UnsupportedEncoding
from app.http.answers import JSON, Header, RawResponse, head_as_get, options_handler, send_answer, with_headers
from app.http.api.service import PROBES
from app.http.api.sign_in_flow import is_sign_in
from app.http.authentication import (
    note_failure,
    peer_of,
    provide_caller,
    provide_changed_by,
    provide_params,
    require_key,
)
from app.http.bodies import MAX_BODY_BYTES
from app.http.body_decoding import BodyRequest
from app.http.console.files import HOME, console_answer, is_console
from app.http.docs_site import HOME as DOCS
from app.http.docs_site import docs_answer, is_docs
from app.http.doors import DOORS, door_at
from app.http.headers import (
    answer_with_request_id,
    provide_if_match,
    request_id_header,
    request_id_of,
    require_as_it_is,
)
from app.http.hot_path import AsgiCall, respond
from app.http.open_streams import close_stream
from app.http.problems import EXCEPTION_HANDLERS, error_answer, nothing_here
from app.http.references import served_path
from app.http.routes import ENDPOINTS, ROUTES
from app.http.throttle import check_rate, has_bounds
from app.replica import Decisions, Services

_OPEN = frozenset(
    path for route in ROUTES if isinstance(route, HTTPRouteHandler) and not route.guards for path in route.paths
)
PUBLIC = _OPEN | {HOME, DOCS}
"""The paths that need no key. Rate limits and lockouts apply to all others, even if nothing is served there."""


def _guarded(method: str) -> re.Pattern[str]:
    paths = [each.path for each in ENDPOINTS if each.method == method and each.scopes]
    return re.compile("|".join(re.sub(r"{\w+}", "[^/]+", path) for path in paths) or "(?!)")


_GUARDED = {method: _guarded(method).fullmatch for method in sorted({each.method for each in ENDPOINTS})}


def needs_key(method: str, path: str) -> bool:
    """True if there is an endpoint for this method at this path, and its guard asks for a key."""
    answered_as = "GET" if method == "HEAD" else method
    return answered_as in _GUARDED and path not in PUBLIC and _GUARDED[answered_as](path) is not None


_WITH_BODY = frozenset({"PATCH", "POST", "PUT"})
_GROUPS = ("records", "consequences", "decisions", "explanations", "log", "streams")
"""The groups of the services, each of which a handler can name instead of all."""


class Application(Litestar):
    """Litestar, except that calls and the files of console and documentation are answered before routing."""

    open_services: Callable[[], AbstractAsyncContextManager[Services]]
    has_console = True
    public_url: str | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one ASGI event."""
        if scope["type"] != "http":
            return await super().__call__(scope, receive, send)
        services, query = self.state.services, scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        if (door := door_at(scope["method"].encode(), target)) is not None:
            return await send_answer(send, await respond(services.decisions, door, AsgiCall(scope, receive)))
        path = served_path(scope["path"], scope["raw_path"])
        if path is None:
            request_id = request_id_header(request_id_of(scope["headers"]))
            refusal = error_answer(nothing_here(), request_id, path=scope["path"])
            return await send_answer(send, refusal)
        scope["path"] = path = path.rstrip("/") or "/"
        if scope["method"] == "GET" and path in PROBES:
            return await answer_with_request_id(self._answer_probe, scope, receive, send)
        if scope["method"] == "POST" and (door := DOORS.get(path.encode())) is not None:  # in another spelling
            return await send_answer(send, await respond(services.decisions, door, AsgiCall(scope, receive, query)))
        if (file := self._file(scope, path)) is not None:
            return await send_answer(send, file)
        try:
            send = with_headers(send, _admitted(services.decisions, scope))
        except (LockedOut, TooManyRequests, Unauthorized, UnsupportedEncoding) as error:
            note_failure(services.decisions, peer_of(scope), scope["headers"], error)
            refusal = error_answer(error, request_id_header(request_id_of(scope["headers"])), path=path)
            return await send_answer(send, refusal)
        try:
            return await answer_with_request_id(head_as_get(super().__call__), scope, receive, send)
        finally:
            close_stream(services.streams, scope)

    def _file(self, scope: Any, path: str) -> RawResponse | None:
        """The file of the console or the documentation that is asked for."""
        method, headers = scope["method"], scope["headers"]
        if self.has_console and is_console(path) and not is_sign_in(path, method, scope["query_string"]):
            return console_answer(path, method, headers, self.public_url)
        return docs_answer(path, method, headers) if is_docs(path) else None

    async def _answer_probe(self, scope: Any, _receive: Any, send: Any) -> None:
        """Answer a balancer or a container engine, without the router: many may ask."""
        try:
            health = await PROBES[scope["path"]](self.state.services)
        except StoreUnavailable as error:
            return await send_answer(send, error_answer(error))
        return await send_answer(send, RawResponse(200, [JSON], json.encode(health)))


def _admitted(decisions: Decisions, scope: Any) -> list[Header]:
    """What is left to the key, as headers. Raises LockedOut, TooManyRequests, Unauthorized or UnsupportedEncoding."""
    method, path, headers, allowance = scope["method"], scope["path"], scope["headers"], list[Header]()
    if path not in PUBLIC and has_bounds(decisions):
        allowance = check_rate(decisions, peer_of(scope), headers, cookies=True)
    if needs_key(method, path):  # the guard would say so, too, but long after the router
        require_key(headers, cookies=True)
    if method in _WITH_BODY:
        require_as_it_is(headers)
    return allowance


def build_application(
    open_services: Callable[[], AbstractAsyncContextManager[Services]],
    *,
    has_console: bool = True,
    public_url: str | None = None,
) -> Application:
    """The application. Its services are opened on the loop that serves it, and closed with it.

    has_console: whether it serves the console. public_url: where people reach it.
    """
    application = _application()
    application.open_services = open_services
    application.has_console, application.public_url = has_console, public_url
    return application


@asynccontextmanager
async def _with_services(application: Litestar) -> AsyncIterator[None]:
    async with cast("Application", application).open_services() as services:
        application.state.services = services
        yield


def application_of(services: Services) -> Application:
    """The application of parts that are open already, for a process that serves no connections."""
    application = _application()
    application.state.services = services
    return application


def _application() -> Application:
    return Application(
        [options_handler(ROUTES), *ROUTES],  # in this order, Litestar does not add its OPTIONS handlers
        request_class=BodyRequest,
        lifespan=[_with_services],
        dependencies={
            "services": Provide(_services, sync_to_thread=False),
            **{name: Provide(_group(name), sync_to_thread=False) for name in _GROUPS},
            "caller": Provide(provide_caller, sync_to_thread=False),
            "if_match": Provide(provide_if_match, sync_to_thread=False),
            "params": Provide(provide_params, sync_to_thread=False),
            "by": Provide(provide_changed_by, sync_to_thread=False),
        },
        exception_handlers=EXCEPTION_HANDLERS,
        request_max_body_size=MAX_BODY_BYTES,
        openapi_config=None,
        logging_config=None,  # app.runtime.logs has configured logging; Litestar would add a queue and a thread
    )


def _group(name: str) -> Callable[[State], Any]:
    def provide_group(state: State) -> Any:
        return getattr(state.services, name)

    return provide_group


def _services(state: State) -> Services:
    services: Services = state.services
    return services
