"""JSON-RPC messages, read so strictly that nobody behind us can read another call out of the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

INVALID_REQUEST = -32600
CONNECTION_CLOSED = -32000
VERSION = "io.modelcontextprotocol/protocolVersion"
Message = dict[str, Any]


class Unreadable(ValueError):
    """This is no message, or one that two readers could understand differently."""


def read(line: bytes) -> Message:
    """The message of a line. Raises Unreadable.

    A name that stands twice in an object would let us judge one call and the server run another, so it is refused, like
    NaN, numbers too large for a double, text that is not UTF-8, and batches.
    """
    return _read(line, _strict)


def read_answer(line: bytes) -> Message:
    """The message of a line that is passed on, not judged: only what no reader understands is refused."""
    return _read(line, _lenient)


def write(message: Message) -> bytes:
    """The line of a message, without line ends inside of it."""
    return _encode(message).encode("utf-8", "surrogatepass") + b"\n"


def error(message_id: Any, code: int, text: str) -> Message:
    """An error as the answer to a request."""
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}


def tool_error(request: Message, text: str) -> Message:
    """A tool's own error as the answer to a call: what the model reads."""
    result: Message = {"content": [{"type": "text", "text": text}], "isError": True}
    params = request.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if isinstance(meta, dict) and VERSION in meta:  # since 2026-07-28 a result says that it is one
        result["resultType"] = "complete"
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": result}


def progress(token: Any, number: int, text: str) -> Message:
    """That a request is still being worked on."""
    params = {"progressToken": token, "progress": number, "message": text}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def is_request(message: Message) -> bool:
    """Whether an answer is wanted."""
    return "method" in message and "id" in message


def _read(line: bytes, decode: Callable[[str], Any]) -> Message:
    try:
        message = decode(line.decode())
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"this is no JSON-RPC message: {error}") from error
    if not isinstance(message, dict):
        raise Unreadable("batches are not supported: send one message after another")
    return message


def _unique(pairs: list[tuple[str, Any]]) -> Message:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number


_strict = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite).decode
_lenient = json.JSONDecoder(parse_constant=_refuse).decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
