"""Follows the Sentinels, so that nothing is sent to a master that is about to be replaced.

A Sentinel announces that it will promote a replica at least a tenth of a second before it does. From then on, nothing
more is sent to the old master, so that its latest writes can reach the replicas. Calls continue once there is a new
master, or the Sentinel has given up. Otherwise the old master would answer for ten more seconds, and lose those writes
when it becomes a replica.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from redis import exceptions
from redis.asyncio import Redis

from app.errors import StoreUnavailable
from app.redis_client.urls import StoreUrl, connection_options

log = logging.getLogger(__name__)
_BEGINS = "+failover-state-select-slave"
_ENDS = ("+promoted-slave", "+switch-master", "-failover-abort*")
_LOOK_S = 1.0
_AGAIN_S = 0.5
_LONGEST_S = 10.0
"""The longest that calls wait for a Sentinel that announced a failover and then fell silent."""


class MasterClient(Protocol):
    """Sends commands to the master, until it is told to pause."""

    def pause(self) -> None: ...

    def resume_on_new_master(self) -> None: ...


class SentinelFailover:
    """Tells the clients when the master changes; listens to every Sentinel, and polls once a second."""

    def __init__(self, url: StoreUrl, locate: Callable[[], Awaitable[str]], clients: Sequence[MasterClient]) -> None:
        self._url = url
        self._locate = locate
        self._clients = clients
        self._master: str | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._patience: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Start listening to the Sentinels."""
        self._tasks = [asyncio.create_task(self._listen(host, port)) for host, port in self._url.nodes]
        self._tasks.append(asyncio.create_task(self._keep_looking()))

    async def close(self) -> None:
        """Stop listening."""
        if self._patience is not None:
            self._patience.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hear(self, event: str, text: str) -> None:
        """Process one message of a Sentinel."""
        if self._url.service not in text.split():
            return
        if event == _BEGINS:
            if self._patience is None:
                log.warning("the store's master hands over; calls wait for the new one")
                self._patience = asyncio.get_running_loop().call_later(_LONGEST_S, self._go_on)
                for client in self._clients:
                    client.pause()
        elif self._patience is not None:
            self._go_on()

    def _go_on(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._master = None
        for client in self._clients:
            client.resume_on_new_master()

    async def _listen(self, host: str, port: int) -> None:
        options = connection_options(_AGAIN_S) | {"socket_timeout": None, "socket_keepalive": True}
        while True:
            sentinel: Any = Redis(host=host, port=port, **options)
            try:
                subscription = sentinel.pubsub(ignore_subscribe_messages=True)
                await subscription.psubscribe(_BEGINS, *_ENDS)
                async for message in subscription.listen():
                    self.hear(message["channel"], message["data"])
            except (exceptions.RedisError, OSError, TimeoutError, RuntimeError):
                pass
            finally:
                with contextlib.suppress(Exception):
                    await sentinel.aclose()
            await asyncio.sleep(_AGAIN_S)

    async def _keep_looking(self) -> None:
        """Poll, to notice changes that were not announced."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(StoreUnavailable):
                master = await self._locate()
                if self._patience is None and self._master not in {None, master}:
                    log.warning("the store has a new master")
                    self._go_on()
                self._master = master
