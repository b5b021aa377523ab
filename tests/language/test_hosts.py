"""Hosts: those that mean the same to every URL parser are accepted, all others refused."""

import encodings.idna
from contextlib import suppress
from urllib.parse import urlsplit

import can_ada
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from app.language.ambiguous import Ambiguous
from app.language.hosts import canonical_host, canonical_pattern, host_matcher, origin_of

HOSTILE = {
    "user": "https://corp.com@evil.com/",
    "user and password": "https://corp.com:443@evil.com/",
    "user before the right host": "https://evil.com@corp.com/",
    "two users": "https://a@corp.com@evil.com/",
    "encoded at": "https://corp.com%40evil.com/",
    "backslash before at": "https://evil.com\\@corp.com/",
    "backslash for a slash": "https://evil.com\\.corp.com/",
    "backslashes for slashes": "https:\\\\corp.com",
    "question mark, then at": "https://evil.com?@corp.com/",
    "hash, then at": "https://corp.com#@evil.com/",
    "question mark in the host": "https://evil.com?.corp.com/",
    "hash in the host": "https://evil.com#.corp.com/",
    "semicolon": "https://evil.com;.corp.com/",
    "the right host below another": "https://corp.com.evil.com/",
    "the right end of another name": "https://evilcorp.com/",
    "the right host in the path": "https://evil.com/corp.com",
    "tab in the host": "https://ev\til.com/",
    "tab in the right host": "https://cor\tp.com/",
    "line feed": "https://corp.com\n.evil.com/",
    "carriage return and a header": "https://corp.com\r\nHost: evil.com",
    "space before": " https://corp.com/",
    "space behind": "https://corp.com ",
    "space in the host": "https://corp.com @evil.com",
    "NUL": "https://corp.com\0.evil.com/",
    "no slashes": "https:corp.com",
    "one slash": "https:/corp.com",
    "three slashes": "https:///corp.com",
    "no scheme": "//corp.com/",
    "path without a scheme": "corp.com/path",
    "file": "file://corp.com/etc/passwd",
    "script": "javascript://corp.com/%0aalert(1)",
    "data": "data://corp.com,x",
    "gopher": "gopher://corp.com/_x",
    "no host": "https://",
    "port alone": "https://:443/",
    "port too large": "https://corp.com:70000/",
    "port of letters": "https://corp.com:http/",
    "two ports": "https://corp.com:80:80/",
    "encoded dot": "https://corp%2ecom/",
    "encoded slash": "https://evil.com%2f.corp.com/",
    "ideographic dot": "https://corp\u3002com/",
    "full-width dot": "https://corp\uff0ecom/",
    "full-width letters": "https://\uff43orp.com/",
    "full-width slash": "https://evil.com\uff0f.corp.com/",
    "care-of sign": "https://evil.\u2100.corp.com/",
    "sharp s": "https://fa\u00df.corp.com/",
    "zero-width joiner": "https://cor\u200dp.com/",
    "soft hyphen": "https://cor\u00adp.com/",
    "Cyrillic letter": "https://\u0441orp.com/",
    "dotless i": "https://corp.c\u0131m/",
    "Kelvin sign": "https://\u212aorp.com/",
    "right-to-left override": "https://moc.proc\u202e/",
    "nothing behind xn--": "https://xn--.corp.com/",
    "punycode of nothing": "https://xn--a.corp.com/",
    "punycode of ASCII": "https://xn--corp-.corp.com/",
    "two dots": "https://corp.com../",
    "empty label": "https://evil..corp.com/",
    "dot before": "https://.corp.com/",
    "hyphen at the edge": "https://-.corp.com/",
    "star": "https://*.corp.com/",
    "long label": f"https://{'a' * 64}.corp.com/",
    "long name": f"https://{'a.' * 150}corp.com/",
    "empty": "",
    "dot": ".",
    "several": "corp.com,evil.com",
    "several in a text": "https://corp.com https://evil.com",
}

ODD_ADDRESSES = {
    "decimal": "http://2130706433/",
    "hexadecimal": "http://0x7f000001/",
    "hexadecimal by part": "http://0x7f.0x0.0x0.0x1/",
    "octal": "http://0177.0.0.1/",
    "octal of one number": "http://017700000001/",
    "two parts": "http://127.1/",
    "three parts": "http://127.0.1/",
    "leading zeros": "http://127.000.000.001/",
    "part too large": "http://127.0.0.256/",
    "five parts": "http://127.0.0.0.1/",
    "hexadecimal without digits": "http://0x/",
    "full-width digits": "http://\uff11\uff12\uff17.0.0.1/",
    "circled digits": "http://\u2460\u2461\u2466.0.0.1/",
    "mapped": "http://[::ffff:127.0.0.1]/",
    "mapped in hexadecimal": "http://[::ffff:7f00:1]/",
    "compatible": "http://[::127.0.0.1]/",
    "compatible in hexadecimal": "http://[::7f00:1]/",
    "NAT64": "http://[64:ff9b::7f00:1]/",
    "6to4": "http://[2002:7f00:1::]/",
    "Teredo": "http://[2001::7f00:1]/",
    "zone": "http://[fe80::1%eth0]/",
    "encoded zone": "http://[fe80::1%25eth0]/",
    "brackets round IPv4": "http://[127.0.0.1]/",
    "brackets round a name": "http://[corp.com]/",
    "bracket left open": "http://[::1/",
    "letters behind the bracket": "http://[::1]evil.com/",
    "no brackets": "http://::1/",
    "IPvFuture": "http://[v1.fe80::a]/",
}

SAME = {
    "https://corp.com/": "corp.com",
    "HTTPS://CORP.Com": "corp.com",
    "https://corp.com./x": "corp.com",
    "https://corp.com:8443/x?y=1#z": "corp.com",
    "https://corp.com?x=1": "corp.com",
    "https://corp.com#x": "corp.com",
    "https://corp.com/users/@me": "corp.com",
    "wss://api.corp.com/socket": "api.corp.com",
    "ftp://files.corp.com": "files.corp.com",
    "corp.com": "corp.com",
    "Corp.com.": "corp.com",
    "corp.com:443": "corp.com",
    "my_host.corp.com": "my_host.corp.com",
    "localhost": "localhost",
    "https://bücher.example/": "xn--bcher-kva.example",
    "https://BÜCHER.example/": "xn--bcher-kva.example",
    "https://xn--bcher-kva.example/": "xn--bcher-kva.example",
    "例え.jp": "xn--r8jz45g.jp",
    "10.0.0.1": "10.0.0.1",
    "http://10.0.0.1:80/": "10.0.0.1",
    "http://[2001:DB8::1]:80/": "2001:db8::1",
    "[2001:db8:0:0:0:0:0:1]": "2001:db8::1",
    "::1": "::1",
}

is_ours = host_matcher(["corp.com", "*.corp.com"])


@pytest.mark.parametrize("text", (HOSTILE | ODD_ADDRESSES).values(), ids=HOSTILE | ODD_ADDRESSES)
def test_no_hostile_spelling_passes_for_our_host(text):
    """Refused, or read as the host that it leads to."""
    with suppress(Ambiguous):
        assert not is_ours(canonical_host(text))


@pytest.mark.parametrize("text", ODD_ADDRESSES.values(), ids=ODD_ADDRESSES)
def test_an_address_in_an_odd_spelling_is_refused(text):
    """Because some parsers read another address, or a name."""
    with pytest.raises(Ambiguous):
        canonical_host(text)


@pytest.mark.parametrize(("text", "canonical"), SAME.items(), ids=SAME)
def test_a_host_has_one_spelling(text, canonical):
    """Case, a trailing dot, port, path and non-ASCII letters do not make another host."""
    assert canonical_host(text) == canonical


@pytest.mark.parametrize("text", [text for text in (HOSTILE | ODD_ADDRESSES | SAME) if "://" in text])
def test_an_accepted_host_is_the_one_that_other_parsers_read(text):
    """The WHATWG's algorithm and RFC 3986's find the same host."""
    agrees_with_others(text)


pieces = st.sampled_from(
    [
        *("corp.com", "evil.com", ".", "..", "@", ":", "/", "\\", "?", "#", "%2e", "%", "//", "80", "0x7f", "017", "1"),
        *(
            "\t",
            " ",
            "\u3002",
            "\uff0f",
            "ß",
            "ü",
            "xn--",
            "xn--bcher-kva",
            "[",
            "]",
            "::1",
            "::ffff:1.2.3.4",
            "_",
            "-",
        ),
        *("K", "\u212a", "\u0131", "\u200d", "\u2100", "*", ";", "&", "=", ",", "\0", "\x7f", "A", "ς"),
    ]
)


@settings(max_examples=examples(300, least=100))
@given(st.sampled_from(["https://", "http://", "ws://", "ftp://", "HTTPS://"]), st.lists(pieces, max_size=6))
def test_any_accepted_host_is_the_one_that_other_parsers_read(scheme, parts):
    """Whatever hostile pieces a URL is made of."""
    agrees_with_others(scheme + "".join(parts))


def agrees_with_others(text):
    try:
        host = canonical_host(text)
    except Ambiguous:
        return
    by_whatwg = can_ada.parse(text).hostname.removesuffix(".").strip("[]")
    assert by_whatwg == host
    by_rfc = (urlsplit(text).hostname or "").removesuffix(".")
    if not by_rfc.isascii():
        by_rfc = ".".join(encodings.idna.ToASCII(label).decode() for label in by_rfc.split("."))
    assert host == by_rfc or ":" in host


@pytest.mark.parametrize(
    ("pattern", "canonical"),
    [("Corp.com", "corp.com"), ("*.corp.com.", "*.corp.com"), ("*.bücher.example", "*.xn--bcher-kva.example")],
)
def test_a_pattern_has_one_spelling(pattern, canonical):
    """The same as a host's."""
    assert canonical_pattern(pattern) == canonical
    assert canonical_pattern("[2001:DB8::1]") == "2001:db8::1"


@pytest.mark.parametrize("pattern", ["*", "*.", "*corp.com", "a.*.com", "*.*.com", "https://corp.com", "*.10.0.0.1"])
def test_a_star_elsewhere_or_a_url_is_not_a_pattern(pattern):
    """One star, first, before a dot."""
    with pytest.raises(Ambiguous):
        canonical_pattern(pattern)


def test_a_star_covers_what_is_below_and_not_the_domain_itself():
    """However many labels are between."""
    below = host_matcher(["*.corp.com"])
    assert below("a.corp.com")
    assert below("b.a.corp.com")
    assert not below("corp.com")
    assert not below("acorp.com")


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://Example.com/a?b#c", "https://example.com:443"),
        ("HTTPS://example.com.:0443", "https://example.com:443"),
        ("http://example.com", "http://example.com:80"),
        ("ws://example.com", "ws://example.com:80"),
        ("wss://example.com", "wss://example.com:443"),
        ("ftp://example.com", "ftp://example.com:21"),
        ("https://example.com:8443/", "https://example.com:8443"),
        ("https://[::1]:8080/", "https://[::1]:8080"),
        ("example.com", "//example.com"),
        ("example.com:443", "//example.com:443"),
        ("2001:db8::1", "//[2001:db8::1]"),
    ],
)
def test_an_origin_is_scheme_host_and_port(text, origin):
    """A usual port may be left out of a URL; a bare host has none, so no URL has its origin."""
    assert origin_of(text) == origin
