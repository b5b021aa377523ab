"""The doors to the hot path, one line each: what holds for a call holds at every door, because it is in this table."""

from litestar import asgi
from litestar.handlers import ASGIRouteHandler
from litestar.types import Receive, Scope, Send
from msgspec.structs import replace

from app.http.answers import RawResponse, not_allowed, send_answer
from app.http.api.authorize import AUTHORIZE
from app.http.api.authzen_evaluation import EVALUATE
from app.http.api.claude_code_hook import CLAUDE_CODE
from app.http.api.ext_authz import GATEWAY
from app.http.endpoint import OPT
from app.http.hot_path import Door
from app.http.problems import error_answer

DOORS = {
    door.target: door
    for door in (
        AUTHORIZE,
        CLAUDE_CODE,
        EVALUATE,
        GATEWAY,
    )
}
"""Doors by the target of a request, or by how it begins, up to a slash."""

_BEGINNINGS = tuple(target for target, door in DOORS.items() if door.read_at is not None)

_ALLOW = "OPTIONS, POST"


def door_at(method: bytes, target: bytes) -> Door | None:
    """The door at which this request arrives, if it is at one. target: as the request line has it, without a host."""
    for beginning in _BEGINNINGS:
        if target.startswith(beginning):
            door = DOORS[beginning]
            return replace(door, read=door.read_at(method, target.removeprefix(beginning)))  # type: ignore[misc]
    return DOORS.get(target) if method == b"POST" else None


def route_of(door: Door) -> ASGIRouteHandler:
    """The route of a door, for methods other than POST: the application answers those before routing."""

    @asgi(door.path.replace("{path}", "{path:path}"), copy_scope=False, opt={OPT: door.endpoint})
    async def other_method(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - Litestar wants it
        if scope["method"] == "OPTIONS":  # type: ignore[typeddict-item]
            return await send_answer(send, RawResponse(204, [(b"allow", _ALLOW.encode())]))
        problem = not_allowed(scope["method"], _ALLOW)  # type: ignore[typeddict-item]
        scope["litestar_app"].state.services.decisions.metrics.refused(problem.code)
        return await send_answer(send, error_answer(problem, path=door.path))

    return other_method
