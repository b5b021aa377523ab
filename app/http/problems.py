"""The one place that turns a failure into an answer."""

import logging
from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.types import ExceptionHandlersMap
from msgspec import Struct

from app.errors import AppError, Detail, Invalid, MethodNotAllowed, NotFound, PayloadTooLarge

log = logging.getLogger(__name__)


class Problem(Struct, frozen=True):
    """What went wrong: a code for programs, a sentence for people, and the places at fault."""

    code: str
    message: str
    details: list[Detail]


class ErrorBody(Struct, frozen=True):
    """The body of every answer whose status is 400 or above."""

    error: Problem


def encode_error(error: AppError) -> bytes:
    return msgspec.json.encode(ErrorBody(Problem(error.code, error.message, error.details)))


def render(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The answer to a failure, whoever raised it; what nobody expected is logged and shows nothing."""
    problem = as_app_error(request, error)
    return Response(
        encode_error(problem),
        status_code=problem.status,
        headers=dict(problem.headers),
        media_type=MediaType.JSON,
    )


def as_app_error(request: Request[Any, Any, Any], error: Exception) -> AppError:
    match error:
        case AppError():
            return error
        case NotFoundException():
            return NotFound("Nothing is served at this path; /docs lists what is")
        case MethodNotAllowedException():
            allow = ", ".join(sorted(allowed_methods(request)))
            return MethodNotAllowed(f"{request.method} is not possible here; {allow} is", allow)
        case HTTPException() if error.status_code == PayloadTooLarge.status:
            return PayloadTooLarge("The body is larger than this service reads")
        case HTTPException() if error.status_code < 500:
            return Invalid.at("$", str(error.detail))
        case _:
            return unexpected(error)


def unexpected(error: Exception) -> AppError:
    """What nobody foresaw: logged with its trace, answered with a sentence that shows nothing of it."""
    log.error("unexpected %s", type(error).__name__, exc_info=error)
    return AppError("Something went wrong on our side; it has been logged")


def allowed_methods(request: Request[Any, Any, Any]) -> set[str]:
    """The methods that exist at the request's path."""
    path = request.scope["path"].rstrip("/").split("/")
    for route in request.app.routes:
        parts = route.path.rstrip("/").split("/")
        if len(parts) == len(path) and all(
            wanted == given or wanted.startswith("{") for wanted, given in zip(parts, path, strict=True)
        ):
            return set(getattr(route, "methods", ())) - {"OPTIONS"}
    return set()


EXCEPTION_HANDLERS: ExceptionHandlersMap = {AppError: render, HTTPException: render, Exception: render}
