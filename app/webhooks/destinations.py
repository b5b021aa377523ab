"""Permitted destinations: addresses are checked after every look-up, and only checked ones are connected to."""

import asyncio
import ipaddress
import logging
import re
import socket
import threading
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

import httpcore
from msgspec import Struct

from app.language.ambiguous import Ambiguous
from app.language.hosts import canonical_host, stands_for_ipv4
from app.model.webhooks import URL_MAX
from app.outgoing_http import Answer, request
from app.runtime.fairness.loop_turns import WorkspaceSlots
from app.settings import Settings

log = logging.getLogger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Networks = Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]
_url = re.compile(r"(https?)://([^/?#]+)([/?][!-~]*)?", re.ASCII).fullmatch
_port = re.compile(r".*:([0-9]{1,5})", re.ASCII).fullmatch
_PORTS = {"http": 80, "https": 443}
_LOOKUPS_AT_ONCE = 4
_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
_NOT_GLOBAL = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "2001::/23", "2001:db8::/32"))
)


class Refused(Exception):
    """Events may not be sent there; the message says why."""


class Destination(Struct, frozen=True):
    """A URL that all parsers read alike. host: without brackets. target: path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host as it appears in the header of that name."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def destination_of(url: str, *, allow_http: bool = False, networks: Networks = ()) -> Destination:
    """The destination of the URL. Raises Refused; a name is not looked up here, but an address must be public."""
    match = _url(url)
    if match is None or len(url) > URL_MAX or "#" in url or "\\" in url:
        raise Refused("must be an https URL of printable ASCII without a user, a fragment or a backslash")
    scheme, authority, target = match.groups()
    if scheme == "http" and not allow_http:
        raise Refused("must begin with https://; REMIT_WEBHOOK_HTTP lets it be http://")
    try:
        host = canonical_host(authority)
    except Ambiguous as error:
        raise Refused(f"has a host that {error}") from None
    port_match = None if authority.endswith("]") else _port(authority)
    port = int(port_match[1]) if port_match else _PORTS[scheme]
    if not port:
        raise Refused("names port 0")
    with suppress(ValueError):  # a name; its addresses are checked at each connection
        require_public(ipaddress.ip_address(host), networks)
    target = target or "/"
    return Destination(scheme, host, port, target if target.startswith("/") else f"/{target}")


def require_public(address: Address, allowed: Networks = ()) -> None:
    """Raise Refused unless the address is public, or the settings permit it."""
    if any(address in network for network in allowed):
        return
    if isinstance(address, ipaddress.IPv6Address):
        is_ours = address not in _GLOBAL_IPV6 or stands_for_ipv4(address) or address.scope_id is not None
    else:
        is_ours = address.is_multicast or address.is_reserved
    if is_ours or not address.is_global or any(address in network for network in _NOT_GLOBAL):
        raise Refused(f"leads to {address}, which is not a public address; REMIT_WEBHOOK_NETWORKS can allow it")


class Lookups:
    """Looks up names in threads, for each workspace a few at a time.

    The event loop's own look-ups share four threads, which name servers that never answer could keep for everybody.
    """

    def __init__(self) -> None:
        self._slots = WorkspaceSlots(_LOOKUPS_AT_ONCE, what="look-ups of names")

    async def addresses(self, workspace_id: str, host: str, port: int) -> list[Address]:
        """The addresses of the host. Raises OSError, ValueError, or Overloaded."""
        async with AsyncExitStack() as until_found:
            await until_found.enter_async_context(self._slots.slot(workspace_id))
            found: asyncio.Future[list[Address]] = asyncio.get_running_loop().create_future()
            # A daemon, because nothing can interrupt it, and a process that ends must not wait for it.
            threading.Thread(target=_look_up, args=(found.get_loop(), found, host, port), daemon=True).start()
            looking = asyncio.ensure_future(_ended(found, until_found.pop_all()))
        return await asyncio.shield(looking)


async def _ended(found: asyncio.Future[list[Address]], slot: AsyncExitStack) -> list[Address]:
    """The addresses. The slot is given back when the thread ends, even if its caller leaves earlier."""
    async with slot:
        return await found


def _look_up(loop: asyncio.AbstractEventLoop, found: asyncio.Future[list[Address]], host: str, port: int) -> None:
    """Look up the host, in a thread, and tell the loop."""
    try:
        replies = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        tell = partial(found.set_result, [ipaddress.ip_address(each[4][0]) for each in replies])
    except (OSError, ValueError) as error:
        tell = partial(found.set_exception, error)
    with suppress(RuntimeError):  # the loop may be gone by then
        loop.call_soon_threadsafe(lambda: found.done() or tell())


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects only to permitted addresses: a name is looked up once, and the address found is the one connected to.

    workspace_id: whose request it is.
    """

    def __init__(self, lookups: Lookups, workspace_id: str, allowed: Networks = ()) -> None:
        self._lookups, self._workspace_id = lookups, workspace_id
        self._allowed = allowed
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect. Raises Refused, or the error of httpcore if no address answers."""
        failure: Exception = httpcore.ConnectError("the name has no address")
        for address in await self._addresses(host, port):
            try:
                return await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Required by the library."""
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> list[Address]:
        """Every address of the host. Raises Refused if any is not permitted: the next look-up could return it."""
        try:
            addresses = await self._lookups.addresses(self._workspace_id, host, port)
        except (OSError, ValueError) as error:
            raise httpcore.ConnectError(f"the name cannot be looked up: {error}") from None
        try:
            for address in addresses:
                require_public(address, self._allowed)
        except Refused as refused:
            # Who may write a webhook must not learn the addresses of internal names; the operator may.
            log.warning("webhook: the name %s %s", host, refused)
            raise Refused(
                "has a name that leads to an address that is not public; the service's log has it, and "
                "REMIT_WEBHOOK_NETWORKS can allow it"
            ) from None
        return list(dict.fromkeys(addresses))


class PermittedRequests:
    """Sends requests only to where the settings permit: the URL is checked, and each address that its name has."""

    def __init__(self, settings: Settings) -> None:
        self._allow_http = settings.webhook_http
        self._networks = settings.webhook_private_networks
        self._lookups = Lookups()

    def check(self, url: str) -> Destination:
        """Where the URL leads. Raises Refused if that alone shows that nothing may be sent there."""
        return destination_of(url, allow_http=self._allow_http, networks=self._networks)

    async def post(
        self,
        workspace_id: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        content: bytes,
        *,
        seconds: float,
        most: int = 0,
    ) -> Answer:
        """The answer to a POST, for a workspace. seconds, most: as for `request`. Raises Refused, Unanswered."""
        where = self.check(url)
        target = httpcore.URL(scheme=where.scheme, host=where.host, port=where.port, target=where.target)
        sent = [("Host", where.authority), ("Content-Length", str(len(content))), ("Connection", "close"), *headers]
        backend = CheckedBackend(self._lookups, workspace_id, self._networks)
        return await request("POST", target, sent, content, seconds=seconds, most=most, backend=backend)
