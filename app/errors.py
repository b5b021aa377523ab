"""Every error a caller can see: each class has a status, a code and one sentence.

Long because all errors are in this one list, from which the OpenAPI document is made, and with which docs/errors.md is
compared.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    """An error the caller can act on. Message and details are public: no keys, no parameters."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "INTERNAL_ERROR"
    headers: Mapping[str, str] = {}

    def __init__(self, message: str, details: Sequence[Detail] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = list(details)


class Invalid(AppError):
    """The request is malformed; each detail names the place and what is wrong there."""

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
    """The key's expiresAt has passed, by the store's clock."""

    code = "API_KEY_EXPIRED"


class InsufficientScope(AppError):
    """The key is valid, but lacks the scope that this endpoint requires, or is bound to other agents."""

    status = 403
    code = "INSUFFICIENT_SCOPE"


class CallRefused(AppError):
    """The request of a gateway's client is denied, needs approval, or cannot be judged; Remit-Code says why."""

    status = 403
    code = "CALL_REFUSED"


class NoAccess(AppError):
    """The identity provider knows the person, but none of their groups has access."""

    status = 403
    code = "NO_ACCESS"


class SeveralWorkspaces(AppError):
    """The person has access to several workspaces, each of which is a detail, and must name one."""

    status = 409
    code = "SEVERAL_WORKSPACES"

    @classmethod
    def of(cls, names: Iterable[str]) -> "SeveralWorkspaces":
        """The error for somebody with access to these."""
        details = [Detail("workspace", name) for name in names]
        return cls(f"Choose a workspace: {', '.join(each.message for each in details)}", details)


class CrossSite(AppError):
    """A browser sent the session's cookie with a request that no page of this service made."""

    status = 403
    code = "CROSS_SITE"


class NotFound(AppError):
    """Nothing is served at this path."""

    status = 404
    code = "NOT_FOUND"


class OwnApproval(AppError):
    """Whoever asked for an approval cannot decide it, and nobody else can cancel it."""

    status = 403
    code = "OWN_APPROVAL"


class NotAnApprover(AppError):
    """The rules that asked demand that people of certain groups decide, who have signed in."""

    status = 403
    code = "NOT_AN_APPROVER"


class SignInTooOld(AppError):
    """The rules that asked demand that people decide who have signed in lately: sign in again, with `max_age`."""

    status = 403
    code = "SIGN_IN_TOO_OLD"


class ApprovalNotFound(NotFound):
    """No approval with this id exists in the caller's workspace, or it ended long ago."""

    code = "APPROVAL_NOT_FOUND"


class NotRequestable(AppError):
    """The denial of an access request was not one of a call that waits for people."""

    status = 400
    code = "NOT_REQUESTABLE"


class InvalidDenialBinding(AppError):
    """No denial of this very question, by this key, has the evaluation_id of the access request."""

    status = 400
    code = "INVALID_DENIAL_BINDING"


class ExpiredDenial(AppError):
    """The time in which the denied access could be requested is over."""

    status = 410
    code = "EXPIRED_DENIAL"


class DuplicateRequest(AppError):
    """The Idempotency-Key was used for another access request."""

    status = 409
    code = "DUPLICATE_REQUEST"


class UnknownTask(NotFound):
    """No access request that the caller may see has this id."""

    code = "UNKNOWN_TASK"


class TaskExpired(AppError):
    """Nobody decided the access request in time."""

    status = 410
    code = "TASK_EXPIRED"


class InvalidTaskState(AppError):
    """The access request is decided already, so it cannot be cancelled."""

    status = 409
    code = "INVALID_TASK_STATE"


class DecisionNotFound(NotFound):
    """This key has asked for no decision with this id."""

    code = "DECISION_NOT_FOUND"


class OutcomeConflict(AppError):
    """The call was not allowed, was allowed too long ago, or has a different outcome on record."""

    status = 409
    code = "OUTCOME_CONFLICT"


class ResourceNotFound(NotFound):
    """No resource of this type and id is in the catalogue of the caller's workspace."""

    code = "RESOURCE_NOT_FOUND"


class ToolNotFound(NotFound):
    """No tool with this name is in the catalogue of the caller's workspace."""

    code = "TOOL_NOT_FOUND"


class WebhookNotFound(NotFound):
    """No webhook with this id exists in the caller's workspace."""

    code = "WEBHOOK_NOT_FOUND"


class WebhookEventNotFound(NotFound):
    """No undelivered event of this webhook has this id."""

    code = "WEBHOOK_EVENT_NOT_FOUND"


class AuditEntryNotFound(NotFound):
    """No audit entry with this id exists in the caller's workspace."""

    code = "AUDIT_ENTRY_NOT_FOUND"


class CheckpointNotFound(NotFound):
    """No signed checkpoint exists, or none covers this entry yet."""

    code = "CHECKPOINT_NOT_FOUND"


class AgentNotFound(NotFound):
    """No agent with this id exists in the caller's workspace."""

    code = "AGENT_NOT_FOUND"


class PolicyNotFound(NotFound):
    """No policy with this id exists in the caller's workspace."""

    code = "POLICY_NOT_FOUND"


class PolicyVersionNotFound(NotFound):
    """The policy does not have this version yet."""

    code = "POLICY_VERSION_NOT_FOUND"


class ApiKeyNotFound(NotFound):
    """No API key with this id exists in the caller's workspace."""

    code = "API_KEY_NOT_FOUND"


class SessionNotFound(NotFound):
    """No session with this id exists in the caller's workspace, or it has ended."""

    code = "SESSION_NOT_FOUND"


class RequestNotFound(NotFound):
    """No request is pinned for this session."""

    code = "REQUEST_NOT_FOUND"


class IssuerNotFound(NotFound):
    """No issuer of workload tokens with this name exists in the caller's workspace."""

    code = "ISSUER_NOT_FOUND"


class MethodNotAllowed(AppError):
    """The path does not support this method; the Allow header names those it does."""

    status = 405
    code = "METHOD_NOT_ALLOWED"

    def __init__(self, message: str, allow: str) -> None:
        super().__init__(message)
        self.headers = {"Allow": allow}


class RequestTimeout(AppError):
    """The whole request did not arrive in time."""

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
    """The agent is revoked. This is final: its status cannot change again."""

    status = 409
    code = "AGENT_REVOKED"


class IdempotencyConflict(AppError):
    """This Idempotency-Key was already used for a different request."""

    status = 409
    code = "IDEMPOTENCY_CONFLICT"


class IdempotencyStale(AppError):
    """The first answer to this Idempotency-Key is no longer valid: the agent or its policies have changed since, a
    time window has closed, or the call was reported as not executed.
    """

    status = 409
    code = "IDEMPOTENCY_STALE"


class NotSignedIn(AppError):
    """The request was made with an API key, and only a session can be signed out."""

    status = 409
    code = "NOT_A_SESSION"


class LastAdminKey(AppError):
    """This is the workspace's last valid admin key; without it, no key could be created over the API."""

    status = 409
    code = "LAST_ADMIN_KEY"


class ApprovalDecided(AppError):
    """The approval is no longer pending: it was decided or cancelled, or it expired."""

    status = 409
    code = "APPROVAL_DECIDED"


class ApprovalChanged(AppError):
    """The approval has changed since the person who decides read it."""

    status = 409
    code = "APPROVAL_CHANGED"


class IssuerTaken(AppError):
    """The issuer is set up with this audience already, under another name or in another workspace."""

    status = 409
    code = "ISSUER_TAKEN"


class RequestPinned(AppError):
    """Another request was pinned for this session, and the first one counts."""

    status = 409
    code = "REQUEST_PINNED"


class LimitReached(AppError):
    """The workspace, the agent or the API key already has as many of these as this service allows."""

    status = 409
    code = "LIMIT_REACHED"


class ApprovalMismatch(AppError):
    """No open approval of this very call, asked for with this key, has the given approval_id. Nothing was decided."""

    status = 409
    code = "APPROVAL_MISMATCH"


class VersionNotKept(AppError):
    """This version is no longer kept, because too many changes have followed it."""

    status = 410
    code = "VERSION_NOT_KEPT"


class VersionConflict(AppError):
    """If-Match does not name the current version: it has changed since you read it. Nothing was written."""

    status = 412
    code = "VERSION_CONFLICT"


class PayloadTooLarge(AppError):
    """The body is larger than this service reads."""

    status = 413
    code = "PAYLOAD_TOO_LARGE"


class TooManyRequests(AppError):
    """The key asks faster than this replica allows; the Retry-After header says how long to wait."""

    status = 429
    code = "RATE_LIMITED"

    def __init__(self, per_second: int, seconds: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(f"This API key has asked more than {per_second} times a second; wait {seconds} s")
        self.headers = {name.decode(): value.decode() for name, value in headers} | {"Retry-After": str(seconds)}


class TooManyMismatches(AppError):
    """The key's holder has named too many approvals within a minute that are not open or not of the call."""

    status = 429
    code = "TOO_MANY_MISMATCHES"
    headers: Mapping[str, str] = {"Retry-After": "60"}


class BatchTooLarge(AppError):
    """The batch has more calls than can be allowed all at once or not at all."""

    status = 400
    code = "BATCH_TOO_LARGE"


class Overloaded(AppError):
    """The request takes this replica too long, or too many of the workspace's wait. Nothing was decided."""

    status = 503
    code = "OVERLOADED"
    headers: Mapping[str, str] = {"Retry-After": "1"}


class TooManyStreams(AppError):
    """The key already has the maximum number of streams and exports open on this replica."""

    status = 429
    code = "TOO_MANY_STREAMS"

    def __init__(self, most: int) -> None:
        super().__init__(f"This API key has {most} streams and exports open on this replica; close one of them first")
        self.headers = {"Retry-After": "1"}


class TooManyReplays(AppError):
    """The workspace already has the maximum number of replays running on this replica."""

    status = 429
    code = "TOO_MANY_REPLAYS"

    def __init__(self, most: int) -> None:
        super().__init__(f"This workspace has {most} replays running on this replica; wait until one has ended")
        self.headers = {"Retry-After": "5"}


class LockedOut(AppError):
    """Too many authentications from this address have failed; the Retry-After header says how long to wait."""

    status = 429
    code = "LOCKED_OUT"

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many requests from this address had no valid API key; wait {seconds} s")
        self.headers = {"Retry-After": str(seconds)}


class HeadTooLarge(AppError):
    """The request line and headers are larger than this service reads."""

    status = 431
    code = "HEAD_TOO_LARGE"


class StoreUnavailable(AppError):
    """The store gave no valid answer in time, so there is no decision: Remit fails closed and never guesses."""

    status = 503
    code = "STORE_UNAVAILABLE"


class ProviderUnavailable(AppError):
    """The identity provider gave no usable answer, so nobody can sign in with it now."""

    status = 503
    code = "PROVIDER_UNAVAILABLE"
    headers: Mapping[str, str] = {"Retry-After": "5"}


class AuditLogDamaged(AppError):
    """The stored audit log is not what was sealed; `remit audit verify` says where the damage begins."""

    status = 500
    code = "AUDIT_LOG_DAMAGED"


def codes() -> list[str]:
    """Every code that an answer can carry."""
    classes: list[type[AppError]] = [AppError]
    for error in classes:
        classes += error.__subclasses__()
    return sorted({error.code for error in classes})
