"""A few threads for work that takes more than a moment, shared fairly by workspaces, and in each by its keys.

Threads are enough: searches by RE2 take the time, and they release the interpreter's lock. A process pool would have to
copy policies and calls, and gain nothing.
"""

import asyncio
import contextlib
import os
import sys
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from app.cancellation import cancelled_when
from app.errors import Overloaded
from app.runtime.fairness.asking_key import asking_key
from app.runtime.lanes.lane import Lane

_Result = TypeVar("_Result")
_THREADS_MIN, _THREADS_MAX = 2, 4
_WAITING_PER_WORKSPACE, _WAITING_IN_ALL = 64, 1024
PATIENCE_S = 5.0
"""Seconds that a caller waits for its work, in the queue and in the thread together."""

AT_ONCE = 4
"""How many calls of one batch wait in the queue or run: more than threads that a workspace gets."""

NICENESS = 10
"""Niceness above the loop's: on a shared core, the loop gets ten times a thread's time. Not more, because a thread that
never gets the core never releases the interpreter's lock, and because a flood of small calls may delay long work but
must not stop it.
"""


class _Work:
    """One function call, and the future that its caller awaits."""

    __slots__ = ("call", "key", "result", "workspace_id")

    def __init__(self, workspace_id: str, key: str, call: Callable[[], Any], result: asyncio.Future[Any]) -> None:
        self.workspace_id, self.key, self.call, self.result = workspace_id, key, call, result

    def do(self) -> Any:
        """Make the call, in the thread; end with Cancelled once its caller has gone."""
        with cancelled_when(self.result.done):
            return self.call()


class Pool(Protocol):
    """Runs work that takes more than a moment."""

    async def run(self, workspace_id: str, function: Callable[..., _Result], *args: Any) -> _Result:
        """Return what the function returns, or raise what it raises."""


class FairThreadPool:
    """Runs functions in `threads` threads. Workspaces take turns, however much work one of them has waiting, and so do
    the keys of a workspace.

    No workspace gets all the threads, so another's work waits for its turn, but never for a long job to end. A caller
    that waits longer than `patience_s`, or finds `waiting_max` of its workspace or half as many of its key waiting,
    gets Overloaded. Work for which no key asks counts as that of one more. A caller that goes away leaves the
    queue; a job that already runs keeps its thread until it next checks whether it is cancelled
    (`app/cancellation.py`).
    """

    def __init__(
        self,
        threads: int = max(_THREADS_MIN, min(_THREADS_MAX, os.cpu_count() or 1)),
        waiting_max: int = _WAITING_PER_WORKSPACE,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._threads = threads
        self._share = max(1, threads - 1)
        self._waiting_max = waiting_max
        self._patience_s = patience_s
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="work", initializer=_step_aside)
        self._waiting: OrderedDict[str, OrderedDict[str, deque[_Work]]] = OrderedDict()
        self._running: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        """The number of functions that wait for a thread."""
        return sum(map(_length, self._waiting.values()))

    async def run(self, workspace_id: str, function: Callable[..., _Result], *args: Any) -> _Result:
        """Run the function: return or raise what it does. Raises Overloaded if that takes too long."""
        key = asking_key.get()
        queues: Mapping[str, deque[_Work]] = self._waiting.get(workspace_id, {})
        if _length(queues) >= self._waiting_max or self.waiting >= _WAITING_IN_ALL:
            raise Overloaded("This replica has too much work that takes long from this workspace; nothing was decided")
        if key and len(queues.get(key, ())) >= self._waiting_max // 2:
            raise Overloaded("This replica has too much work that takes long from this key; nothing was decided")
        result: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        work = _Work(workspace_id, key, partial(function, *args), result)
        self._waiting.setdefault(workspace_id, OrderedDict()).setdefault(key, deque()).append(work)
        self._start()
        try:
            done, _ = await asyncio.wait({result}, timeout=self._patience_s)
        finally:
            self._leave(work)
            if not result.done():
                result.cancel()
        if not done:
            raise Overloaded(f"This would take the replica more than {self._patience_s:g} s; nothing was decided")
        return result.result()

    def close(self) -> None:
        """End all threads; busy ones end when their work does."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        """Give every free thread work, as long as some may run."""
        while self._running.total() < self._threads and (work := self._next()) is not None:
            self._running[work.workspace_id] += 1
            loop = work.result.get_loop()
            self._executor.submit(work.do).add_done_callback(partial(self._tell, loop, work))

    def _next(self) -> _Work | None:
        """The oldest work of the key whose turn it is, of the workspace whose turn it is; both then go to the end of
        their lines.
        """
        for workspace_id, queues in self._waiting.items():
            if self._running[workspace_id] < self._share:
                self._waiting.move_to_end(workspace_id)
                key, queue = next(iter(queues.items()))
                queues.move_to_end(key)
                work = queue[0]
                self._leave(work)
                return work
        return None

    def _leave(self, work: _Work) -> None:
        queues: dict[str, deque[_Work]] = self._waiting.get(work.workspace_id, OrderedDict())
        queue = queues.get(work.key, deque())
        with contextlib.suppress(ValueError):
            queue.remove(work)
        if not queue:
            queues.pop(work.key, None)
        if not queues:
            self._waiting.pop(work.workspace_id, None)

    def _tell(self, loop: asyncio.AbstractEventLoop, work: _Work, outcome: Future[Any]) -> None:
        """Tell the loop, from the thread, that the work has ended."""
        with contextlib.suppress(RuntimeError):  # the loop may be gone by then
            loop.call_soon_threadsafe(self._finish, work, outcome)

    def _finish(self, work: _Work, outcome: Future[Any]) -> None:
        self._running[work.workspace_id] -= 1
        if not self._running[work.workspace_id]:
            del self._running[work.workspace_id]
        if not work.result.done() and not outcome.cancelled():
            if (error := outcome.exception()) is None:
                work.result.set_result(outcome.result())
            else:
                work.result.set_exception(error)
        self._start()


class InTurns:
    """Runs a few functions in `pool` at a time, while the others wait outside: one request never fills its queue.

    Once one is refused, so are all that still wait: the request has failed, so their results are no longer needed.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool, self._room = pool, asyncio.Semaphore(AT_ONCE)
        self._refusal: Overloaded | None = None

    async def run(self, workspace_id: str, function: Callable[..., _Result], *args: Any) -> _Result:
        """As `FairThreadPool.run`."""
        async with self._room:
            if self._refusal is not None:
                raise self._refusal
            try:
                return await self._pool.run(workspace_id, function, *args)
            except Overloaded as error:
                self._refusal = error
                raise


class SlowLanePool:
    """In the fast lane, runs nothing: the call goes to the slow lane. Where there is none, it runs in `pool`."""

    def __init__(self, pool: FairThreadPool, lane: Lane) -> None:
        self._pool, self._lane = pool, lane

    async def run(self, workspace_id: str, function: Callable[..., _Result], *args: Any) -> _Result:
        """As `FairThreadPool.run`. Raises MoveToSlowLane."""
        self._lane.require_short()
        return await self._pool.run(workspace_id, function, *args)


def _length(queues: Mapping[str, deque[_Work]]) -> int:
    return sum(map(len, queues.values()))


def _step_aside() -> None:
    """Let the loop have its core before this thread, at the thread's start. Only Linux has a niceness per thread."""
    if sys.platform == "linux":
        niceness = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
