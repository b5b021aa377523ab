"""The cold paths' client of the store: redis-py without its retries, and with a single kind of error."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from redis import exceptions
from redis.client import NEVER_DECODE

from app.errors import StoreUnavailable
from app.redis_client.cluster import Cluster
from app.redis_client.replies import ForeignData, StoreAway, check_reply, describe_fault, is_away, is_foreign
from app.redis_client.scripts import READ_SNAPSHOT, Script

log = logging.getLogger(__name__)
Value = str | int | bytes
_Reply = TypeVar("_Reply")
MIN_TIMEOUT_S = 2.0
"""Cold paths move more data than a decision does, and a slow reply to one call delays no other."""
AT_ONCE = 64
"""Concurrent calls in one client; others wait their turn. redis-py refuses beyond 100 connections."""
_WAIT_MS = 1_000


class Client:
    """The few methods of redis-py that Remit uses. Replies are strings.

    patience_s: how long a call waits for its turn when `at_once` calls are running.
    wait_replicas: how many replicas of the store must confirm a change before it is acknowledged.
    """

    def __init__(
        self, redis: Any, patience_s: float = MIN_TIMEOUT_S, at_once: int = AT_ONCE, wait_replicas: int = 0
    ) -> None:
        self._redis = redis
        self._wait_replicas = wait_replicas
        self._patience_s = patience_s
        self._turns = asyncio.Semaphore(at_once)
        self._is_paused = False

    async def call(self, *args: Value) -> Any:
        """The reply of one command."""
        async with self._turn():
            return await self._redis.execute_command(*args)

    async def change(self, *args: Value) -> Any:
        """The reply of the single command that makes an admin's change, once the replicas have it.

        Raises StoreUnavailable also if the change was made but too few replicas have confirmed it.
        """
        async with self._turn():
            reply, confirmed = await self._send(args, self._wait_replicas)
        self._require_confirmed(confirmed)
        return reply

    @property
    def is_cluster(self) -> bool:
        """True if keys have slots, which have masters."""
        return isinstance(self._redis, Cluster)

    async def keys_on_each(self, name: str) -> list[str]:
        """The name itself; in a cluster, names that begin with it, a key on each master."""
        async with self._turn():
            return await self._redis.keys_on_each(name) if isinstance(self._redis, Cluster) else [name]

    async def master_names(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Of a cluster: the masters that take writes, and the master of each key, by name; otherwise nothing."""
        async with self._turn():
            return await self._redis.master_names(keys) if isinstance(self._redis, Cluster) else ([], [])

    async def call_each(self, *args: Value) -> list[Any]:
        """The reply of every node that accepts writes: one, unless the store is a cluster, where some may be away."""
        async with self._turn():
            if isinstance(self._redis, Cluster):
                return await self._redis.each(*args)
            return [await self._redis.execute_command(*args)]

    async def masters(self) -> "dict[str, Client]":
        """A client of each node that accepts writes, by host:port, on this one's connections; close only this.

        A single server, or the master that Sentinels name, has the name "".
        """
        if not isinstance(self._redis, Cluster):
            return {"": Client(self._redis, self._patience_s)}
        async with self._turn():
            return {node.name: Client(node, self._patience_s) for node in await self._redis.masters()}

    async def call_bytes(self, *args: Value) -> Any:
        """The reply of one command, undecoded: strings are bytes, and maps and sets are lists."""
        async with self._turn():
            # Named in bytes, so redis-py does not convert the reply: a dict for each entry doubles the cost.
            return await self._redis.execute_command(str(args[0]).encode(), *args[1:], **{NEVER_DECODE: True})

    async def read_pipelined(self, commands: Iterable[Sequence[Value]], *, as_bytes: bool = False) -> list[Any]:
        """The replies of commands sent together; other clients may write in between. All keys are in one slot."""
        options = {NEVER_DECODE: True} if as_bytes else {}
        async with self._turn():
            pipeline = self._redis.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command, **options)
            replies: list[Any] = await pipeline.execute()
            return replies

    async def read_each(self, commands: Iterable[Sequence[Value]]) -> list[Any]:
        """The replies of commands about different workspaces, sent together; undecoded, as of `call_bytes`.

        None for a key that Remit has not written, and in a cluster for one on a master that is away: neither blocks the
        other workspaces.
        """
        async with self._turn():
            pipeline = self._redis.pipeline(transaction=False)
            for name, *rest in commands:
                pipeline.execute_command(str(name).encode(), *rest, **{NEVER_DECODE: True})
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
            for reply in replies:
                if isinstance(reply, Exception) and not (is_foreign(reply) or (self.is_cluster and is_away(reply))):
                    raise reply
            return [None if isinstance(reply, Exception) else reply for reply in replies]

    async def read_snapshot(self, *commands: Sequence[Value]) -> list[Any]:
        """The replies of read commands at one moment. Each has one key, and all are in one slot.

        Hashes are returned as flat lists. It costs the store three times as much as `read_pipelined`.
        """
        keys, heads, words = [], [], []
        for name, key, *rest in commands:
            keys.append(str(key))
            heads += [name, len(rest)]
            words += rest
        replies: list[Any] = (await self.run(READ_SNAPSHOT, keys, [*heads, *words]))[1]
        return replies

    async def run(
        self, script: Script, keys: Sequence[str], args: Sequence[Value], *, as_bytes: bool = False
    ) -> list[Any]:
        """The reply of a script, which is loaded first if the store does not know it; its status is always a string.

        For a change: once the replicas have it, as with `change`.
        """
        options = {NEVER_DECODE: True} if as_bytes else {}
        rest = (len(keys), *keys, *args)
        wait_replicas = self._wait_replicas if script.is_change else 0
        async with self._turn():
            try:
                reply, confirmed = await self._send(("EVALSHA", script.sha, *rest), wait_replicas, **options)
            except exceptions.NoScriptError:
                # The script certainly did not run, so it can be sent again.
                reply, confirmed = await self._send(("EVAL", self._source(script), *rest), wait_replicas, **options)
        if as_bytes and isinstance(reply, list) and reply and isinstance(reply[0], bytes):
            reply[0] = reply[0].decode(errors="replace")
        checked = check_reply(script, reply)
        if script.is_change and checked[0] == "done":
            self._require_confirmed(confirmed)
        return checked

    def prepare(
        self, script: Script, keys: Sequence[str], _per_call: int, fixed: Sequence[Value]
    ) -> Callable[..., Awaitable[list[Any]]]:
        """A reusable call of a script that takes its first arguments; the last ones are fixed."""

        async def call(*per_call: Value) -> list[Any]:
            return await self.run(script, keys, [*per_call, *fixed])

        return call

    def pause(self) -> None:
        """Send nothing more to this master; answers to earlier commands still arrive."""
        self._is_paused = True

    def resume_on_new_master(self) -> None:
        """Send calls to the current master; connections to another one are closed as they become free."""
        self._leave_master()
        self._is_paused = False

    async def _drop_idle(self) -> None:
        """Close the connections that no call uses: replies that come after one that cannot be decoded are not read."""
        pool: Any = getattr(self._redis, "connection_pool", None)
        if pool is not None:
            await pool.disconnect(inuse_connections=False)

    def _leave_master(self) -> None:
        """Where Sentinels name the master, ask them again before the next command."""
        pool: Any = getattr(self._redis, "connection_pool", None)
        if hasattr(pool, "sentinel_manager"):
            for connection in (*pool._available_connections, *pool._in_use_connections):  # noqa: SLF001 - no other way
                connection.mark_for_reconnect()

    async def reset_connections(self) -> None:
        """Open new connections: a reply did not match its command, so any reply on these may be wrong."""
        await self._redis.aclose()

    async def close(self) -> None:
        sentinel = getattr(getattr(self._redis, "connection_pool", None), "sentinel_manager", None)
        for each in filter(None, (self._redis, sentinel)):
            with suppress(exceptions.RedisError, OSError):  # a connection that hangs ends with the process
                await each.aclose()

    def _source(self, script: Script) -> str:
        return script.text

    async def _send(self, command: Sequence[Value], wait_replicas: int, **options: Any) -> tuple[Any, int]:
        """The reply, and how many replicas have confirmed the write; 0 if that is not required."""
        if not wait_replicas:
            return await self._redis.execute_command(*command, **options), 0
        # WAIT covers only the writes of its connection, so the two are sent together.
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.execute_command(*command, **options)
        pipeline.execute_command("WAIT", wait_replicas, _WAIT_MS)
        reply, confirmed = await pipeline.execute()
        return reply, int(confirmed)

    def _require_confirmed(self, confirmed: int) -> None:
        if confirmed < self._wait_replicas:
            raise StoreUnavailable(
                f"The change was made, and {confirmed} of {self._wait_replicas} replicas of the store have confirmed "
                "it: if the master fails now, it may be lost; look before you repeat it"
            )

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """A turn among the concurrent calls; every exception of redis-py becomes StoreUnavailable."""
        try:
            async with asyncio.timeout(self._patience_s):
                await self._turns.acquire()
        except TimeoutError:
            raise StoreUnavailable("The store is too slow for this load; nothing was done") from None
        try:
            if self._is_paused:
                raise StoreUnavailable("The store's master hands over to another one; nothing was done")
            yield
        except (exceptions.RedisError, exceptions.RedisClusterException, OSError, TimeoutError) as error:
            if is_foreign(error):
                raise ForeignData(
                    "A key of the store has another type than Remit writes (WRONGTYPE); nothing was done"
                ) from error
            sentence = describe_fault(error)
            if "(NOREPLICAS)" in sentence or "(READONLY)" in sentence:
                self._leave_master()
            raise (StoreAway if is_away(error) else StoreUnavailable)(sentence) from error
        except UnicodeDecodeError as error:
            await self._drop_idle()
            raise ForeignData("A key of the store is not UTF-8, so Remit did not write it") from error
        except (RuntimeError, AttributeError) as error:
            # Raised by uvloop and redis-py if a connection is closed during a command.
            log.warning("the store's client failed", exc_info=error)
            raise StoreUnavailable(describe_fault(error)) from error
        finally:
            self._turns.release()


class DeadlineClient(Client):
    """The same for calls that a decision waits for: given up at the deadline, whatever redis-py is doing.

    A call that is given up is not cancelled but runs to its end, so its connection stays usable.
    """

    async def call(self, *args: Value) -> Any:
        """The reply of one command, if it arrives in time."""
        return await self._in_time(super().call(*args))

    async def run(
        self, script: Script, keys: Sequence[str], args: Sequence[Value], *, as_bytes: bool = False
    ) -> list[Any]:
        """The reply of a script, if it arrives in time."""
        return await self._in_time(super().run(script, keys, args, as_bytes=as_bytes))

    async def _in_time(self, work: Coroutine[Any, Any, _Reply]) -> _Reply:
        task = asyncio.ensure_future(work)
        task.add_done_callback(_read_outcome)
        done, _ = await asyncio.wait({task}, timeout=self._patience_s)
        if not done:
            raise StoreAway("The store did not answer in time; whether it did what was asked is not known")
        return task.result()


def _read_outcome(task: asyncio.Task[Any]) -> None:
    """Retrieve the result, so that no unawaited failure is logged."""
    if not task.cancelled():
        task.exception()
