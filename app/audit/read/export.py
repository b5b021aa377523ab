"""The log as a file, in chunks; in CSV with the names that agents, policies and API keys had at the time."""

from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Iterator

import msgspec
from msgspec import Struct

from app.audit.log_state import read_head, unreadable_is_damage
from app.audit.read.forward_reader import ForwardReader
from app.model.audit import AuditEntry, AuditFilters, Format
from app.model.exports import End, Writer
from app.redis_client.client import Client
from app.runtime.fairness.loop_turns import take_turn
from app.store.changes import read_forward
from app.store.keyspace import Keyspace

Progress = Callable[[int, int], None]
_PIECE_BYTES = 32 * 1024
"""Bytes of lines written in one step: a millisecond or less, even in CSV and with gzip."""
_NAMED = frozenset({"agent", "policy", "api_key"})


class _Named(Struct):
    name: str | None = None


_named = msgspec.json.Decoder(_Named | None).decode


async def export(
    client: Client, workspace_id: str, query: AuditFilters, kind: Format, progress: Progress | None = None
) -> AsyncIterator[bytes]:
    """Yield the matching entries that the log has now, oldest first; the last chunk marks the export as complete.

    It reads a few segments at a time, however large the log. progress: called with the sequences searched and their
    total. Raises StoreUnavailable midway if the store becomes unavailable or retention drops entries still to come;
    the file then has no end marker.
    """
    reader, names = ForwardReader(client, workspace_id, query), PastNames()
    newest = await reader.newest()
    writer = Writer(kind, names.of)
    with unreadable_is_damage():
        head, _ = await read_head(client, Keyspace(workspace_id))
    entries = 0
    yield writer.begin()
    if kind is Format.CSV:
        await names.read(client, workspace_id)
    async for stretch in reader.chunks(head.first_sequence - 1, newest):
        entries += len(stretch.sequences)
        done = 0
        for lines in _pieces(stretch.body):
            # Formatting a chunk as CSV, or compressing it, blocks the event loop.
            sequences = stretch.sequences[done : done + lines.count(b"\n")]
            done += len(sequences)
            yield writer.body(lines, sequences)
            await take_turn()
        if progress is not None:
            progress(stretch.up_to - head.first_sequence + 1, newest - head.first_sequence + 1)
    yield writer.end(End(entries, head.first_sequence, newest))


def _pieces(body: bytes) -> Iterator[bytes]:
    """Group the lines into chunks of about `_PIECE_BYTES`, never splitting a line."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", min(start + _PIECE_BYTES, len(body) - 1)) + 1
        yield body[start:end]
        start = end


class PastNames:
    """Names by resource id, each since a position in the log. Resources older than the trail have none."""

    def __init__(self) -> None:
        self._since: dict[str, list[int]] = {}
        self._names: dict[str, list[str]] = {}

    async def read(self, client: Client, workspace_id: str) -> None:
        """Learn all names that the workspace's trail contains now."""
        async for _, record in read_forward(client, Keyspace(workspace_id)):
            if record is not None and record["resourceType"] in _NAMED:
                self._note(record)

    def of(self, entry: AuditEntry, sequence: int) -> tuple[str, str, str]:
        """The names of the entry's agent, key and policy when it was made; an empty string if unknown."""
        agent, key = self._name(entry.agent_id, sequence), self._name(entry.key_id, sequence)
        return agent, key, self._name(entry.policy_id or "", sequence)

    def _note(self, record: dict[str, str]) -> None:
        before, after = (_named(record[side] or "null") for side in ("before", "after"))
        resource_id = record["resourceId"]
        since, names = self._since.setdefault(resource_id, []), self._names.setdefault(resource_id, [])
        if not names and before is not None and before.name is not None:
            since.append(-1)
            names.append(before.name)
        if after is not None and after.name is not None:
            since.append(int(record.get("sequence", -1)))
            names.append(after.name)

    def _name(self, resource_id: str, sequence: int) -> str:
        names = self._names.get(resource_id)
        if not names:
            return ""
        # A change is in effect for every entry after the one that was newest then.
        return names[max(0, bisect_left(self._since[resource_id], sequence) - 1)]
