"""Resolves a store's URL: to one server, to the master that Sentinels name, or to the masters of a cluster."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import hiredis
from msgspec import Struct
from redis import exceptions
from redis.asyncio import Connection, Redis, RedisCluster, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.backoff import NoBackoff
from redis.driver_info import DriverInfo

from app.errors import StoreUnavailable
from app.redis_client.replies import StoreAway, as_record

_SENTINEL_TIMEOUT_S = 0.5
_MOMENT_S = 0.05
_DRIVER = DriverInfo()
"""Our name in CLIENT LIST. redis-py would look up its version for each connection, which blocks the loop."""


class StoreUrl(Struct, frozen=True):
    """A parsed URL.

    topology: "" = one server, "sentinel", "cluster"; nodes: host and port of each node given; service: the master's
    name for Sentinels; number: the database for SELECT, "" = 0.
    """

    text: str
    topology: str
    nodes: tuple[tuple[str, int], ...]
    service: str
    scheme: str
    login: str
    number: str
    query: str

    @classmethod
    def parse(cls, text: str) -> "StoreUrl":
        """The parts of a URL that the settings have accepted."""
        parts = urlsplit(text)
        scheme, _, topology = parts.scheme.partition("+")
        login, _, nodes = parts.netloc.rpartition("@")
        path = parts.path.strip("/").split("/")
        service, number = (path[0], "".join(path[1:2])) if topology == "sentinel" else ("", path[0])
        default = 26379 if topology == "sentinel" else 6379
        return cls(
            text=text,
            topology=topology,
            nodes=tuple(_host_port(node, default) for node in nodes.split(",") if node),
            service=service or "mymaster",
            scheme=scheme,
            login=login,
            number=number,
            query=parts.query,
        )

    def server(self, host: str, port: int) -> str:
        """The URL of one server, with this one's login, number and options."""
        login = f"{self.login}@" if self.login else ""
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{login}{f'[{host}]' if ':' in host else host}:{port}/{self.number}{query}"


def open_redis(url: StoreUrl, timeout_s: float, connections: int, **further: Any) -> Any:
    """redis-py's client for one server or for the master that Sentinels name; nothing is sent yet."""
    options = connection_options(timeout_s) | {"max_connections": connections} | further
    if url.topology != "sentinel":
        kind = _PACKED.get(url.scheme, _PackedConnection)
        return Redis.from_url(url.text, connection_class=kind, **options)
    of_the_master = parse_url(url.server(*url.nodes[0]))
    kind = of_the_master.pop("connection_class", Connection)
    options |= {name: value for name, value in of_the_master.items() if name not in {"host", "port"}}
    sentinel = _Located(url.nodes, sentinel_kwargs=connection_options(_SENTINEL_TIMEOUT_S))  # type: ignore[no-untyped-call]
    sentinel.locate = MasterLocator(url)
    return sentinel.master_for(url.service, ssl=issubclass(kind, SSLConnection), **options)


def open_cluster(url: StoreUrl, timeout_s: float, connections: int, **further: Any) -> RedisCluster:
    """redis-py's client for a cluster, given some of its nodes, of which one must answer; nothing is sent yet."""
    options = connection_options(timeout_s) | {"max_connections": connections} | further
    options["startup_nodes"] = [ClusterNode(host, port) for host, port in url.nodes]
    return RedisCluster.from_url(url.server(*url.nodes[0]), **options)


class MasterLocator:
    """Asks every Sentinel for the master, and believes the one that knows the latest failover.

    A higher configuration epoch requires a majority's vote; among answers with the same epoch, the majority is
    believed. The others learn of a failover up to two seconds later. Once a majority has answered, a silent Sentinel is
    waited for only briefly.
    """

    def __init__(self, url: StoreUrl) -> None:
        self._url = url

    async def __call__(self) -> str:
        """The URL of the master. Raises StoreAway if no Sentinel knows it."""
        queries = [asyncio.ensure_future(self._ask(host, port)) for host, port in self._url.nodes]
        votes: Counter[tuple[int, tuple[str, int]]] = Counter()
        try:
            await _majority(queries)
            for query in queries:
                if query.done() and (vote := query.result()) is not None:
                    votes[vote] += 1
        finally:
            for query in queries:
                query.cancel()
        if not votes:
            raise StoreAway("No Sentinel says where the store is; nothing was decided")
        _, (host, port) = max(votes, key=lambda vote: (vote[0], votes[vote]))
        return self._url.server(host, port)

    async def _ask(self, host: str, port: int) -> tuple[int, tuple[str, int]] | None:
        """The configuration epoch and the master's address, according to this Sentinel."""
        sentinel: Any = Redis(host=host, port=port, **connection_options(_SENTINEL_TIMEOUT_S))
        try:
            async with asyncio.timeout(_SENTINEL_TIMEOUT_S):
                reply: Sequence[str] | None = await sentinel.execute_command(
                    "SENTINEL GET-MASTER-ADDR-BY-NAME", self._url.service
                )
                master = await sentinel.execute_command("SENTINEL MASTER", self._url.service) if reply else {}
        except (exceptions.RedisError, OSError, TimeoutError):
            return None
        finally:
            await sentinel.aclose()
        return (int(as_record(master).get("config-epoch", 0)), (reply[0], int(reply[1]))) if reply else None


async def _majority(queries: Sequence["asyncio.Future[Any]"]) -> None:
    """Wait until more than half have answered, and the others have had a moment to."""
    pending = set(queries)
    while pending and sum(query.done() and query.result() is not None for query in queries) * 2 <= len(queries):
        _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    if pending:
        await asyncio.wait(pending, timeout=_MOMENT_S)


class _Located(Sentinel):
    """Uses MasterLocator in redis-py, which would believe the first Sentinel that answers."""

    locate: MasterLocator

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """The master's address. Raises MasterNotFoundError."""
        try:
            options = parse_url(await self.locate())
        except StoreUnavailable as error:
            raise MasterNotFoundError(service_name) from error
        return options["host"], options["port"]


def connection_options(timeout_s: float) -> dict[str, Any]:
    """The options of every redis-py connection."""
    return {
        "decode_responses": True,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        # redis-py would send a command up to ten times; a script whose reply was lost would run as often.
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "driver_info": _DRIVER,
    }


def _host_port(node: str, default: int) -> tuple[str, int]:
    host, _, port = node.rpartition(":") if not node.endswith("]") and ":" in node else (node, "", "")
    return host.strip("[]"), int(port or default)


class _Packed:
    """Packs commands in C. redis-py does it in Python, a microsecond for each argument, and a seal has hundreds."""

    def pack_command(self, *args: Any) -> list[bytes]:
        return [hiredis.pack_command(args)]


class _PackedConnection(_Packed, Connection):
    pass


class _PackedSSLConnection(_Packed, SSLConnection):
    pass


class _PackedUnixConnection(_Packed, UnixDomainSocketConnection):
    pass


_PACKED: dict[str, type[Any]] = {"rediss": _PackedSSLConnection, "unix": _PackedUnixConnection}
