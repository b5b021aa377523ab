"""Limits how many streamed answers an API key may have open: streams of events, and exports while they are sent.

Each replica counts for itself, because the limit protects its sockets and the memory held for slow readers.
"""

from collections import Counter


class OpenStreams:
    """Open streams, counted by key."""

    def __init__(self, per_key: int) -> None:
        self.per_key = per_key
        self._open: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._open.total()

    def enter(self, key_id: str) -> bool:
        """Count one more until `leave`; False if there is no room."""
        if self._open[key_id] >= self.per_key:
            return False
        self._open[key_id] += 1
        return True

    def leave(self, key_id: str) -> None:
        """One of them has ended."""
        self._open[key_id] -= 1
        if not self._open[key_id]:
            del self._open[key_id]
