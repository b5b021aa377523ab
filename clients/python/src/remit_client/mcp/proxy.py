"""The proxy between client and server: it judges calls and, if one is refused, answers in the server's place."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from remit_client.errors import for_agent
from remit_client.legs import Asked, Legs
from remit_client.mcp.channels import Channel, Heard
from remit_client.mcp.messages import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    JUDGED,
    Message,
    Unreadable,
    asked_by,
    error,
    id_of_unreadable,
    is_modern,
    is_request,
    one_line,
    private,
    progress,
    read,
    read_answer,
    refusal,
    require_exact,
    write,
)

logger = logging.getLogger("remit_client")

PROGRESS_EVERY_S = 5.0
NEEDS_APPROVAL = "A person must approve each call of this tool; the call may take a while."
Check = Callable[[str, Mapping[str, Any], "list[str] | None"], Awaitable[object]]
Statuses = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]


class Proxy:
    """Passes everything on unchanged, except that it judges calls and reads, and shortens the answer to `tools/list`.

    check: of a tool, its arguments and the place of the call; returns if the call is allowed, otherwise raises.
    statuses: what the agent may call of these tools; empty if Remit cannot say.
    prefix: what policies have before the names of the server's tools.
    exact_integers: the server reads whole numbers exactly, so they need not be refused.
    """

    def __init__(
        self,
        client: Channel,
        server: Channel,
        check: Check,
        statuses: Statuses,
        *,
        prefix: str = "",
        exact_integers: bool = False,
    ) -> None:
        self._client = client
        self._server = server
        self._check = check
        self._statuses = statuses
        self._prefix = prefix
        self._exact_integers = exact_integers
        self._judging: dict[Any, asyncio.Task[None]] = {}
        self._listing: set[Any] = set()
        self._legs = Legs()
        self._unanswered: dict[Any, tuple[Asked, list[str]] | None] = {}
        self._waiting: list[bytes] = []
        self._showing: asyncio.Task[None] | None = None

    async def run(self) -> bool:
        """Pass messages both ways until one side disconnects. True: the client did; False: the server did."""
        left: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def hear(handle: Callable[[bytes], None], *, client: bool) -> Heard:
            def heard(line: bytes | None) -> None:
                if not left.done():
                    left.set_result(client) if line is None else handle(line)

            return heard

        self._client.listen(hear(self._from_client, client=True))
        self._server.listen(hear(self._from_server, client=False))
        try:
            return await left
        finally:
            left.cancel()
            self._unanswered.update(dict.fromkeys(self._judging))
            tasks = [*self._judging.values(), *filter(None, [self._showing])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def fail_unanswered(self, why: str) -> None:
        """Answer every request that the server has left open with an error that says `why`."""
        for message_id in self._unanswered:
            self._client.send(write(error(message_id, CONNECTION_CLOSED, why)))
        self._unanswered.clear()

    def _from_client(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = read(line)
        except Unreadable as unreadable:
            self._client.send(write(error(None, INVALID_REQUEST, f"Not passed on: {unreadable}")))
            return
        method = message.get("method")
        if method in JUDGED:
            self._begin_to_judge(message)
        elif method != "notifications/cancelled" or not self._cancel(message):
            self._note(message)
            self._server.send(one_line(line, message))

    def _note(self, message: Message) -> None:
        if is_request(message) and _hashable(message["id"]):
            self._unanswered[message["id"]] = None
            if message["method"] == "tools/list":
                self._listing.add(message["id"])

    def _begin_to_judge(self, message: Message) -> None:
        message_id = message.get("id")
        if not isinstance(message_id, (str, int)) or isinstance(message_id, bool):
            text = f"{message['method']} must be a request whose id is a string or an integer"
            self._client.send(write(error(None, INVALID_REQUEST, text)))
        elif message_id in self._judging or message_id in self._unanswered:
            self._client.send(write(error(message_id, INVALID_REQUEST, "this id is in use by another request")))
        else:
            self._judging[message_id] = asyncio.create_task(self._judge(message_id, message))

    async def _judge(self, message_id: Any, message: Message) -> None:
        """Pass the call on exactly as it was judged, or answer it here."""
        try:
            try:
                tool, arguments = asked_by(message, self._prefix)
            except Unreadable as unreadable:
                self._client.send(write(error(message_id, INVALID_REQUEST, str(unreadable))))
                return
            try:
                if not self._exact_integers:
                    require_exact(arguments)
            except Unreadable as unreadable:
                self._client.send(write(refusal(message, f'"{tool}" was not run: {unreadable}.')))
                return
            leg = self._leg(message["params"], tool, arguments)
            async with self._progress(message["params"]):
                await self._check(tool, arguments, leg and leg[1])
            self._unanswered[message_id] = leg
            self._server.send(write(message))
        except Exception as why:  # noqa: BLE001 - whatever failed, the call does not pass and the model reads why
            self._client.send(write(refusal(message, for_agent(why))))
        finally:
            del self._judging[message_id]

    def _leg(self, params: Message, tool: str, arguments: Message) -> tuple[Asked, list[str]] | None:
        """What is asked, and the place of the call that this is a leg of; None if no answer of the server can ask."""
        if not is_modern(params):
            return None
        asked, answers = ("", tool, arguments), "inputResponses" in params or "requestState" in params
        return asked, self._legs.place(asked, answers=answers, state=params.get("requestState"))

    @contextlib.asynccontextmanager
    async def _progress(self, params: Any) -> Any:
        """Send progress while the block runs, if the client asked for it; otherwise it would give up waiting."""
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        task = None if token is None else asyncio.create_task(self._tell_progress(token))
        try:
            yield
        finally:
            if task is not None:
                task.cancel()

    async def _tell_progress(self, token: Any) -> None:
        number = 0
        while True:
            await asyncio.sleep(PROGRESS_EVERY_S)
            number += 1
            self._client.send(write(progress(token, number, "Waiting for a person's approval")))

    def _cancel(self, message: Message) -> bool:
        """Cancel a call that is being judged. False: there is none, so the server must hear of the cancellation."""
        params = message.get("params")
        message_id = params.get("requestId") if isinstance(params, dict) else None
        task = self._judging.get(message_id) if _hashable(message_id) else None
        if task is None:
            return False
        task.cancel()
        return True

    def _from_server(self, line: bytes) -> None:
        if self._showing is not None:  # keeps the order of messages
            self._waiting.append(line)
            return
        try:
            message = read_answer(line)
        except Unreadable:
            self._answer_unreadable(line)
            return
        message_id = message.get("id")
        if "method" not in message and _hashable(message_id):
            leg, result = self._unanswered.pop(message_id, None), message.get("result")
            if leg is not None and isinstance(result, dict) and result.get("resultType") == "input_required":
                self._legs.expect(*leg, result.get("requestState"))
            if message_id in self._listing:
                self._listing.discard(message_id)
                self._showing = asyncio.create_task(self._show(message))
                return
        self._client.send(line + b"\n")

    def _answer_unreadable(self, line: bytes) -> None:
        """Answer the request that the line was the answer to, if it says which; otherwise it would stay open."""
        if line.strip():
            logger.warning("The server wrote a line that is not a message: %.200r", line)
        message_id = id_of_unreadable(line)
        if message_id in self._unanswered:
            del self._unanswered[message_id]
            self._listing.discard(message_id)
            self._client.send(write(error(message_id, INTERNAL_ERROR, "The MCP server's answer cannot be read")))

    async def _show(self, message: Message) -> None:
        """Send the list of tools, and then what arrived while it was being made."""
        self._client.send(write(await self._shown(message)))
        self._showing, lines, self._waiting = None, self._waiting, []
        for line in lines:
            self._from_server(line)

    async def _shown(self, message: Message) -> Message:
        """A list of tools without those that can never be allowed, as one agent's."""
        result = message.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(tools, list):
            return message
        names = {self._prefix + name: name for tool in tools if (name := _name(tool))}
        statuses = {
            names[named]: status for named, status in (await self._statuses([*names])).items() if named in names
        }
        shown = [_annotated(tool, statuses) for tool in tools if statuses.get(_name(tool)) != "denied"]
        return {**message, "result": {**private(result), "tools": shown}}


def _annotated(tool: Any, statuses: Mapping[str, str]) -> Any:
    if not isinstance(tool, dict) or statuses.get(_name(tool)) != "escalated":
        return tool
    return {**tool, "description": f"{tool.get('description') or ''} {NEEDS_APPROVAL}".strip()}


def _name(tool: Any) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else ""


def _hashable(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)
