"""Follows the Sentinels, so that nothing is asked of a master that is about to be one no longer.

A Sentinel says that it looks for a replica to promote a tenth of a second and more before it promotes one. From
then on nothing more is sent to the old master, and what it has answered reaches its replicas meanwhile; once another
one is in charge, or the Sentinel has given up, calls go on there. The old master would answer for ten seconds more, and
lose all of it when it is made a replica.
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
"""A Sentinel that has begun and is not heard of again holds nobody up for longer."""


class Follower(Protocol):
    """What sends commands to the master. hold: nothing more is sent. follow: calls go to the master of now."""

    def hold(self) -> None: ...

    def follow(self) -> None: ...


class Handover:
    """Tells the followers when a master hands over; hears of it from every Sentinel, and asks once a second."""

    def __init__(self, url: StoreUrl, locate: Callable[[], Awaitable[str]], followers: Sequence[Follower]) -> None:
        self._url = url
        self._locate = locate
        self._followers = followers
        self._master: str | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._patience: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """From now on the Sentinels are listened to."""
        self._tasks = [asyncio.create_task(self._listen(host, port)) for host, port in self._url.nodes]
        self._tasks.append(asyncio.create_task(self._keep_looking()))

    async def close(self) -> None:
        """Nobody is listened to any more."""
        if self._patience is not None:
            self._patience.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hear(self, event: str, text: str) -> None:
        """One message of a Sentinel."""
        if self._url.service not in text.split():
            return
        if event == _BEGINS:
            if self._patience is None:
                log.warning("the store's master hands over; calls wait for the new one")
                self._patience = asyncio.get_running_loop().call_later(_LONGEST_S, self._go_on)
                for follower in self._followers:
                    follower.hold()
        elif self._patience is not None:
            self._go_on()

    def _go_on(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._master = None
        for follower in self._followers:
            follower.follow()

    async def _listen(self, host: str, port: int) -> None:
        options = connection_options(_AGAIN_S) | {"socket_timeout": None, "socket_keepalive": True}
        while True:
            sentinel: Any = Redis(host=host, port=port, **options)
            try:
                heard = sentinel.pubsub(ignore_subscribe_messages=True)
                await heard.psubscribe(_BEGINS, *_ENDS)
                async for message in heard.listen():
                    self.hear(message["channel"], message["data"])
            except (exceptions.RedisError, OSError, TimeoutError, RuntimeError):
                pass
            finally:
                with contextlib.suppress(Exception):
                    await sentinel.aclose()
            await asyncio.sleep(_AGAIN_S)

    async def _keep_looking(self) -> None:
        """What no Sentinel was heard saying is found out by asking."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(StoreUnavailable):
                master = await self._locate()
                if self._patience is None and self._master not in {None, master}:
                    log.warning("the store has another master")
                    self._go_on()
                self._master = master
