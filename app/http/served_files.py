"""Files that are read, hashed and compressed once at the start, and answered without the router."""

import gzip
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from app.errors import AppError
from app.http.answers import Header, RawResponse, accepts_gzip, not_allowed
from app.http.problems import error_answer, nothing_here

MEDIA = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".png": b"image/png",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}
"""The types of served files by the ends of their names."""
FOR_EVER, ASK = b"public, max-age=31536000, immutable", b"no-cache"
SECURITY: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    (b"vary", b"accept-encoding"),
)
"""Headers of every answer, besides the policy of its content."""


class ServedFile(NamedTuple):
    """The body as it is and compressed, and the headers that both have."""

    body: bytes
    compressed: bytes
    tag: bytes
    headers: list[Header]

    @classmethod
    def of(cls, body: bytes, media: bytes, caching: bytes) -> "ServedFile":
        """A file of this type that a browser may keep as `caching` says."""
        tag = b'"%b"' % hashlib.sha256(body).hexdigest()[:16].encode()
        headers = [(b"content-type", media), (b"cache-control", caching), (b"etag", tag)]
        return cls(body, gzip.compress(body, 9, mtime=0), tag, headers)


def file_answer(file: ServedFile | None, method: str, headers: Sequence[Header], added: list[Header]) -> RawResponse:
    """The answer to a request for a file; None is 404.

    headers: of the request. added: headers of every answer here, also of a refusal.
    """
    if file is None:
        return _refusal(nothing_here(), added)
    if method == "OPTIONS":
        return RawResponse(204, [(b"allow", b"GET, HEAD, OPTIONS"), *added])
    if method not in {"GET", "HEAD"}:
        return _refusal(not_allowed(method, "GET, HEAD, OPTIONS"), added)
    given = dict(headers)
    if file.tag in given.get(b"if-none-match", b"").replace(b"W/", b"").replace(b" ", b"").split(b","):
        return RawResponse(304, [*file.headers, *added])
    body, answered = file.body, [*file.headers, *added]
    if accepts_gzip(given.get(b"accept-encoding", b"").decode("latin-1")):
        body = file.compressed
        answered.append((b"content-encoding", b"gzip"))
    if method == "HEAD":
        return RawResponse(200, [*answered, (b"content-length", b"%d" % len(body))])
    return RawResponse(200, answered, body)


def _refusal(error: AppError, added: list[Header]) -> RawResponse:
    answer = error_answer(error)
    return answer._replace(headers=[*answer.headers, *added])
