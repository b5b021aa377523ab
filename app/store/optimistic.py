"""Optimistic concurrency: the versions that a change may replace, limits, retries."""

import asyncio
from typing import NoReturn

from app.errors import LimitReached, StoreUnavailable, VersionConflict

Versions = frozenset[int] | None
"""The versions that a change may replace; None = any."""


ATTEMPTS = 8
"""The number of attempts to make a change while others keep changing the same record."""

_THAW_S = 0.15


def require_version(current: int, accepted: Versions) -> None:
    """Raise VersionConflict unless the current version is one that If-Match names."""
    if accepted is not None and current not in accepted:
        raise VersionConflict(f"The version is {current} now, and If-Match does not name it; read it again")


async def overtaken(status: str) -> bool:
    """True if the script found a state other than the one read; the caller may then retry at once.

    If the agent is being deleted, this waits long enough for a change's attempts to outlast the freeze.
    """
    if status == "frozen":
        await asyncio.sleep(_THAW_S)
    return status in {"stale", "frozen"}


def contended() -> NoReturn:
    """Give up on a change that others keep overtaking."""
    raise StoreUnavailable(f"Others changed the same record {ATTEMPTS} times in a row; try again")


def require_room(status: str, owner: str, things: str, limit: int) -> None:
    """Raise LimitReached if the script found that the owner already has its maximum of these."""
    if status == "full":
        raise LimitReached(f"The {owner} has as many {things} as it may have ({limit}); delete one to make room")
