"""Answers sent without the router, answers to OPTIONS, and the refusal of a method that a path does not have."""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, ControllerRouterHandler, Message, Receive, Scope, Send

from app.errors import MethodNotAllowed

Header = tuple[bytes, bytes]
JSON: Header = (b"content-type", b"application/json")


class RawResponse(NamedTuple):
    """An answer as status, headers and bytes. The headers name the body's type; the sender adds its length."""

    status: int
    headers: list[Header]
    body: bytes = b""


def accepts_gzip(header: str) -> bool:
    """True if an Accept-Encoding gives gzip any weight but 0; `*` counts only if gzip is not named."""
    weights = {}
    for coding in header.lower().split(","):
        name, _, weight = coding.replace(" ", "").partition(";")
        weights[name] = weight not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return weights.get("gzip", weights.get("*", False))


async def send_answer(send: Send, answer: RawResponse) -> None:
    """Send the answer to an ASGI server, with its length if it has a body."""
    length = [(b"content-length", b"%d" % len(answer.body))] if answer.body else []
    await send({"type": "http.response.start", "status": answer.status, "headers": [*answer.headers, *length]})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def with_headers(send: Send, headers: list[Header]) -> Send:
    """A `send` that adds these headers to the answer."""
    if not headers:
        return send

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *headers]
        await send(message)

    return send_with_headers


def head_as_get(app: ASGIApp) -> ASGIApp:
    """The application, which answers HEAD as it would answer GET, without the body: RFC 9110, 9.3.2."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})  # a stream ends, too

        if scope.get("method") == "HEAD":
            return await app(cast("Scope", {**scope, "method": "GET"}), receive, send_head)
        return await app(scope, receive, send)

    return answer


def options_handler(routes: Iterable[ControllerRouterHandler]) -> HTTPRouteHandler:
    """A handler of OPTIONS for the paths of `routes`; Litestar's own lists the methods of one handler only."""
    paths = sorted({path for route in routes if isinstance(route, HTTPRouteHandler) for path in route.paths})
    return HTTPRouteHandler(paths, http_method="OPTIONS", status_code=204)(list_methods)


async def list_methods(request: Request[Any, Any, Any]) -> Response[None]:
    """Answer with the methods of this path in the header Allow; no key is needed."""
    methods = {
        method
        for route in request.app.routes
        if route.path_format == request.scope["path_template"]
        for method in getattr(route, "methods", ())
    }
    return Response(None, headers={"Allow": ", ".join(sorted(_with_head(methods)))})


def not_allowed(method: str, allow: str) -> MethodNotAllowed:
    """The refusal of `method` where only those in `allow`, a comma-separated list, exist."""
    methods = sorted(_with_head(set(allow.replace(" ", "").split(","))))
    *others, last = [name for name in methods if name not in {"HEAD", "OPTIONS"}]
    possible = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    return MethodNotAllowed(f"{method} is not possible here; {possible}", ", ".join(methods))


def _with_head(methods: set[str]) -> set[str]:
    return methods | {"HEAD"} if "GET" in methods else methods
