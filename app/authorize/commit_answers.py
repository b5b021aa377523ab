"""What the commit answers in place of a decision."""

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

    time_us: the store's time when it said so.
    version_moved: the agent or its policies changed; otherwise only the clock left the plan's interval.
    """

    time_us: int
    version_moved: bool


class Escalates(Struct, frozen=True):
    """A person must be asked, which the step did not fit; nothing was written. full: numbers of the full quotas."""

    full: tuple[int, ...]


class Overtaken(Struct, frozen=True):
    """The call's approval has changed since it was read, and nothing was written: read it again.

    time_us: the store's time when it said so; by our own idea of it, what has just run out would still be good.
    ended: it is as it was read, but what it rests on is gone, so that another must be asked for.
    """

    time_us: int
    ended: bool = False


Answer = Decision | Stale | Escalates | Overtaken


def require_stale(answer: Answer) -> Stale:
    """What is no decision, and was asked without approvals, is stale. Raises StoreUnavailable."""
    if isinstance(answer, Stale):
        return answer
    raise StoreUnavailable("The store answered a question about approvals that was not asked")


def without_decision(status: str, time_us: int, full: str) -> Stale | Escalates | Overtaken:
    """Why the script has written nothing. Raises the error that the caller is answered with, if it is one."""
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
                "The agent or its policies have changed since this Idempotency-Key was answered, and nothing was "
                "decided now; ask again with a new one"
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
