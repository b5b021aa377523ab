"""A TCP proxy between a replica and its store that loses, delays and cuts as a test wants."""

import asyncio
import contextlib
import enum
import threading
from typing import Self

_CHUNK = 1 << 16
_TURNS = 5
"""Turns of the loop from a connection that is accepted to its link, and some more."""


class Fault(enum.Enum):
    """What happens to connections; `NONE` passes everything on."""

    NONE = "bytes pass in both directions"
    REFUSE = "connections end at once, new ones are refused"
    BLACK_HOLE = "connections stay, nothing passes in either direction until the proxy heals, new ones are accepted"
    HOLD = "requests pass, replies wait until the proxy heals"
    LOSE = "requests pass, replies vanish, on this connection for good"
    CUT = "requests pass, then the connection ends without the reply"
    CUT_MID_REPLY = "requests pass, half of the reply passes, then the connection ends"


class Proxy:
    """Passes bytes between clients of `port` and the store at `upstream_port`, on a loop of its own.

    accepted: connections so far. A fault that waits for a needle acts on the connection whose request holds the
    needle, from that request on; `struck` is set when the store has replied to it, so that it certainly ran. In a black
    hole, `struck` is set when the request is there and does not pass; if its client is gone by the time the proxy
    heals, it never will.
    """

    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._fault, self._needle = Fault.NONE, b""
        self.struck = threading.Event()
        self.accepted = 0
        self.port = 0
        self._links: set[_Link] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> Self:
        self._thread.start()
        self._run(self._listen())
        return self

    def stop(self) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def break_(self, fault: Fault, needle: str = "") -> None:
        """Start the fault; with a needle, only for connections whose requests contain it."""
        self.struck.clear()
        self._run(self._set(fault, needle.encode()))

    def heal(self) -> None:
        """End the fault, and let through what was held."""
        self._run(self._set(Fault.NONE, b""))

    def _run(self, coroutine) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            for each in self._server.sockets:
                self._loop.remove_reader(each.fileno())
            for _ in range(_TURNS):  # what is accepted becomes a link: a server that is closed first leaves it open
                await asyncio.sleep(0)
            self._server.close()
            self._server = None
        for link in tuple(self._links):
            link.cut()
        await asyncio.gather(*(link.ended.wait() for link in self._links))

    async def _set(self, fault: Fault, needle: bytes) -> None:
        self._fault, self._needle = fault, needle
        if fault is Fault.REFUSE:
            await self._close()
        else:
            await self._listen()
        for link in self._links:
            link.strike(fault if not needle else Fault.NONE)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        link = _Link(self, reader, writer)
        self._links.add(link)
        link.strike(Fault.NONE if self._needle else self._fault)
        try:
            await link.run(self._upstream_port)
        finally:
            self._links.discard(link)
            link.ended.set()

    def watch(self, link: "_Link", request: bytes) -> None:
        """A request that contains the needle triggers the fault on its connection."""
        if self._needle and self._needle in request:
            link.strike(self._fault)


class _Link:
    """One client's connection and the one to the store that belongs to it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._client = (reader, writer)
        self._upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._fault = Fault.NONE
        self._moved = asyncio.Event()
        self.ended = asyncio.Event()

    def strike(self, fault: Fault) -> None:
        self._fault = fault
        self._moved.set()
        self._moved = asyncio.Event()

    def cut(self) -> None:
        for end in (self._client, self._upstream):
            if end is not None:
                end[1].transport.abort()

    async def run(self, upstream_port: int) -> None:
        with contextlib.suppress(OSError):
            await self._passing(Fault.BLACK_HOLE)
            self._upstream = await asyncio.open_connection("127.0.0.1", upstream_port)
            pumps = [asyncio.ensure_future(self._requests()), asyncio.ensure_future(self._replies())]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        self.cut()

    async def _passing(self, *stopping: Fault) -> None:
        """Return when none of these faults is active."""
        while self._fault in stopping:
            await self._moved.wait()

    async def _requests(self) -> None:
        while data := await self._client[0].read(_CHUNK):
            self._proxy.watch(self, data)
            if self._fault is Fault.BLACK_HOLE:
                self._proxy.struck.set()
                await self._passing(Fault.BLACK_HOLE)
                if self._client[0].at_eof() or self._client[0].exception() is not None:
                    return
            self._upstream[1].write(data)
            await self._upstream[1].drain()

    async def _replies(self) -> None:
        while data := await self._upstream[0].read(_CHUNK):
            if self._fault is not Fault.NONE:
                self._proxy.struck.set()
            await self._passing(Fault.BLACK_HOLE, Fault.HOLD)
            match self._fault:
                case Fault.LOSE:
                    # TCP never loses what lies between two bytes that arrive, so nothing follows on this connection.
                    while await self._upstream[0].read(_CHUNK):
                        pass
                    return
                case Fault.CUT:
                    return
                case Fault.CUT_MID_REPLY:
                    self._client[1].write(data[: len(data) // 2])
                    await self._client[1].drain()
                    return
            self._client[1].write(data)
            await self._client[1].drain()
