"""A head that repeats an earlier one but for some values is not read anew, and means what it would have meant."""

import random
from types import SimpleNamespace

import pytest
from http_streams import SEED, repeats_of
from msgspec.structs import asdict, replace
from profiles import examples

from app.errors import AppError
from app.http.api.authorize import AUTHORIZE
from app.http.doors import DOORS
from app.http.headers import AUTHORIZATION
from app.http.hot_path import headers_of
from app.http.protocol.head import RepeatedHead, read_head

SERIES = examples(20_000)
DOOR = dict(enumerate([*DOORS.values(), replace(AUTHORIZE, believed=frozenset({AUTHORIZATION}))]))
KEY_LINE = b"Authorization: Bearer svc_" + b"5eed" * 8
HEAD = b"POST /v1/authorize HTTP/1.1\r\nHost: h\r\n%b\r\nContent-Length: 20\r\n" % KEY_LINE


def whole(head, door):
    """All that the head means, with what a call at this door takes from it."""
    if head.call_headers is None:
        headers_of(SimpleNamespace(head=head, headers=head.headers), door)
    return asdict(head)


@pytest.mark.parametrize("number", DOOR)
def test_it_means_what_reading_it_anew_would_have_found(number):
    """At every door, as each believes other headers; and of heads that were meant to repeat, most are recognised."""
    found = valid = 0
    for each in range(SERIES // len(DOOR)):
        rng = random.Random(SEED + each)
        first, *others = repeats_of(rng, b"POST /a HTTP/1.1\r\n" + KEY_LINE)
        try:
            head = read_head(first[: first.index(b"\r\n\r\n") + 2])
            whole(head, DOOR[number])
        except AppError:
            continue
        repeated, headers = RepeatedHead(head), list(head.headers)
        for raw in (other[: other.index(b"\r\n\r\n") + 2] for other in others):
            again = repeated.with_values_of(raw)
            if again is not None:
                assert whole(again, DOOR[number]) == whole(read_head(raw), DOOR[number]), (first, raw)
                found += 1
            valid += 1
        assert head.headers == headers
    assert found > valid / 5


@pytest.mark.parametrize(
    "raw",
    [
        HEAD.replace(b"20", b"20 "),
        HEAD.replace(b"20", b"+20"),
        HEAD.replace(b"20", b"200000"),
        HEAD.replace(b"20", b""),
        HEAD.replace(b"20", b"2,0"),
        HEAD.replace(b"20", b"\xb2"),
        HEAD.replace(b"20", b"2\r"),
        HEAD.replace(b": 20", b" : 20"),
        HEAD.replace(b"h\r\n", b"i\r\n"),
        HEAD.replace(b"POST", b"PUT"),
        HEAD.replace(b"5eed", b"5eee"),
        HEAD.replace(b"Content-Length: 20", b"Transfer-Encoding: chunked"),
        HEAD + b"Content-Length: 20\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n",
        HEAD.replace(b"Host: h\r\n", b""),
        HEAD + HEAD,
    ],
)
def test_whatever_else_differs_is_read_anew(raw):
    """Another line, more of them or fewer, and each way of writing a length that programs could read in two ways."""
    repeated = RepeatedHead(read_head(HEAD))
    assert repeated.with_values_of(raw) is None
    assert repeated.with_values_of(HEAD.replace(b"20", b"17")).length == 17


def test_a_field_that_is_there_twice_is_read_anew():
    """Of two request ids the first is used: which line has another value matters."""
    twice = HEAD + b"X-Request-ID: a\r\nX-Request-ID: b\r\n"
    repeated = RepeatedHead(read_head(twice))
    assert repeated.with_values_of(twice.replace(b": a", b": c")) is None
