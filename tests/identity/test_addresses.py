"""The mail address of a person, by which Slack and the identity provider mean the same one."""

import pytest

from app.identity.provider import _address_in

CLAIMS = {
    "verified": ({"email": "Ann.Lee+x@Example.com", "email_verified": True}, "ann.lee+x@example.com"),
    "not verified": ({"email": "ann@example.com", "email_verified": False}, ""),
    "not said": ({"email": "ann@example.com"}, ""),
    "said as a text": ({"email": "ann@example.com", "email_verified": "true"}, ""),
    "letters that look alike": ({"email": "аnn@example.com", "email_verified": True}, ""),  # noqa: RUF001
    "two addresses": ({"email": "ann@example.com,eve@example.com", "email_verified": True}, ""),
    "a space": ({"email": "ann @example.com", "email_verified": True}, ""),
    "no text": ({"email": ["ann@example.com"], "email_verified": True}, ""),
    "none": ({"email_verified": True}, ""),
}


@pytest.mark.parametrize(("claims", "address"), CLAIMS.values(), ids=CLAIMS)
def test_only_a_verified_plain_address_counts(claims, address):
    """In lower case, as Slack's is compared."""
    assert _address_in(claims) == address
