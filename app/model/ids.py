"""Identifiers: UUIDs in lower case; new ones are version 7, so they sort by time."""

import os
import re

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch
_AT_ONCE = 256
_RANDOM_BYTES = 10
_KEPT = int.from_bytes((b"\xff\xff\x3f" + b"\xff" * 7) * _AT_ONCE)
_VARIANT = int.from_bytes((b"\x00\x00\x80" + bytes(7)) * _AT_ONCE)
"""Masks for ten random bytes: two start the counter, and eight end the id, beginning with the bits 10 (the variant)."""

_COUNTS = tuple(f"{count:03x}" for count in range(4096))
"""A table, because formatting a number would take a third of the time of making an id."""


class Ids:
    """Makes UUIDv7s (RFC 9562 §5.7): 48 bits of time in ms, a counter of 12 bits, 62 random bits.

    Ids of one instance sort in the order in which they were made, even within a millisecond (§6.2, method 1: the
    counter starts at a random number below 2048; past 4095 in one millisecond the order is lost, uniqueness is not).

    Random bytes are drawn from the system in blocks, because one system call per id is a tenth of a decision. An
    instance belongs to one process: after a fork, both processes would give out the same ids.
    """

    def __init__(self) -> None:
        self._drawn: list[str] = []
        self._latest_ms = -1
        self._time = ""
        self._count = 0

    def new(self, now_ms: int) -> str:
        """An id never given out before, whose first 12 digits are `now_ms`, ms since the epoch."""
        if not self._drawn:
            self._draw()
        random = self._drawn.pop()
        if now_ms == self._latest_ms:
            self._count = (self._count + 1) & 0xFFF
        else:
            time = f"{now_ms:012x}"
            self._latest_ms, self._time = now_ms, f"{time[:8]}-{time[8:]}-7"
            self._count = int(random[:4], 16) >> 5
        return f"{self._time}{_COUNTS[self._count]}-{random[4:8]}-{random[8:]}"

    def _draw(self) -> None:
        """Draw the random parts of the next ids at once."""
        size = _AT_ONCE * _RANDOM_BYTES
        bits = int.from_bytes(os.urandom(size)) & _KEPT | _VARIANT
        self._drawn = bits.to_bytes(size).hex(" ", _RANDOM_BYTES).split(" ")


def time_of_id(ms: int) -> str:
    """How ids made at this time begin, ms since the epoch; all that were made earlier sort before it."""
    digits = f"{ms:012x}"
    return f"{digits[:8]}-{digits[8:]}"


def time_ms_of(uuid: str) -> int:
    """When one of these ids was made, ms since the epoch; meaningless for any other UUID."""
    return int(uuid[:8] + uuid[9:13], 16)


def uuid_of(text: str) -> str | None:
    """`text` in lower case if it is a UUID with dashes, else None."""
    if _UUID(text):
        return text
    lowered = text.lower()
    return lowered if text.isascii() and _UUID(lowered) else None
