"""Runs a query through the sealed part of the log: newest first, and only through frames that may contain a match."""

from collections.abc import Sequence

from app.audit.index import IndexedSegment
from app.audit.log_state import Head, Span, read_head
from app.audit.read.entry_filter import EntryFilter
from app.audit.read.sealed_reader import SEGMENTS_PER_READ, SealedReader
from app.audit.segments import FRAME_ENTRIES
from app.audit.unsealed import gone
from app.model.audit import AuditQuery, Floor
from app.model.text import FieldError
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

_PARTS_PER_READ = 16

PAGE_BYTES = 4 * 1024 * 1024
"""Bytes of entries that one page may have; a thousand ordinary ones take a tenth of it."""


class Page:
    """Collects a query's matches: skips the offset, then takes entries, and knows whether there are more.

    It takes up to `limit` entries and PAGE_BYTES of them, but at least one entry, however large.
    """

    def __init__(self, limit: int, offset: int) -> None:
        self.to_skip = offset
        self.limit = limit
        self.lines: list[bytes] = []
        self._bytes = 0
        self.last = 0
        self.has_more = False
        self.met_dropped = False

    @property
    def missing(self) -> int:
        """The number of further matches that complete the page, including one beyond it that shows there are more."""
        return self.to_skip + self.limit - len(self.lines) + 1

    def offer(self, sequence: int, line: bytes) -> bool:
        """Process the next match; True when the page is complete."""
        if self.to_skip:
            self.to_skip -= 1
        elif len(self.lines) == self.limit or (self.lines and self._bytes + len(line) > PAGE_BYTES):
            self.has_more = True
        else:
            self.lines.append(line)
            self._bytes += len(line)
            self.last = sequence
        return self.has_more


class BackwardSearch:
    """Offers a page the matching sealed entries below a sequence, from at most `segments_max` segments.

    entries_max: the search stops after about so many entries have been read.
    stopped_below: where it stopped then; entries below are not searched.
    """

    def __init__(
        self,
        client: Client,
        keyspace: Keyspace,
        query: AuditQuery,
        matcher: EntryFilter,
        page: Page,
        below: int,
        segments_max: int,
        entries_max: int,
    ) -> None:
        self._client = client
        self._keyspace = keyspace
        self._query = query
        self._matcher = matcher
        self._page = page
        self._below = below
        self._segments_left = segments_max
        self._entries_left = entries_max
        self.stopped_below: int | None = None

    async def run(self) -> Floor | None:
        """Search until the page is complete; return the floor if it was reached and dropped entries might match.

        Raises FieldError if the search stops before the page's offset is skipped.
        """
        query, page = self._query, self._page
        head, spans = await read_head(self._client, self._keyspace)
        if head.sequence < self._below - 1:
            raise gone(head.sequence + 1, self._below - 1)
        sealed = SealedReader(self._client, self._keyspace, query, head, spans, after=0, until=self._below - 1)
        parts = sealed.parts()[::-1]
        if sealed.takes_all:
            parts = self._skip_parts(parts, head, spans)
        per_read = 1
        while parts:
            now, parts = parts[:per_read], parts[per_read:]
            per_read = min(per_read * 4, _PARTS_PER_READ)
            if await self._search(sealed, await sealed.segments(now)):
                return None
        if page.met_dropped:
            head, _ = await read_head(self._client, self._keyspace)
        floor = head.floor
        if floor is None or self._below < floor.sequence:
            return None
        return None if query.from_ms is not None and query.from_ms > floor.time_ms else floor

    async def _search(self, sealed: SealedReader, segments: Sequence[IndexedSegment]) -> bool:
        """Offer the segments' matches, newest first; True when the page is complete."""
        page = self._page
        unread: list[IndexedSegment] = []
        likely_matches, read_ahead = 0, 1
        for segment in segments:
            # Segments that the offset skips entirely need not be read. None before them is still unread, so matches
            # stay in order.
            if not unread and page.to_skip >= segment.max_matches and sealed.matches_exactly(segment):
                page.to_skip -= segment.max_matches
                continue
            unread.append(segment)
            likely_matches += segment.max_matches
            # If the index gives exact counts, this is just what the page needs. Otherwise it overestimates the matches,
            # so each round reads further ahead.
            if likely_matches < page.missing * read_ahead and len(unread) < SEGMENTS_PER_READ:
                continue
            if await self._search_frames(sealed, unread):
                return True
            unread, likely_matches, read_ahead = [], 0, read_ahead * 2
        return bool(unread) and await self._search_frames(sealed, unread)

    async def _search_frames(self, sealed: SealedReader, segments: Sequence[IndexedSegment]) -> bool:
        if self._segments_left <= 0:
            return True
        if self._entries_left <= 0:
            if self._page.to_skip:
                raise _skips_too_much(self._query)
            self.stopped_below = segments[0].end
            return True
        segments = segments[: self._segments_left]
        self._segments_left -= len(segments)
        self._entries_left -= sum(map(work_in, segments))
        async for frames in sealed.read(segments):
            if frames is None:
                self._page.met_dropped = True
                return False
            async for matches in sealed.matches(frames, self._matcher, newest_first=True):
                for sequence, line in reversed(matches):
                    if self._page.offer(sequence, line):
                        return True
        return False

    def _skip_parts(self, parts: list[int], head: Head, spans: dict[int, Span]) -> list[int]:
        """Skip whole parts that the offset covers, for queries that every entry matches."""
        end = min(self._below, head.sequence + 1)
        for position, part in enumerate(parts):
            entries = end - max(spans[part].first_sequence, head.first_sequence)
            if entries > self._page.to_skip:
                return parts[position:]
            self._page.to_skip -= entries
            end = spans[part].first_sequence
        return []


def _skips_too_much(query: AuditQuery) -> FieldError:
    names = ", ".join(query.scans)
    return FieldError(
        "offset",
        f"skips more matches than one request can look for: {names} cannot be looked up; "
        "follow X-Next-Cursor instead, or give agent_id or from, too",
    )


def work_in(segment: IndexedSegment) -> int:
    """How many entries are read in the segment; fetching it costs as much as reading a frame."""
    entries = segment.row.entries
    return FRAME_ENTRIES + (entries if segment.mask is None else min(entries, segment.mask.bit_count() * FRAME_ENTRIES))
