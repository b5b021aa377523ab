"""The log as a file: JSON lines or CSV, with a final record that proves it is complete."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, UnsetType
from msgspec.structs import fields

from app.model.audit import AuditEntry, Format, decode_entry
from app.model.rules import usual_code

_FIELDS = {field.encode_name: field.name for field in fields(AuditEntry)}
_FIRST = (
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
)
COLUMNS = tuple(dict.fromkeys((*_FIRST, *(name for name in _FIELDS if name != "rule"))))
"""The columns of a CSV file. New fields are added last, so every column keeps its number."""

END = "#end"
_SPLITS = r"[;|\t-\r\x85\u2028\u2029]"
"""Where some spreadsheets begin another cell or row: not at commas, since cells with commas are quoted."""
_FORMULA = r"[\s\"\ufeff\u200b]*[=+\-@\uff1d\uff0b\uff0d\uff20]"
_begins_formula = re.compile(rf"(?:\A|(?<={_SPLITS}))(?={_FORMULA})|\A(?=[\t\r\n])").sub
_splits_before_formula = re.compile(rf"{_SPLITS}(?={_FORMULA})").sub


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
    """The string, with an apostrophe before whatever a spreadsheet would run as a formula, also if it splits cells at
    semicolons, tabs, bars or line breaks.
    """
    return _begins_formula("'", cell)


def _escaped_json(text: str) -> str:
    """The same JSON, in which no such spreadsheet finds a formula."""
    return _splits_before_formula(lambda found: f"\\u{ord(found[0]):04x}", text)


def _cells(line: bytes, sequence: int, names_of: NamesOf) -> list[str | float]:
    entry = decode_entry(line)
    cells = {column: _cell(getattr(entry, name)) for column, name in _FIELDS.items()}
    cells |= zip(("agentName", "keyName", "policyName"), map(escaped_cell, names_of(entry, sequence)), strict=True)
    index, kind = ("", "") if entry.rule is None else (entry.rule.index, escaped_cell(entry.rule.type))
    cells |= {"ruleIndex": index, "ruleType": kind}
    if entry.result is not None and not entry.code:
        cells["code"] = usual_code(entry.result, None if entry.rule is None else entry.rule.type).value
    return [cells[column] for column in COLUMNS]


def _cell(value: Any) -> str | float:
    match value:
        case None | UnsetType():
            return ""
        case str():
            return escaped_cell(value)
        case int() | float():
            return value
        case _:
            return _escaped_json(msgspec.json.encode(value).decode())


def _rows(rows: Iterable[Sequence[str | float]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()
