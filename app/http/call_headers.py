"""The headers of a call that the hot path reads."""

from typing import Protocol

from msgspec import Struct

from app.http.answers import Header
from app.http.authentication import AUTHORIZATION, raw_key_of, single_headers
from app.http.request_ids import REQUEST_ID_HEADER, fit_request_id
from app.model.api_keys import digest_of

IDEMPOTENCY_KEY = b"idempotency-key"
_READ = frozenset({AUTHORIZATION, IDEMPOTENCY_KEY, REQUEST_ID_HEADER})


class CallHeaders(Struct, frozen=True):
    """The headers of calls, read once for all calls that send the same ones.

    digest: of the raw key, by which its caller is found. request_id: None if the answer gets one of ours.
    """

    raw_key: str
    digest: str
    idempotency_key: bytes | None
    request_id: bytes | None


class CallHead(Protocol):
    """Headers as a connection has them.

    call_headers: kept with them once read, because clients repeat their headers.
    """

    headers: list[Header]
    call_headers: CallHeaders | None


def call_headers_of(head: CallHead) -> CallHeaders:
    """The headers that the hot path reads, kept once read. Raises Unauthorized or Invalid."""
    kept = head.call_headers
    if kept is None:
        kept = head.call_headers = _read(head.headers)
    return kept


def _read(headers: list[Header]) -> CallHeaders:
    given = single_headers(headers, _READ)
    raw_key = raw_key_of(given.get(AUTHORIZATION))
    request_id = fit_request_id(given.get(REQUEST_ID_HEADER))
    return CallHeaders(raw_key, digest_of(raw_key), given.get(IDEMPOTENCY_KEY), request_id)
