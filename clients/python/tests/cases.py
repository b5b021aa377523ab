"""Every way not to get `allowed`: what the service does, and what the caller must see.

The tests of the clients and of every adapter run all of them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from pytest import MonkeyPatch  # noqa: PT013 - a type
from service import CutOff, Drips, FaultyServer, answer, certificate, problem, tls_of

from remit_client import (
    ApprovalPending,
    Denied,
    MalformedAnswer,
    NotAnOutage,
    Refused,
    RemitError,
    Throttled,
    Unavailable,
)

HURRY = {"timeout": 0.3, "connect_timeout": 0.3}
PATIENT = {"timeout": 20, "connect_timeout": 20}
UNANSWERED = ("down", "unresolvable", "slow", "stops in the middle", "drips", "drips a header without end")
YES = {"id": "1", "allowed": True, "result": "allowed", "reason": "fine", "policyId": None, "rule": None}
NO = YES | {"allowed": False, "result": "denied", "reason": "it is late", "nextAction": "none"}
ASK = YES | {"allowed": False, "result": "escalated", "reason": "a person must see this"}


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LENGTH = b"Content-Length: 2\r\n"
OF_ANOTHER = "X-Request-ID: remit-client-00000000000000000000000000000000-1"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class Case:
    """answers: the service's answers, or the name of a fault.

    raised: the exception that the caller gets. says: a part of its text.
    """

    name: str
    answers: tuple[bytes | None, ...] | str
    raised: type[RemitError]
    says: str

    def __str__(self) -> str:
        return self.name

    @property
    def limits(self) -> dict[str, float]:
        """Short limits if no answer will come, otherwise long enough for a busy machine."""
        return HURRY if self.name in UNANSWERED else PATIENT


CASES = [
    Case("down", "closed port", Unavailable, "Check REMIT_URL"),
    Case("unresolvable", "no such host", Unavailable, "Check REMIT_URL"),
    Case("slow", (None,), Unavailable, "did not answer within"),
    Case("stops in the middle", (answer(200, YES)[:-8],), Unavailable, "did not answer within"),
    Case(
        "closes in the middle",
        (b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"allowed":',),
        MalformedAnswer,
        "REMIT_URL",
    ),
    Case("is cut off", (CutOff(answer(200, YES)[:-8]),), Unavailable, "Check REMIT_URL"),
    Case("drips", (Drips(answer(200, YES)),), Unavailable, "did not answer within"),
    Case("drips a header without end", (Drips(HEAD + b"X: " + b"x" * 2_000),), Unavailable, "did not answer within"),
    Case("closes before it answers", (b"",), Unavailable, "Check REMIT_URL"),
    Case("no TLS", "plain text where TLS is wanted", Unavailable, "Check REMIT_URL"),
    Case("a certificate that nobody vouches for", "its own authority", MalformedAnswer, "SSL_CERT_FILE"),
    Case("a certificate of another host", "another host's certificate", MalformedAnswer, "SSL_CERT_FILE"),
    Case("a proxy that refuses", "refusing proxy", Unavailable, "HTTPS_PROXY"),
    Case("chunks that end early", (CHUNKED + b'10\r\n{"allowed": true',), Unavailable, "Check REMIT_URL"),
    Case("chunks of garbage", (CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",), Unavailable, "Check REMIT_URL"),
    Case("two lengths", (HEAD + LENGTH + b"Content-Length: 3\r\n\r\n{}",), Unavailable, "Check REMIT_URL"),
    Case("no name of a header", (HEAD + LENGTH + b": x\r\n\r\n{}",), Unavailable, "Check REMIT_URL"),
    Case("an endless header", (HEAD + b"X: " + b"x" * 1_000_000,), Unavailable, "Check REMIT_URL"),
    Case("no HTTP", (b"SSH-2.0-OpenSSH_9.2\r\n",), Unavailable, "Check REMIT_URL"),
    Case("401", (problem(401, "UNAUTHORIZED"),), Refused, "REMIT_API_KEY"),
    Case("401 expired", (problem(401, "API_KEY_EXPIRED"),), Refused, "REMIT_API_KEY"),
    Case("403", (problem(403, "INSUFFICIENT_SCOPE"),), Refused, "INSUFFICIENT_SCOPE"),
    Case("404 agent", (problem(404, "AGENT_NOT_FOUND"),), Refused, "AGENT_NOT_FOUND"),
    Case("409", (problem(409, "IDEMPOTENCY_STALE"),), Refused, "IDEMPOTENCY_STALE"),
    Case("413", (problem(413, "PAYLOAD_TOO_LARGE"),), Refused, "PAYLOAD_TOO_LARGE"),
    Case("429", (problem(429, "RATE_LIMITED", "Retry-After: 3"),), Throttled, "Try again in 3 s"),
    Case("429 of a proxy", (answer(429, raw=b"slow down"),), Throttled, "no explanation"),
    Case("500", (problem(500, "INTERNAL_ERROR"),), NotAnOutage, "try again later"),
    Case("500 of a proxy", (answer(500, raw=b"<html>"),), NotAnOutage, "try again later"),
    Case("501 of a proxy", (answer(501, raw=b""),), NotAnOutage, "try again later"),
    Case("502 of a proxy", (answer(502, raw=b"<html>"),), Unavailable, "try again later"),
    Case("503", (problem(503, "STORE_UNAVAILABLE"),), Unavailable, "try again later"),
    Case("503 overloaded", (problem(503, "OVERLOADED", "Retry-After: 1"),), NotAnOutage, "try again later"),
    Case("503 of a proxy", (answer(503, raw=b"<html>"),), NotAnOutage, "try again later"),
    Case("504 of a proxy", (answer(504, raw=b"<html>"),), Unavailable, "try again later"),
    Case("redirect", (answer(302, None, "Location: http://127.0.0.1:1/"),), MalformedAnswer, "redirect"),
    Case("204", (answer(204, raw=b""),), MalformedAnswer, "REMIT_URL"),
    Case("html", (answer(200, raw=b"<html>welcome</html>"),), MalformedAnswer, "REMIT_URL"),
    Case("not UTF-8", (answer(200, raw=b"\xff\xfe{}"),), MalformedAnswer, "REMIT_URL"),
    Case(
        "no JSON, it says", (answer(200, YES).replace(b"application/json", b"text/html"),), MalformedAnswer, "REMIT_URL"
    ),
    Case("null", (answer(200, None),), MalformedAnswer, "not a JSON object"),
    Case("array", (answer(200, [YES]),), MalformedAnswer, "not a JSON object"),
    Case("deep", (answer(200, raw=b"[" * 100_000),), MalformedAnswer, "REMIT_URL"),
    Case("empty object", (answer(200, {}),), MalformedAnswer, "not a decision"),
    Case("an answer of 100 MB", (HEAD + b"Content-Length: 99999999\r\n\r\n{",), MalformedAnswer, "64 MiB"),
    Case("answers another request", (answer(200, YES, "X-Request-ID: {id}0"),), MalformedAnswer, "another request"),
    Case("answers another client", (answer(200, YES, OF_ANOTHER),), MalformedAnswer, "another request"),
    Case("allowed is a string", (answer(200, YES | {"allowed": "true"}),), MalformedAnswer, "not a decision"),
    Case("allowed is 1", (answer(200, YES | {"allowed": 1}),), MalformedAnswer, "not a decision"),
    Case("says both", (answer(200, YES | {"result": "denied"}),), MalformedAnswer, "not a decision"),
    Case("says both the other way", (answer(200, NO | {"result": "allowed"}),), MalformedAnswer, "not a decision"),
    Case("unknown result", (answer(200, YES | {"result": "maybe"}),), MalformedAnswer, "not a decision"),
    Case("no id", (answer(200, YES | {"id": None}),), MalformedAnswer, "id is missing"),
    Case("denied", (answer(200, NO),), Denied, "do not repeat"),
    Case("escalated", (answer(200, ASK),), ApprovalPending, "once it is approved"),
]


def address(case: Case, faulty: Callable[..., FaultyServer], machine: MonkeyPatch) -> str:
    """The address of a service with this fault. Whatever else the fault needs is set up on `machine`."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        machine.delenv(name, raising=False)
        machine.delenv(name.lower(), raising=False)
    if case.answers == "its own authority":
        return faulty(answer(200, YES), tls=tls_of("127.0.0.1")).url
    if case.answers == "another host's certificate":
        machine.setenv("SSL_CERT_FILE", str(certificate("remit.example")))
        return faulty(answer(200, YES), tls=tls_of("remit.example")).url
    if case.answers == "refusing proxy":
        machine.setenv("HTTPS_PROXY", faulty(answer(403, raw=b"not from here")).url)
        return "https://remit.example"
    if case.answers == "closed port":
        with socket.create_server(("127.0.0.1", 0)) as taken:
            return f"http://127.0.0.1:{taken.getsockname()[1]}"
    if case.answers == "no such host":
        return "http://remit.invalid:8080"
    if case.answers == "plain text where TLS is wanted":
        return faulty(None, greets=b"HTTP/1.1 400 Bad Request\r\n\r\n").url.replace("http", "https")
    return faulty(*case.answers).url
