"""Verification: recomputes the chains from what they cover, from genesis, floor or checkpoint to the newest entry."""

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from app.audit.log_state import Head, head_of
from app.audit.segments import Segment, genesis, part_of
from app.audit.trees import log_tree
from app.audit.verify.index import IndexCheck, IndexFault
from app.audit.verify.links import ExpectedSegment, LinkCheck
from app.audit.verify.segment import check_body, check_contents, read_whole
from app.audit.verify.trail import Trail, TrailCheck
from app.audit.verify.tree import TreeCheck, compare_with_note
from app.audit.verify.unsealed import Digest, Unsealed, check_unsealed
from app.errors import AuditLogDamaged, Invalid
from app.model.checkpoints import Checkpoint, Fault, FaultFound, Finding, Part, Rest, Verification
from app.model.notes import Note
from app.redis_client.client import Client
from app.redis_client.replies import ForeignData
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

Progress = Callable[[int, int], None]


class _Reached(NamedTuple):
    """The end of the verification of the entries. unsealed: None if there is a finding, or segments left to read."""

    finding: Finding | None
    complete: bool
    unsealed: Unsealed | None


class Verifier:
    """Checks one workspace's log, oldest segment first, trusting nothing that is stored beside the segments' bodies.

    Alone, it cannot detect a log rewritten as a whole, with every link and the head; that takes a checkpoint kept
    elsewhere.
    """

    def __init__(self, client: Client, workspace_id: str, *, drops_unarchived: bool = False) -> None:
        self._client = client
        self._workspace_id = workspace_id
        self._drops_unarchived = drops_unarchived
        self._keyspace = Keyspace(workspace_id)
        self._links = LinkCheck(client, workspace_id)
        self._index = IndexCheck(client, self._keyspace)
        self._tree = TreeCheck(client, self._keyspace.audit_tree)
        self._digest = Digest()
        self._before_part: Checkpoint | None = None
        self._checkpoints: dict[int, Checkpoint] = {}
        self._first = 0
        self._continues = False
        self._segments = 0
        self._entries = 0
        self._checkpoint: Checkpoint | None = None

    async def verify(
        self,
        since: Checkpoint | None = None,
        segments_max: int | None = None,
        progress: Progress | None = None,
        *,
        continues: bool = False,
        note: Note | None = None,
    ) -> Verification:
        """The first fault, or none. Raises Invalid if the checkpoint or the note is another workspace's.

        since: require the log to match the checkpoint, and read entries only from there on.
        note: require the log's Merkle tree, or that of its trail, to continue the note's; signatures are not looked at.
        continues: the checkpoint was made a moment ago by the step before, which has checked everything before it.
        segments_max: stop after this many segments; progress: called with the segments done and their total.
        """
        if any(each is not None and each.workspace != self._workspace_id for each in (since, note)):
            raise Invalid("The checkpoint belongs to another workspace")
        self._continues = continues
        reached = await self._check_entries(since, segments_max, progress)
        if not reached.complete and reached.finding is None:
            return self._report(reached, None, None, since)
        finding, trail = reached.finding, None
        try:
            trail = await TrailCheck(self._client, self._workspace_id, None if since is None else since.rest).run()
            await compare_with_note(self._client, self._workspace_id, note)
        except FaultFound as broken:
            finding = finding or broken.finding
        except ForeignData as error:
            finding = finding or Finding(Fault.CHANGED, 0, error.message, Part.CHANGES)
        return self._report(reached, finding, trail, since)

    async def _check_entries(
        self, since: Checkpoint | None, segments_max: int | None, progress: Progress | None
    ) -> _Reached:
        """Check everything but the trail of changes."""
        try:
            return await self._check_what_can_be_read(since, segments_max, progress)
        except (AuditLogDamaged, ForeignData) as error:
            # This is about the head, the index and the stream; unreadable segments are reported where they are read.
            number = self._first + self._segments
            return _Reached(Finding(Fault.CHANGED, number, error.message), complete=False, unsealed=None)

    async def _check_what_can_be_read(
        self, since: Checkpoint | None, segments_max: int | None, progress: Progress | None
    ) -> _Reached:
        head = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
        finding = self._links.check_floor(head, drops_unarchived=self._drops_unarchived)
        if since is not None:
            finding = await self._links.compare_with_checkpoint(head, since) or finding
            if since.rest is not None:
                self._digest = Digest(since.sha256, since.sequence, since.rest.newest, since.rest.sha256)
        if finding is not None:
            return _Reached(finding, complete=False, unsealed=None)
        expected = self._start(head, since)
        try:
            if since is not None and not self._continues:
                await self._links.check_stored(head, since)
            await self._begin_tree(head, expected, required=since is None or self._continues)
            while True:
                expected = await self._check_up_to(head, expected, segments_max, progress)
                await self._compare_index()
                if expected.number <= head.segment:
                    self._require_known()
                    return _Reached(None, complete=False, unsealed=None)
                head, unsealed = await self._check_end(expected)
                if unsealed is not None:
                    self._require_known()
                    self._tree.end(head.sequence)
                    return _Reached(None, complete=True, unsealed=unsealed)
        except FaultFound as broken:
            return _Reached(await self._first_of(broken.finding), complete=False, unsealed=None)

    async def _check_end(self, expected: ExpectedSegment) -> tuple[Head, Unsealed | None]:
        """Check the head and the unsealed entries; None if further segments must be read first. Raises FaultFound."""
        head = await self._links.check_head(expected)
        if head.segment >= expected.number:
            return head, None
        number, previous, sequence = expected
        args = (self._client, self._keyspace, number - 1, sequence - 1, previous, self._digest)
        try:
            unsealed = await check_unsealed(*args)
        except ForeignData as error:
            raise FaultFound(Fault.CHANGED, number, error.message, Part.STREAM) from None
        if unsealed is None:
            head = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
        return head, unsealed

    async def _check_up_to(
        self, head: Head, expected: ExpectedSegment, segments_max: int | None, progress: Progress | None
    ) -> ExpectedSegment:
        """Check the segments up to the head or the limit; return what the next one must build on. Raises FaultFound."""
        while expected.number <= head.segment and (segments_max is None or self._segments < segments_max):
            segment = await self._read(expected.number)
            if segment is None:
                now = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
                if expected.number >= now.first_segment:
                    raise await self._links.missing(expected.number, now)
                expected = self._start(now, None)  # retention dropped it in the meantime
                await self._begin_tree(now, expected)
                continue
            expected = await self._check(expected, segment, head)
            if progress is not None:
                progress(expected.number - self._first, head.segment - self._first + 1)
            await take_turn()
        return expected

    async def _begin_tree(self, head: Head, expected: ExpectedSegment, *, required: bool = True) -> None:
        tree = log_tree(self._client, self._workspace_id, head)
        await self._tree.begin(tree, expected.sequence - 1, required=required)

    def _start(self, head: Head, since: Checkpoint | None) -> ExpectedSegment:
        """The first segment to read. A checkpoint has already been compared with the log."""
        expected = self._links.first(head)
        if since is not None:
            expected = ExpectedSegment(since.segment + 1, since.sha256, since.sequence + 1)
        self._first = expected.number
        return expected

    async def _read(self, number: int) -> Segment | None:
        return await read_whole(self._client, self._keyspace, number)

    async def _check(self, expected: ExpectedSegment, segment: Segment, head: Head) -> ExpectedSegment:
        """Check the segment; return what the next one must build on. Raises FaultFound."""
        number, previous, sequence = expected
        body = check_body(segment, number)
        if segment.previous != previous:
            raise await self._relinked_fault(expected, segment, head)
        row, lines, entries = check_contents(segment, body, sequence)
        self._digest.take_all(sequence, lines)
        self._tree.take(lines, str(number))
        if part_of(number) != part_of(number - 1):
            await self._compare_index()
        await take_turn()
        self._index.add(row, entries, body.frames)
        self._segments += 1
        self._entries += len(lines)
        self._checkpoint = Checkpoint(self._workspace_id, number, segment.last_sequence, body.sha256, segment.last_ms)
        self._checkpoints[number] = self._checkpoint
        return ExpectedSegment(number + 1, body.sha256, sequence + len(lines))

    async def _relinked_fault(self, expected: ExpectedSegment, segment: Segment, head: Head) -> FaultFound:
        broken = await self._links.relinked(expected, segment, head, one_before=bool(self._segments))
        if broken.finding.segment < expected.number:
            self._checkpoint = self._checkpoints.get(expected.number - 2, self._before_part)
        return broken

    async def _compare_index(self) -> None:
        """Check the index of every segment since the last call. Raises FaultFound."""
        try:
            fault = await self._index.compare()
        except ForeignData as error:
            last = self._first + self._segments - 1
            raise FaultFound(Fault.CHANGED, last, f"Its index cannot be read: {error.message}") from None
        if fault is not None:
            raise self._index_fault(fault)
        await self._tree.compare()
        self._checkpoints, self._before_part = {}, self._checkpoint

    def _require_known(self) -> None:
        """Raise FaultFound if the index names a segment beyond the last one."""
        unknown = self._index.unknown
        if unknown is not None:
            raise FaultFound(Fault.CHANGED, unknown.segment, unknown.message)

    async def _first_of(self, finding: Finding) -> Finding:
        """This finding, or a fault in the index of an earlier segment."""
        fault = await self._index.compare()
        return finding if fault is None or fault.segment >= finding.segment else self._index_fault(fault).finding

    def _index_fault(self, fault: IndexFault) -> FaultFound:
        self._checkpoint = self._checkpoints.get(fault.segment - 1, self._before_part)
        return FaultFound(Fault.CHANGED, fault.segment, fault.message)

    def _report(
        self, reached: _Reached, finding: Finding | None, trail: Trail | None, since: Checkpoint | None
    ) -> Verification:
        checkpoint, unsealed = self._checkpoint, reached.unsealed
        if finding is None and unsealed is not None and trail is not None:
            if checkpoint is None:
                checkpoint = since or Checkpoint(self._workspace_id, 0, 0, genesis(self._workspace_id), 0)
            rest = Rest(unsealed.newest, unsealed.sha256, trail.linked, trail.changes, trail.sha256)
            checkpoint = replace(checkpoint, rest=rest)
        coverage = _Coverage(self._first, self._segments, self._entries, unsealed, trail, finding)
        checked, unchecked = coverage.sentences(after_checkpoint=since is not None)
        return Verification(
            finding=finding,
            complete=reached.complete and finding is None,
            checkpoint=checkpoint,
            first_segment=self._first,
            segments=self._segments,
            entries=self._entries,
            unsealed=0 if unsealed is None else unsealed.entries,
            changes=0 if trail is None else trail.changes,
            checked=tuple(checked),
            unchecked=tuple(unchecked),
        )


class _Coverage(NamedTuple):
    """The extent of a verification, which it says in sentences. unsealed, trail: None if it did not reach their end."""

    first_segment: int
    segments: int
    entries: int
    unsealed: Unsealed | None
    trail: Trail | None
    finding: Finding | None

    def sentences(self, *, after_checkpoint: bool) -> tuple[list[str], list[str]]:
        """The sentences about what was checked, and those about what was not."""
        first, last = self.first_segment, self.first_segment + self.segments - 1
        checked, unchecked = [], []
        if self.segments:
            checked.append(f"segments {first} to {last}: {self.entries} entries, links and index")
        if after_checkpoint and first > 1:
            before = f"segments before {first}"
            unchecked.append(f"{before}: entries, and the index by agent, tool, action and result")
            if self.finding is None or self.finding.segment >= first:
                checked.append(f"{before}: that they are there, linked, and in the index of all segments")
        if self.unsealed is not None:
            checked.append(f"stream: {self.unsealed.entries} entries, that none is missing, added or unreadable")
        elif self.finding is None or self.finding.part is not Part.CHANGES:
            unchecked.append(f"what follows segment {last}, and the stream" if last > 0 else "segments and the stream")
        if self.trail is not None:
            waiting = self.trail.changes - self.trail.linked
            checked.append(f"changes: {self.trail.changes}, of which {waiting} are not chained yet")
        elif self.finding is None:
            unchecked.append("changes")
        return checked, unchecked
