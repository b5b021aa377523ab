"""Every error a caller can see: each class has a status, a code and one sentence."""

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

    in_profile: ClassVar[bool] = False
    """Whether AuthZEN's access request and approval profile has a problem type for it."""

    def __init_subclass__(cls, *, code: str = "", status: int = 0, in_profile: bool = False) -> None:
        """Declare an error. What is left out is as in the class that it is derived from."""
        cls.code, cls.status, cls.in_profile = code or cls.code, status or cls.status, in_profile or cls.in_profile

    def __init__(self, message: str, details: Sequence[Detail] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = list(details)


class Invalid(AppError, status=400, code="VALIDATION_ERROR"):
    """The request is malformed; each detail names the place and what is wrong there."""

    @classmethod
    def at(cls, path: str, message: str) -> "Invalid":
        """The error for one place: its message is `path: message`."""
        return cls(f"{path}: {message}", [Detail(path, message)])


class Unauthorized(AppError, status=401, code="UNAUTHORIZED"):
    """The Authorization header is missing or malformed, or its key is unknown or revoked."""

    headers: Mapping[str, str] = {"WWW-Authenticate": "Bearer"}


class ApiKeyExpired(Unauthorized, code="API_KEY_EXPIRED"):
    """The key's expiresAt has passed, by the store's clock."""


class InsufficientScope(AppError, status=403, code="INSUFFICIENT_SCOPE"):
    """The key is valid, but lacks the scope that this endpoint requires, or is bound to other agents."""


class CallRefused(AppError, status=403, code="CALL_REFUSED"):
    """The request of a gateway's client is denied, needs approval, or cannot be judged; Remit-Code says why."""


class NoAccess(AppError, status=403, code="NO_ACCESS"):
    """The identity provider knows the person, but none of their groups has access."""


class SeveralWorkspaces(AppError, status=409, code="SEVERAL_WORKSPACES"):
    """The person has access to several workspaces, each of which is a detail, and must name one."""

    @classmethod
    def of(cls, names: Iterable[str]) -> "SeveralWorkspaces":
        """The error for somebody with access to these."""
        details = [Detail("workspace", name) for name in names]
        return cls(f"Choose a workspace: {', '.join(each.message for each in details)}", details)


class CrossSite(AppError, status=403, code="CROSS_SITE"):
    """A browser sent the session's cookie with a request that no page of this service made."""


class NotFound(AppError, status=404, code="NOT_FOUND"):
    """Nothing is served at this path."""


class OwnApproval(AppError, status=403, code="OWN_APPROVAL"):
    """Whoever asked for an approval cannot decide it, and nobody else can cancel it while it waits."""


class NotAnApprover(AppError, status=403, code="NOT_AN_APPROVER"):
    """The rules that asked demand that people of certain groups decide, who have signed in."""


class OwnPolicyReview(AppError, status=403, code="OWN_POLICY_REVIEW"):
    """Whoever asked for a change of policies cannot approve or deny it, and nobody else can cancel it."""


class SignInTooOld(AppError, status=403, code="SIGN_IN_TOO_OLD"):
    """The rules that asked demand that people decide who have signed in lately: sign in again, with `max_age`."""


class ApprovalNotFound(NotFound, code="APPROVAL_NOT_FOUND"):
    """No approval with this id exists in the caller's workspace, or it ended long ago."""


class PolicyReviewNotFound(NotFound, code="POLICY_REVIEW_NOT_FOUND"):
    """No policy review with this id exists in the caller's workspace, or it ended long ago."""


class NotRequestable(AppError, status=400, code="NOT_REQUESTABLE", in_profile=True):
    """The denial of an access request was not one of a call that waits for people."""


class InvalidDenialBinding(AppError, status=400, code="INVALID_DENIAL_BINDING", in_profile=True):
    """No denial of this very question, by this key, has the evaluation_id of the access request."""


class ExpiredDenial(AppError, status=410, code="EXPIRED_DENIAL", in_profile=True):
    """The time in which the denied access could be requested is over."""


class DuplicateRequest(AppError, status=409, code="DUPLICATE_REQUEST", in_profile=True):
    """The Idempotency-Key was used for another access request."""


class UnknownTask(NotFound, code="UNKNOWN_TASK", in_profile=True):
    """No access request that the caller may see has this id."""


class TaskExpired(AppError, status=410, code="TASK_EXPIRED", in_profile=True):
    """Nobody decided the access request in time."""


class InvalidTaskState(AppError, status=409, code="INVALID_TASK_STATE", in_profile=True):
    """The access request is decided already, so it cannot be cancelled."""


class DecisionNotFound(NotFound, code="DECISION_NOT_FOUND"):
    """This key has asked for no decision with this id."""


class OutcomeConflict(AppError, status=409, code="OUTCOME_CONFLICT"):
    """The call was not allowed, was allowed too long ago, or has a different outcome on record."""


class ResourceNotFound(NotFound, code="RESOURCE_NOT_FOUND"):
    """No resource of this type and id is in the catalogue of the caller's workspace."""


class ToolNotFound(NotFound, code="TOOL_NOT_FOUND"):
    """No tool with this name is in the catalogue of the caller's workspace."""


class WebhookNotFound(NotFound, code="WEBHOOK_NOT_FOUND"):
    """No webhook with this id exists in the caller's workspace."""


class WebhookEventNotFound(NotFound, code="WEBHOOK_EVENT_NOT_FOUND"):
    """No undelivered event of this webhook has this id."""


class AuditEntryNotFound(NotFound, code="AUDIT_ENTRY_NOT_FOUND"):
    """No audit entry with this id exists in the caller's workspace."""


class CheckpointNotFound(NotFound, code="CHECKPOINT_NOT_FOUND"):
    """No signed checkpoint exists, or none covers this entry yet."""


class AgentNotFound(NotFound, code="AGENT_NOT_FOUND"):
    """No agent with this id exists in the caller's workspace."""


class PolicyNotFound(NotFound, code="POLICY_NOT_FOUND"):
    """No policy with this id exists in the caller's workspace."""


class PolicyVersionNotFound(NotFound, code="POLICY_VERSION_NOT_FOUND"):
    """The policy does not have this version yet."""


class ApiKeyNotFound(NotFound, code="API_KEY_NOT_FOUND"):
    """No API key with this id exists in the caller's workspace."""


class SessionNotFound(NotFound, code="SESSION_NOT_FOUND"):
    """No session with this id exists in the caller's workspace, or it has ended."""


class RequestNotFound(NotFound, code="REQUEST_NOT_FOUND"):
    """No request is pinned for this session."""


class IssuerNotFound(NotFound, code="ISSUER_NOT_FOUND"):
    """No issuer of workload tokens with this name exists in the caller's workspace."""


class MethodNotAllowed(AppError, status=405, code="METHOD_NOT_ALLOWED"):
    """The path does not support this method; the Allow header names those it does."""

    def __init__(self, message: str, allow: str) -> None:
        super().__init__(message)
        self.headers = {"Allow": allow}


class RequestTimeout(AppError, status=408, code="REQUEST_TIMEOUT"):
    """The whole request did not arrive in time."""


class AliasTaken(AppError, status=409, code="ALIAS_TAKEN"):
    """Another agent of the workspace has this alias."""


class PolicyKeyTaken(AppError, status=409, code="POLICY_KEY_TAKEN"):
    """Another policy of the same agent, group or workspace has this key."""


class AgentRevoked(AppError, status=409, code="AGENT_REVOKED"):
    """The agent is revoked. This is final: its status cannot change again."""


class IdempotencyConflict(AppError, status=409, code="IDEMPOTENCY_CONFLICT"):
    """This Idempotency-Key was already used for a different request."""


class IdempotencyStale(AppError, status=409, code="IDEMPOTENCY_STALE"):
    """What this Idempotency-Key was answered is no longer valid: the agent or its policies have changed since it
    allowed the call, a time window has closed, the call's outcome was reported, or another call has used the approval.
    """


class NotSignedIn(AppError, status=409, code="NOT_A_SESSION"):
    """The request was made with an API key, and only a session can be signed out."""


class LastAdminKey(AppError, status=409, code="LAST_ADMIN_KEY"):
    """This is the workspace's last valid admin key; without it, no key could be created over the API."""


class ApprovalDecided(AppError, status=409, code="APPROVAL_DECIDED"):
    """The approval is no longer pending: it was decided or cancelled, or it expired."""


class ApprovalChanged(AppError, status=409, code="APPROVAL_CHANGED"):
    """The approval has changed since the person who decides read it."""


class PolicyReviewDecided(AppError, status=409, code="POLICY_REVIEW_DECIDED"):
    """The change of policies no longer waits: it was applied, denied or cancelled, or nobody approved it in time."""


class PolicyReviewStale(AppError, status=409, code="POLICY_REVIEW_STALE"):
    """Policies with which the change was compared have changed since it was asked for. Nothing was written."""


class IssuerTaken(AppError, status=409, code="ISSUER_TAKEN"):
    """The issuer is set up with this audience already, here or elsewhere, or the audience names another workspace."""


class RequestPinned(AppError, status=409, code="REQUEST_PINNED"):
    """Another request was pinned for this session, and the first one counts."""


class LimitReached(AppError, status=409, code="LIMIT_REACHED"):
    """The workspace, the agent or the API key already has as many of these as this service allows."""


class NothingToLearn(AppError, status=409, code="NOTHING_TO_LEARN"):
    """The log has no call from which a policy could be proposed; this never means that the agent needs nothing."""


class ApprovalMismatch(AppError, status=409, code="APPROVAL_MISMATCH"):
    """No open approval of this very call, asked for with this key, has the given approval_id. Nothing was decided."""


class VersionNotKept(AppError, status=410, code="VERSION_NOT_KEPT"):
    """This version is no longer kept, because too many changes have followed it."""


class VersionConflict(AppError, status=412, code="VERSION_CONFLICT"):
    """If-Match does not name the current version: it has changed since you read it. Nothing was written."""


class PayloadTooLarge(AppError, status=413, code="PAYLOAD_TOO_LARGE"):
    """The body is larger than this service reads."""


class UnsupportedEncoding(AppError, status=415, code="UNSUPPORTED_ENCODING"):
    """The body is compressed or otherwise encoded, by its Content-Encoding; bodies are read as they are."""

    headers: Mapping[str, str] = {"Accept-Encoding": "identity"}


class TooManyRequests(AppError, status=429, code="RATE_LIMITED"):
    """The key asks faster than this replica allows; the Retry-After header says how long to wait."""

    def __init__(self, per_second: int, seconds: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(f"This API key has asked more than {per_second} times a second; wait {seconds} s")
        self.headers = {name.decode(): value.decode() for name, value in headers} | {"Retry-After": str(seconds)}


class TooManyMismatches(AppError, status=429, code="TOO_MANY_MISMATCHES"):
    """The key's holder has named too many approvals within a minute that are not open or not of the call."""

    headers: Mapping[str, str] = {"Retry-After": "60"}


class BatchTooLarge(AppError, status=400, code="BATCH_TOO_LARGE"):
    """The batch has more calls than can be allowed all at once or not at all."""


class Overloaded(AppError, status=503, code="OVERLOADED"):
    """The request takes this replica too long, or too many of the workspace's wait. Nothing was decided."""

    headers: Mapping[str, str] = {"Retry-After": "1"}


class TooManyStreams(AppError, status=429, code="TOO_MANY_STREAMS"):
    """The key already has the maximum number of streams and exports open on this replica."""

    def __init__(self, most: int) -> None:
        super().__init__(f"This API key has {most} streams and exports open on this replica; close one of them first")
        self.headers = {"Retry-After": "1"}


class TooManyReplays(AppError, status=429, code="TOO_MANY_REPLAYS"):
    """The workspace or the API key already has the maximum number of replays running on this replica."""

    def __init__(self, most: int, whose: str) -> None:
        running = "1 replay" if most == 1 else f"{most} replays"
        super().__init__(f"This {whose} has {running} running on this replica; wait until one has ended")
        self.headers = {"Retry-After": "5"}


class LockedOut(AppError, status=429, code="LOCKED_OUT"):
    """Too many authentications from this address have failed; the Retry-After header says how long to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many requests from this address had no valid API key; wait {seconds} s")
        self.headers = {"Retry-After": str(seconds)}


class HeadTooLarge(AppError, status=431, code="HEAD_TOO_LARGE"):
    """The request line and headers are larger than this service reads."""


class StoreUnavailable(AppError, status=503, code="STORE_UNAVAILABLE"):
    """The store gave no valid answer in time, so there is no decision: Remit fails closed and never guesses."""


class ProviderUnavailable(AppError, status=503, code="PROVIDER_UNAVAILABLE"):
    """The identity provider gave no usable answer, so nobody can sign in with it now."""

    headers: Mapping[str, str] = {"Retry-After": "5"}


class AuditLogDamaged(AppError, status=500, code="AUDIT_LOG_DAMAGED"):
    """The stored audit log is not what was sealed; `remit audit verify` says where the damage begins."""


def codes() -> list[str]:
    """Every code that an answer can carry."""
    classes: list[type[AppError]] = [AppError]
    for error in classes:
        classes += error.__subclasses__()
    return sorted({error.code for error in classes})
