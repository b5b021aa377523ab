"""Turns on the loop for long-running work: one in each pass, so that short work waits for at most one step."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from app.errors import Overloaded


class _Turns:
    """The tasks that wait for a turn, in the order in which they came."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._giving = False

    def turn(self) -> asyncio.Future[None]:
        """A future that resolves when it is the caller's turn."""
        turn = self._loop.create_future()
        self._waiting.append(turn)
        if not self._giving:
            self._giving = True
            self._loop.call_soon(self._give)
        return turn

    def _give(self) -> None:
        """Give the next task its turn in the next pass of the loop, and the one after it in a later pass."""
        turn = self._waiting.popleft()
        if not turn.done():
            turn.set_result(None)
        self._giving = bool(self._waiting)
        if self._giving:
            self._loop.call_soon(self._give)


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()


async def take_turn() -> None:
    """Let everything else run; of all tasks that wait like this, only one continues in each pass of the loop.

    With `sleep(0)`, every long-running task would run a step in every pass. A decision would wait for a step of each of
    them, and again each time that it waits itself.
    """
    await _turns().turn()


def _turns() -> _Turns:
    loop = asyncio.get_running_loop()
    turns = _of_loops.get(loop)
    if turns is None:
        turns = _of_loops[loop] = _Turns(loop)
    return turns


class WorkspaceSlots:
    """Lets at most `most` tasks of a workspace run at a time; up to `waiting_max` more wait in line.

    For work that keeps the store busy while it waits: the store has one queue for all workspaces, without fairness. And
    for work that strangers keep waiting, such as deliveries. what: the work, for the refusal.
    """

    def __init__(self, most: int = 2, waiting_max: int = 64, what: str = "log queries") -> None:
        self._most, self._waiting_max, self._what = most, waiting_max, what
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._inside: dict[str, int] = {}

    @asynccontextmanager
    async def slot(self, workspace_id: str) -> AsyncIterator[None]:
        """Wait until the block may run, and count it until it ends. Raises Overloaded if too many wait."""
        inside = self._inside.get(workspace_id, 0)
        if inside >= self._most + self._waiting_max:
            raise Overloaded(f"Too many {self._what} of this workspace are already running on this replica")
        room = self._rooms.setdefault(workspace_id, asyncio.Semaphore(self._most))
        self._inside[workspace_id] = inside + 1
        try:
            async with room:
                yield
        finally:
            self._inside[workspace_id] -= 1
            if not self._inside[workspace_id]:
                del self._inside[workspace_id], self._rooms[workspace_id]
