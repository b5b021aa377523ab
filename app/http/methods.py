"""Methods: the answer to OPTIONS, and the refusal of a method that a path does not have."""

from collections.abc import Iterable
from typing import Any

from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler
from litestar.types import ControllerRouterHandler

from app.errors import MethodNotAllowed


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
    return Response(None, headers={"Allow": ", ".join(sorted(methods))})


def not_allowed(method: str, allow: str) -> MethodNotAllowed:
    """The refusal of `method` where only those in `allow`, a comma-separated list, exist."""
    methods = sorted(allow.replace(" ", "").split(","))
    *others, last = [each for each in methods if each != "OPTIONS"]
    possible = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    return MethodNotAllowed(f"{method} is not possible here; {possible}", ", ".join(methods))
