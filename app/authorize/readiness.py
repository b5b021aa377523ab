"""Whether a replica can make decisions: each lane tries its own connections, and answers the other's questions."""

import asyncio
from collections.abc import Sequence
from typing import Final

from app.authorize.script_runner import ScriptRunner
from app.errors import AppError, StoreUnavailable
from app.lane import Lane, Note
from app.redis_client.client import Client
from app.store.readiness import require_ready, require_writable

OTHER_SECONDS: Final = 1.0
"""How long the other lane may take to say whether it can reach the store."""


class Readiness:
    """Checks, when asked, whether both lanes can make decisions.

    client: the one with which everything is checked. runners: what decisions of this lane use, each with connections of
    its own.
    """

    def __init__(self, lane: Lane, client: Client, runners: Sequence[ScriptRunner]) -> None:
        self._lane, self._client, self._runners = lane, client, runners
        self._trying: asyncio.Task[None] | None = None
        self._told: asyncio.Future[str] | None = None
        lane.hear(Note.ASKS_READINESS, lambda _: self._answer())
        lane.hear(Note.TELLS_READINESS, self._hear)

    async def require(self) -> None:
        """Return if the store is ready and both lanes reach it. Raises StoreUnavailable with the reason otherwise."""
        other = asyncio.ensure_future(self._ask())
        try:
            await require_ready(self._client)
            await require_writable(*self._runners)
            obstacle = await other
        finally:
            other.cancel()
        if obstacle:
            raise StoreUnavailable(
                f"The replica's {'slow' if self._lane.is_fast else 'fast'} lane is not ready: {obstacle}"
            )

    async def _ask(self) -> str:
        """The other lane's obstacle; "" = none. Concurrent callers share its answer."""
        if self._lane.is_alone:
            return ""
        if self._told is None or self._told.done():
            self._told = asyncio.get_running_loop().create_future()
            self._lane.tell(Note.ASKS_READINESS)
        told = self._told
        done, _ = await asyncio.wait({told}, timeout=OTHER_SECONDS)
        if not done and self._told is told:
            self._told = None  # the question may be lost, so the next one is sent again
        return told.result() if done else f"it has not answered within {OTHER_SECONDS:g} s"

    def _hear(self, obstacle: bytes) -> None:
        if self._told is not None and not self._told.done():
            self._told.set_result(obstacle.decode())

    def _answer(self) -> None:
        """Tell the other lane this one's obstacle, once it is known."""
        if self._trying is None or self._trying.done():
            self._trying = asyncio.get_running_loop().create_task(self._try())

    async def _try(self) -> None:
        obstacle = ""
        try:
            await require_writable(*self._runners, self._client)
        except AppError as error:
            obstacle = str(error)
        self._lane.tell(Note.TELLS_READINESS, obstacle.encode())
