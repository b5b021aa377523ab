"""How a call looks on the wire and what an answer means. No I/O, so both clients share it."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import ssl
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, urlsplit

import httpx

from remit_client.errors import (
    Interrupted,
    MalformedAnswer,
    NotAnOutage,
    Refused,
    RemitError,
    Throttled,
    Unavailable,
)
from remit_client.models import NotAnAnswer, Page
from remit_client.streams import Reader

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
U = TypeVar("U")
Answer = tuple[int, Mapping[str, str], bytes]  # status, headers by lower-case name, body

CONNECT_S = 1.0
ANSWER_S = 2.0
SILENCE_S = 60.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
ID_PREFIX = "remit-client-"
TEXT = "text/plain"
_GATEWAY_FAILED = (502, 504)
_STORE_AWAY = (503, "STORE_UNAVAILABLE")
"""The answers that the agent cannot cause, whatever it calls and however often."""

NO_SUCH_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
"""What a look-up answers for a host without an address; a name server that does not answer is something else."""

EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}
"""What the system answers if this program has too much open."""

_LENGTH = re.compile(r"[0-9]{1,18}")
_KEY = re.compile(r"[\x21-\x7e]{1,512}")


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request: `read` turns the answer's JSON into a typed record.

    wait_seconds: how much longer than usual the answer may take, for long polls.
    repeatable: sending it twice changes nothing, or it carries an Idempotency-Key.
    media: the Content-Type of its answer; `read` gets the JSON, or else the text.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    wait_seconds: float = 0.0
    repeatable: bool = False
    idempotency_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media: str = "application/json"

    def if_version(self, version: int | str) -> Self:
        """The same change, refused (412, for approvals 409) if the record's version is no longer this one.

        version: the `.version` of the agent, policy or approval as it was read.
        """
        if not re.fullmatch(r"[!#-~]*", str(version)):
            raise ValueError("a version is a number, or what an ETag shows between its quotes")
        return replace(self, headers={**self.headers, "If-Match": f'"{version}"'})

    def because(self, reason: str) -> Self:
        """The same change, with a reason for the trail of changes."""
        return replace(self, headers={**self.headers, "Change-Reason": reason})


@dataclass(frozen=True)
class Stream(Call[T]):
    """A request with a streamed answer: `reader` turns its lines into records."""

    reader: Callable[[], Reader] = field(kw_only=True)


class Settings:
    """Where the service is and who asks. The key appears in no repr and no message."""

    def __init__(
        self,
        url: str | None,
        key: str | None,
        *,
        timeout: float,
        connect_timeout: float,
        retries: int,
        http_options: Mapping[str, Any] | None,
    ) -> None:
        url = url or os.environ.get("REMIT_URL")
        key = key or os.environ.get("REMIT_API_KEY")
        if not url:
            raise ValueError("No address: pass url, or set REMIT_URL, such as http://127.0.0.1:8080")
        if not key:
            raise ValueError("No API key: pass key, or set REMIT_API_KEY")
        if not _KEY.fullmatch(key):
            raise ValueError("The API key must be visible ASCII characters without spaces (this one is not shown)")
        self.shown = url.rstrip("/")
        self.socket = urlsplit(url).path if url.startswith("unix://") else None
        if self.socket is not None:
            if not self.socket.startswith("/") or urlsplit(url).netloc:
                raise ValueError("The URL of a Unix socket must be unix:///path/to/socket")
            url = "http://localhost"
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("The URL of Remit must be http://host:port, https://host or unix:///path/to/socket")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("The URL of Remit must not hold a user, password, query or fragment; pass the key as key")
        if not (timeout > 0 and connect_timeout > 0 and retries >= 0):
            raise ValueError("timeout and connect_timeout must be above 0, retries 0 or more")
        self.base = url.rstrip("/")
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.retries = retries
        self._id_prefix, self._numbers = f"{ID_PREFIX}{uuid.uuid4().hex}", count(1)
        self.authorize_url = httpx.URL(f"{self.base}/v1/authorize")
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": "remit-client", "Accept": "application/json"}
        self._post_headers = {**self._headers, "Content-Type": "application/json"}
        self.has_options = bool(http_options) or self.socket is not None
        self.options: dict[str, Any] = {"follow_redirects": False, **(http_options or {})}
        self.options.setdefault("limits", httpx.Limits(max_connections=None, max_keepalive_connections=20))
        if parts.scheme == "http":  # loading the machine's certificates takes longer than a hundred decisions
            self.options.setdefault("verify", False)

    def __repr__(self) -> str:
        return self.shown

    def url(self, call: Call[Any]) -> httpx.URL:
        """The address of a call."""
        if call.path == "/v1/authorize" and not call.query:
            return self.authorize_url
        url = httpx.URL(self.base + call.path)
        given = {name: value for name, value in call.query.items() if value is not None}
        return url.copy_merge_params(given) if given else url

    def limits(self, call: Call[Any]) -> httpx.Timeout:
        """How long each step of a call may take; `deadline` limits the whole call."""
        # A call that waits for a connection of this client must fail as that, not as one that Remit was slow to answer.
        pool = min(self.connect_timeout, self.timeout / 2)
        return httpx.Timeout(self.timeout + call.wait_seconds, connect=self.connect_timeout, pool=pool)

    def deadline(self, call: Call[Any]) -> float:
        """Seconds that a call may take, including retries."""
        return self.timeout + call.wait_seconds

    def attempts(self, call: Call[Any], retries: int = 0) -> int:
        """How often a call may be sent: more than once only if a repeat cannot count twice.

        retries: repeats it at least so often.
        """
        return 1 + max(self.retries, retries) if call.repeatable else 1

    def unreachable(self, error: Exception) -> RemitError:
        """The error for no answer. Its message may contain addresses from the cause, never headers."""
        if isinstance(error, httpx.PoolTimeout):
            return NotAnOutage(
                f"More calls than this client has connections to {self.base} were waiting for one. Raise `limits` in "
                "http_options, or make fewer calls at once."
            )
        if isinstance(error, httpx.TimeoutException | TimeoutError):
            return self.late()
        if wrong := _wrong_certificate(error):
            return MalformedAnswer(
                f"The server at {self.shown} could not prove that it is Remit ({wrong.verify_message}). Check "
                "REMIT_URL, or set SSL_CERT_FILE to the certificate of your own authority if it signed the server's."
            )
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        if _is_exhausted(error):
            return NotAnOutage(
                f"This program has too many files or connections open ({why}). Make fewer calls at once."
            )
        if isinstance(error, httpx.ProxyError):
            return NotAnOutage(
                f"The proxy in front of Remit at {self.base} did not pass the request on ({why}). Check HTTPS_PROXY "
                "and HTTP_PROXY, or name Remit's host in NO_PROXY."
            )
        kind = Unavailable if _is_away(error) else NotAnOutage
        return kind(f"Remit at {self.shown} cannot be reached ({why}). Check REMIT_URL and that it is running.")

    def late(self) -> NotAnOutage:
        """The error for an answer that did not come in time."""
        return NotAnOutage(
            f"Remit at {self.shown} did not answer within {self.timeout:g} s (connecting: {self.connect_timeout:g} s). "
            "Check that it is healthy (GET /readyz) and that this program is not too busy to read the answer, or raise "
            "timeout."
        )

    def too_large(self, call: Call[Any]) -> MalformedAnswer:
        """The error for an answer longer than any of Remit's."""
        return MalformedAnswer(f"{self.base}{call.path} answered with more than {MAX_ANSWER_BYTES >> 20} MiB.")

    def interrupted(self, error: Exception) -> Interrupted:
        """The error for an event loop or client that was closed during a call."""
        return Interrupted(
            f"The call to Remit was interrupted ({error}). Await it on an event loop that keeps running, and close the "
            "client after the last call."
        )

    def headers_of(self, call: Call[Any]) -> tuple[dict[str, str], str]:
        """The headers of a request, which must never be shown, and its id, which is new each time."""
        request_id = f"{self._id_prefix}-{next(self._numbers)}"
        kept = self._post_headers if call.body is not None else self._headers
        headers = {**kept, "X-Request-ID": request_id, **call.headers}
        if call.idempotency_key is not None:
            headers["Idempotency-Key"] = call.idempotency_key
        return headers, request_id

    def require_answer_to(self, answer: Answer, request_id: str) -> None:
        """Raises MalformedAnswer if this is the answer to another request of this client or one like it.

        Remit returns the request's id, but a proxy may have replaced it, so only ids in this client's format count.
        """
        answered = answer[1].get("x-request-id", request_id)
        if answered != request_id and answered.startswith(ID_PREFIX):
            raise MalformedAnswer(
                f"{self.base} sent the answer to another request. Something between here and Remit mixes answers up, "
                "so no answer that comes through it can be trusted."
            )


def _is_away(error: BaseException | None) -> bool:
    """Whether nothing listens where Remit should be: no such host, or every address that was tried refuses.

    Only stated causes count: an error's context may be what the program was handling when it asked.
    """
    while error is not None:
        if isinstance(tried := getattr(error, "exceptions", None), tuple):
            return all(map(_is_away, tried))
        if isinstance(error, socket.gaierror):
            return error.errno in NO_SUCH_HOST
        if isinstance(error, ConnectionRefusedError):
            return True
        error = error.__cause__
    return False


def _is_exhausted(error: BaseException | None) -> bool:
    """Whether this program could open no connection, whatever the state of the network.

    If names cannot be looked up, the error does not say why, so it is tried whether a file can be opened.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in EXHAUSTED:
            return True
        error = error.__cause__ or error.__context__
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return True
    return False


def _wrong_certificate(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """The original certificate error, which httpx has wrapped."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error


def new_idempotency_key() -> str:
    """A key that no other request has."""
    return uuid.uuid4().hex


def segment(name: str) -> str:
    """A name, quoted as one path segment: its slashes and dots cannot lead elsewhere."""
    return quote(name, safe="").replace(".", "%2E") if name.strip(".") == "" else quote(name, safe="")


def encode(body: Any) -> bytes | None:
    """A body as JSON. Raises TypeError or ValueError for values that JSON does not have, including NaN and infinity."""
    if body is None:
        return None
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which can only be written as an escape
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def interpret(call: Call[T], settings: Settings, status: int, headers: Mapping[str, str], content: bytes) -> T:
    """The call's result, or an exception that says why there is none."""
    if httpx.codes.is_success(status):
        try:
            answer = call.read(_value(call.media, headers, content) if content else None)
            if isinstance(answer, Page):
                answer.next_cursor = headers.get("x-next-cursor")
                answer.version = headers["etag"].strip('"') if "etag" in headers else None
            return answer  # noqa: TRY300 - the except clause is for the readers, too
        except (NotAnAnswer, ValueError, RecursionError, AttributeError, TypeError) as error:
            raise MalformedAnswer(
                f"{settings.base}{call.path} answered {status} with something that Remit would not send ({error}). "
                "Check that REMIT_URL is Remit's address and that no proxy answers in its place."
            ) from error
    raise _failure(settings, call, status, headers, content)


def _value(media: str, headers: Mapping[str, str], content: bytes) -> Any:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == TEXT and kind == TEXT:
        return content.decode()
    if media == TEXT or (kind != "application/json" and not kind.endswith("+json")):
        raise NotAnAnswer(f"its Content-Type is not {media}")
    return json.loads(content)


def _failure(
    settings: Settings, call: Call[Any], status: int, headers: Mapping[str, str], content: bytes
) -> RemitError:
    code, message, details = _problem(content)
    where = f"{call.method} {settings.base}{call.path}"
    if httpx.codes.is_redirect(status):
        return MalformedAnswer(
            f"{where} answered with a redirect ({status}), which is not followed: set REMIT_URL to the final address."
        )
    if status == httpx.codes.TOO_MANY_REQUESTS:
        seconds = _seconds(headers.get("retry-after"))
        wait = "" if seconds is None else f" Try again in {seconds:g} s."
        return Throttled(f"Remit refuses further requests with this key for now: {message}.{wait}", code, seconds)
    if httpx.codes.is_server_error(status):
        is_outage = status in _GATEWAY_FAILED or (status, code) == _STORE_AWAY
        kind = Unavailable if is_outage else NotAnOutage
        return kind(f"{where} answered {status} {code}: {message}. There is no decision; try again later.")
    if status == httpx.codes.UNAUTHORIZED:
        return Refused(
            f"Remit does not accept the API key ({code}): {message}. Set REMIT_API_KEY to a valid key.",
            status,
            code,
        )
    return Refused(f"{where} was refused with {status} {code}: {message}", status, code, details)


def _problem(content: bytes) -> tuple[str, str, list[object]]:
    """Code, message and details of an error's body; placeholders for a page that some proxy sent."""
    try:
        error = json.loads(content)["error"]
        return str(error["code"]), str(error["message"]).rstrip("."), list(error.get("details") or ())
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "UNKNOWN", "no explanation was given", []


def declared_length(headers: Mapping[str, str]) -> int:
    """The length that an answer declares; 0 if it declares none."""
    length = headers.get("content-length", "")
    return int(length) if _LENGTH.fullmatch(length) else 0


def _seconds(header: str | None) -> float | None:
    try:
        return None if header is None else max(0.0, float(header))
    except ValueError:
        return None


def listed(read: Callable[[Any], U]) -> Callable[[Any], Page[U]]:
    """A function that reads an array with `read`."""

    def read_list(answer: Any) -> Page[U]:
        if not isinstance(answer, list):
            raise NotAnAnswer("not a JSON array")
        return Page(read(one) for one in answer)

    return read_list


def as_it_is(answer: Any) -> Any:
    """The answer, unchanged."""
    return answer


def nothing(answer: Any) -> None:
    """For answers without content (204)."""


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
