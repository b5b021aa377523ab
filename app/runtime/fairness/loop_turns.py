"""Turns on the loop for long-running work: one in each pass, so that short work waits for at most one step."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from app.errors import Overloaded
from app.runtime.fairness.asking_key import asking_key


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


class _Line:
    """A workspace's tasks: how many run, and those that wait, by key."""

    def __init__(self) -> None:
        self.running = 0
        self.waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    def drop(self, key: str, turn: asyncio.Future[None]) -> None:
        """Take out a task that no longer waits, so that it fills no place."""
        queue = self.waiting.get(key)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self.waiting[key]

    def next(self) -> asyncio.Future[None] | None:
        """Take out the oldest task of the key whose turn it is, which then goes to the end of the line."""
        while self.waiting:
            key, queue = next(iter(self.waiting.items()))
            turn = queue.popleft()
            self.waiting.move_to_end(key)
            if not queue:
                del self.waiting[key]
            if not turn.done():
                return turn
        return None


class WorkspaceSlots:
    """Lets at most `most` tasks of a workspace run at a time; up to `waiting_max` more wait, and its keys take turns.

    Of one key, up to half as many wait, so no key alone has the others' tasks refused. Tasks for which no key asks
    (`asking_key`) count as those of one more, which may all wait. For work that keeps the store busy while it waits:
    the store has one queue for all workspaces, without fairness. And for work that strangers keep waiting, such as
    deliveries. what: the work, for the refusal.
    """

    def __init__(self, most: int = 2, waiting_max: int = 64, what: str = "log queries") -> None:
        self._most, self._waiting_max, self._what = most, waiting_max, what
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def slot(self, workspace_id: str) -> AsyncIterator[None]:
        """Wait until the block may run, and count it until it ends. Raises Overloaded if too many wait."""
        key = asking_key.get()
        line = self._lines.get(workspace_id) or self._lines.setdefault(workspace_id, _Line())
        if line.running < self._most:
            line.running += 1
        else:
            await self._wait(workspace_id, line, key)
        try:
            yield
        finally:
            self._leave(workspace_id)

    async def _wait(self, workspace_id: str, line: _Line, key: str) -> None:
        if sum(map(len, line.waiting.values())) >= self._waiting_max:
            raise Overloaded(f"Too many {self._what} of this workspace are already running on this replica")
        if key and len(line.waiting.get(key, ())) >= max(1, self._waiting_max // 2):
            raise Overloaded(f"Too many {self._what} of this key are already running on this replica")
        turn = asyncio.get_running_loop().create_future()
        line.waiting.setdefault(key, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                line.drop(key, turn)
            else:  # its turn had come
                self._leave(workspace_id)
            raise

    def _leave(self, workspace_id: str) -> None:
        line = self._lines[workspace_id]
        turn = line.next()
        if turn is not None:
            turn.set_result(None)
            return
        line.running -= 1
        if not line.running:
            del self._lines[workspace_id]
