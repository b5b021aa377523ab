"""Verification of the unsealed entries: none is missing, added or unreadable."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from app.audit.entry_format import Unreadable, line_of
from app.audit.unsealed import sequence_of
from app.model.checkpoints import Fault, FaultFound, Part
from app.redis_client.client import Client
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

_CHUNK = 256
_DIGITS = 15


class Unsealed(NamedTuple):
    """The entries after the last segment. newest: the last one's sequence; sha256: as in a checkpoint."""

    entries: int
    newest: int
    sha256: str


async def check_unsealed(
    client: Client, keyspace: Keyspace, segment: int, sequence: int, sha256: str, digest: "Digest"
) -> Unsealed | None:
    """Check that every entry after a segment is there; return None if a later segment has been sealed meanwhile.

    digest: also receives the lines. Raises FaultFound on a gap in the sequences that commits gave out, or on an entry
    that no commit made.
    """
    own = hashlib.sha256(sha256.encode())
    following = sequence + 1
    while True:
        chunk, sealed, committed = await client.read_pipelined(
            (
                (b"XRANGE", keyspace.audit_stream, f"{following}-0", "+", "COUNT", _CHUNK),
                (b"HGET", keyspace.audit_head, "segment"),
                (b"HGET", keyspace.commits, "sequence"),
            ),
            as_bytes=True,
        )
        if int(sealed or 0) > segment:
            return None
        newest = _counted(committed, segment, sequence)
        for entry_id, fields in chunk:
            # A commit counts and appends in one step, and its number was read after the entries.
            is_next = entry_id == b"%d-0" % following
            if not is_next or following > newest:
                raise _out_of_place(entry_id, following, newest, segment)
            try:
                line = line_of(fields) + b"\n"
            except Unreadable as error:
                raise _broken(Fault.CHANGED, segment, f"Entry {following} cannot be read: {error}") from None
            own.update(line)
            digest.take(following, line)
            following += 1
        if len(chunk) < _CHUNK:
            if following > newest:
                break
            await _require_more(client, keyspace, segment, following)
        await take_turn()
    if digest.newest > newest:
        message = f"The newest entry is {newest}; the checkpoint has seen entry {digest.newest}"
        raise _broken(Fault.TRUNCATED, segment, message)
    if (first := await _below(client, keyspace, sequence)) is not None:
        raise _broken(
            Fault.INSERTED, segment, f"The stream contains {first}, which is already sealed or which no commit wrote"
        )
    return Unsealed(newest - sequence, newest, own.hexdigest())


class Digest:
    """Checks that the entries between a checkpoint's segment and the newest entry it covers are unchanged.
    newest: 0 = without such a checkpoint.
    """

    def __init__(self, sha256: str = "", sequence: int = 0, newest: int = 0, wanted: str = "") -> None:
        self._digest = hashlib.sha256(sha256.encode())
        self._sequence = sequence
        self.newest = newest
        self._wanted = wanted

    def take(self, sequence: int, line: bytes) -> None:
        """Add the next line, with its line feed. Raises FaultFound if the checkpoint ends here and an entry differs."""
        if self._sequence < sequence <= self.newest:
            self._digest.update(line)
            if sequence == self.newest and self._digest.hexdigest() != self._wanted:
                message = f"Entries {self._sequence + 1} to {sequence} are not those that the checkpoint has seen"
                raise FaultFound(Fault.REWRITTEN, 0, message, Part.STREAM)

    def take_all(self, sequence: int, lines: Sequence[bytes]) -> None:
        """Add the lines from a sequence on, as `take` does."""
        if sequence <= self.newest:
            for number, line in enumerate(lines, sequence):
                self.take(number, line)


async def _require_more(client: Client, keyspace: Keyspace, segment: int, following: int) -> None:
    """Raise FaultFound unless an entry follows or was sealed meanwhile, judged at one moment."""
    oldest, sealed, committed = await client.read_snapshot(
        ("XRANGE", keyspace.audit_stream, f"{following}-0", "+", "COUNT", 1),
        ("HGET", keyspace.audit_head, "segment"),
        ("HGET", keyspace.commits, "sequence"),
    )
    if not oldest and int(sealed or 0) <= segment and int(committed or 0) >= following:
        gone = f"Entry {following}, the newest, is" if int(committed) == following else None
        gone = gone or f"Entries {following} to {committed}, the newest, are"
        raise _broken(Fault.TRUNCATED, segment, f"{gone} gone from the stream")


async def _below(client: Client, keyspace: Keyspace, sequence: int) -> str | None:
    """The id of a stream entry that should be sealed already; None without one."""
    oldest, sealed = await client.read_snapshot(
        ("XRANGE", keyspace.audit_stream, "-", f"({sequence + 1}-0", "COUNT", 1),
        ("HGET", keyspace.audit_head, "sequence"),
    )
    return str(oldest[0][0]) if oldest and int(sealed or 0) == sequence else None


def _out_of_place(entry_id: bytes, following: int, newest: int, segment: int) -> FaultFound:
    sequence = sequence_of(entry_id)
    if sequence is None or sequence > newest:
        message = (
            f"The stream contains {entry_id.decode()}, which no commit wrote: the last commit's sequence is {newest}"
        )
        return _broken(Fault.INSERTED, segment, message)
    gone = f"Entry {following} is" if sequence == following + 1 else f"Entries {following} to {sequence - 1} are"
    return _broken(Fault.REMOVED, segment, f"{gone} gone from the stream; entry {sequence} follows")


def _counted(committed: bytes | None, segment: int, sealed: int) -> int:
    """The last committed sequence; never below the last sealed one. Raises FaultFound."""
    text = committed or b"0"
    if not text.isdigit() or len(text) > _DIGITS:
        raise _broken(Fault.CHANGED, segment, "The number of the last commit cannot be read")
    if int(text) < sealed:
        raise _broken(Fault.CHANGED, segment, f"The commits have counted to {int(text)}, and entry {sealed} is sealed")
    return int(text)


def _broken(fault: Fault, segment: int, message: str) -> FaultFound:
    return FaultFound(fault, segment + 1, message, Part.STREAM)
