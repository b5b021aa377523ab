"""The log as a file: JSON lines or CSV, with a final record that proves it is complete."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct, UnsetType

from app.model.audit import AuditEntry, Format, decode_entry
from app.model.logged_codes import code_from

COLUMNS = (
    "id",
    "timestamp",
    "agentId",
    "keyId",
    "action",
    "toolName",
    "result",
    "policyId",
    "ruleIndex",
    "ruleType",
    "reason",
    "latencyMs",
    "parameters",
    "context",
    "policyVersion",
    "code",
    "type",
    "approvalId",
    "decisionId",
    "shadow",
    "suspendedBy",
    "agentName",
    "keyName",
    "policyName",
    "decidedBy",
    "trippedBy",
    "subject",
)
"""The columns of a CSV file. New ones are added last, so every column keeps its number."""

END = "#end"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class End(Struct, frozen=True, rename="camel"):
    """The last record of a file; without it the file is incomplete.

    entries: number of entries in the file. first_sequence, last_sequence: the oldest and newest entry of the log when
    the export began.
    """

    entries: int
    first_sequence: int
    last_sequence: int


NamesOf = Callable[[AuditEntry, int], tuple[str, str, str]]
"""The names of the agent, API key and policy of the entry with this sequence, at its time; empty strings if unknown."""


class Writer:
    """Turns JSON lines into the bytes of a file, chunk by chunk. names_of: for CSV."""

    def __init__(self, kind: Format, names_of: NamesOf) -> None:
        self._is_csv = kind is Format.CSV
        self._names_of = names_of

    def begin(self) -> bytes:
        return _rows([COLUMNS]) if self._is_csv else b""

    def body(self, lines: bytes, sequences: Sequence[int]) -> bytes:
        """The bytes of these entries, given as JSON lines, and their sequences."""
        if not self._is_csv:
            return lines
        return _rows(
            _cells(line, sequence, self._names_of) for line, sequence in zip(lines.splitlines(), sequences, strict=True)
        )

    def end(self, end: End) -> bytes:
        """The last record."""
        if self._is_csv:
            return _rows([(END, "", *(f"{name}={value}" for name, value in msgspec.to_builtins(end).items()))])
        return msgspec.json.encode({"end": end}) + b"\n"


def escaped_cell(cell: str) -> str:
    """The string, preceded by an apostrophe if a spreadsheet would run it as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _cells(line: bytes, sequence: int, names_of: NamesOf) -> list[str | float]:
    entry = decode_entry(line)
    rule = entry.rule
    return [
        escaped_cell(entry.id),
        entry.timestamp,
        escaped_cell(entry.agent_id),
        escaped_cell(entry.key_id),
        escaped_cell(entry.action),
        escaped_cell(entry.tool_name),
        entry.result or "",
        escaped_cell(entry.policy_id or ""),
        "" if rule is None else rule.index,
        "" if rule is None else escaped_cell(rule.type),
        escaped_cell(entry.reason),
        entry.latency_ms,
        bytes(entry.parameters).decode(),
        "" if isinstance(entry.context, UnsetType) else bytes(entry.context).decode(),
        "" if isinstance(entry.policy_version, UnsetType) else entry.policy_version,
        escaped_cell(_code(entry)),
        *(escaped_cell(_text(text)) for text in (entry.type, entry.approval_id, entry.decision_id)),
        "" if isinstance(entry.shadow, UnsetType) else msgspec.json.encode(entry.shadow).decode(),
        escaped_cell(_text(entry.suspended_by)),
        *map(escaped_cell, names_of(entry, sequence)),
        "" if isinstance(entry.decided_by, UnsetType) else msgspec.json.encode(entry.decided_by).decode(),
        escaped_cell(_text(entry.tripped_by)),
        escaped_cell(_text(entry.subject)),
    ]


def _code(entry: AuditEntry) -> str:
    """The entry's code; a decision's is derived from its other fields."""
    if entry.result is None or not isinstance(entry.code, UnsetType):
        return _text(entry.code)
    return code_from(entry.result, None if entry.rule is None else entry.rule.type, entry.reason).value


def _text(value: str | UnsetType) -> str:
    return "" if isinstance(value, UnsetType) else value


def _rows(rows: Iterable[Sequence[str | float]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()
