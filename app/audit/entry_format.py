"""The lines of the log: each stream entry becomes one JSON line in the API's shape, for good.

Every reader gets these bytes, whether the entry is still in the stream or sealed.

An entry has the twelve fields of FIELDS. Further fields that the commit writes come after them under their API names,
and appear in the line after the timestamp, in the order written; `OPTIONAL` defines their form. So an entry without a
field keeps its bytes, and a release that adds a field changes no line of earlier releases. A field unknown to this
release (a newer replica wrote it) is kept as a string. An entry that is not a decision has a field `type` and may have
no result.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import fields

from app.model.audit import AuditEntry
from app.model.decisions import Result
from app.model.times import rfc3339

_json = msgspec.json.encode
_raw = msgspec.json.Decoder(Raw)
_raw_object = msgspec.json.Decoder(dict[str, Raw])
RESULTS = {result.value.encode(): _json(result.value) for result in Result}
_CACHED = 1 << 12
_NULL = b"null"
_MS_DIGITS = 3
_NO_PARAMETERS = b"{}"
FIELDS = (
    b"id",
    b"timeMs",
    b"agentId",
    b"keyId",
    b"action",
    b"toolName",
    b"parameters",
    b"result",
    b"policyId",
    b"rule",
    b"reason",
    b"latencyUs",
)
"""The fields of an entry, as the commit writes them."""
TEXT, NUMBER, JSON = "text", "number", "json"


def _form(kind: Any) -> str:
    """How a value of this type, or UNSET, is written: all but strings, also of enums, and whole numbers as JSON."""
    (named,) = (getattr(each, "__origin__", each) for each in get_args(kind) if each is not UnsetType)
    return TEXT if issubclass(named, str) else NUMBER if named is int else JSON


OPTIONAL = {field.encode_name.encode(): _form(field.type) for field in fields(AuditEntry) if field.default is UNSET}
"""Optional fields of an entry, and the form of each in the line."""
_AS_WRITTEN = list(FIELDS)
_COLUMNS = len(FIELDS)
_IN_EVERY_LINE = {*FIELDS, b"latencyMs", b"timestamp"}
_LINE = (
    b'{"id":"%b","agentId":"%b","keyId":"%b","action":"%b","toolName":"%b","parameters":%b,"result":%b,"policyId":%b,'
    b'"rule":%b,"reason":%b,"latencyMs":%b,"timestamp":"%b.%bZ"}'
)


class Unreadable(ValueError):
    """A stream entry is not what a commit writes; the message says what is wrong."""


def columns_of(fields: Mapping[bytes, bytes] | list[bytes]) -> Sequence[bytes]:
    """The values of these stream fields in the order of FIELDS, then the others as alternating names and values.

    fields: alternating names and values, as the store returns them, or a mapping. Raises Unreadable if one is missing.
    """
    if isinstance(fields, list):
        if fields[::2] == _AS_WRITTEN:
            return fields[1::2]
        if fields[: 2 * _COLUMNS : 2] == _AS_WRITTEN:
            return [*fields[1 : 2 * _COLUMNS : 2], *fields[2 * _COLUMNS :]]
        fields = dict(zip(fields[::2], fields[1::2], strict=True))
    try:
        columns = [fields[name] for name in FIELDS]
    except KeyError as error:
        raise Unreadable(f"{_shown(error.args[0])}: is missing") from None
    for name, value in fields.items():
        if name not in FIELDS:
            columns += (name, value)
    return columns


def line_of(fields: Mapping[bytes, bytes] | list[bytes]) -> bytes:
    """The entry with these stream fields as a line, without a line feed. Raises Unreadable."""
    return line_from(columns_of(fields))


def line_from(columns: Sequence[bytes]) -> bytes:
    """The entry's line, from the result of `columns_of`."""
    try:
        entry_id, time_ms, agent_id, key_id, action, tool_name, parameters, result, policy_id, *rest = columns
        rule, reason, latency_us, *others = rest
        if not time_ms.isdigit() or len(time_ms) <= _MS_DIGITS:
            time_ms = b"%04d" % _in_range(int(time_ms))
        if parameters != _NO_PARAMETERS:
            _raw_object.decode(parameters.decode())
            parameters = _on_one_line(parameters)
        # One search covers all names: nearly all are unchanged in JSON, apart from the quotes.
        names = b" ".join((entry_id, agent_id, key_id, action, tool_name, policy_id))
        if len(_json(names.decode())) != len(names) + 2:
            entry_id, agent_id, key_id, action, tool_name, policy_id = (
                _json(name.decode())[1:-1] for name in (entry_id, agent_id, key_id, action, tool_name, policy_id)
            )
        line = _LINE % (
            entry_id,
            agent_id,
            key_id,
            action,
            tool_name,
            parameters,
            RESULTS[result] if result or b"type" not in others[::2] else _NULL,
            b'"%b"' % policy_id if policy_id else _NULL,
            _rule(rule),
            _json(reason.decode()),
            _json(int(latency_us) / 1000),
            _to_the_second(time_ms[:-_MS_DIGITS]),
            time_ms[-_MS_DIGITS:],
        )
        return line if not others else b"%b%b}" % (line[:-1], _optional(others))
    except KeyError as error:
        raise Unreadable(f"result: {_shown(error.args[0])} is none of the possible values") from None
    except (ValueError, OverflowError, RecursionError, msgspec.DecodeError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None


def placeholder(sequence: int, fields: Mapping[bytes, bytes] | None, why: str, time_ms: int) -> bytes:
    """The line logged in place of an unreadable entry: its readable fields, and why the others cannot be read.

    time_ms: the entry's own if it is readable, otherwise that of the entry before it.
    """
    fields = fields or {}
    line: dict[str, object] = {
        "id": _readable(fields, b"id"),
        "agentId": _readable(fields, b"agentId"),
        "keyId": _readable(fields, b"keyId"),
        "action": _readable(fields, b"action"),
        "toolName": _readable(fields, b"toolName"),
        "parameters": {},
        "result": fields[b"result"].decode() if fields.get(b"result") in RESULTS else None,
        "policyId": _readable(fields, b"policyId") or None,
        "rule": None,
        "reason": f"{placeholder_reason(sequence)}{why}",
        "latencyMs": 0.0,
        "timestamp": rfc3339(time_ms),
    }
    return _json(line)


def placeholder_reason(sequence: int) -> str:
    """The start of a placeholder's reason; no commit writes such a reason."""
    return f"Entry {sequence} of the audit stream could not be sealed as it was: "


def time_ms_of(fields: Mapping[bytes, bytes]) -> int:
    """The entry's time; 0 if it cannot be read."""
    try:
        time_ms = int(fields[b"timeMs"])
        rfc3339(time_ms)
    except (KeyError, ValueError, OverflowError):
        return 0
    return time_ms


def _optional(fields: Sequence[bytes]) -> bytes:
    """The further fields as they appear in the line. fields: alternating names and values. Raises ValueError."""
    written = {}
    for name, value in zip(fields[::2], fields[1::2], strict=True):
        if name in _IN_EVERY_LINE or name in written:
            raise ValueError(f"{_shown(name)}: occurs twice")
        match OPTIONAL.get(name, TEXT):
            case "json":
                _raw.decode(value.decode())
                written[name] = _on_one_line(value)
            case "number":
                written[name] = b"%d" % int(value)
            case _:
                written[name] = _json(value.decode())
    return b"".join(b",%b:%b" % (_json(name.decode()), value) for name, value in written.items())


def _on_one_line(text: bytes) -> bytes:
    """The same JSON without line feeds. They occur only outside strings, where a space means the same."""
    return text.replace(b"\n", b" ").replace(b"\r", b" ") if b"\n" in text or b"\r" in text else text


def _in_range(time_ms: int) -> int:
    rfc3339(time_ms)
    return time_ms


@lru_cache(maxsize=64)
def _to_the_second(seconds: bytes) -> bytes:
    return rfc3339(int(seconds) * 1000).removesuffix(".000Z").encode()


@lru_cache(maxsize=_CACHED)
def _rule(raw: bytes) -> bytes:
    if not raw:
        return _NULL
    index, _, kind = raw.decode().partition(" ")
    return b'{"index":%d,"type":%b}' % (int(index), _json(kind))


def _readable(fields: Mapping[bytes, bytes], name: bytes) -> str:
    try:
        return fields.get(name, b"").decode()
    except UnicodeDecodeError:
        return ""


def _shown(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
