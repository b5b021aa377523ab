"""IP addresses and networks, in their one unambiguous spelling."""

import ipaddress
import re
from collections.abc import Callable, Iterable

from app.language.ambiguous import Ambiguous
from app.language.hosts import stands_for_ipv4

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_plain = re.compile(r"[0-9A-Fa-f.:]{2,45}(?:/[0-9]{1,3})?").fullmatch


def canonical_network(text: str) -> Network:
    """The network that the string names; an address counts as a network of one. Raises Ambiguous.

    Refused: octal, hexadecimal and short forms of IPv4, zones, netmasks, bits after the prefix, and IPv6 addresses that
    embed an IPv4 address.
    """
    if not _plain(text):
        raise Ambiguous("is not an IP address or network, such as 10.0.0.1 or 10.0.0.0/8")
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        raise Ambiguous(
            "is not an IP address or network in its usual spelling: 10.0.0.1, or 10.0.0.0/8 with no host bits set"
        ) from None
    if isinstance(network, ipaddress.IPv6Network) and ("." in text or stands_for_ipv4(network.network_address)):
        raise Ambiguous("is an IPv6 address that embeds one of IPv4")
    return network


PRIVATE = "private"
"""Stands for networks that are not the public Internet's."""

_NOT_PUBLIC = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
    *(
        "224.0.0.0/3",
        "::/127",
        "100::/64",
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/9",
        "ff00::/8",
    ),
)
"""This machine, private and link-local networks, those of carriers, benchmarks and documentation, multicast, what is
reserved, and the address at which virtual machines of Azure reach their host. IPv6 addresses for IPv4 are not read.
"""


def networks_of(text: str) -> list[Network]:
    """The networks that an author names: one, or those of `private`. Raises Ambiguous."""
    return [canonical_network(each) for each in (_NOT_PUBLIC if text == PRIVATE else (text,))]


def address_in(host: str) -> Network | None:
    """The address that a canonical host is; None if it is a name."""
    try:
        return canonical_network(host)
    except Ambiguous:
        return None


def within(networks: Iterable[Network]) -> Callable[[Network], bool]:
    """Return a test that is True for networks that lie wholly in one of these."""
    outer = list(networks)
    of_ipv4 = [each for each in outer if isinstance(each, ipaddress.IPv4Network)]
    of_ipv6 = [each for each in outer if isinstance(each, ipaddress.IPv6Network)]

    def is_within(network: Network) -> bool:
        if isinstance(network, ipaddress.IPv4Network):
            return any(network.subnet_of(each) for each in of_ipv4)
        return any(network.subnet_of(each) for each in of_ipv6)

    return is_within
