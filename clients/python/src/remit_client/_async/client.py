"""The client: sends calls, within a deadline, on connections that stay open."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar

from remit_client import calls
from remit_client._async.enforcement import AsyncEnforcer, Context, OnUnavailable, RecordsOf
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

    url, key: if not given, REMIT_URL and REMIT_API_KEY.
    timeout: seconds for a whole answer, retries included; connect_timeout: seconds to connect.
    retries: how often a request is repeated after a failure. Above 0, every decision has an Idempotency-Key, which
    the service keeps for 24 hours.
    http_options: of httpx.AsyncClient, such as `proxy`, `verify`, `cert`, `limits` or `transport`.

    Every failure raises a RemitError. A call counts as allowed only if an answer of the service says so.
    """

    _twin: Any = None

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
    def of(cls, remit: Any) -> AsyncRemit:
        """The client of this kind that goes with `remit`: itself, or the one twin of a client of the other kind.

        A twin has the same settings and its own connections, which all adapters made from `remit` share.
        """
        if isinstance(remit, cls):
            return remit
        twin: AsyncRemit | None = remit._twin  # noqa: SLF001 - it is one of us
        if twin is None:
            twin = cls.__new__(cls)
            twin.settings = remit.settings
            twin._connections = connections_for(twin.settings)  # noqa: SLF001 - a new one
            remit._twin = twin  # noqa: SLF001 - as above
        return twin

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
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
        idempotency_key: str | None = None,
        retries: int = 0,
    ) -> Decision:
        """Ask for the decision on one tool call: run the tool only if it is `.allowed`.

        agent: its id. context: what the caller vouches for and the agent cannot choose, such as
        {"session": …, "user": …}. approval_id: the only approval to use; no new one is asked for.
        idempotency_key: names this call for a day; the same question with the same name is the same call.
        retries: as the client's, for this call, if that is more.
        Raises Unavailable, Refused (APPROVAL_MISMATCH if that approval is not this call's or no longer open),
        MalformedAnswer; TypeError if something is not JSON.
        """
        key = idempotency_key or (new_idempotency_key() if self.settings.retries or retries else None)
        call = calls.authorize(agent, tool, parameters, context, action, key, approval_id)
        return await self.send(call, retries=retries)

    async def authorize_many(
        self, asked: Sequence[Call[Decision]], semantics: calls.Semantics = "execute_all"
    ) -> list[Decision]:
        """Ask for the decisions on several calls in one request: run each tool only if its decision is `.allowed`.

        asked: made by `calls.authorize`. semantics: `execute_all`; `deny_on_first_deny` or `permit_on_first_permit`,
        after which the rest is not decided; or `all_or_nothing`, for a plan that must not be stopped half way: all
        calls are allowed, or none is, and then nothing is taken from limits.
        Raises as `authorize` does.
        """
        key = new_idempotency_key() if self.settings.retries else None
        return await self.send(calls.authorize_many(asked, semantics, key))

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
        records: RecordsOf | None = None,
    ) -> AsyncGuard:
        """A decorator, or the context of an `async with`, in which the tool runs only if it is allowed.

        The parameters of a decorated function are those of the tool. Denied raises Denied; escalated waits up to `wait`
        seconds for a person and then raises ApprovalPending. Without an answer it raises, unless `on_unavailable` is
        "allow". `report_outcome` tells the log what became of the call, in a request of its own; `records`, a function
        of tool, parameters and result, also what rules may read of that.
        """
        enforcer = AsyncEnforcer(
            self,
            agent,
            context=context,
            wait=wait,
            on_unavailable=on_unavailable,
            report_outcome=report_outcome,
            records=records,
        )
        return AsyncGuard(enforcer, tool, parameters)

    async def approval(self, approval_id: str, *, wait: float = 0.0) -> Approval:
        """The approval; if it is pending, once it has been decided or after `wait` seconds."""
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
        """Approve the call; `uses` and `valid_seconds` can grant less than the policy does.

        version: of the approval as the person saw it; refused if it has changed since.
        """
        call = calls.approve(approval_id, note, **grant)
        return await self.send(call if version is None else call.if_version(version))

    async def deny(self, approval_id: str, *, note: str | None = None) -> Approval:
        """Deny the call."""
        return await self.send(calls.deny(approval_id, note))

    async def cancel(self, approval_id: str, *, note: str | None = None) -> Approval:
        """Withdraw the request for approval."""
        return await self.send(calls.cancel(approval_id, note))

    async def report_outcome(self, decision: Decision | str, status: str, records: calls.Records | None = None) -> None:
        """Report what became of an allowed call: `executed`, `failed` or `not_executed`.

        records: of a call that was executed, what rules may read of its result.
        """
        decision_id = decision if isinstance(decision, str) else decision.id
        await self.send(calls.report_outcome(decision_id, status, records))

    async def stream(self, call: Stream[Any]) -> AsyncIterator[Any]:
        """The records of a streamed answer: entries of an export, or `Event`s until you stop reading.

        Raises RemitError; Unavailable also if an export ends before its last record.
        """
        reader = call.reader()
        async for line in self._connections.lines(call):
            for record in reader.feed(line):
                yield record
        reader.end()

    async def send(self, call: Call[T], *, retries: int = 0) -> T:
        """The answer to any call of `remit_client.calls`. Raises RemitError; TypeError if something is not JSON.

        retries: as the client's, for this call, if that is more.
        """
        content = encode(call.body)
        until = time.monotonic() + self.settings.deadline(call)
        attempts, pause_s = self.settings.attempts(call, retries), FIRST_PAUSE_S
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
            self._connections.forget_idle()
            pause_s *= 2
