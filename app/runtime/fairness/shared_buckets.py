"""Token buckets in memory that several processes share, so that one limit applies to all of them."""

import fcntl
import mmap
import os
import secrets
import struct
import weakref
from collections.abc import Callable
from hashlib import blake2b

_DIGEST_BYTES = 16
_WAYS = 8
"""The slots that a name can take; when all are taken, the name unused longest loses its slot."""

_slot = struct.Struct(f"={_DIGEST_BYTES}sdd")
"""The digest of a name, the tokens left in its bucket, and when it was last used; 0 marks a free slot."""

_GROUP_BYTES = _WAYS * _slot.size


class SharedBuckets:
    """Each name has a bucket of `size` tokens, which starts full and regains `per_second` tokens every second.

    The processes that share it are those forked after it was made. A lock on the few slots that a name may have makes
    each change exact; the kernel releases the lock of a process that dies.

    names_max: about how many names are remembered; of those that share slots, the one unused longest is forgotten
    first, and starts again with a full bucket. A random secret decides which names share slots, so that callers cannot
    choose names that collide.
    """

    def __init__(self, size: int, per_second: float, names_max: int, clock: Callable[[], float]) -> None:
        self._size, self._per_second = float(size), per_second
        self._clock = clock
        self._groups = max(1, names_max // _WAYS)
        self._secret = secrets.token_bytes(_DIGEST_BYTES)
        self._file = os.memfd_create("remit-buckets")
        weakref.finalize(self, os.close, self._file)
        os.ftruncate(self._file, self._groups * _GROUP_BYTES)
        self._memory = mmap.mmap(self._file, 0)

    def take(self, name: str, tokens: int = 1, *, partly: bool = False) -> tuple[float, float]:
        """Take the tokens if there are enough; return how many are left, and how many are missing (0 if taken).

        tokens: below 0, so many are put back. partly: take what there is of them, even if that is not enough.
        """
        digest = blake2b(self._secret + name.encode(), digest_size=_DIGEST_BYTES).digest()
        group = int.from_bytes(digest[:8], "big") % self._groups * _GROUP_BYTES
        fcntl.lockf(self._file, fcntl.LOCK_EX, _GROUP_BYTES, group)
        try:
            now = self._clock()
            slot, left = self._find(digest, group, now)
            missing = max(0.0, tokens - left)
            if partly or not missing:
                left = min(self._size, max(0.0, left - tokens))
            if tokens:
                _slot.pack_into(self._memory, slot, digest, left, now)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, _GROUP_BYTES, group)
        return left, missing

    def _find(self, digest: bytes, group: int, now: float) -> tuple[int, float]:
        """The name's slot and the tokens in its bucket now; for a new name, the slot unused longest."""
        oldest, oldest_since = group, now
        for slot in range(group, group + _GROUP_BYTES, _slot.size):
            slot_digest, left, since = _slot.unpack_from(self._memory, slot)
            if slot_digest == digest and since:
                return slot, min(self._size, left + (now - since) * self._per_second)
            if since < oldest_since:
                oldest, oldest_since = slot, since
        return oldest, self._size
