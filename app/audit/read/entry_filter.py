"""Matches entries against a query, by their lines and by their stream fields; and finds a text in them."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from app.audit.index_keys import IndexKeys
from app.model.audit import ANY_SHADOW, AuditFilters
from app.model.times import rfc3339

_json = msgspec.json.encode
_text_of = msgspec.json.Decoder(str).decode
_values_of = msgspec.json.Decoder(dict[str, Raw]).decode
_QUOTE = ord(b'"')
_unusual = re.compile(rb"(?<!\\)(?:\\\\)*+\\(?:/|u(?!00[01]))").search
_scalars_in = re.compile(rb'"(?:[^"\\]|\\.)*+"|[^][{},:"\s]+').findall


class _Filterable(IndexKeys, rename="camel"):
    """The fields of a line that a query can filter by: those that it is indexed by, and more."""

    id: str = ""
    context: Raw = Raw(b"{}")
    subject: str | None = None


_decode = msgspec.json.Decoder(_Filterable).decode
_context_of = msgspec.json.Decoder(dict[str, Any]).decode


def _is_of(shadow_policy: str | None, wanted: str) -> bool:
    return shadow_policy is not None and wanted in (ANY_SHADOW, shadow_policy)


class EntryFilter:
    """Matches entries. Cheap if few match: a line is decoded only if it contains the bytes that any match contains."""

    def __init__(self, query: AuditFilters) -> None:
        # Fixed width, UTC: these strings sort as the times do.
        self._from = None if query.from_ms is None else rfc3339(query.from_ms)
        self._to = None if query.to_ms is None else rfc3339(query.to_ms)
        self._rule_type = query.rule_type
        # The rarest comes first, because lines are searched for the first.
        values = {
            "id": query.id,
            "subject": query.subject,
            "policyId": query.policy_id,
            "keyId": query.key_id,
            "agentId": query.agent_id,
            "toolName": query.tool_name,
            "action": query.action,
            "result": None if query.result is None else query.result.value,
        }
        filters = {name: text for name, text in values.items() if text is not None}
        self._fields = [(name.encode(), text.encode()) for name, text in filters.items()]
        self._needles = [b'"%b":%b' % (name.encode(), _json(text)) for name, text in filters.items()]
        names = zip(_Filterable.__struct_fields__, _Filterable.__struct_encode_fields__, strict=True)
        self._attributes = [(attribute, filters[name]) for attribute, name in names if name in filters]
        self._rule_suffix = b""
        if query.rule_type is not None:
            self._needles.append(b'"type":%b}' % _json(query.rule_type))
            self._rule_suffix = b" " + query.rule_type.encode()
        context = {"session": query.session, "user": query.user}
        self._context = {name: text for name, text in context.items() if text is not None}
        self._context_needles = [b'"%b":%b' % (name.encode(), _json(text)) for name, text in self._context.items()]
        self._needles[:0] = self._context_needles
        self._shadow = query.shadow
        self._shadow_needle = b""
        if query.shadow is not None:
            self._shadow_needle = b"" if query.shadow == ANY_SHADOW else query.shadow.encode()
            self._needles.insert(0, b'"shadow":{"policyId":"%b' % self._shadow_needle)
        self._text = None if query.text is None else EntryText(query.text)
        self._everything = not self._needles and self._text is None and self._from is None and self._to is None

    def may_hold(self, fields: Mapping[bytes, bytes]) -> bool:
        """False if the entry with these stream fields certainly does not match."""
        return all(fields.get(name) == text for name, text in self._fields) and (
            (not self._rule_suffix or fields.get(b"rule", b"").endswith(self._rule_suffix))
            and all(needle in fields.get(b"context", b"") for needle in self._context_needles)
            and (self._shadow is None or (b"shadow" in fields and self._shadow_needle in fields[b"shadow"]))
        )

    def matches(self, line: bytes) -> bool:
        """True if the line matches the query."""
        if self._everything:
            return True
        for needle in self._needles:
            if needle not in line:
                return False
        if self._text is not None and not self._text.is_in(line):
            return False
        if not self._needles and self._from is None and self._to is None:
            return True
        entry = _decode(line)
        return (
            all(getattr(entry, name) == text for name, text in self._attributes)
            and (self._rule_type is None or entry.rule_type == self._rule_type)
            and (not self._context or self._context.items() <= _context_of(entry.context).items())
            and (self._shadow is None or _is_of(entry.shadow_policy, self._shadow))
            and (self._from is None or entry.timestamp >= self._from)
            and (self._to is None or entry.timestamp <= self._to)
        )

    def select(self, body: bytes) -> list[tuple[int, bytes]]:
        """The matching lines of `body`, each with its index, from 0."""
        text = b"" if self._text is None else self._text.needle(body)
        if text not in body:
            return []
        needle = self._needles[0] if self._needles else text
        if not needle:
            return [(index, line) for index, line in enumerate(body.split(b"\n")) if line and self.matches(line)]
        # Most lines do not contain the needle, so lines are split off and counted only where it is found.
        matches = []
        index = counted = 0
        at = body.find(needle)
        while at >= 0:
            start, end = body.rfind(b"\n", 0, at) + 1, body.find(b"\n", at)
            line = body[start:end]
            if self.matches(line):
                index += body.count(b"\n", counted, start)
                counted = start
                matches.append((index, line))
            at = body.find(needle, end)
        return matches


class EntryText:
    r"""Finds a text in entries: in strings and names of parameters by their characters, in numbers as they are written.

    Nothing is found in the names of an entry's own fields, or across two values. Remit spells each character in one
    way, so bytes are searched for the text as Remit spells it. Where another spelling could hide it (`\u00e9`, `\/`),
    every line is read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._spelled = _json(text)[1:-1]
        self._has_controls = any(character < " " for character in text)

    def needle(self, body: bytes) -> bytes:
        """Bytes that each line of the body with the text contains; b"" if there are none."""
        return b"" if self._may_hide_in(body) else self._spelled

    def is_in(self, line: bytes) -> bool:
        """True if a value of the entry has the text."""
        is_hidden = self._may_hide_in(line)
        if not is_hidden and self._spelled not in line:
            return False
        for value in map(bytes, _values_of(line).values()):
            if is_hidden or self._spelled in value:
                for scalar in _scalars_in(value):
                    if self._text in (_text_of(scalar) if scalar[0] == _QUOTE else scalar.decode()):
                        return True
        return False

    def _may_hide_in(self, body: bytes) -> bool:
        """False if Remit's spelling of the text is the only one in the body."""
        by_number, has_slashes = body.count(rb"\u"), rb"\/" in body
        if self._has_controls or not (by_number or has_slashes):
            return bool(by_number or has_slashes)
        controls = body.count(rb"\u000") + body.count(rb"\u001")
        return (has_slashes or by_number != controls) and _unusual(body) is not None
