"""Verification: the chain recomputed from the bodies, from genesis, floor or checkpoint to the head."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from app.audit.entry_format import named
from app.audit.head import Head, head_of
from app.audit.index import Row
from app.audit.segments import Segment, chain, frames_of, genesis, part_of, read_segment
from app.audit.verify_index import IndexCheck, IndexFault
from app.errors import AuditLogDamaged, Invalid
from app.model.checkpoints import Checkpoint, Fault, Finding, Verification
from app.model.times import parse_time_ms
from app.redis_client.client import Client
from app.redis_client.replies import as_record
from app.store.keyspace import Keyspace

Progress = Callable[[int, int], None]
_BEYOND = 4
"""Segments after the head that are looked for."""


class Verifier:
    """Checks one workspace's log, oldest segment first, without believing anything that is stored beside the bodies.

    What it cannot find out alone: a log that was rewritten as a whole, with every link and the head. That takes a
    checkpoint which was kept elsewhere.
    """

    def __init__(self, client: Client, workspace_id: str) -> None:
        self._client = client
        self._workspace_id = workspace_id
        self._keyspace = Keyspace(workspace_id)
        self._index = IndexCheck(client, self._keyspace)
        self._before_part: Checkpoint | None = None
        self._checkpoints: dict[int, Checkpoint] = {}
        self._first = 0
        self._segments = 0
        self._entries = 0
        self._checkpoint: Checkpoint | None = None

    async def verify(
        self, since: Checkpoint | None = None, segments_max: int | None = None, progress: Progress | None = None
    ) -> Verification:
        """What is wrong first, or that all is well. Raises Invalid if the checkpoint is another workspace's.

        since: begin there, and require that segment to be what the checkpoint says.
        segments_max: stop after so many segments; progress: told how many of how many are done.
        """
        if since is not None and since.workspace != self._workspace_id:
            raise Invalid("The checkpoint is of another workspace")
        head = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
        if since is not None and (found := await self._against(head, since)):
            return self._ended(found)
        link = self._start(head, since)
        try:
            while True:
                link = await self._check_up_to(head, link, segments_max, progress)
                await self._compare_index()
                if link.number <= head.segment:
                    return self._ended(None, complete=False)
                head, unsealed = await self._check_end(link)
                if head.segment < link.number:
                    return self._ended(None, unsealed=unsealed)
        except _Broken as broken:
            return self._ended(await self._first_of(broken.finding))

    async def _check_up_to(
        self, head: Head, link: "ChainPosition", segments_max: int | None, progress: Progress | None
    ) -> "ChainPosition":
        """What the next segment must be built upon, after those up to the head or as many as may be. Raises _Broken."""
        while link.number <= head.segment and (segments_max is None or self._segments < segments_max):
            segment = await self._read(link.number)
            if segment is None:
                now = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
                if link.number >= now.first_segment:
                    raise await self._missing(link.number, now)
                link = self._start(now, None)  # retention dropped it in the meantime
                continue
            link = await self._check(link, segment, head)
            if progress is not None:
                progress(link.number - self._first, head.segment - self._first + 1)
            await asyncio.sleep(0)
        return link

    def _start(self, head: Head, since: Checkpoint | None) -> "ChainPosition":
        """Where to begin; a checkpoint has been compared with the log."""
        if since is not None:
            self._first = since.segment + 1
            return ChainPosition(since.segment + 1, since.sha256, since.sequence + 1)
        self._first = head.first_segment
        return ChainPosition(
            head.first_segment, head.first_previous or genesis(self._workspace_id), head.first_sequence
        )

    async def _against(self, head: Head, since: Checkpoint) -> Finding | None:
        """What the log says of the checkpoint's segment, if it is not the same."""
        if since.segment > head.segment:
            message = f"The log ends with segment {head.segment}; the checkpoint has seen segment {since.segment}"
            return Finding(Fault.TRUNCATED, head.segment + 1, message)
        if since.segment < head.first_segment - 1:
            # Retention may have dropped what lies between, and so may have whoever wrote another log.
            return Finding(Fault.REMOVED, since.segment + 1, _gap(since.segment, head.first_segment))
        if head.floor is not None and since.segment == head.first_segment - 1:
            same = head.floor.sha256 == since.sha256
        elif since.segment == 0:
            same = since.sha256 == genesis(self._workspace_id)
        else:
            try:
                segment = await self._read(since.segment)
                if segment is None:
                    return (await self._missing(since.segment, head)).finding
                same = chain(segment.previous, segment.body()) == since.sha256
            except _Broken as broken:
                return broken.finding
            except AuditLogDamaged as error:
                return Finding(Fault.CHANGED, since.segment, error.message)
        if same:
            return None
        message = f"Segment {since.segment} is not the one that the checkpoint has seen"
        return Finding(Fault.REWRITTEN, since.segment, message)

    async def _read(self, number: int) -> Segment | None:
        try:
            return await read_segment(self._client, self._keyspace, number)
        except AuditLogDamaged as error:
            raise _Broken(Fault.CHANGED, number, error.message) from None

    async def _check(self, link: "ChainPosition", segment: Segment, head: Head) -> "ChainPosition":
        """What the segment after this one must be built upon. Raises _Broken."""
        number, previous, sequence = link
        if segment.number != number:
            raise _Broken(Fault.REORDERED, number, f"Segment {segment.number} stands in the place of {number}")
        try:
            bodies, frames = segment.bodies(), frames_of(segment.frames)
        except AuditLogDamaged as error:
            raise _Broken(Fault.CHANGED, number, error.message) from None
        body = b"".join(bodies)
        own = chain(segment.previous, body)
        if own != segment.sha256:
            raise _Broken(Fault.CHANGED, number, "The entries are not those that its sha256 was made of")
        if segment.previous != previous:
            raise await self._relinked(link, segment, head)
        if frames[-1].end != len(segment.data) or [each.entries for each in frames] != [b.count(b"\n") for b in bodies]:
            raise _Broken(Fault.CHANGED, number, "Its list of frames is not that of its data")
        lines = body.splitlines()
        try:
            entries = [named(line) for line in lines]
            times = [parse_time_ms(entry.timestamp) for entry in entries]
        except ValueError:
            raise _Broken(Fault.CHANGED, number, "A line is no entry") from None
        row = Row(number, len(lines), sequence, min(times), max(times))
        said = Row(number, segment.count, segment.first_sequence, segment.first_ms, segment.last_ms)
        if row != said or segment.last_sequence != sequence + len(lines) - 1:
            raise _Broken(Fault.CHANGED, number, f"Its record says {said}, its entries say {row}")
        if part_of(number) != part_of(number - 1):
            await self._compare_index()
        await asyncio.sleep(0)
        self._index.add(row, entries, frames)
        self._segments += 1
        self._entries += len(lines)
        self._checkpoint = Checkpoint(self._workspace_id, number, segment.last_sequence, own, segment.last_ms)
        self._checkpoints[number] = self._checkpoint
        return ChainPosition(number + 1, own, sequence + len(lines))

    async def _compare_index(self) -> None:
        """The index is right about every segment since the last call. Raises _Broken."""
        if (fault := await self._index.compare()) is not None:
            raise self._misplaced(fault)
        self._checkpoints, self._before_part = {}, self._checkpoint

    async def _first_of(self, finding: Finding) -> Finding:
        """The finding, or what is wrong with the index of a segment before it."""
        fault = await self._index.compare()
        return finding if fault is None or fault.segment >= finding.segment else self._misplaced(fault).finding

    def _misplaced(self, fault: IndexFault) -> "_Broken":
        self._checkpoint = self._checkpoints.get(fault.segment - 1, self._before_part)
        return _Broken(Fault.CHANGED, fault.segment, fault.message)

    async def _relinked(self, link: "ChainPosition", segment: Segment, head: Head) -> "_Broken":
        """What was done, where a segment is sound in itself but built upon another than the one before it."""
        number, previous, sequence = link
        later = await self._links(range(number + 1, head.segment + _BEYOND))
        if segment.previous in {sha256 for sha256, _ in later}:
            return _Broken(Fault.REORDERED, number, f"Segment {number} is built upon one that stands after it")
        if previous in {built_upon for _, built_upon in later}:
            message = f"Segment {number} is not built upon segment {number - 1}; a later one is"
            return _Broken(Fault.INSERTED, number, message)
        if segment.first_sequence == sequence and self._segments:
            self._checkpoint = self._checkpoints.get(number - 2, self._before_part)
            return _Broken(Fault.CHANGED, number - 1, f"It is not the segment that segment {number} was built upon")
        return _Broken(Fault.REMOVED, number, f"No segment is built upon segment {number - 1}; what followed is gone")

    async def _links(self, numbers: range) -> list[tuple[str, str]]:
        commands = [("HMGET", self._keyspace.audit_segment(each), "sha256", "previous") for each in numbers]
        return [(sha256, previous) for sha256, previous in await self._client.read_pipelined(commands) if sha256]

    async def _missing(self, number: int, head: Head) -> "_Broken":
        if not await self._links(range(number + 1, head.segment + 1)):
            return _Broken(Fault.TRUNCATED, number, f"Segments {number} to {head.segment}, the last, are gone")
        return _Broken(Fault.REMOVED, number, f"Segment {number} is gone")

    async def _check_end(self, link: "ChainPosition") -> tuple[Head, int]:
        """The head now, and the number of unsealed entries. Raises _Broken if they do not follow from the chain."""
        keyspace, number = self._keyspace, link.number - 1
        record, oldest, newest, unsealed, *beyond = await self._client.read_snapshot(
            ("HGETALL", keyspace.audit_head),
            ("XRANGE", keyspace.audit_stream, "-", "+", "COUNT", 1),
            ("HGET", keyspace.commits, "sequence"),
            ("XLEN", keyspace.audit_stream),
            *(("EXISTS", keyspace.audit_segment(number + each)) for each in range(1, _BEYOND)),
        )
        head = head_of(as_record(record))
        if head.segment > number:
            return head, unsealed
        if head.segment < number or (number and (head.sha256, head.sequence) != (link.previous, link.sequence - 1)):
            raise _Broken(
                Fault.CHANGED, number + 1, f"The head does not name segment {number}, the chain's last, as it is"
            )
        if any(beyond):
            raise _Broken(Fault.INSERTED, number + 1, f"A segment stands after {number}, with which the chain ends")
        first = int(oldest[0][0].partition("-")[0]) if oldest else int(newest or 0) + 1
        wanted = int(newest or 0) - link.sequence + 1
        if first != link.sequence or unsealed != wanted:
            message = f"{wanted} entries follow segment {number}, the stream holds {unsealed}, from {first} on"
            raise _Broken(Fault.TRUNCATED, number + 1, message)
        return head, unsealed

    def _ended(self, finding: Finding | None, *, complete: bool = True, unsealed: int = 0) -> Verification:
        return Verification(
            finding=finding,
            complete=complete and finding is None,
            checkpoint=self._checkpoint,
            first_segment=self._first,
            segments=self._segments,
            entries=self._entries,
            unsealed=unsealed,
        )


def _gap(last: int, first: int) -> str:
    return (
        f"The log begins with segment {first}, and what it is compared with ends with segment {last}: nothing tells "
        "whether it is the same log. If retention dropped what lies between, give a checkpoint of segment "
        f"{first - 1} or later, or an archive that goes so far (remit audit verify --archive)"
    )


class ChainPosition(NamedTuple):
    """The next segment: its number, what it must be built upon, and the sequence of its first entry."""

    number: int
    previous: str
    sequence: int


class _Broken(Exception):
    def __init__(self, fault: Fault, segment: int, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(fault, segment, message)
