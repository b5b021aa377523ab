"""Runs a query through the sealed part of the log: newest first, and only through frames that may hold a match."""

from collections.abc import Sequence

from app.audit.entry_filter import EntryFilter
from app.audit.head import Head, Span, read_head
from app.audit.index import Candidate, Lookup, miscounted
from app.audit.sealed_range import SealedRange
from app.audit.segments import Stored, checked_bodies, damaged, missing
from app.audit.stream import gone
from app.fairness.loop_turns import take_turn
from app.model.audit import AuditQuery, Floor
from app.redis_client.client import Client, Value
from app.redis_client.scripts import READ_FRAMES
from app.store.keyspace import Keyspace

_PARTS_AT_ONCE = 16
_SEGMENTS_AT_ONCE = 64
_BYTES_AT_ONCE = 512 * 1024
"""Compressed bytes of frames read by one call: about a millisecond of the store's time."""
_HELD_BYTES = 512 * 1024
"""Bytes of lines searched before other tasks run: about half a millisecond."""


PAGE_BYTES = 4 * 1024 * 1024
"""Bytes of entries that one page may hold; a thousand ordinary ones take a tenth of it."""


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
        self.met_a_drop = False

    @property
    def wanted(self) -> int:
        """How many further matches complete the page, including one beyond it that shows there are more."""
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


class SealedSearch:
    """Offers a page the matching sealed entries below a sequence."""

    def __init__(
        self, client: Client, keyspace: Keyspace, query: AuditQuery, matcher: EntryFilter, page: Page, below: int
    ) -> None:
        self._client = client
        self._keyspace = keyspace
        self._query = query
        self._matcher = matcher
        self._page = page
        self._below = below
        self._held = 0

    async def run(self) -> Floor | None:
        """Search until the page is complete; the floor, if the search reached it and dropped entries might match."""
        query, page = self._query, self._page
        head, spans = await read_head(self._client, self._keyspace)
        if head.sequence < self._below - 1:
            raise gone(head.sequence + 1, self._below - 1)
        lookup = Lookup(self._keyspace, query)
        sealed = SealedRange(query, head, spans, after=0, until=self._below - 1)
        parts = sealed.parts()[::-1]
        if lookup.unfiltered and query.from_ms is None and query.to_ms is None:
            parts = self._skip_parts(parts, head, spans)
        at_once = 1
        while parts:
            now, parts = parts[:at_once], parts[at_once:]
            at_once = min(at_once * 4, _PARTS_AT_ONCE)
            found = await lookup.read(self._client, head, spans, now)
            if await self._search([each for part in found for each in sealed.segments(part)]):
                return None
        if page.met_a_drop:
            head, _ = await read_head(self._client, self._keyspace)
        floor = head.floor
        if floor is None or self._below < floor.sequence:
            return None
        return None if query.from_ms is not None and query.from_ms > floor.time_ms else floor

    async def _search(self, candidates: Sequence[Candidate]) -> bool:
        """Offer the candidates' matches, newest first; True when the page is complete."""
        page = self._page
        waiting: list[Candidate] = []
        expected, ahead = 0, 1
        for candidate in candidates:
            # Segments that the offset skips entirely need not be read. None before them is still unread, so matches
            # stay in order.
            if not waiting and self._is_whole(candidate) and page.to_skip >= candidate.bound:
                page.to_skip -= candidate.bound
                continue
            waiting.append(candidate)
            expected += candidate.bound
            # If the index gives exact counts, this is just what the page needs. Otherwise it overestimates the matches,
            # so each round reads further ahead.
            if expected < page.wanted * ahead and len(waiting) < _SEGMENTS_AT_ONCE:
                continue
            if await self._search_frames(waiting):
                return True
            waiting, expected, ahead = [], 0, ahead * 2
        return bool(waiting) and await self._search_frames(waiting)

    async def _search_frames(self, candidates: Sequence[Candidate]) -> bool:
        while candidates:
            keys: list[str] = []
            for each in candidates:
                keys += (self._keyspace.audit_segment(each.row.number), self._keyspace.audit_data(each.row.number))
            args: list[Value] = [_BYTES_AT_ONCE, *("" if each.mask is None else each.mask for each in candidates)]
            _, segments = await self._client.run(READ_FRAMES, keys, args, as_bytes=True)
            for candidate, read in zip(candidates, segments, strict=False):
                if not read:
                    await self._require_dropped(candidate.row.number)
                    return False
                if await self._search_segment(candidate, read):
                    return True
            candidates = candidates[len(segments) :]
        return False

    async def _search_segment(self, candidate: Candidate, read: Sequence[int | bytes]) -> bool:
        """Offer a segment's matches, newest first; True when the page is complete.

        read: the reply of `read_frames`. All of it is checked before use; in a segment with digests, only the frames
        that the page needs.
        """
        number, first_sequence = candidate.row.number, candidate.row.first_sequence
        stored = Stored(*(bytes(each).decode(errors="replace") for each in read[:4] if not isinstance(each, int)))
        blocks = [(int(place), bytes(block)) for place, block in zip(read[4::2], read[5::2], strict=True)]
        if not blocks:
            raise damaged(number)
        found = 0
        for group in [[each] for each in reversed(blocks)] if stored.digests else [blocks]:
            if self._held >= _HELD_BYTES:
                self._held = 0
                await take_turn()
            for place, before, body in reversed(checked_bodies(number, candidate.row.entries, stored, group)):
                self._held += len(body)
                first = first_sequence + before
                if first >= self._below or (candidate.mask is not None and not candidate.mask >> place & 1):
                    continue
                matches = self._matcher.select(body)
                found += len(matches)
                for at, line in reversed(matches):
                    if first + at < self._below and self._page.offer(first + at, line):
                        return True
        if found != candidate.bound and self._is_whole(candidate):
            raise miscounted(candidate, found)
        return False

    async def _require_dropped(self, number: int) -> None:
        """Raise AuditLogDamaged unless retention has just dropped the segment and everything older."""
        head, _ = await read_head(self._client, self._keyspace)
        if head.first_segment <= number:
            raise missing(number)
        self._page.met_a_drop = True

    def _is_whole(self, candidate: Candidate) -> bool:
        """Whether exactly `bound` entries of the segment match."""
        row, query = candidate.row, self._query
        return (
            candidate.exact
            and row.first_sequence + row.entries <= self._below
            and (query.from_ms is None or row.first_ms >= query.from_ms)
            and (query.to_ms is None or row.last_ms <= query.to_ms)
        )

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
