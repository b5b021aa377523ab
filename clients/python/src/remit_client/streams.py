"""Streamed answers: lines of JSON, and server-sent events. No I/O, so both clients share it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from remit_client.errors import MalformedAnswer, Unavailable


@dataclass(frozen=True)
class Event:
    """One server-sent event. To resume the stream after it, pass its `id`."""

    id: str | None
    name: str | None
    data: Any


class Reader(Protocol):
    """Turns lines into records."""

    def feed(self, line: str) -> list[Any]:
        """The records that this line completes."""

    def end(self) -> None:
        """Note the end of the stream. Raises Unavailable if it ended early."""


class _JsonLines:
    """Lines of JSON, of which the last one says that all is there."""

    _ended_early: str

    def __init__(self) -> None:
        self._whole = False

    def feed(self, line: str) -> list[Any]:
        """The record of this line; none if it is blank or says only that all is there."""
        return self._records(_json(line)) if line.strip() else []

    def end(self) -> None:
        """Raises Unavailable unless all is there."""
        if not self._whole:
            raise Unavailable(self._ended_early)

    def _records(self, record: Any) -> list[Any]:
        raise NotImplementedError


class Export(_JsonLines):
    """Entries, and a last record that says that the export is complete."""

    _ended_early = "The export ended before its last record, so entries are missing. Ask for it again."

    def _records(self, record: Any) -> list[Any]:
        if isinstance(record, dict) and "end" in record:
            self._whole = True
            return []
        return [record]


class Replay(_JsonLines):
    """Progress, samples of flips, and finally the report. Unavailable if a line says why there will be none."""

    _ended_early = "The replay ended before its report. Ask for it again."

    def _records(self, record: Any) -> list[Any]:
        if isinstance(record, dict) and "error" in record:
            raise Unavailable(f"The replay has no result: {record['error']}")
        self._whole = isinstance(record, dict) and "report" in record
        return [record]


class Events:
    """Server-sent events; comments only keep the connection alive."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> list[Any]:
        """The event that ends here, if the line is empty."""
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data" and "data" in self._fields:
                value = f"{self._fields['data']}\n{value}"
            if name:
                self._fields[name] = value
            return []
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return []
        return [Event(fields.get("id"), fields.get("event"), _json(fields["data"]))]

    def end(self) -> None:
        """Do nothing: either side may end a stream of events at any time."""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(f"The stream contains something that is not JSON ({error}).") from error
