"""Encoding an answer as bytes."""

from http import HTTPStatus
from typing import Final

from app.http.answers import Answer

STATUS_LINES: Final = {each.value: b"HTTP/1.1 %d %b\r\n" % (each, each.phrase.encode()) for each in HTTPStatus}
CLOSE: Final = b"connection: close\r\n"


def encode_answer(answer: Answer, common_headers: bytes, *, keep_alive: bool) -> bytes:
    """The bytes of a complete answer. common_headers: the headers of every answer, encoded."""
    parts = [STATUS_LINES[answer.status], common_headers]
    for name, value in answer.headers:
        parts += (name, b": ", value, b"\r\n")
    if not keep_alive:
        parts.append(CLOSE)
    if answer.body:
        parts.append(b"content-length: %d\r\n" % len(answer.body))
    parts += (b"\r\n", answer.body)
    return b"".join(parts)
