"""The hot path below HTTP/1.1: from the bytes of one call to the bytes of its answer, at whichever door it comes in.

It runs before the router: typed handlers and routing cost as much again as the decision.
"""

from collections.abc import Callable, Sequence
from typing import Protocol
from urllib.parse import parse_qsl

from litestar.types import HTTPScope, Receive
from msgspec import Struct

from app.errors import (
    AgentNotFound,
    AppError,
    InsufficientScope,
    Invalid,
    PayloadTooLarge,
    Unauthorized,
)
from app.http.answers import JSON, Header, RawResponse
from app.http.authentication import judged_anew, note_failure, peer_of, require_asking
from app.http.bodies import ANY_LENGTH, read_body
from app.http.endpoint import Endpoint
from app.http.headers import (
    CALL_HEADERS,
    CallHead,
    CallHeaders,
    read_call_headers,
    request_id_header,
    request_id_of,
    require_as_it_is,
)
from app.http.problems import unexpected
from app.http.throttle import check_rate, has_bounds
from app.http.tool_calls import Reading, reading_of
from app.model.api_keys import Caller
from app.model.decisions import AuthorizeRequest, Decision
from app.redaction.recording import QUICK_BYTES, takes_long
from app.replica import Decisions
from app.runtime.clock import monotonic_us
from app.runtime.fairness.asking_key import asking_key
from app.runtime.fairness.shares import LARGE_BYTES
from app.runtime.lanes.lane import MoveToSlowLane
from app.settings import Settings
from app.validation_messages import visible

IN_THE_LOOP_BYTES = 16 * 1024
"""The largest body read in one step of the loop, in bytes."""

Read = Callable[[bytes, Reading], AuthorizeRequest]
_DONE: tuple[int, Sequence[Header]] = (200, ())
_AT_ONCE_BYTES = 256
"""Reading a smaller body takes no time that others would notice, whatever is in it."""


class Door(Struct, frozen=True):
    """A way in to the hot path, of which `app.http.doors` has the table: each POST to its path asks for one decision.

    The bounds on callers are the same at every door: `respond` checks keys, lockouts, rates and sizes, not the door.

    endpoint: its path and its part of the OpenAPI document. read: the call in a body; raises Invalid or
    PayloadTooLarge. answer: the body of a decision, as JSON. refuse: the answer if there is no decision; `respond` adds
    the request's id and the key's rate. answer_to: in place of `answer`, the body of a decision, if it depends on the
    request or the settings; None if it does not. head: status and headers of a
    decision; None = always 200. read_at: what `read` is for a method and the rest of a target; a door that has it is
    asked by any method, at any path below its own, and both are part of the question. believed: the headers of the
    program that asks. At a gateway's door the others are those of its client, so none of them may steer Remit.
    """

    endpoint: Endpoint
    read: Read
    answer: Callable[[Decision], bytes]
    refuse: Callable[[AppError], RawResponse]
    answer_to: Callable[[Decision, AuthorizeRequest, Settings], bytes] | None = None
    head: Callable[[Decision], tuple[int, Sequence[Header]]] | None = None
    read_at: Callable[[bytes, bytes], Read] | None = None
    believed: frozenset[bytes] = CALL_HEADERS

    @property
    def path(self) -> str:
        """The path of its endpoint."""
        return self.endpoint.path

    @property
    def target(self) -> bytes:
        """The target of a request here, or the beginning of each, which ends in a slash."""
        return self.path.partition("{")[0].encode()


class Call(Protocol):
    """A POST as the connection has it: the headers have arrived, the body may still be on its way."""

    headers: list[Header]
    arrived_us: int
    """When it arrived, by our monotonic clock, if another process of this replica has noted it; otherwise 0."""

    @property
    def head(self) -> CallHead:
        """The headers as the connection keeps them."""

    @property
    def peer(self) -> str | None:
        """The address at the other end of the connection."""

    @property
    def most(self) -> int:
        """The largest size that the body can have, in bytes."""

    async def body(self, max_bytes: int) -> bytes:
        """The body, if it has at most this many bytes. Raises PayloadTooLarge, or Invalid if it breaks off or there is
        a query.
        """


async def respond(decisions: Decisions, door: Door, call: Call) -> RawResponse:
    """Admit, authenticate, read, authorize, answer. A decision is in the audit stream when it is returned.

    Raises MoveToSlowLane if the slow lane must answer it.
    """
    moved_us = call.arrived_us
    arrived_us = call.arrived_us = moved_us or monotonic_us()
    admitted: list[Header] = []
    try:
        if has_bounds(decisions):
            admitted = check_rate(decisions, call.peer, call.headers, has_moved=moved_us > 0)
        given = call.head.call_headers or headers_of(call, door)
        raw_key = given.raw_key
        caller = decisions.authenticator.recall(given.digest) or await _authenticated(decisions, raw_key, call)
        asking_key.set(caller.root)
        counted = 0
        try:
            if not caller.asks_for_all:
                require_asking(caller)
            max_bytes = decisions.settings.call_bytes_max
            counted = (
                decisions.large_calls.enter(caller.workspace_id, caller.root, min(call.most, max_bytes))
                if call.most > LARGE_BYTES
                else 0
            )
            raw = await call.body(max_bytes)
            reading = reading_of(decisions, caller, call.headers, given.idempotency_key)
            request = (
                door.read(raw, reading)
                if len(raw) <= _AT_ONCE_BYTES
                else await _read_in_turn(decisions, caller, door, raw, reading)
            )
            decision = await decisions.authorizer.authorize(caller, request, arrived_us)
        except (Invalid, PayloadTooLarge, AgentNotFound, InsufficientScope):
            # No commit has confirmed the key, so the store is asked before the caller learns anything.
            await decisions.authenticator.authenticate(raw_key, promptly=True)
            raise
        except Unauthorized as error:
            caller = await judged_anew(decisions, raw_key, error)
            decision = await decisions.authorizer.authorize(caller, request, arrived_us)
        finally:
            if counted:
                decisions.large_calls.leave(caller.workspace_id, caller.root, counted)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets a refusal and not a closed connection
        return _refusal(decisions, door, call, error, arrived_us, admitted)
    status, own = _DONE if door.head is None else door.head(decision)
    headers = [JSON, request_id_header(given.request_id or decision.id.encode()), *admitted, *own]
    if decision.repeated:
        headers.append((b"idempotency-replayed", b"true"))
    else:
        decisions.metrics.decided(decision.outcome.result, decision.latency_us)
    body = door.answer(decision) if door.answer_to is None else door.answer_to(decision, request, decisions.settings)
    waited_us = monotonic_us() - arrived_us
    decisions.metrics.ready(waited_us)
    if decisions.note_decision is not None:
        decisions.note_decision(caller.workspace_id, request, decision, waited_us)
    return RawResponse(status, headers, body)


def headers_of(call: Call, door: Door) -> CallHeaders:
    """The headers of a call, once for all calls of a connection with the same head, request line included."""
    believed = [header for header in call.headers if header[0] in door.believed]
    require_as_it_is(believed)
    given = call.head.call_headers = read_call_headers(believed)
    return given


async def _authenticated(decisions: Decisions, raw_key: str, call: Call) -> Caller:
    """The caller, whom this process does not know. Raises MoveToSlowLane to verify a token."""
    try:
        return await decisions.authenticator.authenticate_once(raw_key)
    except MoveToSlowLane:
        await call.body(decisions.settings.call_bytes_max)  # a request moves as a whole, and only short ones do
        raise


def _refusal(
    decisions: Decisions, door: Door, call: Call, error: Exception, arrived_us: int, admitted: list[Header]
) -> RawResponse:
    """The answer to a call that was not decided."""
    problem = error if isinstance(error, AppError) else unexpected(error)
    note_failure(decisions, call.peer, call.headers, problem)
    decisions.metrics.refused(problem.code)
    decisions.metrics.ready(monotonic_us() - arrived_us)
    status, headers, body = door.refuse(problem)
    return RawResponse(status, [*headers, request_id_header(request_id_of(call.headers)), *admitted], body)


async def _read_in_turn(
    decisions: Decisions, caller: Caller, door: Door, raw: bytes, reading: Reading
) -> AuthorizeRequest:
    """Read a body that may take milliseconds: in the workspace's share of the loop, or in a thread.

    Raises MoveToSlowLane if the slow lane must answer.
    """
    size = len(raw)
    if size <= QUICK_BYTES or (size <= IN_THE_LOOP_BYTES and not takes_long(raw, decisions.redactor)):
        return decisions.loop_budget.run(caller.workspace_id, caller.root, door.read, raw, reading)
    return await decisions.call_pool.run(caller.workspace_id, door.read, raw, reading)


class AsgiCall:
    """A call handed over by an ASGI server. query: what of its target is no part of the question."""

    arrived_us = 0

    def __init__(self, scope: HTTPScope, receive: Receive, query: bytes = b"") -> None:
        self.headers: list[Header] = list(scope["headers"])
        self.call_headers: CallHeaders | None = None
        self.peer = peer_of(scope)
        self._receive, self._query = receive, query

    @property
    def head(self) -> CallHead:
        return self

    @property
    def most(self) -> int:
        announced = next((value for name, value in self.headers if name == b"content-length"), b"")
        return int(announced) if announced.isdigit() else ANY_LENGTH

    async def body(self, max_bytes: int) -> bytes:
        body = await read_body(self._receive, max_bytes)
        for name, _ in parse_qsl(self._query.decode("latin-1"), keep_blank_values=True):
            # A request for a dry run must not get a decision.
            message = "is not a query parameter: there are none here; POST /v1/explain says what would be answered"
            raise Invalid.at(visible(name), message)
        return body
