"""What the commit's script replies, and what that means: a decision, or why there is none."""

from typing import Any

from msgspec import Struct

from app.errors import (
    ApiKeyExpired,
    IdempotencyConflict,
    IdempotencyStale,
    LimitReached,
    StoreUnavailable,
    Unauthorized,
)
from app.model.decisions import Decision
from app.redis_client.replies import is_reply
from app.redis_client.scripts import COMMIT_DECISION, COMMIT_WITH_PARTS

_ELEMENTS, _STATUSES = len(COMMIT_DECISION.elements), COMMIT_WITH_PARTS.replies


class CommitReply(Struct, frozen=True, gc=False):
    """The elements of the script's reply, in the order of its header, and what its parts may add to them."""

    status: str
    decision_id: str
    time_us: int
    latency_us: int
    full: int
    retry_us: int
    full_quotas: str = ""
    crowded: str = ""
    approval: str = ""
    ends_ms: str = ""
    filling: str = ""
    tripped: str = ""
    shadow: int = 0
    would: str = ""

    @classmethod
    def of(cls, reply: Any, decision_id: str) -> "CommitReply | None":
        """The reply; None if no commit can have given it, or not the commit of this decision."""
        if type(reply) is list and len(reply) == _ELEMENTS:  # no part has added anything
            status, decided, time_text, latency_us, full, retry_us = reply
            if decided != decision_id or status not in _STATUSES:
                return None
            return cls(status, decided, int(time_text), latency_us, full, retry_us)
        if not is_reply(COMMIT_WITH_PARTS, reply) or reply[1] != decision_id:
            return None
        status, _, time_text, latency_us, full, retry_us, *added = reply
        return cls(
            status, decision_id, int(time_text), latency_us, full, retry_us,
            **dict(zip(added[::2], added[1::2], strict=True)),
        )  # fmt: skip


class Stale(Struct, frozen=True):
    """The plan is out of date and nothing was written: decide again.

    time_us: the store's time at that moment.
    version_moved: whether the agent or its policies changed; if not, the clock has left the plan's interval.
    """

    time_us: int
    version_moved: bool


class Escalates(Struct, frozen=True):
    """Unexpectedly, a person must approve; nothing was written. full: numbers of the full quotas."""

    full: tuple[int, ...]


class Overtaken(Struct, frozen=True):
    """The call's approval has changed since it was read, and nothing was written: read it again.

    time_us: the store's time then; by our own estimate, an approval that has just expired might still seem valid.
    ended: the approval is unchanged, but its agent or API key no longer supports it, so a new one must be asked for.
    """

    time_us: int
    ended: bool = False


CommitAnswer = Decision | Stale | Escalates | Overtaken


def require_stale(answer: CommitAnswer) -> Stale:
    """The answer. Without approvals it must be a decision or Stale; raises StoreUnavailable otherwise."""
    if isinstance(answer, Stale):
        return answer
    raise StoreUnavailable("The store answered a question about approvals that was not asked")


def without_decision(reply: CommitReply) -> Stale | Escalates | Overtaken:
    """The reason why the script has written nothing. If the caller is to get an error, raises it."""
    match reply.status:
        case "stale" | "moved":
            return Stale(reply.time_us, version_moved=reply.status == "stale")
        case "escalates":
            return Escalates(tuple(map(int, reply.full_quotas.split())))
        case "overtaken" | "ended":
            return Overtaken(reply.time_us, ended=reply.status == "ended")
        case "conflict":
            raise IdempotencyConflict("This Idempotency-Key was used before with another body; take a new one")
        case "outdated":
            raise IdempotencyStale(
                "The agent or its policies have changed since this Idempotency-Key was answered, or a time window has "
                "closed, and nothing was decided now; ask again with a new one"
            )
        case "crowded":
            raise LimitReached(
                "This API key has used as many Idempotency-Keys within a day as it may; nothing was decided. Ask "
                "without one, or wait"
            )
        case "revoked":
            raise Unauthorized("The API key is unknown or has been revoked")
        case "expired":
            raise ApiKeyExpired("The API key has expired")
        case _:
            raise StoreUnavailable(
                "The audit log's unsealed backlog has no room for another entry of this caller; is a compactor running?"
            )
