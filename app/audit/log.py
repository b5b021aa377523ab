"""The audit log as readers see it: one log, whether sealed or still in the stream."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from app.audit.archive import Archive
from app.audit.backlog import read_backlog
from app.audit.log_state import head_of, unreadable_is_damage
from app.audit.manifest import read_manifest
from app.audit.notes import accept_fork, checkpoint_key, newest_note, proof_of
from app.audit.read.backward_search import BackwardSearch, Page
from app.audit.read.counts import counts, counts_by_result
from app.audit.read.entry_filter import EntryFilter
from app.audit.read.export import Progress, export
from app.audit.read.follow import follow, resumed
from app.audit.read.forward_reader import EntryChunk, ForwardReader
from app.audit.read.sealed_reader import sequences_between
from app.audit.unsealed import END, UnsealedWalk, line_of_unsealed
from app.audit.verify.verifier import Verifier
from app.errors import AuditEntryNotFound, StoreUnavailable
from app.model.actors import ChangedBy
from app.model.archives import ArchiveManifest, ManifestQuery
from app.model.audit import AuditFilters, AuditPage, AuditQuery, Backlog, Floor, Format
from app.model.checkpoints import Checkpoint, Fork, SignedTree, Verification
from app.model.counts import Counted, CountQuery, ValueCount
from app.model.decisions import Result
from app.model.notes import Note
from app.model.times import rfc3339
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.runtime.fairness.loop_turns import WorkspaceSlots
from app.store.keyspace import Keyspace
from app.store.shared_polling import Polled

SCANNED_MAX = 256 * 1024
"""Entries that one page looks through if a filter is not indexed: some 0.2 s of a core."""
_NEAR_MS = 5_000
_LAST_MS = 253_402_200_000_000
"""Close to the end of the year 9999, the latest time a query can name."""


class AuditLog:
    """Read access to the logs. It never writes to one: commits make the entries, the sealer makes the segments.

    drops_unarchived: retention may drop segments that no archive has, which verification then accepts.
    """

    def __init__(self, client: Client, *, drops_unarchived: bool = False) -> None:
        self._client = client
        self._drops_unarchived = drops_unarchived
        self._slots = WorkspaceSlots()
        self._verifying = WorkspaceSlots(most=1, waiting_max=16, what="verifications")

    async def query(self, workspace_id: str, query: AuditQuery) -> AuditPage:
        """The page that `query` asks for; it covers every decision answered before this call.

        Pages chained by `before` neither repeat nor skip an entry, whatever is appended or sealed in between: sequence
        numbers have no gaps, new entries get higher ones, and sealing does not change them. If a filter is not indexed,
        a page ends after about SCANNED_MAX entries, however few of them match. Raises FieldError if so many contain
        fewer matches than the offset skips.
        """
        entries_max = SCANNED_MAX if query.scans else sys.maxsize
        page, floor, stopped_below = await self._search(workspace_id, query, entries_max=entries_max)
        return AuditPage(page.lines, page.last if page.has_more else stopped_below, floor)

    async def latest(self, workspace_id: str, query: AuditQuery, segments_max: int) -> list[bytes]:
        """The lines of the newest matching entries: of those not sealed, and of at most so many segments."""
        page, _, _ = await self._search(workspace_id, query, segments_max)
        return page.lines

    async def entry(self, workspace_id: str, entry_id: str) -> tuple[int, bytes]:
        """The sequence and the line of one entry. Raises AuditEntryNotFound."""
        # An id begins with the time of its call, so the search starts there. Only if a clock was set back, the entry is
        # elsewhere: of that, the newest SCANNED_MAX entries are searched, as ids that do not exist cost the same.
        called_ms = min(int(entry_id[:8] + entry_id[9:13], 16), _LAST_MS)
        anywhere = AuditQuery(id=entry_id, limit=1)
        near = replace(anywhere, from_ms=max(0, called_ms - _NEAR_MS), to_ms=called_ms + _NEAR_MS)
        page, floor, stopped_below = await self._search(workspace_id, near)
        if not page.lines:
            page, floor, stopped_below = await self._search(workspace_id, anywhere, entries_max=SCANNED_MAX)
        if page.lines:
            return page.last, page.lines[0]
        if stopped_below is not None:
            raise AuditEntryNotFound(
                f"No audit entry has this id, neither near its time nor among the newest {SCANNED_MAX}; "
                "GET /v1/audit-logs?id=… and its cursors search the whole log"
            )
        dropped = "" if floor is None else f"; retention dropped entries up to {rfc3339(floor.time_ms)}"
        raise AuditEntryNotFound(f"No audit entry has this id{dropped}")

    async def _search(
        self,
        workspace_id: str,
        query: AuditQuery,
        segments_max: int = sys.maxsize,
        entries_max: int = sys.maxsize,
    ) -> "_Searched":
        async with self._slots.slot(workspace_id):
            with unreadable_is_damage():
                keyspace, matcher, page = Keyspace(workspace_id), EntryFilter(query), Page(query.limit, query.offset)
                below = END if query.before is None else query.before
                # The stream is read first, then the segments below the entries found there. An entry sealed in between
                # is neither missed, because it is below, nor repeated, because segments are read only below what the
                # stream gave.
                below = await self._search_tail(keyspace, matcher, page, below)
                if page.has_more:
                    return _Searched(page, None, None)
                sealed = BackwardSearch(
                    self._client,
                    keyspace,
                    query,
                    matcher=matcher,
                    page=page,
                    below=below,
                    segments_max=segments_max,
                    entries_max=entries_max,
                )
                floor = await sealed.run()
                return _Searched(page, floor, sealed.stopped_below)

    def export(
        self, workspace_id: str, query: AuditFilters, kind: Format, progress: Progress | None = None
    ) -> AsyncIterator[bytes]:
        """Export entries as `export.export` documents."""
        return export(self._client, workspace_id, query, kind, progress)

    async def entries(
        self, workspace_id: str, agent_id: str | None, from_ms: int, to_ms: int, progress: Progress | None = None
    ) -> AsyncIterator[EntryChunk]:
        """Yield the entries of a span of time, oldest first, of one agent or of all; some just outside may be included.

        Raises as `ForwardReader.chunks` does.
        """
        with unreadable_is_damage():
            after, until = await sequences_between(self._client, Keyspace(workspace_id), from_ms, to_ms)
        async for chunk in ForwardReader(self._client, workspace_id, AuditFilters(agent_id=agent_id)).chunks(
            after, until
        ):
            yield chunk
            if progress is not None:
                progress(chunk.up_to - after, until - after)

    def between(self, workspace_id: str, after: int, until: int) -> AsyncIterator[EntryChunk]:
        """Yield the entries with after < sequence <= until, oldest first. Raises as `ForwardReader.chunks` does."""
        return ForwardReader(self._client, workspace_id, AuditFilters()).chunks(after, until)

    async def newest(self, workspace_id: str) -> int:
        """The sequence of the newest entry; 0 if there is none."""
        return await ForwardReader(self._client, workspace_id, AuditFilters()).newest()

    async def now_ms(self) -> int:
        """The time that an entry written now would get, ms."""
        return await store_time_ms(self._client)

    async def floor(self, workspace_id: str) -> Floor | None:
        """The floor at which the log begins; None unless retention has dropped older entries."""
        with unreadable_is_damage():
            return head_of(await self._client.call("HGETALL", Keyspace(workspace_id).audit_head)).floor

    def follow(
        self,
        workspace_id: str,
        query: AuditFilters,
        after: int | None,
        stopping: asyncio.Event,
        newest: Polled[int] | None = None,
    ) -> AsyncIterator[EntryChunk | None]:
        """Follow the log as `follow.follow` documents."""
        return follow(self._client, workspace_id, query, after, stopping, newest)

    async def resumed(self, workspace_id: str, after: int) -> tuple[int, Floor | None]:
        """Resume as `follow.resumed` documents."""
        with unreadable_is_damage():
            return await resumed(self._client, workspace_id, after)

    async def verify(
        self,
        workspace_id: str,
        since: Checkpoint | None = None,
        segments_max: int | None = None,
        progress: Progress | None = None,
        *,
        continues: bool = False,
        note: Note | None = None,
    ) -> Verification:
        """Verify the log as `Verifier.verify` documents; if all of it is intact, that is recorded for monitors.

        One verification of a workspace runs at a time. Raises Overloaded if too many wait.
        """
        verifier = Verifier(self._client, workspace_id, drops_unarchived=self._drops_unarchived)
        began_ms = await store_time_ms(self._client)
        async with self._verifying.slot(workspace_id):
            verification = await verifier.verify(since, segments_max, progress, continues=continues, note=note)
        if verification.finding is None and verification.complete:
            with suppress(StoreUnavailable):  # a store that refuses writes does not change the finding
                up_to = 0 if verification.checkpoint is None else verification.checkpoint.newest
                intact = ("intact_ms", began_ms, "intact_up_to", up_to)
                await self._client.call("HSET", Keyspace(workspace_id).workspace, *intact)
        return verification

    async def checkpoint(self, workspace_id: str, tree: SignedTree) -> Note:
        """The newest signed checkpoint of the log, or of the trail. Raises CheckpointNotFound, AuditLogDamaged."""
        return await newest_note(self._client, checkpoint_key(Keyspace(workspace_id), tree))

    async def accept_forks(self, workspace_id: str, by: ChangedBy) -> list[Fork]:
        """Log and trail are signed again, and the trail says so. Gives why they were not. Raises AuditLogDamaged."""
        with unreadable_is_damage():
            found = [await accept_fork(self._client, workspace_id, tree, by) for tree in SignedTree]
        return [each for each in found if each is not None]

    async def proof(self, workspace_id: str, entry_id: str) -> str:
        """The proof that the newest signed checkpoint covers the entry.

        Raises as `entry` and `notes.proof_of` do.
        """
        return await proof_of(self._client, workspace_id, *await self.entry(workspace_id, entry_id))

    async def archive(self, folder: Path, workspace_id: str, progress: Progress | None = None) -> int:
        """Archive as `Archive.write` documents."""
        return await Archive(folder, workspace_id).write(self._client, progress)

    async def manifest(self, workspace_id: str, query: ManifestQuery) -> ArchiveManifest:
        """What an archive of the log must have, as `read_manifest` documents."""
        async with self._slots.slot(workspace_id):
            with unreadable_is_damage():
                return await read_manifest(self._client, workspace_id, query)

    async def backlog(self, workspace_id: str) -> Backlog:
        """The unsealed entries and their lag, read at one moment. Raises AuditLogDamaged."""
        with unreadable_is_damage():
            return await read_backlog(self._client, workspace_id)

    async def counts(self, workspace_id: str, query: CountQuery) -> Counted:
        """Count entries as `counts.counts` documents."""
        async with self._slots.slot(workspace_id):
            with unreadable_is_damage():
                return await counts(self._client, workspace_id, query)

    async def counts_by_result(self, workspace_id: str, query: CountQuery) -> dict[Result, list[ValueCount]]:
        """Count decisions as `counts.counts_by_result` documents."""
        async with self._slots.slot(workspace_id):
            with unreadable_is_damage():
                return await counts_by_result(self._client, workspace_id, query)

    async def _search_tail(self, keyspace: Keyspace, matcher: EntryFilter, page: Page, below: int) -> int:
        """Offer the stream's entries to the page; return the sequence below which every entry must be sealed."""
        walk = UnsealedWalk(self._client, keyspace, below)
        async for sequence, fields in walk.entries():
            if matcher.may_hold(fields):
                line = await line_of_unsealed(self._client, keyspace, sequence, fields)
                if matcher.matches(line) and page.offer(sequence, line):
                    break
        return walk.below


class _Searched(NamedTuple):
    """A page, the floor as `BackwardSearch.run` returns it, and where the search stopped before the page was full."""

    page: Page
    floor: Floor | None
    stopped_below: int | None
