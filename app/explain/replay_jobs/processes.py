"""Runs replays and analyses for a replica's callers, each in a separate process: decisions do not wait for them."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress

import msgspec

from app.errors import Overloaded, TooManyReplays
from app.explain.replay_jobs.analyses import ANSWER, AnalysisTask
from app.model.proposals import ProposeTask
from app.model.replays import ReplayLine, ReplayProgress, ReplayTask
from app.runtime.fairness.shares import Shares
from app.settings import Settings

PROGRAM = ("-P", "-m", "app.explain.replay_jobs")
"""What the interpreter runs for a replay, a proposal or an analysis."""
_BROKE_OFF = msgspec.json.encode(ReplayLine(error="It ended before its report; try again")) + b"\n"
_STOPPING = msgspec.json.encode(ReplayLine(error="This replica is stopping; ask again")) + b"\n"
_BEGUN = msgspec.json.encode(ReplayLine(progress=ReplayProgress(entries=0, done=0, of=1))) + b"\n"
_PROGRESS = b'{"progress":'
_SILENCE_S = 1.0
_NICENESS = 19
_LINE_BYTES = 16 * 1024 * 1024
_LAST = (b'{"report":', b'{"proposal":', b'{"error":', ANSWER)


class ReplayProcesses:
    """The running replays and analyses of each workspace and key on this replica, and their processes.

    stopping: set when the replica is told to stop; the replays then end.
    """

    def __init__(self, settings: Settings, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        self._shares = Shares(settings.replays_per_workspace)
        self._env = {
            "REMIT_REDIS_URL": settings.redis_url or "",
            "REMIT_REDACT": settings.redact,
            "REMIT_STORE_TIMEOUT_MS": str(settings.store_timeout_ms),
        }

    def __len__(self) -> int:
        return self._shares.total

    def require_room(self, workspace_id: str, key: str) -> None:
        """Raise TooManyReplays if the workspace may start no more, or this key of it."""
        if not self._shares.has_room(workspace_id, key):
            shares = self._shares
            if shares.of_key(workspace_id, key) >= shares.per_key:
                raise TooManyReplays(shares.per_key, "API key")
            raise TooManyReplays(shares.per_workspace, "workspace")

    async def begin(self, task: ReplayTask | ProposeTask, key: str) -> AsyncIterator[bytes]:
        """Stream the process's JSON lines; the last one is a report, a proposal or an error. key: who asks.

        Raises TooManyReplays. Closing the iterator ends the process.
        """
        lines = self._lines(task, key)
        first = await anext(lines)

        async def all_lines() -> AsyncIterator[bytes]:
            try:
                yield first
                async for line in lines:
                    yield line
            finally:
                await lines.aclose()

        return all_lines()

    async def answer(self, task: AnalysisTask, key: str) -> bytes:
        """The answer to an analysis, as JSON. key: who asks. Raises TooManyReplays, Overloaded."""
        *_, line = [each async for each in self._lines(task, key)]
        if not line.startswith(ANSWER):
            raise Overloaded("The analysis ended before its answer; ask again")
        return line.rstrip()[len(ANSWER) : -1]

    async def _lines(self, task: ReplayTask | ProposeTask | AnalysisTask, key: str) -> AsyncGenerator[bytes]:
        self.require_room(task.workspace_id, key)
        self._shares.enter(task.workspace_id, key)
        process: Process | None = None
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *PROGRAM,
                stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
                env=dict(os.environ) | self._env, limit=_LINE_BYTES,
            )  # fmt: skip
            lower_priority(process.pid)
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the process was started without pipes")
            process.stdin.write(msgspec.json.encode(task))
            process.stdin.close()
            async with aclosing(self._spoken(process.stdout)) as spoken:
                async for line in spoken:
                    yield line
                    if line.startswith(_LAST):
                        return
            yield _STOPPING if self._stopping.is_set() else _BROKE_OFF
        finally:
            self._shares.leave(task.workspace_id, key)
            if process is not None:
                await _end(process)

    async def _spoken(self, output: asyncio.StreamReader) -> AsyncGenerator[bytes]:
        """The process's lines until it or the replica ends. After a second without a line, its last progress is
        repeated.

        Only by writing does the server notice that a client has gone.
        """
        latest = _BEGUN
        reading = asyncio.ensure_future(output.readline())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            while not stopping.done():
                await asyncio.wait((reading, stopping), timeout=_SILENCE_S, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    if not stopping.done():
                        yield latest
                    continue
                line = reading.result()
                if not line:
                    return
                latest = line if line.startswith(_PROGRESS) else latest
                reading = asyncio.ensure_future(output.readline())
                yield line
        finally:
            reading.cancel()
            stopping.cancel()


def lower_priority(pid: int) -> None:
    """Let everything else that wants the core run first: decisions wait neither for a replay nor for its start."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICENESS)
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
