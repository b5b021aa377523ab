"""The lines of the log: an entry of the stream becomes one JSON line, in the API's own shape, for ever.

Every reader gets these bytes, whether the entry is still in the stream or sealed.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct

from app.model.audit import AuditQuery
from app.model.decisions import Result
from app.model.times import rfc3339

_json = msgspec.json.encode
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
_AS_WRITTEN = list(FIELDS)
_LINE = (
    b'{"id":"%b","agentId":"%b","keyId":"%b","action":"%b","toolName":"%b","parameters":%b,"result":%b,"policyId":%b,'
    b'"rule":%b,"reason":%b,"latencyMs":%b,"timestamp":"%b.%bZ"}'
)


class Unreadable(ValueError):
    """An entry of the stream is not what a commit writes; the message says what is wrong."""


class Named(Struct, rename="camel"):
    """What a line can be found by, and whether it stands for an entry that could not be read."""

    agent_id: str
    action: str
    tool_name: str
    result: str | None
    reason: str
    timestamp: str


_named = msgspec.json.Decoder(Named)


def columns_of(fields: Mapping[bytes, bytes] | list[bytes]) -> Sequence[bytes]:
    """The values of these stream fields in the order of FIELDS. Raises Unreadable if one is missing.

    fields: names and values in turns, as the store gives them, or a mapping.
    """
    if isinstance(fields, list):
        if fields[::2] == _AS_WRITTEN:
            return fields[1::2]
        fields = dict(zip(fields[::2], fields[1::2], strict=True))
    try:
        return [fields[name] for name in FIELDS]
    except KeyError as error:
        raise Unreadable(f"{_shown(error.args[0])}: is missing") from None


def line_of(fields: Mapping[bytes, bytes] | list[bytes]) -> bytes:
    """The entry that the stream holds as these fields, without a line feed. Raises Unreadable."""
    return line_from(columns_of(fields))


def line_from(columns: Sequence[bytes]) -> bytes:
    """The same, of the values in the order of FIELDS."""
    try:
        entry_id, time_ms, agent_id, key_id, action, tool_name, parameters, result, policy_id, *rest = columns
        rule, reason, latency_us = rest
        if not time_ms.isdigit() or len(time_ms) <= _MS_DIGITS:
            time_ms = b"%04d" % _in_range(int(time_ms))
        if parameters != _NO_PARAMETERS:
            _raw_object.decode(parameters.decode())
        if b"\n" in parameters or b"\r" in parameters:
            # In JSON they can only stand between tokens, and a line must be one line.
            parameters = parameters.replace(b"\n", b" ").replace(b"\r", b" ")
        # One look for all names: as JSON they are mostly what they are, between quotes.
        names = b" ".join((entry_id, agent_id, key_id, action, tool_name, policy_id))
        if len(_json(names.decode())) != len(names) + 2:
            entry_id, agent_id, key_id, action, tool_name, policy_id = (
                _json(name.decode())[1:-1] for name in (entry_id, agent_id, key_id, action, tool_name, policy_id)
            )
        return _LINE % (
            entry_id,
            agent_id,
            key_id,
            action,
            tool_name,
            parameters,
            RESULTS[result],
            b'"%b"' % policy_id if policy_id else _NULL,
            _rule(rule),
            _json(reason.decode()),
            _json(int(latency_us) / 1000),
            _to_the_second(time_ms[:-_MS_DIGITS]),
            time_ms[-_MS_DIGITS:],
        )
    except KeyError as error:
        raise Unreadable(f"result: {_shown(error.args[0])} is none of the possible values") from None
    except (ValueError, OverflowError, RecursionError, msgspec.DecodeError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None


def placeholder(sequence: int, fields: Mapping[bytes, bytes] | None, why: str) -> bytes:
    """The line that stands in the log for an entry which cannot be read: what is readable of it, and why."""
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
        "timestamp": rfc3339(time_ms_of(fields)),
    }
    return _json(line)


def placeholder_reason(sequence: int) -> str:
    """How the reason of such a line begins; no commit gives it to an entry."""
    return f"Entry {sequence} of the audit stream could not be sealed as it was: "


def time_ms_of(fields: Mapping[bytes, bytes]) -> int:
    """The entry's time; 0 where it cannot be read."""
    try:
        time_ms = int(fields[b"timeMs"])
        rfc3339(time_ms)
    except (KeyError, ValueError, OverflowError):
        return 0
    return time_ms


def tail_line(sequence: int, fields: Mapping[bytes, bytes]) -> bytes:
    """The line that the entry will be when it is sealed."""
    try:
        return line_of(fields)
    except Unreadable as error:
        return placeholder(sequence, fields, str(error))


def named(line: bytes) -> Named:
    return _named.decode(line)


class EntryFilter:
    """Which lines a query asks for, cheaply: bytes that must be in the line first, decoding only what has them."""

    def __init__(self, query: AuditQuery) -> None:
        self._query = query
        # Fixed width, UTC: these texts sort as the times do.
        self._from = None if query.from_ms is None else rfc3339(query.from_ms)
        self._to = None if query.to_ms is None else rfc3339(query.to_ms)
        wanted = {
            b"agentId": query.agent_id,
            b"toolName": query.tool_name,
            b"action": query.action,
            b"result": None if query.result is None else query.result.value,
        }
        self._fields = [(name, text.encode()) for name, text in wanted.items() if text is not None]
        self._needles = [b'"%b":%b' % (name, _json(text)) for name, text in wanted.items() if text is not None]
        self._everything = not self._needles and self._from is None and self._to is None

    def may_hold(self, fields: Mapping[bytes, bytes]) -> bool:
        """False if the line of these stream fields is surely not asked for."""
        return all(fields.get(name) == text for name, text in self._fields)

    def matches(self, line: bytes) -> bool:
        """Whether the line is asked for."""
        if self._everything:
            return True
        for needle in self._needles:
            if needle not in line:
                return False
        entry = _named.decode(line)
        query = self._query
        return (
            (query.agent_id is None or entry.agent_id == query.agent_id)
            and (query.tool_name is None or entry.tool_name == query.tool_name)
            and (query.action is None or entry.action == query.action)
            and (query.result is None or entry.result == query.result)
            and (self._from is None or entry.timestamp >= self._from)
            and (self._to is None or entry.timestamp <= self._to)
        )

    def select(self, body: bytes) -> list[tuple[int, bytes]]:
        """The lines of `body` that are asked for, each with its place, from 0."""
        if not self._needles:
            return [(place, line) for place, line in enumerate(body.split(b"\n")) if line and self.matches(line)]
        # Most lines have no needle in them: they are not even cut out, nor counted before there is a match.
        needle = self._needles[0]
        found = []
        place = counted = 0
        at = body.find(needle)
        while at >= 0:
            start, end = body.rfind(b"\n", 0, at) + 1, body.find(b"\n", at)
            line = body[start:end]
            if self.matches(line):
                place += body.count(b"\n", counted, start)
                counted = start
                found.append((place, line))
            at = body.find(needle, end)
        return found


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
