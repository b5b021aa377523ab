"""Checks that decisions can be made now: the store accepts them, and both lanes of the replica reach it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from app.errors import AppError, StoreUnavailable
from app.redis_client.client import Client
from app.redis_client.packed_call import ScriptRunner
from app.redis_client.replies import info_of
from app.redis_client.scripts import PROBE_COMMIT, SCRIPTS
from app.runtime.lanes.lane import Lane, Message
from app.store.keyspace import READINESS_PROBE, WORKSPACES
from app.store.pointers import names_of

_NEARLY_FULL = 0.9
SLOW_MS = 50.0
"""A reply of the store that takes longer is slow: one near the service takes a millisecond or two."""


class Caller(Protocol):
    """Anything with connections to the store."""

    def call(self, *args: str | int | bytes) -> Awaitable[Any]: ...


async def require_writable(client: Client, *callers: Caller) -> None:
    """Return if the store accepts writes from each of them. Raises StoreUnavailable, as `require_ready` does.

    client: knows the masters of a cluster, of which each caller needs one.
    """
    probes = await client.keys_on_each(READINESS_PROBE)
    for caller in callers:
        # A write command that writes nothing, because the key never exists. The store refuses it whenever it would
        # refuse a commit, and it takes neither memory nor disk.
        await _one_of(caller.call("SET", probe, "", "XX") for probe in probes)


async def require_ready(client: Client) -> None:
    """Return if the store accepts writes, permits the commands of a decision, and has every script loaded.

    Of a cluster, one master is enough: the workspaces of the others are 503, and those of this one need the replica.
    Scripts that it has lost are loaded again.
    Raises StoreUnavailable with the code of the store's refusal: READONLY, OOM, MISCONF, NOREPLICAS, LOADING, NOPERM.
    """
    await require_writable(client, client)
    replies = await client.call_each("SCRIPT", "EXISTS", *(script.sha for script in SCRIPTS))
    for script, *loaded in zip(SCRIPTS, *replies, strict=True):
        if not all(loaded):
            await client.call_each("SCRIPT", "LOAD", script.text)
    await _one_of(_permitted(client, listed) for listed in names_of(client, WORKSPACES))


async def _permitted(client: Client, workspaces: str) -> None:
    status, command = await client.run(PROBE_COMMIT, [workspaces], [])
    if status == "refused":
        raise StoreUnavailable(f"The store's user may not run {command} (NOPERM), which every decision does")


async def _one_of(calls: Iterable[Awaitable[object]]) -> None:
    """Return as soon as one of them succeeds: others may wait for a master that hangs. Raises an error if none does."""
    pending = {asyncio.ensure_future(call) for call in calls}
    while True:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        errors = [error for task in done if (error := task.exception()) is not None]
        if len(errors) < len(done):
            for task in pending:
                task.add_done_callback(lambda late: late.cancelled() or late.exception())
            return
        if not pending:
            raise errors[0]


async def is_nearly_full(client: Client) -> bool:
    """True if nine tenths of the store's memory limit are used; in a cluster, on any master.
    False if the store does not report it.
    """
    try:
        replies = await client.call_each("INFO", "memory")
    except StoreUnavailable:
        return False
    for reply in replies:
        memory = info_of(reply)
        if int(memory["used_memory"]) > _NEARLY_FULL * int(memory["maxmemory"]) > 0:
            return True
    return False


OTHER_SECONDS: Final = 1.0
"""The time limit for the other lane to say whether it can reach the store."""

TOLD_SECONDS: Final = 30.0
"""What the other lane said last counts this long while it says nothing; long before, one that hangs is replaced."""

APART_SECONDS: Final = 0.1
"""Seconds between the beginnings of two checks, however often it is asked."""


class Readiness:
    """Checks, when asked, whether both lanes can make decisions.

    client: the one with which everything is checked. runners: used by this lane's decisions; each has separate
    connections. require_room: raises StoreUnavailable if no workspace can take an entry; that may take many commands,
    so it is for the slow lane. now: a monotonic clock, in seconds.
    reply_ms: how long the fastest reply to the last check took. The fastest, because others may have waited for this
    process.
    """

    def __init__(
        self,
        lane: Lane,
        client: Client,
        runners: Sequence[ScriptRunner],
        require_room: Callable[[], Awaitable[None]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lane, self._client, self._runners = lane, client, runners
        self._require_room, self._now = require_room, now
        self.reply_ms = 0.0
        self._checking: asyncio.Task[None] | None = None
        self._checked_at = self._told_at = float("-inf")
        self._told = ""
        self._trying: asyncio.Task[None] | None = None
        self._reply: asyncio.Future[str] | None = None
        lane.on_message(Message.ASKS_READINESS, lambda _: self._answer())
        lane.on_message(Message.TELLS_READINESS, self._receive)

    async def require(self) -> None:
        """Return if the store is ready and both lanes reach it. Raises StoreUnavailable with the reason otherwise.

        All who ask meanwhile share a check.
        """
        if self._checking is None or self._checking.done():
            self._checking = asyncio.get_running_loop().create_task(self._check())
        await asyncio.shield(self._checking)

    async def _check(self) -> None:
        await asyncio.sleep(self._checked_at + APART_SECONDS - self._now())
        self._checked_at = self._now()
        other = asyncio.ensure_future(self._ask())
        try:
            await require_ready(self._client)
            replies_s = []
            for each in self._runners:
                asked_s = self._now()
                await require_writable(self._client, each)
                replies_s.append(self._now() - asked_s)
            self.reply_ms = 1_000 * min(replies_s, default=0)
            if self._has_slow_work:
                await self._require_room()
            obstacle = await other
        finally:
            other.cancel()
        if obstacle:
            raise StoreUnavailable(obstacle)

    @property
    def _has_slow_work(self) -> bool:
        return self._lane.is_alone or not self._lane.is_fast

    async def _ask(self) -> str:
        """The other lane's obstacle; "" = it is ready. A lane that is only busy has said so a moment ago."""
        if self._lane.is_alone:
            return ""
        if self._reply is None:
            self._reply = asyncio.get_running_loop().create_future()
        reply = self._reply
        self._lane.send_message(Message.ASKS_READINESS)
        done, _ = await asyncio.wait({reply}, timeout=OTHER_SECONDS)
        if done:
            return reply.result()
        if self._now() - self._told_at < TOLD_SECONDS:
            return self._told
        name = "slow" if self._lane.is_fast else "fast"
        return f"The replica's {name} lane is not ready: it has not answered within {OTHER_SECONDS:g} s"

    def _receive(self, obstacle: bytes) -> None:
        self._told, self._told_at = obstacle.decode(), self._now()
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            reply.set_result(self._told)

    def _answer(self) -> None:
        """Tell the other lane this one's obstacle, once it is known."""
        if self._trying is None or self._trying.done():
            self._trying = asyncio.get_running_loop().create_task(self._try())

    async def _try(self) -> None:
        obstacle = ""
        try:
            await require_writable(self._client, *self._runners, self._client)
        except AppError as error:
            obstacle = f"The replica's {'fast' if self._lane.is_fast else 'slow'} lane is not ready: {error}"
        else:
            try:
                if self._has_slow_work:
                    await self._require_room()
            except AppError as error:
                obstacle = str(error)
        self._lane.send_message(Message.TELLS_READINESS, obstacle.encode())
