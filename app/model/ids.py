"""Identifiers: UUIDs in their canonical lower-case form; ours are of version 7, so they sort by time."""

import os
import re

_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch
_POOL_BYTES = 4096
_DIGITS = 19
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""The digit that holds the variant, 10xx in binary, made of two random bits."""


class Ids:
    """Makes UUIDv7s (RFC 9562 §5.7): 48 bits of time in ms, a counter of 12 bits, 62 random bits.

    Ids of one instance sort in the order in which they were made, also within a millisecond (§6.2, method 1: the
    counter starts at a random number below 2048; past 4095 in one millisecond the order is lost, not the identity).

    Random bytes are drawn from the system in blocks, because one system call an id is a tenth of a decision.
    An instance belongs to one process: after a fork both halves would hand out the same ids.
    """

    def __init__(self) -> None:
        self._pool = ""
        self._next = 0
        self._latest_ms = -1
        self._count = 0

    def new(self, now_ms: int) -> str:
        """An id never handed out before, whose first 12 digits are `now_ms`, ms since the epoch."""
        start = self._next
        if start + _DIGITS > len(self._pool):
            self._pool = os.urandom(_POOL_BYTES).hex()
            start = 0
        self._next = start + _DIGITS
        random = self._pool[start : start + _DIGITS]
        if now_ms == self._latest_ms:
            self._count = (self._count + 1) & 0xFFF
        else:
            self._latest_ms = now_ms
            self._count = int(random[:3], 16) >> 1
        time = f"{now_ms:012x}"
        return f"{time[:8]}-{time[8:]}-7{self._count:03x}-{_VARIANT[random[3]]}{random[4:7]}-{random[7:]}"


def canonical_uuid(text: str) -> str | None:
    """`text` in lower case if it is a UUID with dashes, else None."""
    if _CANONICAL(text):
        return text
    lowered = text.lower()
    return lowered if text.isascii() and _CANONICAL(lowered) else None
