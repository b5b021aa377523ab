"""Addresses and networks."""

import pytest

from app.language.addresses import canonical_network, within
from app.language.ambiguous import Ambiguous

ODD = [
    *(
        "167772161",
        "0x0a000001",
        "012.0.0.1",
        "10.1",
        "10.0.0.1.",
        "10.0.0.01",
        "10.0.0.256",
        " 10.0.0.1",
        "10.0.0.1\n",
    ),
    *(
        "10.0.0.1/8",
        "10.0.0.0/255.0.0.0",
        "10.0.0.0/-1",
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0.1,10.0.0.2",
        "10.0.0.1:80",
    ),
    *("::ffff:10.0.0.1", "::ffff:a00:1", "::10.0.0.1", "::a00:1", "64:ff9b::a00:1", "2002:a00:1::", "fe80::1%eth0"),
    *("[::1]", "\uff11\uff10.0.0.1", "10\u30020.0.1", "", ":", "corp.com", "10.0.0.0/08/8", "::ffff:0:0/90"),
]


@pytest.mark.parametrize("text", ODD)
def test_an_odd_spelling_is_no_address(text):
    """Programs read it as different addresses, or it reaches another than it seems to."""
    with pytest.raises(Ambiguous):
        canonical_network(text)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("10.0.0.1", True),
        ("10.255.255.255", True),
        ("11.0.0.0", False),
        ("10.1.0.0/16", True),
        ("10.0.0.0/8", True),
        ("10.0.0.0/7", False),
        ("0.0.0.0/0", False),
        ("2001:db8::1", True),
        ("2001:DB8:0::1", True),
        ("2001:db9::1", False),
        ("::/0", False),
        ("::1", False),
    ],
)
def test_an_address_or_network_lies_within_or_not(text, inside):
    """A network does if all of it does."""
    ours = within(map(canonical_network, ("10.0.0.0/8", "2001:db8::/32")))
    assert ours(canonical_network(text)) is inside
