"""Shares of one replica's memory, processes and sockets: large calls and replays by workspace and key, and streamed
answers by key.

A large call counts from before its body is read until it is answered, with its announced size, whether or not all of it
has arrived. So slow senders cannot fill the memory, and no workspace can take all the room. Each replica counts for
itself, because these limits protect the replica alone.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import Overloaded


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


class Shares:
    """Amounts of something scarce, by workspace, and in each by key.

    A workspace has at most `per_workspace`, a key at most half of that (of single things at least one), all together at
    most `in_all`.
    """

    def __init__(self, per_workspace: int, in_all: int = sys.maxsize) -> None:
        self._in_all, self.per_workspace = in_all, per_workspace
        self.per_key = max(1, per_workspace // 2)
        self._of_workspaces: Counter[str] = Counter()
        self._of_keys: Counter[tuple[str, str]] = Counter()

    @property
    def total(self) -> int:
        """What all of them have together."""
        return self._of_workspaces.total()

    def of_key(self, workspace_id: str, key: str) -> int:
        """What this key has in the workspace: a person may have sessions in several."""
        return self._of_keys.get((workspace_id, key), 0)

    def has_room(self, workspace_id: str, key: str, amount: int = 1) -> bool:
        """True if the key may have so much more."""
        room = self.per_workspace - self._of_workspaces.get(workspace_id, 0)
        return amount <= min(room, self.per_key - self.of_key(workspace_id, key), self._in_all - self.total)

    def enter(self, workspace_id: str, key: str, amount: int = 1) -> int:
        """Count so much more until `leave`; return it."""
        self._of_workspaces[workspace_id] += amount
        self._of_keys[workspace_id, key] += amount
        return amount

    def leave(self, workspace_id: str, key: str, amount: int = 1) -> None:
        """It is free again."""
        self._of_workspaces[workspace_id] -= amount
        self._of_keys[workspace_id, key] -= amount
        if not self._of_workspaces[workspace_id]:
            del self._of_workspaces[workspace_id]
        if not self._of_keys[workspace_id, key]:
            del self._of_keys[workspace_id, key]


LARGE_BYTES = 64 * 1024
"""Larger calls are counted here."""

_LARGEST = 1040 * 1024
_IN_ALL, _PER_WORKSPACE = 64 * _LARGEST, 16 * _LARGEST


class LargeCalls(Shares):
    """Bytes of the bodies of large calls, as announced."""

    def __init__(self, in_all: int = _IN_ALL, per_workspace: int = _PER_WORKSPACE) -> None:
        super().__init__(per_workspace, in_all)

    def enter(self, workspace_id: str, key: str, amount: int = 1) -> int:
        """Count a body of this size until `leave`; return it. Raises Overloaded if there is no room for it."""
        if not self.has_room(workspace_id, key, amount):
            raise Overloaded(
                "This replica has too many large bodies of this key or workspace at once; nothing was done"
            )
        return super().enter(workspace_id, key, amount)

    @contextmanager
    def room_for(self, workspace_id: str, key: str, size: int) -> Iterator[None]:
        """Count the body, if it is large, for as long as the block runs. Raises Overloaded if there is no room."""
        if size <= LARGE_BYTES:
            yield
            return
        self.enter(workspace_id, key, size)
        try:
            yield
        finally:
            self.leave(workspace_id, key, size)
