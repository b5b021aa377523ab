"""Answers that go on: lines of JSON, and server-sent events; knows nothing of sockets, so both clients share it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from remit_client.errors import MalformedAnswer, Unavailable


@dataclass(frozen=True)
class Event:
    """One server-sent event. `id` is what to begin after when the stream is opened again."""

    id: str | None
    name: str | None
    data: Any


class Reader(Protocol):
    """Makes records of lines."""

    def feed(self, line: str) -> list[Any]:
        """The records that are whole with this line."""

    def end(self) -> None:
        """No line comes any more. Raises Unavailable where more should have come."""


class Export:
    """Lines of JSON; the last one says that the export is whole."""

    def __init__(self) -> None:
        self._whole = False

    def feed(self, line: str) -> list[Any]:
        """The entry of this line; none for the last one."""
        if not line.strip():
            return []
        record = _json(line)
        if isinstance(record, dict) and "end" in record:
            self._whole = True
            return []
        return [record]

    def end(self) -> None:
        """Raises Unavailable unless the export said that it was whole."""
        if not self._whole:
            raise Unavailable("The export ended before its last record, so entries are missing. Ask for it again.")


class Replay:
    """Lines of JSON: progress, samples of what would flip, and at last the report."""

    def __init__(self) -> None:
        self._whole = False

    def feed(self, line: str) -> list[Any]:
        """What this line says. Raises Unavailable where it says why there will be no report."""
        if not line.strip():
            return []
        record = _json(line)
        if isinstance(record, dict) and "error" in record:
            raise Unavailable(f"The replay has no result: {record['error']}")
        self._whole = isinstance(record, dict) and "report" in record
        return [record]

    def end(self) -> None:
        """Raises Unavailable unless the report has come."""
        if not self._whole:
            raise Unavailable("The replay ended before its report. Ask for it again.")


class Events:
    """Server-sent events; comments keep the connection alive and say nothing."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> list[Any]:
        """The event that ends with this line, if it is an empty one."""
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
        """Nothing: a stream of events ends when either side wants it to."""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(f"The stream holds something that is no JSON ({error}).") from error
