"""The doors to the hot path: one line each."""

from litestar import asgi
from litestar.handlers import ASGIRouteHandler
from litestar.types import Receive, Scope, Send

from app.http.answers import RawResponse, not_allowed, send_answer
from app.http.api.authorize import AUTHORIZE
from app.http.api.authzen_evaluation import EVALUATE
from app.http.api.claude_code_hook import CLAUDE_CODE
from app.http.endpoint import OPT
from app.http.hot_path import Door
from app.http.problems import error_answer

DOORS = {
    door.path: door
    for door in (
        AUTHORIZE,
        CLAUDE_CODE,
        EVALUATE,
    )
}
"""Doors by path."""

TARGETS = {path.encode(): door for path, door in DOORS.items()}
"""Doors by the target of a request that does not pass through ASGI: the path and nothing else."""

_ALLOW = "OPTIONS, POST"


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
