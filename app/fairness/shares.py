"""Shares of one replica's memory and sockets: large calls by workspace and key, and streamed answers by key.

A large call counts from before its body is read until it is answered, with its announced size, whether or not all of it
has arrived. So slow senders cannot fill the memory, and no workspace can take all the room. Each replica counts for
itself, because these limits protect the replica alone.
"""

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


LARGE_BYTES = 64 * 1024
"""Larger calls are counted here."""

_LARGEST = 1040 * 1024
_IN_ALL, _PER_WORKSPACE = 64 * _LARGEST, 16 * _LARGEST


class LargeCalls:
    """Bytes of the bodies of large calls, by workspace, and in each by key: no key gets more than half of them."""

    def __init__(self, in_all: int = _IN_ALL, per_workspace: int = _PER_WORKSPACE) -> None:
        self._in_all, self._per_workspace = in_all, per_workspace
        self._bytes: Counter[str] = Counter()
        self._of_keys: Counter[str] = Counter()

    @property
    def total_bytes(self) -> int:
        """The announced bytes of all of them together."""
        return self._bytes.total()

    def enter(self, workspace_id: str, key: str, size: int) -> bool:
        """Count a body of this size until `leave`; False if there is no room for it."""
        room = self._per_workspace - self._bytes.get(workspace_id, 0)
        room_of_key = self._per_workspace // 2 - self._of_keys.get(key, 0)
        if size > min(room, room_of_key, self._in_all - self.total_bytes):
            return False
        self._bytes[workspace_id] += size
        self._of_keys[key] += size
        return True

    @contextmanager
    def room_for(self, workspace_id: str, key: str, size: int) -> Iterator[None]:
        """Count the body, if it is large, for as long as the block runs. Raises Overloaded if there is no room."""
        if size <= LARGE_BYTES:
            yield
            return
        if not self.enter(workspace_id, key, size):
            raise Overloaded(
                "This replica has too many large bodies of this key or workspace at once; nothing was done"
            )
        try:
            yield
        finally:
            self.leave(workspace_id, key, size)

    def leave(self, workspace_id: str, key: str, size: int) -> None:
        """The call is answered: stop counting its body."""
        for counted, name in ((self._bytes, workspace_id), (self._of_keys, key)):
            counted[name] -= size
            if not counted[name]:
                del counted[name]
