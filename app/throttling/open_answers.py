"""How many answers without an end one API key may have open: streams of the log, and exports while they are sent.

Counted in each replica, for what it bounds is the replica's: sockets, and what is held for those that read slowly.
"""

from collections import Counter


class OpenAnswers:
    """Answers that are open, by key."""

    def __init__(self, per_key: int) -> None:
        self.per_key = per_key
        self._open: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._open.total()

    def enter(self, key_id: str) -> bool:
        """Whether there was room for one more; if so, it is counted until `leave`."""
        if self._open[key_id] >= self.per_key:
            return False
        self._open[key_id] += 1
        return True

    def leave(self, key_id: str) -> None:
        """One of them has ended."""
        self._open[key_id] -= 1
        if not self._open[key_id]:
            del self._open[key_id]
