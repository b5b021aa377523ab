"""JSON-RPC messages, read so strictly that the server cannot understand the same bytes as a different call."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from remit_client.arguments import folded, strict_json

INVALID_REQUEST = -32600
CONNECTION_CLOSED = -32000
NOT_ALLOWED = -32001
INTERNAL_ERROR = -32603
CALL = "tools/call"
READS = {
    "resources/read": ("resource.resources/read", ("uri",)),
    "resources/subscribe": ("resource.resources/read", ("uri",)),
    "prompts/get": ("prompt.prompts/get", ("name", "arguments")),
}
"""What is judged besides tool calls: as which tool, whose names are those of AuthZEN's binding, and on which params."""

JUDGED = frozenset({CALL, *READS})
ENVELOPE = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
PARAMS = frozenset({"name", "arguments", "uri", "_meta", "requestId"})
VERSION = "io.modelcontextprotocol/protocolVersion"
Message = dict[str, Any]


class Unreadable(ValueError):
    """The bytes are not a message, or two parsers could understand them differently."""


def read(line: bytes) -> Message:
    """The message in a line. Raises Unreadable.

    With a duplicate name in an object, or two that differ only in letter case, we could judge one call while the server
    runs another, so these are refused. So are other spellings of the protocol's own names and of judged methods, a
    method that is not visible ASCII, NaN, numbers too large for a double, text that is not UTF-8, and batches.
    """
    message = _read(line, strict_json)
    params = message.get("params")
    _require_spelled(message, ENVELOPE)
    _require_spelled(params if isinstance(params, dict) else {}, PARAMS)
    method = message.get("method")
    if method is None and "id" in message and ("result" in message or "error" in message):
        return message
    if not isinstance(method, str):
        raise Unreadable("a request or notification needs a string as method")
    if not _is_method(method) or (method not in JUDGED and folded(method) in JUDGED):
        raise Unreadable("a method must be visible ASCII characters, and one that is judged in its own spelling")
    return message


def read_answer(line: bytes) -> Message:
    """The message in a line from the server, which is passed on without being judged. Raises Unreadable.

    Only what no parser accepts is refused. Numbers that JSON does not have are None.
    """
    return _read(line, _lenient)


def id_of_unreadable(line: bytes) -> str | int | None:
    """The id of an answer that cannot be read otherwise; None if it shows none, or is a request."""
    depth, found = 0, None
    for token in _TOKEN.finditer(line):
        text = token[0]
        depth += (text in (b"{", b"[")) - (text in (b"}", b"]"))
        if depth == 1 and token["method"]:
            return None
        if depth == 1 and found is None and token["id"]:
            found = token["id"]
    try:
        return None if found is None else json.loads(found)
    except ValueError:
        return None


def write(message: Message) -> bytes:
    """A message as one line, wherever its reader ends lines, and in UTF-8, also with half a surrogate pair."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", _encode(message)).encode() + b"\n"


def one_line(line: bytes, message: Message) -> bytes:
    """The line that was read as `message`, or the same message written anew if some readers would end it earlier.

    To them the rest would be another message, which nobody has judged.
    """
    return write(message) if _LINE_END.search(line) else line + b"\n"


def require_exact(arguments: Message) -> None:
    """Raise Unreadable if a server that reads numbers as doubles would read a whole number as another."""
    _exact(_encode(arguments))


def error(message_id: Any, code: int, text: str) -> Message:
    """The answer to a request that failed."""
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}


def asked_by(message: Message, prefix: str = "") -> tuple[str, Message]:
    """Tool and parameters of a request that is judged. Raises Unreadable if a server could carry out none.

    prefix: what policies have before the names of this server's tools.
    """
    method, params = message["method"], message.get("params")
    params = params if isinstance(params, dict) else {}
    called = "uri" if method.startswith("resources/") else "name"
    arguments = params.get("arguments")
    if not isinstance(params.get(called), str) or not isinstance(arguments, (dict, type(None))):
        also = "" if called == "uri" else " and, if it has arguments, an object"
        raise Unreadable(f"{method} needs params with a string as {called}{also}")
    if method == CALL:
        return prefix + params["name"], arguments or {}
    tool, names = READS[method]
    return tool, {name: params[name] for name in names if params.get(name) is not None}


def refusal(request: Message, text: str) -> Message:
    """The answer to a request that was not let through: of a tool as its error, so that the model reads it."""
    return tool_error(request, text) if request["method"] == CALL else error(request.get("id"), NOT_ALLOWED, text)


def private(result: Message) -> Message:
    """The result of a listing as one agent's: a cache that others read must not keep it, and it can change at once."""
    given = {"cacheScope": "private", "ttlMs": 0}
    return {**result, **given} if given.keys() & result.keys() else result


def tool_error(request: Message, text: str) -> Message:
    """The answer to a call as an error of the tool, so that the model reads it."""
    result: Message = {"content": [{"type": "text", "text": text}], "isError": True}
    if is_modern(request.get("params")):
        result["resultType"] = "complete"
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": result}


def progress(token: Any, number: int, text: str) -> Message:
    """A notification that a request is still in progress."""
    params = {"progressToken": token, "progress": number, "message": text}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def is_modern(params: Any) -> bool:
    """Whether a request is of the protocol of 2026-07-28 or later, in which each one names it."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION in meta


def is_request(message: Message) -> bool:
    """Whether the sender expects an answer."""
    return "method" in message and "id" in message


def _require_spelled(holder: Message, names: frozenset[str]) -> None:
    spelled = {folded(name): name for name in names}
    for name in holder:
        if name not in names and (known := spelled.get(folded(name))):
            raise Unreadable(f'"{known}" is in another spelling, which some parsers read as that name')


def _read(line: bytes, decode: Callable[[str], Any]) -> Message:
    try:
        message = decode(line.decode())
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not a JSON-RPC message: {error}") from error
    if not isinstance(message, dict):
        raise Unreadable("must be one JSON object per line; batches are not supported")
    return message


def _double(number: str) -> float:
    if float(number) != int(number):
        raise Unreadable(f"some programs would round the number {number:.40}; pass it as a text")
    return float(number)


def _no_number(constant: str) -> None:
    """What stands in a list that is written anew where the server wrote NaN."""


def _finite(number: str) -> float | None:
    return value if math.isfinite(value := float(number)) else None


_ESCAPED = re.compile("[\x85\u2028\u2029\ud800-\udfff]")
_LINE_END = re.compile("\r|\x85|\u2028|\u2029".encode())
_is_method = re.compile(r"[!-~]+").fullmatch
_TOKEN = re.compile(
    rb'"id"\s*:\s*(?P<id>"(?:[^"\\]|\\.)*"|-?[0-9]+(?![0-9.eE]))|(?P<method>"method"\s*:)|"(?:[^"\\]|\\.)*"|[{}\[\]]'
)
_lenient = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite).decode
_exact = json.JSONDecoder(parse_int=_double).decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
