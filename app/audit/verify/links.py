"""Verification of the segments' records: which segments exist, and what each one builds on."""

from collections.abc import Sequence
from typing import NamedTuple

from app.audit.index_rows import Row, members_with_scores, row_member
from app.audit.log_state import Head, head_of
from app.audit.segments import Segment, chain, frames_of, genesis, part_of
from app.audit.verify.segment import read_whole
from app.errors import AuditLogDamaged
from app.model.checkpoints import Checkpoint, Fault, FaultFound, Finding
from app.redis_client.client import Client
from app.redis_client.replies import ForeignData, as_record
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

BEYOND = 4
"""The number of segments checked for after the head."""
_AT_ONCE = 128
_DIGITS = 15
_AFTER_A_GAP = 10_000
"""The number of segments checked for after a missing one, to tell a gap from an end; a forged head can name any."""

_FIELDS = ("number", "count", "first_sequence", "first_ms", "last_ms", "last_sequence", "sha256", "previous", "frames")


class ExpectedSegment(NamedTuple):
    """The expected next segment: its number, the hash it must build on, and the sequence of its first entry."""

    number: int
    previous: str
    sequence: int


class LinkCheck:
    """Checks the records of segments without reading their entries."""

    def __init__(self, client: Client, workspace_id: str) -> None:
        self._client = client
        self._workspace_id = workspace_id
        self._keyspace = Keyspace(workspace_id)

    def first(self, head: Head) -> ExpectedSegment:
        """The segment with which the log begins."""
        return ExpectedSegment(
            head.first_segment, head.first_previous or genesis(self._workspace_id), head.first_sequence
        )

    def check_floor(self, head: Head, *, drops_unarchived: bool) -> Finding | None:
        """A finding if older segments are gone although no archive has them and retention was not told to drop them."""
        gone = head.first_segment - 1
        if gone <= max(head.archived, head.unarchived) or drops_unarchived:
            return None
        message = (
            f"The log begins with segment {gone + 1}, and archives have it up to segment {head.archived}: segments "
            f"{max(head.archived, head.unarchived) + 1} to {gone} were not dropped by retention"
        )
        return Finding(Fault.REMOVED, gone, message)

    async def compare_with_checkpoint(self, head: Head, since: Checkpoint) -> Finding | None:
        """A finding if the log does not have the checkpoint's segment, or another in its place."""
        if since.segment > head.segment:
            message = f"The log ends with segment {head.segment}; the checkpoint has seen segment {since.segment}"
            return Finding(Fault.TRUNCATED, head.segment + 1, message)
        if since.segment < head.first_segment - 1:
            # Retention may have dropped the segments between, but so may someone who wrote another log.
            return Finding(Fault.REMOVED, since.segment + 1, gap(since.segment, head.first_segment))
        if head.floor is not None and since.segment == head.first_segment - 1:
            same = head.floor.sha256 == since.sha256
        elif since.segment == 0:
            same = since.sha256 == genesis(self._workspace_id)
        else:
            try:
                segment = await read_whole(self._client, self._keyspace, since.segment)
                if segment is None:
                    return (await self.missing(since.segment, head)).finding
                same = chain(segment.previous, segment.body()) == since.sha256
                if same and segment.sha256 != since.sha256:
                    message = "Its record has another sha256 than its entries give"
                    return Finding(Fault.CHANGED, since.segment, message)
            except FaultFound as broken:
                return broken.finding
            except AuditLogDamaged as error:
                return Finding(Fault.CHANGED, since.segment, error.message)
        if same:
            return None
        message = f"Segment {since.segment} is not the one that the checkpoint has seen"
        return Finding(Fault.REWRITTEN, since.segment, message)

    async def check_stored(self, head: Head, since: Checkpoint) -> None:
        """Check that every segment up to the checkpoint's has its length, links and index row. Raises FaultFound.

        Its entries are not read; only a verification from the beginning finds changes in them.
        """
        expected, rows = self.first(head), list[Row]()
        while expected.number <= since.segment:
            numbers = range(expected.number, min(since.segment, expected.number + _AT_ONCE - 1) + 1)
            commands: list[tuple[str, ...]] = []
            for number in numbers:
                commands.append(("HMGET", self._keyspace.audit_segment(number), *_FIELDS))
                commands.append(("STRLEN", self._keyspace.audit_data(number)))
            try:
                replies = await self._client.read_pipelined(commands)
            except ForeignData as error:
                message = f"Of segments {numbers[0]} to {numbers[-1]}, a record or its data cannot be read: {error}"
                raise FaultFound(Fault.CHANGED, numbers[0], message) from None
            for fields, size in zip(replies[::2], replies[1::2], strict=True):
                if None in fields or not size:
                    now = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
                    if expected.number >= now.first_segment:
                        raise await self.missing(expected.number, now)
                    return  # retention dropped it in the meantime
                expected = self._follow(expected, fields, size, rows)
            await take_turn()
        await self._check_rows(rows)

    def _follow(self, expected: ExpectedSegment, fields: Sequence[str], size: int, rows: list[Row]) -> ExpectedSegment:
        *numbers, last, sha256, previous, frames_text = fields
        try:
            row, last_sequence = Row(*map(int, numbers)), int(last)
            frames = frames_of(frames_text)
        except (ValueError, AuditLogDamaged):
            raise FaultFound(Fault.CHANGED, expected.number, "Its record cannot be read") from None
        if row.number != expected.number:
            raise FaultFound(
                Fault.REORDERED, expected.number, f"Segment {row.number} stands in the place of {expected.number}"
            )
        if previous != expected.previous or row.first_sequence != expected.sequence:
            message = (
                f"Its record says that it is built upon {previous}, the one before it that it is {expected.previous}"
            )
            raise FaultFound(Fault.CHANGED, expected.number, message)
        if last_sequence != row.first_sequence + row.entries - 1 or frames[-1].end != size:
            raise FaultFound(Fault.CHANGED, expected.number, "Its record does not fit the length of its data")
        rows.append(row)
        return ExpectedSegment(expected.number + 1, sha256, last_sequence + 1)

    async def _check_rows(self, rows: Sequence[Row]) -> None:
        """Check that the index of all segments has exactly these, each at its time. Raises FaultFound."""
        expected = {row_member(row): row for row in rows}
        parts = sorted({part_of(row.number) for row in rows})
        for start in range(0, len(parts), _AT_ONCE):
            # The command is named in bytes, so that redis-py does not convert the reply.
            commands = [
                (b"ZRANGE", self._keyspace.audit_by_all(part), 0, -1, b"WITHSCORES")
                for part in parts[start : start + _AT_ONCE]
            ]
            for reply in await self._client.read_pipelined(commands):
                for member, score in members_with_scores(reply):
                    row = expected.pop(member, None)
                    if row is None:
                        await self._require_known(member, rows)
                    elif score != row.last_ms:
                        message = f"The index of all segments has it at {score:.17g}, its record at {row.last_ms}"
                        raise FaultFound(Fault.CHANGED, row.number, message)
        for member, row in expected.items():
            now = head_of(await self._client.call("HGETALL", self._keyspace.audit_head))
            if row.number >= now.first_segment:
                message = f"The index of all segments does not hold {member}, as its record has it"
                raise FaultFound(Fault.CHANGED, row.number, message)

    async def _require_known(self, member: str, rows: Sequence[Row]) -> None:
        """Raise FaultFound unless the index's member belongs to a segment outside these, not newer than the head's."""
        number = member.partition(":")[0]
        named = int(number) if number.isdecimal() and len(number) <= _DIGITS else rows[-1].number
        if rows[0].number <= named <= rows[-1].number:
            raise FaultFound(
                Fault.CHANGED, named, f"The index of all segments says {member}, its record something else"
            )
        if named > head_of(await self._client.call("HGETALL", self._keyspace.audit_head)).segment:
            raise FaultFound(
                Fault.CHANGED, named, f"The index of all segments says {member}, and there is no such segment"
            )

    async def missing(self, number: int, head: Head) -> FaultFound:
        """The finding for a missing segment."""
        if not await self._links(range(number + 1, min(head.segment, number + _AFTER_A_GAP) + 1)):
            return FaultFound(Fault.TRUNCATED, number, f"Segments {number} to {head.segment}, the last, are gone")
        return FaultFound(Fault.REMOVED, number, f"Segment {number} is gone")

    async def relinked(
        self, expected: ExpectedSegment, segment: Segment, head: Head, *, one_before: bool
    ) -> FaultFound:
        """The finding for a segment that is intact in itself but builds on another than the one before it.

        one_before: the one before it was verified in the same run, so it may be the one that changed.
        """
        number, previous, sequence = expected
        later = await self._links(range(number + 1, min(head.segment, number + _AFTER_A_GAP) + BEYOND))
        if segment.previous in {sha256 for sha256, _ in later}:
            return FaultFound(Fault.REORDERED, number, f"Segment {number} is built upon one that stands after it")
        if previous in {built_upon for _, built_upon in later}:
            message = f"Segment {number} is not built upon segment {number - 1}; a later one is"
            return FaultFound(Fault.INSERTED, number, message)
        if segment.first_sequence == sequence and one_before:
            return FaultFound(Fault.CHANGED, number - 1, f"It is not the segment that segment {number} was built upon")
        return FaultFound(
            Fault.REMOVED, number, f"No segment is built upon segment {number - 1}; what followed is gone"
        )

    async def check_head(self, expected: ExpectedSegment) -> Head:
        """Check that the head names the chain's last segment, or has moved on. Raises FaultFound."""
        keyspace, number = self._keyspace, expected.number - 1
        record, *beyond = await self._client.read_snapshot(
            ("HGETALL", keyspace.audit_head),
            *(("EXISTS", keyspace.audit_segment(number + each)) for each in range(1, BEYOND)),
        )
        head = head_of(as_record(record))
        if head.segment > number:
            return head
        if head.segment < number or (
            number and (head.sha256, head.sequence) != (expected.previous, expected.sequence - 1)
        ):
            message = f"The head does not name segment {number}, the chain's last, as it is"
            raise FaultFound(Fault.CHANGED, number + 1, message)
        if any(beyond) and any(
            built_upon == expected.previous for _, built_upon in await self._links(range(number + 1, number + 2))
        ):
            message = f"The head names segment {number} as the last, and segment {number + 1} is built upon it"
            raise FaultFound(Fault.CHANGED, number + 1, message)
        if any(beyond):
            raise FaultFound(Fault.INSERTED, number + 1, f"A segment stands after {number}, with which the chain ends")
        return head

    async def _links(self, numbers: range) -> list[tuple[str, str]]:
        commands = [("HMGET", self._keyspace.audit_segment(each), "sha256", "previous") for each in numbers]
        return [(sha256, previous) for sha256, previous in await self._client.read_pipelined(commands) if sha256]


def gap(last: int, first: int) -> str:
    """The finding for a log that begins too late to be compared."""
    return (
        f"The log begins with segment {first}, and what it is compared with ends with segment {last}: nothing tells "
        "whether it is the same log. If retention dropped what lies between, give a checkpoint of segment "
        f"{first - 1} or later, or an archive that goes so far (remit audit verify --archive)"
    )
