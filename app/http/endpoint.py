"""`@endpoint` on a handler is all that declares an endpoint: its route, the scopes that open it, and its operation in
the OpenAPI document. `routes` collects them.
"""

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.params import FromPath, JSONBody
from msgspec import Struct

from app.errors import (
    ApiKeyExpired,
    AppError,
    InsufficientScope,
    Invalid,
    LockedOut,
    Overloaded,
    PayloadTooLarge,
    StoreUnavailable,
    TooManyReplays,
    TooManyRequests,
    Unauthorized,
    UnsupportedEncoding,
)
from app.http.authentication import requires
from app.http.body_decoding import BodyDTO
from app.http.openapi.described_headers import CHANGE_REASON, IF_MATCH, RATE, REQUEST_ID, RequestHeader
from app.model.api_keys import Scope
from app.model.query_fields import QueryFields

JSON = "application/json"
NO_STORE = {"Cache-Control": "no-store"}
"""Header of an answer that contains a secret, which no cache may keep."""
OPT = "endpoint"
"""The option of a handler that contains its endpoint."""
_Declare = Callable[[Callable[..., Any]], BaseRouteHandler]


class Endpoint(Struct, frozen=True, kw_only=True):
    """The declaration of one method of one path. Fields that are left out are derived from the handler.

    scopes: any of these suffices, and so does admin; empty if no key is needed.
    summary, description: the handler's docstring, its first line and the rest.
    query: the parameters. body, answer: their types; None if it has none.
    waiting: the type of the answer with status 202, if the change may have to wait for a second person.
    media: the answer's possible media types.
    errors: those specific to it; `errors_of` adds those that its scopes and body imply.
    headers: names of headers that the answer can carry, each with a sentence. request_headers: those it reads, besides
    Change-Reason and If-Match of a handler that takes `by` and `if_match`.
    reads_only: a POST that changes nothing: its body is a question.
    always: errors are reported in the answer itself, with the endpoint's own status.
    """

    method: str
    path: str
    tag: str
    scopes: tuple[Scope, ...]
    summary: str = ""
    description: str = ""
    query: type[QueryFields] = QueryFields
    body: Any = None
    status: int = 200
    answer: Any = None
    waiting: Any = None
    media: tuple[str, ...] = (JSON,)
    errors: tuple[type[AppError], ...] = ()
    headers: dict[str, str] = {}
    request_headers: tuple[RequestHeader, ...] = ()
    reads_only: bool = False
    always: bool = False

    @property
    def changes(self) -> bool:
        """True if a request can change something, be it only what a limit has left."""
        return self.method != "GET" and not self.reads_only


def endpoint(method: str, path: str, *, litestar: dict[str, Any] | None = None, **declared: Any) -> _Declare:
    """Make the function below the handler of an endpoint. declared: fields of `Endpoint`. litestar: further options.

    A function that takes `data` has a body, one that takes `params` has a query; it also takes what the path names,
    `request`, and whatever the application provides, such as `caller` and `services`, each with its plain type. A body
    that the function reads by itself is declared as `body`.
    """

    def declare(function: Callable[..., Any]) -> BaseRouteHandler:
        arguments = inspect.signature(function).parameters
        operation = Endpoint(method=method, path=path, **{**_derived_fields(function), **declared})
        options = {"opt": {OPT: operation}, **(litestar or {})}
        route = re.sub(r"{(\w+)}", r"{\1:str}", path)
        if operation.scopes:
            options["guards"] = [requires(*operation.scopes, query=operation.query), *options.get("guards", ())]
        elif operation.query is not QueryFields:
            raise TypeError(f"{path}: a query is decoded by the guard that checks the key")
        if "data" in arguments:
            options["dto"] = BodyDTO
        function.__annotations__ |= {
            name: _source(name, path)[argument.annotation] for name, argument in arguments.items() if name != "request"
        }
        return HTTPRouteHandler(route, http_method=method, status_code=operation.status, **options)(function)  # type: ignore[arg-type]

    return declare


def endpoint_of(handler: Any) -> Endpoint | None:
    """The endpoint that the handler was declared with, or None."""
    return handler.opt.get(OPT) if isinstance(handler, BaseRouteHandler) else None


def headers_of(endpoint: Endpoint) -> dict[str, str]:
    """Every header that the answer of an endpoint can carry, with a sentence."""
    return {**endpoint.headers, **(RATE if endpoint.scopes else {}), **REQUEST_ID}


def errors_of(endpoint: Endpoint) -> list[type[AppError]]:
    """Every error that an endpoint can answer with, by status."""
    if endpoint.always:
        return []
    errors: list[type[AppError]] = [AppError, *endpoint.errors]
    if endpoint.scopes:
        errors += _OF_A_KEY
    if endpoint.body is not None:
        errors += PayloadTooLarge, UnsupportedEncoding
    return sorted(errors, key=lambda error: error.status)


_OF_A_KEY = (
    Invalid,
    Unauthorized,
    ApiKeyExpired,
    InsufficientScope,
    LockedOut,
    TooManyReplays,
    TooManyRequests,
    Overloaded,
    StoreUnavailable,
)


def _derived_fields(function: Callable[..., Any]) -> dict[str, Any]:
    """The fields of an endpoint that follow from its handler's docstring and signature."""
    signature = inspect.signature(function)
    types = {name: _bare(argument.annotation) for name, argument in signature.parameters.items()}
    summary, _, description = (inspect.getdoc(function) or "").partition("\n")
    answer = _bare(signature.return_annotation)
    headers = (("if_match", IF_MATCH), ("by", CHANGE_REASON))
    return {
        "summary": summary.removesuffix("."),
        "description": " ".join(description.split()),
        "query": types.get("params", QueryFields),
        "body": types.get("data"),
        "request_headers": tuple(header for name, header in headers if name in types),
        "answer": answer,
        "status": 204 if answer is None else 200,
    }


def _source(name: str, path: str) -> Any:
    """Where Litestar finds an argument of this name: its word for that."""
    if name == "data":
        return JSONBody
    return FromPath if f"{{{name}}}" in path else NamedDependency


def _bare(annotation: Any) -> Any:
    """The type inside `Response[…]` or `Annotated[…]`."""
    return get_args(annotation)[0] if get_origin(annotation) in (Annotated, Response) else annotation
