"""Hosts, alone or in URLs, in the one spelling that all URL parsers agree on.

URL parsers disagree about much: text before an `@`, backslashes, tabs, missing slashes, `0x7f.1`. A URL is accepted
only if RFC 3986, the WHATWG URL standard, IDNA 2003 and IDNA 2008 agree on it; a test compares with an implementation
of each.
"""

import ipaddress
import re
from collections.abc import Callable, Sequence

import idna

from app.language.ambiguous import Ambiguous

SCHEMES = ("http", "https", "ws", "wss", "ftp")
"""Schemes for which every parser finds the host in the same place. The host of `file:` does not count, and
`javascript:` has none, though it may look so.
"""

_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
MAX_HOST = 253
_MAX_LABEL = 63
_LAST_PORT = 65535

_unsafe = re.compile(r"[\x00-\x20\x7f-\xa0\\\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]").search
_url = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL).fullmatch
_with_port = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]{1,5}))?").fullmatch
_label = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?").fullmatch
_number = re.compile(r"[0-9]+|0x[0-9a-f]*").fullmatch


def canonical_host(text: str) -> str:
    """The host of a URL, or of a bare `host` or `host:port`: lower case, ASCII, without a trailing dot.

    Addresses are in the form of `ipaddress`, without brackets. Raises Ambiguous.
    """
    return _parts(text)[1]


def origin_of(text: str) -> str:
    """Scheme, host and port of a URL, such as `https://example.com:443`; of a bare host, `//example.com` and any port.

    Raises Ambiguous.
    """
    scheme, host, port = _parts(text)
    named = f"[{host}]" if ":" in host else host
    port = port or _PORTS.get(scheme, "")
    return f"{scheme}{':' if scheme else ''}//{named}{f':{int(port)}' if port else ''}"


def _parts(text: str) -> tuple[str, str, str]:
    """The scheme in lower case, the host, and the port as it is written; "" for what is left out. Raises Ambiguous."""
    if _unsafe(text):
        raise Ambiguous("contains a space, a control character or a backslash")
    if "://" not in text:
        # Without a scheme, an IPv6 address needs no brackets: it cannot hide a port.
        if text.count(":") > 1 and not text.startswith("["):
            return "", _address(text), ""
        return "", *_host_and_port(text)
    match = _url(text)
    if match is None:
        raise Ambiguous("is neither a URL nor a host")
    scheme, authority, rest = match.groups()
    if scheme.lower() not in SCHEMES:
        raise Ambiguous(f"has none of the schemes {', '.join(SCHEMES)}")
    if rest[:1] in ("?", "#") and "@" in rest:
        raise Ambiguous("has an @ after the host, which some parsers take for the host's beginning")
    return scheme.lower(), *_host_and_port(authority)


def _host_and_port(text: str) -> tuple[str, str]:
    if "@" in text:
        raise Ambiguous("names a user before the host")
    match = _with_port(text)
    if match is None or int(match[2] or 0) > _LAST_PORT:
        raise Ambiguous("is not a host with a port")
    host, port = match[1], match[2] or ""
    if host.startswith("["):
        return _address(host[1:-1], version=6), port
    return canonical_domain(host), port


def canonical_domain(text: str) -> str:
    """The domain name, or an IPv4 address in its usual spelling. Raises Ambiguous."""
    name = text.removesuffix(".").lower()
    if not name.isascii():
        name = _in_ascii(name)
    if not name or len(name) > MAX_HOST:
        raise Ambiguous(f"is not a host name of 1 to {MAX_HOST} characters")
    labels = name.split(".")
    for label in labels:
        if len(label) > _MAX_LABEL or not _label(label):
            raise Ambiguous("is not a host name: letters, digits and hyphens between dots")
        if label.startswith("xn--"):
            _require_idna(label)
    if _number(labels[-1]):
        return _address(name, version=4)
    return name


def host_matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a test that is True for canonical hosts that are one of these, or below one that begins with `*.`.

    patterns: in the form of `canonical_pattern`.
    """
    exact = frozenset(pattern for pattern in patterns if not pattern.startswith("*."))
    suffixes = tuple(pattern[1:] for pattern in patterns if pattern.startswith("*."))
    return lambda host: host in exact or host.endswith(suffixes)


def canonical_pattern(text: str) -> str:
    """A host, or `*.` and a domain, in the form that `host_matcher` takes. Raises Ambiguous."""
    if text.startswith("*."):
        domain = canonical_domain(text[2:])
        if _number(domain.rpartition(".")[2]):
            raise Ambiguous("has `*.` before an address")
        return f"*.{domain}"
    host = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if not set("/@").isdisjoint(host) or (host.count(":") == 1):
        raise Ambiguous("is more than a host: leave out scheme, user, port and path")
    return _address(host, version=6) if ":" in host else canonical_domain(host)


def _address(text: str, version: int = 6) -> str:
    """The IP address. Raises Ambiguous if its spelling is unusual, or it has a zone or embeds an IPv4 address."""
    try:
        address = ipaddress.IPv4Address(text) if version == 4 else ipaddress.IPv6Address(text)  # noqa: PLR2004
    except ValueError:
        raise Ambiguous("spells an address in a way that is not read alike everywhere") from None
    if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or "." in text or stands_for_ipv4(address)):
        raise Ambiguous("is an IPv6 address with a zone, or one that embeds an address of IPv4")
    return str(address)


def stands_for_ipv4(address: ipaddress.IPv6Address) -> bool:
    """True if packets sent to it may reach an IPv4 address: mapped, compatible, NAT64, 6to4 or Teredo."""
    return any(address in network for network in _REACH_IPV4) and address not in _OWN


_REACH_IPV4 = tuple(
    map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48"))
) + tuple(map(ipaddress.IPv6Network, ("2002::/16", "2001::/32")))
_OWN = frozenset(map(ipaddress.IPv6Address, ("::", "::1")))


def _in_ascii(name: str) -> str:
    """An internationalised name in its DNS form. Raises Ambiguous unless all parsers agree on it."""
    try:
        modern = idna.encode(name).decode()
        if modern.split(".") == [_as_once(label) for label in name.split(".")]:
            return modern
    except UnicodeError:
        pass
    raise Ambiguous("has letters in its host that are not read alike everywhere")


def _as_once(label: str) -> str:
    """The label in its IDNA 2003 form."""
    return label.encode("idna").decode()


def _require_idna(label: str) -> None:
    try:
        if idna.encode(idna.decode(label)).decode() == label:
            return
    except UnicodeError:
        pass
    raise Ambiguous("has a label that begins with xn-- and encodes nothing")
