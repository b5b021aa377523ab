"""Changes that hold only if no other came first: version numbers, limits, another try."""

import asyncio
from typing import NoReturn

from app.errors import LimitReached, StoreUnavailable, VersionConflict
from app.model.versions import Versions

ATTEMPTS = 8
"""How often a change is tried while others change the same record in between."""

_THAW_S = 0.15


def require_version(current: int, wanted: Versions) -> None:
    """Raise VersionConflict unless the version is one that the caller wants to change."""
    if wanted is not None and current not in wanted:
        raise VersionConflict(f"The version is {current} now, and If-Match does not name it; read it again")


async def overtaken(status: str) -> bool:
    """Whether the script found other than was read; the caller may try again at once.

    Where the agent is being deleted, this takes so long that the attempts of a change outlast the freeze.
    """
    if status == "frozen":
        await asyncio.sleep(_THAW_S)
    return status in {"stale", "frozen"}


def contended() -> NoReturn:
    """Give up a change that others keep overtaking."""
    raise StoreUnavailable(f"Others changed the same record {ATTEMPTS} times in a row; try again")


def require_room(status: str, owner: str, things: str, limit: int) -> None:
    """Raise LimitReached if the script found that the owner has as many of these things as it may have."""
    if status == "full":
        raise LimitReached(f"The {owner} has as many {things} as it may have ({limit}); delete one to make room")
