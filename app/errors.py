"""Every failure a caller can see: a class is a status, a code and one sentence.

The OpenAPI document and docs/errors.md are made of and compared with this one list, so it stands in one module, however
long.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct


class Detail(Struct, frozen=True):
    """One thing that was wrong.

    path: Where: a JSON path such as `$.rules[0].tools`, or the name of a query parameter.
    message: For people.
    """

    path: str
    message: str


class AppError(Exception):
    """A failure the caller can act on. Message and details are public: no keys, no parameters."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "INTERNAL_ERROR"
    headers: Mapping[str, str] = {}

    def __init__(self, message: str, details: Sequence[Detail] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = list(details)


class Invalid(AppError):
    """The request does not have the shape it must have; every detail names a place."""

    status = 400
    code = "VALIDATION_ERROR"

    @classmethod
    def at(cls, path: str, message: str) -> "Invalid":
        """The error for one place: its message is `path: message`."""
        return cls(f"{path}: {message}", [Detail(path, message)])


class Unauthorized(AppError):
    """The Authorization header is missing or malformed, or its key is unknown or revoked."""

    status = 401
    code = "UNAUTHORIZED"
    headers: Mapping[str, str] = {"WWW-Authenticate": "Bearer"}


class ApiKeyExpired(Unauthorized):
    """The key was valid until its expiresAt, which has passed on the store's clock."""

    code = "API_KEY_EXPIRED"


class InsufficientScope(AppError):
    """The key is valid but lacks the scope that this endpoint requires, or is bound to other agents."""

    status = 403
    code = "INSUFFICIENT_SCOPE"


class NotFound(AppError):
    """Nothing is served at this path."""

    status = 404
    code = "NOT_FOUND"


class OwnApproval(AppError):
    """The key that asked may not decide, and only that key may cancel."""

    status = 403
    code = "OWN_APPROVAL"


class ApprovalNotFound(NotFound):
    """No approval with this id exists in the caller's workspace, or it ended long ago."""

    code = "APPROVAL_NOT_FOUND"


class DecisionNotFound(NotFound):
    """The key has asked for no decision with this id."""

    code = "DECISION_NOT_FOUND"


class OutcomeConflict(AppError):
    """The call was not allowed, something else was reported of it, or it was allowed too long ago."""

    status = 409
    code = "OUTCOME_CONFLICT"


class ToolNotFound(NotFound):
    """No tool of this name is in the catalogue of the caller's workspace."""

    code = "TOOL_NOT_FOUND"


class WebhookNotFound(NotFound):
    """No webhook with this id exists in the caller's workspace."""

    code = "WEBHOOK_NOT_FOUND"


class WebhookEventNotFound(NotFound):
    """No event with this id waits for the webhook: it was delivered, or never was one of its events."""

    code = "WEBHOOK_EVENT_NOT_FOUND"


class AuditEntryNotFound(NotFound):
    """No audit entry with this id exists in the caller's workspace."""

    code = "AUDIT_ENTRY_NOT_FOUND"


class AgentNotFound(NotFound):
    """No agent with this id exists in the caller's workspace."""

    code = "AGENT_NOT_FOUND"


class PolicyNotFound(NotFound):
    """No policy with this id exists in the caller's workspace."""

    code = "POLICY_NOT_FOUND"


class PolicyVersionNotFound(NotFound):
    """The policy has not come to this version yet."""

    code = "POLICY_VERSION_NOT_FOUND"


class ApiKeyNotFound(NotFound):
    """No API key with this id exists in the caller's workspace."""

    code = "API_KEY_NOT_FOUND"


class MethodNotAllowed(AppError):
    """The path exists but not with this method; the header Allow names those that do."""

    status = 405
    code = "METHOD_NOT_ALLOWED"

    def __init__(self, message: str, allow: str) -> None:
        super().__init__(message)
        self.headers = {"Allow": allow}


class RequestTimeout(AppError):
    """The request did not come to its end in time."""

    status = 408
    code = "REQUEST_TIMEOUT"


class AliasTaken(AppError):
    """Another agent of the workspace has this alias."""

    status = 409
    code = "ALIAS_TAKEN"


class PolicyKeyTaken(AppError):
    """Another policy of the same agent, group or workspace has this key."""

    status = 409
    code = "POLICY_KEY_TAKEN"


class AgentRevoked(AppError):
    """The agent is revoked, and that is final: its status can become nothing else."""

    status = 409
    code = "AGENT_REVOKED"


class IdempotencyConflict(AppError):
    """The Idempotency-Key was used before, for another question."""

    status = 409
    code = "IDEMPOTENCY_CONFLICT"


class IdempotencyStale(AppError):
    """What the Idempotency-Key was answered with no longer stands: what decides has changed since."""

    status = 409
    code = "IDEMPOTENCY_STALE"


class LastAdminKey(AppError):
    """The key is the last valid one with the scope admin: without it nobody could make another over the API."""

    status = 409
    code = "LAST_ADMIN_KEY"


class ApprovalDecided(AppError):
    """The approval is not pending any more: it was decided, cancelled or ran out."""

    status = 409
    code = "APPROVAL_DECIDED"


class ApprovalChanged(AppError):
    """The approval has changed since the person who decides has read it."""

    status = 409
    code = "APPROVAL_CHANGED"


class LimitReached(AppError):
    """The workspace, the agent, or the API key, has as many of these as this service lets it have."""

    status = 409
    code = "LIMIT_REACHED"


class VersionNotKept(AppError):
    """What was asked about is so many changes ago that it is no longer kept."""

    status = 410
    code = "VERSION_NOT_KEPT"


class VersionConflict(AppError):
    """If-Match names other versions than the current one: it was changed since it was read. Nothing was written."""

    status = 412
    code = "VERSION_CONFLICT"


class PayloadTooLarge(AppError):
    """The body is larger than this service reads."""

    status = 413
    code = "PAYLOAD_TOO_LARGE"


class TooManyRequests(AppError):
    """The key asks faster than this replica answers it; the header Retry-After says how long to wait."""

    status = 429
    code = "RATE_LIMITED"

    def __init__(self, per_second: int, seconds: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(f"This API key has asked more than {per_second} times a second; wait {seconds} s")
        self.headers = {name.decode(): value.decode() for name, value in headers} | {"Retry-After": str(seconds)}


class Overloaded(AppError):
    """What was asked takes this replica too long, or too much of the workspace waits already. Nothing was decided."""

    status = 503
    code = "OVERLOADED"
    headers: Mapping[str, str] = {"Retry-After": "1"}


class TooManyStreams(AppError):
    """The key has as many streams and exports open on this replica as it may have."""

    status = 429
    code = "TOO_MANY_STREAMS"

    def __init__(self, most: int) -> None:
        super().__init__(f"This API key has {most} streams and exports open on this replica; close one of them first")
        self.headers = {"Retry-After": "1"}


class TooManyReplays(AppError):
    """The workspace has as many replays running on this replica as it may have."""

    status = 429
    code = "TOO_MANY_REPLAYS"

    def __init__(self, most: int) -> None:
        super().__init__(f"This workspace has {most} replays running on this replica; wait until one has ended")
        self.headers = {"Retry-After": "5"}


class LockedOut(AppError):
    """Too many authentications failed that came from this address; the header Retry-After says how long to wait."""

    status = 429
    code = "LOCKED_OUT"

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many requests from this address had no valid API key; wait {seconds} s")
        self.headers = {"Retry-After": str(seconds)}


class HeadTooLarge(AppError):
    """Request line and headers are larger than this service reads."""

    status = 431
    code = "HEAD_TOO_LARGE"


class StoreUnavailable(AppError):
    """The store did not answer as it must, so there is no decision. Fail closed: 503, never a guess."""

    status = 503
    code = "STORE_UNAVAILABLE"


class AuditLogDamaged(AppError):
    """What is stored of the audit log is not what was sealed; `remit audit verify` says where it begins."""

    status = 500
    code = "AUDIT_LOG_DAMAGED"


def codes() -> list[str]:
    """Every code that an answer can carry."""
    classes: list[type[AppError]] = [AppError]
    for each in classes:
        classes += each.__subclasses__()
    return sorted({each.code for each in classes})
