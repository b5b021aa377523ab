"""The domain of an email address."""

from contextlib import suppress

import pytest

from app.language.ambiguous import Ambiguous
from app.language.email_domains import canonical_email_domain
from app.language.hosts import host_matcher

HOSTILE = {
    "another domain": "a@evil.com",
    "below another": "a@corp.com.evil.com",
    "the right end of another": "a@evilcorp.com",
    "two ats": "a@corp.com@evil.com",
    "two ats the other way": "a@evil.com@corp.com",
    "quoted local part": '"a@corp.com"@evil.com',
    "quoted local part before the right domain": '"x@evil.com "@corp.com',
    "quoted with an escape": '"a\\"b"@corp.com',
    "display name": '"a@corp.com" <x@evil.com>',
    "display name of the right domain": "Boss <a@corp.com>",
    "angle brackets": "<a@corp.com>",
    "two in brackets": "<a@corp.com><x@evil.com>",
    "comma": "a@corp.com,x@evil.com",
    "comma the other way": "x@evil.com,a@corp.com",
    "semicolon": "x@evil.com;a@corp.com",
    "space": "x@evil.com a@corp.com",
    "space before": " a@corp.com",
    "space behind": "a@corp.com ",
    "comment": "a@corp.com(x@evil.com)",
    "comment in the local part": "a(x@evil.com)@corp.com",
    "comment in the domain": "a@(comment)corp.com",
    "percent hack": "x%evil.com@corp.com",
    "bang path": "evil.com!x@corp.com",
    "source route": "@corp.com:x@evil.com",
    "source route of two": "@evil.com,@corp.com:a@corp.com",
    "mailto": "mailto:a@corp.com",
    "mailto with copies": "a@corp.com?cc=x@evil.com",
    "line feed and a header": "a@corp.com\nBcc: x@evil.com",
    "carriage return": "a@corp.com\r\nBcc: x@evil.com",
    "NUL": "a@evil.com\0@corp.com",
    "tab": "a@corp.com\t",
    "group": "team:a@corp.com,x@evil.com;",
    "address of a machine": "a@[10.0.0.1]",
    "IPv4 without brackets": "a@10.0.0.1",
    "dot at the end": "a@corp.com.",
    "no domain": "a@",
    "no local part": "@corp.com",
    "no at": "corp.com",
    "full-width at": "a\uff20corp.com",
    "small at": "x@evil.com\ufe6bcorp.com",
    "full-width letter": "a@\uff43orp.com",
    "Cyrillic letter": "a@\u0441orp.com",
    "two dots in the local part": "a..b@corp.com",
    "dot before": ".a@corp.com",
    "full-width comma": "x@evil.com\uff0ca@corp.com",
    "port": "a@corp.com:25",
    "slash": "a@corp.com/x",
    "encoded word": "=?utf-8?q?x=40evil.com=2c?=a@corp.com",
    "zero-width space": "a@cor\u200bp.com",
    "too long": f"{'a' * 300}@corp.com",
    "empty": "",
}

SAME = {
    "a@corp.com": "corp.com",
    "A.B+tag@CORP.com": "corp.com",
    "o'brien@corp.com": "corp.com",
    "first_last-x@mail.corp.com": "mail.corp.com",
    "josé@corp.com": "corp.com",
    "a@bücher.example": "xn--bcher-kva.example",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_hostile_spelling_passes_for_our_domain(text):
    """Refused, or read as the domain that it leads to."""
    with suppress(Ambiguous):
        assert not host_matcher(["corp.com", "*.corp.com"])(canonical_email_domain(text))


@pytest.mark.parametrize(("text", "domain"), SAME.items(), ids=SAME)
def test_a_plain_address_has_one_domain(text, domain):
    """In lower case and ASCII; the local part does not matter."""
    assert canonical_email_domain(text) == domain
