"""The one place that turns an error into an answer."""

import logging
from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import ClientException, HTTPException, MethodNotAllowedException, NotFoundException
from litestar.types import ExceptionHandlersMap
from msgspec import Struct

from app.errors import AppError, Detail, Invalid, NotFound
from app.http.answers import JSON, Header, RawResponse, not_allowed
from app.model.access_requests import PATH as REQUESTS
from app.model.api_keys import without_raw_keys

log = logging.getLogger(__name__)

AUTHZEN = "/access/"
"""Paths below this one are AuthZEN's."""

PROBLEMS = "application/problem+json"
_TYPE = "urn:openid:authzen:access-request:error:"


class Problem(Struct, frozen=True):
    """What went wrong: a code for programs, a sentence for people, and the places at fault.

    code: For programs; codes may be added within /v1, but none changes.
    message: For people.
    details: The places at fault, if there are any.
    """

    code: str
    message: str
    details: list[Detail]


class ErrorBody(Struct, frozen=True):
    """The body of every answer whose status is 400 or above.

    error: What went wrong.
    """

    error: Problem


class ProblemDetails(Struct, frozen=True):
    """What went wrong with an access request: problem details of RFC 9457.

    type: The URN of the access request and approval profile, or `about:blank` for any other error.
    title: The kind of problem.
    status: As the status of the answer.
    detail: For people.
    """

    type: str
    title: str
    status: int
    detail: str


def problem_details(error: type[AppError], detail: str) -> ProblemDetails:
    """The problem details of an error of this type."""
    kind = f"{_TYPE}{error.code.lower()}" if error.in_profile else "about:blank"
    return ProblemDetails(kind, error.code.replace("_", " ").capitalize(), error.status, detail)


def has_problem_details(path: str) -> bool:
    """True if errors at this path are problem details: those of access requests."""
    return path.startswith(REQUESTS)


def encode_error(error: AppError, path: str = "") -> bytes:
    """The body of an error at this path. Raw keys in anything it quotes are shortened.

    AuthZEN wants a message, and nothing else; its access requests want problem details.
    """
    body: Any = ErrorBody(Problem(error.code, error.message, error.details))
    if has_problem_details(path):
        body = problem_details(type(error), error.message)
    elif path.startswith(AUTHZEN):
        body = error.message
    return without_raw_keys(msgspec.json.encode(body).decode()).encode()


def render(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The answer to any error. An unexpected one is logged, and its answer reveals nothing."""
    problem = as_app_error(request, error)
    path = request.scope["path"]
    return Response(
        encode_error(problem, path),
        status_code=problem.status,
        headers=dict(problem.headers),
        media_type=PROBLEMS if has_problem_details(path) else MediaType.JSON,
    )


def error_answer(error: AppError, *headers: Header, path: str = "") -> RawResponse:
    """The answer to an error raised before the router was reached."""
    media = (b"content-type", PROBLEMS.encode()) if has_problem_details(path) else JSON
    return RawResponse(error.status, [*headers_of(error), media, *headers], encode_error(error, path))


def message_answer(error: AppError) -> RawResponse:
    """The answer to an error at a path of AuthZEN."""
    return error_answer(error, path=AUTHZEN)


def headers_of(error: AppError) -> list[Header]:
    """The error's own headers, such as Retry-After."""
    return [(name.lower().encode(), value.encode()) for name, value in error.headers.items()]


def as_app_error(request: Request[Any, Any, Any], error: Exception) -> AppError:
    match error:
        case AppError():
            return error
        case NotFoundException():
            return nothing_here()
        case MethodNotAllowedException():
            return not_allowed(request.method, (error.headers or {}).get("allow", "OPTIONS"))
        case ClientException():
            return Invalid.at("$", str(error.detail))
        case _:
            return unexpected(error)


def nothing_here() -> NotFound:
    return NotFound("Nothing is served at this path; /docs lists what is")


def unexpected(error: Exception) -> AppError:
    """An unexpected error: logged with its traceback, answered with a sentence that reveals nothing."""
    log.error("unexpected %s", type(error).__name__, exc_info=error)
    return AppError("Something went wrong on our side; it has been logged")


EXCEPTION_HANDLERS: ExceptionHandlersMap = {AppError: render, HTTPException: render, Exception: render}
