"""Entries that cannot be sealed unchanged, kept for a person to inspect: `audit:poison`."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct


class Quarantined(Struct, frozen=True):
    """An entry in quarantine. foreign: no commit made it, so it is removed from the stream."""

    entry_id: str
    why: str
    fields: Mapping[bytes, bytes]
    foreign: bool = True

    @property
    def found(self) -> bytes:
        """Why it was set aside and what it held, as JSON."""
        shown = {_shown(name): _shown(value) for name, value in self.fields.items()}
        return msgspec.json.encode({"why": self.why, "fields": shown})


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
