"""The audit log as readers see it: one log, whatever is still in the stream and whatever is sealed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from app.errors import StoreUnavailable
from app.model.audit import AuditPage, AuditQuery, Backlog, Floor
from app.store.audit_index import Candidate, Lookup, Span, spans_of
from app.store.audit_lines import Matcher, tail_line
from app.store.audit_segments import Head, frames_of, head_of, part_of, unpack
from app.store.client import Client, Value
from app.store.keyspace import Keyspace
from app.store.records import as_record, store_time_ms
from app.store.scripts import READ_FRAMES

_TAIL_CHUNK = 128
_SEGMENTS_AT_ONCE = 16
_PARTS_AT_ONCE = 8
_END = 1 << 62


class _Page:
    """What a query collects: it skips, then takes, and knows whether there is more than it may take."""

    def __init__(self, limit: int, offset: int) -> None:
        self.to_skip = offset
        self.limit = limit
        self.lines: list[bytes] = []
        self.last = 0
        self.has_more = False
        self.met_a_drop = False

    @property
    def wanted(self) -> int:
        """How many further matches decide the page, one more than it can hold included."""
        return self.to_skip + self.limit - len(self.lines) + 1

    def offer(self, sequence: int, line: bytes) -> bool:
        """Take in the next match; True when the page is complete."""
        if self.to_skip:
            self.to_skip -= 1
        elif len(self.lines) == self.limit:
            self.has_more = True
        else:
            self.lines.append(line)
            self.last = sequence
        return self.has_more


class AuditLog:
    """Queries over one workspace's log. It never writes: entries are made by the commit, segments by the sealer."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def query(self, workspace_id: str, query: AuditQuery) -> AuditPage:
        """The page that `query` asks for; every decision answered before this call is in its scope.

        Pages chained by `before` neither repeat nor skip an entry, whatever is appended or sealed in between:
        sequence numbers have no gaps, new entries get higher ones, and sealing does not change them.
        """
        keyspace, matcher, page = Keyspace(workspace_id), Matcher(query), _Page(query.limit, query.offset)
        below = _END if query.before is None else query.before
        floor = None
        # The stream first, and segments only below what it gave: an entry that is sealed in between is neither
        # missed (it is below) nor repeated (what was read from the stream is not).
        below = await self._search_tail(keyspace, matcher, page, below)
        if not page.has_more:
            floor = await self._search_segments(keyspace, query, matcher, page, below)
        return AuditPage(page.lines, page.last if page.has_more else None, floor)

    async def backlog(self, workspace_id: str) -> Backlog:
        """How far sealing is behind, at one moment."""
        keyspace = Keyspace(workspace_id)
        now_ms = await store_time_ms(self._client)  # apart, since TIME has no key and a cluster's slot is found by keys
        record, unsealed, oldest, newest, poison = await self._client.transact(
            ("HGETALL", keyspace.audit_head),
            ("XLEN", keyspace.audit_stream),
            ("XRANGE", keyspace.audit_stream, "-", "+", "COUNT", 1),
            ("HGET", keyspace.commits, "sequence"),
            ("HLEN", keyspace.audit_poison),
        )
        head = head_of(record)
        lag_ms = 0
        if oldest:
            fields = as_record(oldest[0][1])
            lag_ms = max(0, now_ms - int(fields.get("timeMs", 0)))
        return Backlog(
            unsealed=unsealed,
            lag_seconds=lag_ms / 1000,
            last_sequence=int(newest or 0),
            sealed_sequence=head.sequence,
            first_sequence=head.first_sequence,
            segments=head.segment,
            poison=poison,
        )

    async def _search_tail(self, keyspace: Keyspace, matcher: Matcher, page: _Page, below: int) -> int:
        """Offer what the stream holds; the lowest sequence seen, or `below` if it holds nothing below that."""
        async for sequence, fields in read_stream_backwards(self._client, keyspace, below):
            below = sequence
            if matcher.may_hold(fields):
                line = tail_line(sequence, fields)
                if matcher.matches(line) and page.offer(sequence, line):
                    break
        return below

    async def _search_segments(
        self, keyspace: Keyspace, query: AuditQuery, matcher: Matcher, page: _Page, below: int
    ) -> Floor | None:
        """Offer what is sealed below a sequence; the floor, if it was reached and what is below might match."""
        head, spans = await read_head(self._client, keyspace)
        lookup = Lookup(keyspace, query)
        parts = _parts_to_search(head, spans, query, below)
        if lookup.unfiltered and query.from_ms is None and query.to_ms is None:
            parts = _skip_parts(parts, head, spans, page, below)
        at_once = 1
        while parts:
            now, parts = parts[:at_once], parts[at_once:]
            at_once = min(at_once * 4, _PARTS_AT_ONCE)
            for candidates in await lookup.read(self._client, now):
                searched = [each for each in candidates if _is_searched(each, head, query, below)]
                if await self._search(keyspace, query, matcher, page, below, searched):
                    return None
        if page.met_a_drop:
            head, _ = await read_head(self._client, keyspace)
        floor = head.floor
        if floor is None or below < floor.sequence or (query.from_ms is not None and query.from_ms > floor.time_ms):
            return None
        return floor

    async def _search(
        self,
        keyspace: Keyspace,
        query: AuditQuery,
        matcher: Matcher,
        page: _Page,
        below: int,
        candidates: Sequence[Candidate],
    ) -> bool:
        """Offer what the candidates hold, newest first; True when the page is complete."""
        waiting: list[Candidate] = []
        at_once, expected = 2, 0
        for candidate in candidates:
            # What is only counted away need not be read; the order of matches stays, as nothing waits before it.
            if not waiting and _is_whole(candidate, query, below) and page.to_skip >= candidate.bound:
                page.to_skip -= candidate.bound
                continue
            waiting.append(candidate)
            expected += candidate.bound
            if len(waiting) < at_once and expected < page.wanted:
                continue
            if await self._search_bodies(keyspace, matcher, page, below, waiting):
                return True
            at_once, waiting, expected = min(at_once * 2, _SEGMENTS_AT_ONCE), [], 0
        return bool(waiting) and await self._search_bodies(keyspace, matcher, page, below, waiting)

    async def _search_bodies(
        self, keyspace: Keyspace, matcher: Matcher, page: _Page, below: int, candidates: Sequence[Candidate]
    ) -> bool:
        keys = [keyspace.audit_segment(each.row.number) for each in candidates]
        masks: list[Value] = ["" if each.mask is None else each.mask for each in candidates]
        _, segments = await self._client.run(READ_FRAMES, keys, masks, as_bytes=True)
        for candidate, read in zip(candidates, segments, strict=True):
            if not read:
                # Retention has just dropped it, and everything older with it.
                if (await read_head(self._client, keyspace))[0].first_segment > candidate.row.number:
                    page.met_a_drop = True
                    return False
                raise StoreUnavailable(f"Segment {candidate.row.number} of the audit log is missing")
            if await _search_body(candidate, read[0].decode(), read[1:], matcher, page, below):
                return True
        return False


async def _search_body(
    candidate: Candidate, sizes: str, blocks: Sequence[bytes], matcher: Matcher, page: _Page, below: int
) -> bool:
    """Offer a segment's matches, newest first; True when the page is complete.

    blocks: the frames of the candidate's mask, or all of them as one.
    """
    await asyncio.sleep(0)  # half a millisecond of work at most, then others get their turn
    frames = frames_of(sizes)
    if candidate.mask is None:
        blocks = [blocks[0][frame.start : frame.end] for frame in frames]
    else:
        frames = [frame for number, frame in enumerate(frames) if candidate.mask >> number & 1]
    for frame, block in reversed(list(zip(frames, blocks, strict=True))):
        first = candidate.row.first_sequence + frame.first
        if first >= below:
            continue
        for place, line in reversed(matcher.select(unpack(block))):
            if first + place < below and page.offer(first + place, line):
                return True
    return False


def _is_searched(candidate: Candidate, head: Head, query: AuditQuery, below: int) -> bool:
    row = candidate.row
    return (
        head.first_segment <= row.number <= head.segment
        and row.first_sequence < below
        and (query.from_ms is None or row.last_ms >= query.from_ms)
        and (query.to_ms is None or row.first_ms <= query.to_ms)
    )


def _is_whole(candidate: Candidate, query: AuditQuery, below: int) -> bool:
    """Whether exactly `bound` entries of the segment match."""
    row = candidate.row
    return (
        candidate.exact
        and row.first_sequence + row.entries <= below
        and (query.from_ms is None or row.first_ms >= query.from_ms)
        and (query.to_ms is None or row.last_ms <= query.to_ms)
    )


def _parts_to_search(head: Head, spans: dict[int, Span], query: AuditQuery, below: int) -> list[int]:
    """The parts that may hold a match, newest first. Times do not follow sequences, for clocks step back."""
    return [
        part
        for part in sorted(spans, reverse=True)
        if part_of(head.first_segment) <= part <= part_of(head.segment)
        and spans[part].first_sequence < below
        and (query.from_ms is None or spans[part].last_ms >= query.from_ms)
        and (query.to_ms is None or spans[part].first_ms <= query.to_ms)
    ]


def _skip_parts(parts: list[int], head: Head, spans: dict[int, Span], page: _Page, below: int) -> list[int]:
    """Count away the parts that an offset passes over as a whole, where every entry matches."""
    end = min(below, head.sequence + 1)
    for position, part in enumerate(parts):
        entries = end - max(spans[part].first_sequence, head.first_sequence)
        if entries > page.to_skip:
            return parts[position:]
        page.to_skip -= entries
        end = spans[part].first_sequence
    return []


async def read_head(client: Client, keyspace: Keyspace) -> tuple[Head, dict[int, Span]]:
    """The chain's head and the parts of the log, at one moment."""
    head, spans = await client.transact(("HGETALL", keyspace.audit_head), ("HGETALL", keyspace.audit_parts))
    return head_of(head), spans_of(as_record(spans))


async def read_stream_backwards(
    client: Client, keyspace: Keyspace, below: int = _END
) -> AsyncIterator[tuple[int, dict[bytes, bytes]]]:
    """Sequence and fields of the unsealed entries below a sequence, newest first."""
    end = "+" if below == _END else f"({below}-0"
    while True:
        chunk = await client.call_bytes("XREVRANGE", keyspace.audit_stream, end, "-", "COUNT", _TAIL_CHUNK)
        for sequence, fields in stream_entries(chunk):
            if sequence is not None:
                yield sequence, fields
        if len(chunk) < _TAIL_CHUNK:
            return
        end = f"({chunk[-1][0].decode()}"


def stream_entries(chunk: Sequence[Any]) -> list[tuple[int | None, dict[bytes, bytes]]]:
    """Entries that the store gave; their sequence is None where no commit made the id."""
    entries: list[tuple[int | None, dict[bytes, bytes]]] = []
    for entry_id, fields in chunk:
        sequence, _, rest = entry_id.partition(b"-")
        record = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
        entries.append((int(sequence) if rest == b"0" else None, record))
    return entries
