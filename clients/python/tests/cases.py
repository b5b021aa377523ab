"""The cases of clients/cases.json, with which every client and adapter is tested."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest import MonkeyPatch  # noqa: PT013 - a type
from service import ROOT, CutOff, Drips, FaultyServer, Resets, answer, certificate, tls_of

import remit_client
from remit_client import RemitError

HURRY = {"timeout": 0.6, "connect_timeout": 0.6}
PATIENT = {"timeout": 20, "connect_timeout": 20}
SHARED = json.loads((ROOT / "clients/cases.json").read_text())
YES, NO = (SHARED["decisions"][name] for name in ("allowed", "denied"))


@dataclass(frozen=True)
class Case:
    """answers: the service's answers, or the name of a fault.

    raised: the exception that the caller gets. says: a part of its text. limits: short if no answer will come,
    otherwise long enough for a busy machine.
    """

    name: str
    answers: tuple[bytes | None, ...] | str
    raised: type[RemitError]
    says: str
    limits: Mapping[str, float]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, one: Mapping[str, Any], *, in_batch: bool = False) -> Case:
        """A case of clients/cases.json, which explains the fields. in_batch: a decision in it is that of a batch."""
        answers = one.get("fault") or (None if one["answer"] is None else _bytes(one["answer"], in_batch=in_batch),)
        raised = getattr(remit_client, one["raised"])
        return cls(one["name"], answers, raised, one["says"], HURRY if one.get("hurry") else PATIENT)


def _bytes(one: Mapping[str, Any], *, in_batch: bool) -> bytes:
    text, times = one.get("more", ("", 0))
    made = (one.get("bytes") or one.get("raw") or "").encode("latin-1") + text.encode() * times
    if "bytes" not in one:
        body, raw = one.get("body"), made if "raw" in one else None
        if "decision" in one:
            body = SHARED["decisions"][one["decision"]] | one.get("with", {})
            body = {"results": [{"decision": body}]} if in_batch else body
        if "problem" in one:
            body = {"error": {"code": one["problem"], "message": f"This is {one['problem']}", "details": []}}
        made = answer(one.get("status", 200), body, *one.get("headers", ()), raw=raw)
    made = made.replace(b"application/json", one.get("type", "application/json").encode())
    made = made[: len(made) - one.get("cut", 0)]
    kind = Drips if one.get("drips") else CutOff if one.get("hangsUp") else Resets if one.get("resets") else bytes
    return kind(made)


CASES = [Case.of(one) for one in SHARED["cases"]]
_DECIDED = ("denied", "escalated")
IN_BATCHES = [Case.of(one, in_batch=True) for one in SHARED["cases"] if one["name"] not in _DECIDED]
"""The cases without a decision: one that is not a yes is an answer of a batch like any other."""


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
