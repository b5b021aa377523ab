"""What the commit can answer in place of a decision."""

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


Answer = Decision | Stale | Escalates | Overtaken


def require_stale(answer: Answer) -> Stale:
    """The answer. Without approvals it must be a decision or Stale; raises StoreUnavailable otherwise."""
    if isinstance(answer, Stale):
        return answer
    raise StoreUnavailable("The store answered a question about approvals that was not asked")


def without_decision(status: str, time_us: int, full: str) -> Stale | Escalates | Overtaken:
    """Why the script has written nothing. If the caller is to get an error, raises it."""
    match status:
        case "stale" | "moved":
            return Stale(time_us, version_moved=status == "stale")
        case "escalates":
            return Escalates(tuple(map(int, full.split())))
        case "overtaken" | "ended":
            return Overtaken(time_us, ended=status == "ended")
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
            raise StoreUnavailable("The audit log's unsealed backlog is full; is a compactor running?")
