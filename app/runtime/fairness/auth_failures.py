"""Locks out addresses with too many failed authentications: requests from there need a key that is known to work.

This protects the store, which must look up every unknown key. The keys are protected by their 128 random bits. Each
replica guarantees for itself:

- one address costs the store a bounded number of look-ups a minute, plus those under way when it reached the limit;
- a key that has worked on the replica is not refused because of others at the same address;
- memory is bounded: addresses whose last failure is long ago are forgotten first.
"""

import ipaddress
import logging
import mmap
import time
from collections.abc import Callable, Iterable, Sequence

from app.runtime.fairness.shared_buckets import SharedBuckets

log = logging.getLogger(__name__)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
ADDRESSES_MAX = 10_000
_MINUTE_S = 60.0
_SUBNET_BITS = 64
_HOPS_MAX = 20
_DOUBLE = 8
_UNIX = "unix"
"""Stands for those who come over the Unix socket, who have no address."""


class AuthFailures:
    """A bucket of failures for each address: `per_minute` at once, and as many again in every minute.

    Processes forked after it was made share it. per_minute: 0 = no address is locked out. proxies: whose
    X-Forwarded-For is trusted.
    locked_until: its one element is 0 until an address is locked out, and then when the last lockout ends at the
    latest; while it is 0, the hot path checks nothing else.
    """

    def __init__(
        self,
        per_minute: int,
        proxies: Iterable[Network] = (),
        addresses_max: int = ADDRESSES_MAX,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._proxies = tuple(proxies)
        self._clock = clock
        self._wait_s = _MINUTE_S / per_minute if per_minute else 0.0
        self._buckets = SharedBuckets(per_minute, per_minute / _MINUTE_S, addresses_max, clock) if per_minute else None
        self.locked_until = memoryview(mmap.mmap(-1, mmap.PAGESIZE))[:_DOUBLE].cast("d")
        self._has_warned = False

    def note(self, peer: str | None, forwarded: Sequence[str]) -> None:
        """Count a failed authentication from this address."""
        if self._buckets:
            origin = self.origin(peer, forwarded)
            # Never below 0, so that requests under way when the bucket ran empty do not prolong the lockout.
            left, _ = self._buckets.take(origin, partly=True)
            if left < 1:
                self.locked_until[0] = self._clock() + self._wait_s

    def wait_s(self, peer: str | None, forwarded: Sequence[str]) -> float:
        """Seconds until another authentication attempt from here is accepted; 0 = now."""
        if self._buckets is None or self.locked_until[0] <= self._clock():
            return 0.0
        left, _ = self._buckets.take(self.origin(peer, forwarded), 0)
        return max(0.0, 1 - left) * self._wait_s

    def origin(self, peer: str | None, forwarded: Sequence[str]) -> str:
        """The address counted for a request, for IPv6 its /64 network; all of a Unix socket count as one.

        peer: the other end of the connection. forwarded: the values of X-Forwarded-For, trusted only from our own
        proxies. Each proxy appends the address that connected to it. So the rightmost address that is not one of our
        proxies is true, and anything left of it may be invented. Any other peer counts as itself, whatever it sends.
        """
        address = _address(peer)
        if address is None:
            return _UNIX
        if forwarded and not self._proxies:
            self._warn_once(address)
        hops = ",".join(forwarded).split(",")[-_HOPS_MAX:]
        while self._is_proxy(address) and hops:
            previous = _address(hops.pop().strip())
            if previous is None:
                break
            address = previous
        return _counted(address)

    def counted_peer(self, peer: str | None) -> str | None:
        """The address for which a connection counts; None for a proxy of ours, or if the connection has none."""
        address = _address(peer)
        return None if address is None or self._is_proxy(address) else _counted(address)

    def _is_proxy(self, address: Address) -> bool:
        return any(address in network for network in self._proxies)

    def _warn_once(self, address: Address) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "X-Forwarded-For from %s is not trusted, since REMIT_TRUSTED_PROXIES does not name it; if it is a "
                "balancer, the failed authentications of all its callers count as its own",
                address,
            )


def _address(text: str | None) -> Address | None:
    """The address in the string, with or without a port; an IPv4-mapped IPv6 address becomes the IPv4 one."""
    if text is None:
        return None
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _counted(address: Address) -> str:
    """An IPv6 address counts as its /64, since one party usually controls all of it."""
    if address.version == 4:  # noqa: PLR2004 - the other one is 6
        return str(address)
    return str(ipaddress.IPv6Network((int(address), _SUBNET_BITS), strict=False))
