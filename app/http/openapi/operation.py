"""One method of one path, as the OpenAPI document describes it; `operations` has the table of them all."""

from typing import Any

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
)
from app.http.openapi.parameters import RATE, REQUEST_ID, Parameter
from app.model.api_keys import Scope

SCHEMA = "application/schema+json"
JSON, HTML, PROMETHEUS = "application/json", "text/html; charset=utf-8", "text/plain; version=0.0.4; charset=utf-8"


class Operation(Struct, frozen=True):
    """What one method of one path accepts and returns.

    scope: what the key needs, None if no key is needed; `scopes` lists all that suffice, besides admin.
    answer: the type of the body, None if there is none. media: its possible media types.
    errors: those specific to it; `errors_of` adds those that its scope and body imply.
    headers: names of headers that the answer can carry, each with a sentence. request_headers: those it reads.
    """

    method: str
    path: str
    summary: str
    scope: Scope | None
    tag: str
    body: Any = None
    query: tuple[Parameter, ...] = ()
    status: int = 200
    answer: Any = None
    media: tuple[str, ...] = (JSON,)
    errors: tuple[type[AppError], ...] = ()
    headers: dict[str, str] = {}
    request_headers: tuple[Parameter, ...] = ()
    description: str = ""
    always: bool = False
    """Errors are reported in the answer itself, with the operation's own status."""
    further_scopes: tuple[Scope, ...] = ()

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Each of these suffices, and so does admin; empty if no key is needed."""
        if self.scope is None:
            return ()
        part = (_PART[self.tag],) if self.tag in _PART else ()
        return (self.scope, *part, *self.further_scopes)


_PART = {
    "Decisions": Scope.AUTHORIZE,
    "Agents": Scope.POLICIES,
    "Policies": Scope.POLICIES,
    "Catalogue": Scope.POLICIES,
    "Audit log": Scope.AUDIT,
    "Changes": Scope.AUDIT,
    "Approvals": Scope.APPROVE,
}
"""The scope that grants access to one part of the API, by the part's tag."""

ADMIN, READ = Scope.ADMIN, Scope.READ


def headers_of(operation: Operation) -> dict[str, str]:
    """Every header that the answer of an operation can carry, with a sentence."""
    return {**operation.headers, **({} if operation.scope is None else RATE), **REQUEST_ID}


def errors_of(operation: Operation) -> list[type[AppError]]:
    """Every error that an operation can answer with, by status."""
    if operation.always:
        return []
    errors: list[type[AppError]] = [AppError, *operation.errors]
    if operation.scope is not None:
        errors += (
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
    if operation.body is not None:
        errors.append(PayloadTooLarge)
    return sorted(errors, key=lambda error: error.status)
