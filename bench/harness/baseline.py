"""What a request costs without a decision: an empty ASGI handler, and a typed one that answers a constant.

Run as a process (`python -m bench.harness.baseline`) it is served by a replica's own `main`, so the server, its
settings and its loop are the same; only the application differs.
"""

import os
import socket
import sys
from typing import Any
from unittest.mock import Mock, patch

from litestar import Litestar, asgi, get, post
from litestar.datastructures import State
from litestar.types import Receive, Scope, Send
from msgspec import Struct

from app.runtime.metrics import ROW_BYTES
from app.serve import worker
from app.settings import Settings

EMPTY, TYPED = "/empty", "/typed"


class Call(Struct):
    """The body of an authorize call."""

    agent_id: str
    tool_name: str
    action: str
    parameters: dict[str, Any]


class Rule(Struct, frozen=True):
    """The rule in an answer."""

    index: int
    type: str


class Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of a decision."""

    id: str
    allowed: bool
    result: str
    policy_id: str | None
    rule: Rule | None
    reason: str
    code: str
    next_action: str
    retry_after_seconds: float | None
    latency_ms: float
    timestamp: str


CONSTANT = Answer(
    id="019aa3f0-6f4e-7d6c-9d3e-3f6f1f2b4c5d",
    allowed=True,
    result="allowed",
    policy_id="019aa3f0-1111-7d6c-9d3e-3f6f1f2b4c5d",
    rule=Rule(0, "parameter_constraint"),
    reason='Policy "refunds" allows "payments.refund"',
    code="allowed",
    next_action="none",
    retry_after_seconds=None,
    latency_ms=0.217,
    timestamp="2026-11-20T12:34:56.789Z",
)
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"2")]


@asgi(EMPTY, copy_scope=False)
async def empty(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - the three that ASGI calls with
    """Answer `{}`."""
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": b"{}", "more_body": False})


@post(TYPED, status_code=200)
async def typed(data: Call) -> Answer:  # noqa: ARG001 - decoding it is the point
    """Decode a call, answer a constant decision."""
    return CONSTANT


@get("/readyz")
async def readyz() -> str:
    return "ready"


def build_baseline(*_: object) -> Litestar:
    """The application of the two baselines, with stand-ins for whatever a replica's `main` asks of its services."""
    return Litestar([empty, typed, readyz], openapi_config=None, state=State({"services": Mock()}))


def main() -> None:
    """Serve the baselines as a replica serves decisions."""
    memory = os.memfd_create("metrics")
    os.ftruncate(memory, 2 * ROW_BYTES)
    with (
        socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=2048) as listener,
        patch.object(worker, "create_app", build_baseline),
    ):
        worker.serve_replica(Settings.from_env(os.environ), [listener], memory, 2, 0)


if __name__ == "__main__":
    main()
