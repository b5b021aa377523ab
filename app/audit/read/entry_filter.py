"""Matches entries against a query, by their lines and by their stream fields."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from app.audit.index_keys import IndexKeys
from app.audit.read.entry_text import EntryText
from app.model.audit import ANY_SHADOW, AuditFilters
from app.model.times import rfc3339

_json = msgspec.json.encode


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
