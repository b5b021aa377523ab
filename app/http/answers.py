"""Answers sent without the router: a status, headers without the length, and a body."""

from typing import NamedTuple

from litestar.types import Message, Send

Header = tuple[bytes, bytes]
JSON: Header = (b"content-type", b"application/json")


class Answer(NamedTuple):
    """The answer to a request. A body's type is among the headers; the sender adds its length."""

    status: int
    headers: list[Header]
    body: bytes = b""


async def send_answer(send: Send, answer: Answer) -> None:
    """Send the answer to an ASGI server, with its length if it has a body."""
    length = [(b"content-length", b"%d" % len(answer.body))] if answer.body else []
    await send({"type": "http.response.start", "status": answer.status, "headers": [*answer.headers, *length]})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def with_headers(send: Send, headers: list[Header]) -> Send:
    """`send`, adding these headers to the answer."""
    if not headers:
        return send

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *headers]
        await send(message)

    return send_with_headers
