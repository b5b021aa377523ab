"""The client: sends calls, within a deadline, on connections that stay open."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

from remit_client import calls
from remit_client._async.enforcement import AsyncEnforcer, Context, OnUnavailable
from remit_client._async.guard import AsyncGuard
from remit_client._async.io import pause
from remit_client._async.transport import connections_for
from remit_client.errors import Interrupted, Unavailable
from remit_client.models import Approval, Decision, Json
from remit_client.wire import ANSWER_S, CONNECT_S, Call, Settings, Stream, encode, interpret, new_idempotency_key

T = TypeVar("T")
FIRST_PAUSE_S = 0.05


class AsyncRemit:
    """Asks Remit; open it once and share it.

    url, key: else REMIT_URL and REMIT_API_KEY.
    timeout: seconds for a whole answer, retries included; connect_timeout: for the connection alone.
    retries: how often a question is repeated after a failure. Above 0 every decision carries an Idempotency-Key, which
    the store of the service keeps for 24 hours.
    http_options: of httpx.AsyncClient, such as `proxy`, `verify`, `cert`, `limits` or `transport`.

    Whatever goes wrong raises a RemitError; nothing here ever says that a call is allowed without an answer that does.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = ANSWER_S,
        connect_timeout: float = CONNECT_S,
        retries: int = 0,
        http_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = Settings(
            url, key, timeout=timeout, connect_timeout=connect_timeout, retries=retries, http_options=http_options
        )
        self._connections = connections_for(self.settings)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings!r})"

    async def __aenter__(self) -> AsyncRemit:  # noqa: PYI034 - Self is of Python 3.11
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @classmethod
    def with_settings_of(cls, other: Any) -> AsyncRemit:
        """A client like `other`, which may be of either kind, with connections of its own."""
        made = cls.__new__(cls)
        made.settings = other.settings
        made._connections = connections_for(made.settings)  # noqa: SLF001 - it is one of us
        return made

    async def aclose(self) -> None:
        """The connections are closed; the next call opens new ones."""
        await self._connections.aclose()

    async def authorize(
        self,
        agent: str,
        tool: str,
        parameters: Json | None = None,
        *,
        context: Json | None = None,
        action: str | None = None,
        approval_id: str | None = None,
    ) -> Decision:
        """The decision on one call of a tool, whatever it is: run the tool only if `.allowed`.

        agent: its id. context: what the caller vouches for and the agent cannot choose, such as
        {"session": …, "user": …}. approval_id: the only approval that may let the call through; nobody is asked anew.
        Raises Unavailable, Refused (APPROVAL_MISMATCH if that approval is not this call's or no longer open),
        MalformedAnswer; TypeError where something is not JSON.
        """
        key = new_idempotency_key() if self.settings.retries else None
        return await self.send(calls.authorize(agent, tool, parameters, context, action, key, approval_id))

    def guard(
        self,
        agent: str,
        tool: str,
        parameters: Json | None = None,
        *,
        context: Context = None,
        wait: float = 0.0,
        on_unavailable: OnUnavailable = "deny",
        report_outcome: bool = False,
    ) -> AsyncGuard:
        """A decorator, or the context of an `async with`, in which the tool runs only if it is allowed.

        The parameters of a decorated function are those of the tool. Denied raises Denied; escalated waits up to `wait`
        seconds for a person and then raises ApprovalPending. Without an answer it raises, unless `on_unavailable` is
        "allow". `report_outcome` tells the log what became of the call, in a request of its own.
        """
        enforcer = AsyncEnforcer(
            self, agent, context=context, wait=wait, on_unavailable=on_unavailable, report_outcome=report_outcome
        )
        return AsyncGuard(enforcer, tool, parameters)

    async def approval(self, approval_id: str, *, wait: float = 0.0) -> Approval:
        """The approval as it is now, or, while it is pending, as it is within `wait` seconds."""
        until = time.monotonic() + wait
        while True:
            left = until - time.monotonic()
            try:
                approval = await self.send(calls.get_approval(approval_id, left))
            except Unavailable:
                if left < 1:
                    raise
                await pause(0.5)  # a replica that restarts; the approval is in the store
                continue
            if approval.status != "pending" or time.monotonic() >= until:
                return approval

    async def approve(
        self, approval_id: str, *, note: str | None = None, version: int | None = None, **grant: Any
    ) -> Approval:
        """The call may run; `uses`, `valid_seconds` may grant less than the policy does.

        version: of the approval that the person has seen; if it has another one now, this is refused.
        """
        call = calls.approve(approval_id, note, **grant)
        return await self.send(call if version is None else call.if_version(version))

    async def deny(self, approval_id: str, *, note: str | None = None) -> Approval:
        """The call may not run."""
        return await self.send(calls.deny(approval_id, note))

    async def cancel(self, approval_id: str, *, note: str | None = None) -> Approval:
        """The question is taken back."""
        return await self.send(calls.cancel(approval_id, note))

    async def report_outcome(self, decision: Decision | str, status: str) -> None:
        """The log says what became of an allowed call: `executed`, `failed` or `not_executed`."""
        await self.send(calls.report_outcome(decision if isinstance(decision, str) else decision.id, status))

    async def stream(self, call: Stream[Any]) -> AsyncIterator[Any]:
        """The records of an answer that goes on, as they come: entries of an export, or `Event`s that end with you.

        Raises RemitError: Unavailable also where an export ends before its last record.
        """
        reader = call.reader()
        async for line in self._connections.lines(call):
            for record in reader.feed(line):
                yield record
        reader.end()

    async def send(self, call: Call[T]) -> T:
        """The answer to any call of `remit_client.calls`. Raises RemitError; TypeError where something is not JSON."""
        content = encode(call.body)
        until = time.monotonic() + self.settings.deadline(call)
        attempts, pause_s = self.settings.attempts(call), FIRST_PAUSE_S
        while True:
            try:
                return interpret(call, self.settings, *await self._connections.exchange(call, content, until))
            except Interrupted:
                raise
            except Unavailable:
                attempts -= 1
                if attempts == 0 or time.monotonic() + pause_s >= until:
                    raise
            await pause(pause_s)
            pause_s *= 2
