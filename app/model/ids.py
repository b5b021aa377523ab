"""Identifiers: UUIDs in their canonical lower-case form; ours are of version 7, so they sort by time."""

import os
import re

_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch
_POOL_BYTES = 4096


class Ids:
    """Makes UUIDv7s (RFC 9562 §5.7): 48 bits of time in ms, 74 random bits.

    Random bytes are drawn from the system in blocks, because one system call an id is a tenth of a decision.
    An instance belongs to one process: after a fork both halves would hand out the same ids.
    """

    def __init__(self) -> None:
        self._pool = b""
        self._next = 0

    def new(self, now_ms: int) -> str:
        """An id never handed out before, whose first 12 digits are `now_ms`."""
        start = self._next
        if start + 10 > len(self._pool):
            self._pool = os.urandom(_POOL_BYTES)
            start = 0
        self._next = start + 10
        random = int.from_bytes(self._pool[start : start + 10], "big")
        rand_a = random >> 68
        rand_b = (random >> 6) & 0x3FFF_FFFF_FFFF_FFFF
        text = f"{(now_ms << 80) | 0x7000_8000_0000_0000_0000 | (rand_a << 64) | rand_b:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def canonical_uuid(text: str) -> str | None:
    """`text` in lower case if it is a UUID with dashes, else None."""
    lowered = text if _CANONICAL(text) else text.lower()
    return lowered if _CANONICAL(lowered) and text.isascii() else None
