"""The unsealed entries of all workspaces together. Cheap to read, because monitors ask often."""

import time
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from app.audit.entry_format import time_ms_of
from app.audit.log_state import head_of, newest_of
from app.audit.notes import ACCEPTED, checkpoint_key, fork_of
from app.audit.unsealed import stream_entries
from app.errors import AuditLogDamaged, StoreUnavailable
from app.model.audit import Backlog, LastVerification
from app.model.checkpoints import Finding, SignedTree
from app.model.times import rfc3339
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, count_of, decoding_record
from app.runtime.kept_reading import KeptReading
from app.store.keyspace import Keyspace, keyspace_of
from app.store.workspaces import workspace_ids

FRESH_SECONDS = 5.0
_finding_of = msgspec.json.Decoder(Finding).decode
_AT_ONCE = 16
"""Workspaces read in one step: redis-py takes 15 us per command, during which decisions wait."""


class SealingLag(Struct, frozen=True, kw_only=True):
    """The lag of all workspaces together.

    unsealed: entries in all streams. longest, shortest: entries in the longest and in the shortest stream.
    lag_seconds: age of the oldest unsealed entry by the store's clock; 0 without one.
    segments: sealed so far. poison: entries that could not be sealed unchanged.
    intact_seconds: time since a log was last found intact (or created, if it never was), the longest of all logs.
    quota_ahead_seconds: how much quota time is ahead of the store's clock, the most of all workspaces: so far has the
    clock gone back in all.
    forks: logs and trails that are signed no more, because they do not continue what was signed.
    witnessed_seconds: time for which a checkpoint has lacked a witness's signature, the longest of all; 0 = none does.
    """

    unsealed: int = 0
    longest: int = 0
    shortest: int = 0
    lag_seconds: float = 0.0
    segments: int = 0
    poison: int = 0
    forks: int = 0
    quota_ahead_seconds: float = 0.0
    intact_seconds: float = 0.0
    witnessed_seconds: float = 0.0


class SealingWatch:
    """Reads every stream's lag, at most once every few seconds however often it is asked."""

    def __init__(self, client: Client, now: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self.look = KeptReading(self._measure, FRESH_SECONDS, now)
        """The lag, at most FRESH_SECONDS old. Raises StoreUnavailable."""

    async def clock_ahead_seconds(self) -> float:
        """The store's clock less this machine's. Raises StoreUnavailable."""
        return await store_time_ms(self._client) / 1000 - time.time()

    async def require_room(self, backlog_max: int) -> None:
        """Raise StoreUnavailable if every stream is full; return if any workspace can take a decision.

        One full workspace must not make a replica unready for the others: only its own callers get 503.
        """
        if (await self.look()).shortest >= backlog_max:
            raise StoreUnavailable("The unsealed backlog of every workspace is full; is a compactor running?")

    async def _measure(self) -> SealingLag:
        workspaces = await workspace_ids(self._client)
        lengths: list[int] = []
        segments = poison = forks = 0
        oldest_ms: list[int] = []
        intact_ms: list[int] = []
        skews_us: list[int] = []
        unwitnessed_ms: list[int] = []
        for start in range(0, len(workspaces), _AT_ONCE):
            some = [keyspace_of(workspace_id) for workspace_id in workspaces[start : start + _AT_ONCE]]
            replies = await self._client.read_each(("XLEN", each.audit_stream) for each in some)
            some_lengths = [length or 0 for length in replies]
            lengths += some_lengths
            heads = await self._client.read_each(("HGET", each.audit_head, "segment") for each in some)
            segments += sum(map(count_of, heads))
            skews_us += map(count_of, await self._client.read_each(("HGET", each.commits, "skew_us") for each in some))
            replies = await self._client.read_each(("HLEN", each.audit_poison) for each in some)
            poison += sum(entries or 0 for entries in replies)
            noted = await self._client.read_each(("HMGET", each.workspace, "intact_ms", "created_ms") for each in some)
            times = [count_of(each[0]) or count_of(each[1]) for each in noted if each is not None]
            intact_ms += [time_ms for time_ms in times if time_ms]
            checkpoints = (key for each in some for key in (each.audit_checkpoint, each.changes_checkpoint))
            signed = await self._client.read_each(("HMGET", key, "unwitnessed_ms", "fork") for key in checkpoints)
            unwitnessed_ms += filter(None, (count_of(each[0]) for each in signed if each is not None))
            forks += sum(each is not None and each[1] not in (None, ACCEPTED.encode()) for each in signed)
            waiting = (each.audit_stream for each, length in zip(some, some_lengths, strict=True) if length)
            oldest_ms += await self._oldest_ms(waiting)
        now_ms = await store_time_ms(self._client) if oldest_ms or intact_ms or unwitnessed_ms else 0
        return SealingLag(
            unsealed=sum(lengths),
            longest=max(lengths, default=0),
            shortest=min(lengths, default=0),
            lag_seconds=max([0, *(now_ms - each for each in oldest_ms)]) / 1000,
            segments=segments,
            poison=poison,
            forks=forks,
            quota_ahead_seconds=max(skews_us, default=0) / 1_000_000,
            intact_seconds=max([0, *(now_ms - each for each in intact_ms)]) / 1000,
            witnessed_seconds=max([0, *(now_ms - each for each in unwitnessed_ms)]) / 1000,
        )

    async def _oldest_ms(self, streams: Iterable[str]) -> list[int]:
        """The time of each stream's oldest entry, for those that can be read."""
        commands = [("XRANGE", stream, "-", "+", "COUNT", 1) for stream in streams]
        replies = await self._client.read_each(commands) if commands else []
        times = (time_ms_of(fields) for reply in replies for _, fields in stream_entries(reply or ()))
        return [time_ms for time_ms in times if time_ms]


async def read_backlog(client: Client, workspace_id: str) -> Backlog:
    """The unsealed entries of a workspace and their lag, read at one moment. Raises AuditLogDamaged."""
    keyspace = Keyspace(workspace_id)
    # read separately: TIME has no key, and a cluster routes commands by key
    now_ms = await store_time_ms(client)
    record, unsealed, oldest, newest, poison, noted, *forks = await client.read_snapshot(
        ("HGETALL", keyspace.audit_head),
        ("XLEN", keyspace.audit_stream),
        ("XRANGE", keyspace.audit_stream, "-", "+", "COUNT", 1),
        ("HGET", keyspace.commits, "sequence"),
        ("HLEN", keyspace.audit_poison),
        ("HMGET", keyspace.workspace, "verified_ms", "verified_up_to", "verified_finding", "intact_ms", "intact_up_to"),
        *(("HGET", checkpoint_key(keyspace, tree), "fork") for tree in SignedTree),
    )
    head = head_of(record)
    last_sequence = newest_of(str(head.sequence), newest)
    if head.sequence + unsealed < last_sequence:
        in_stream = f"{unsealed} entries in the stream"
        raise AuditLogDamaged(f"Of entries up to {last_sequence} {head.sequence} are sealed, and {in_stream}")
    lag_ms = 0
    if oldest:
        # An oldest entry whose time cannot be read says nothing about the lag.
        oldest_ms = time_ms_of({b"timeMs": as_record(oldest[0][1]).get("timeMs", "").encode()})
        lag_ms = max(0, now_ms - (oldest_ms or now_ms))
    return Backlog(
        unsealed=unsealed,
        lag_seconds=lag_ms / 1000,
        last_sequence=last_sequence,
        sealed_sequence=head.sequence,
        first_sequence=head.first_sequence,
        segments=head.segment,
        poison=poison,
        verification=_last_verification(*noted[:3]),
        intact_at=_time_or_none(noted[3]),
        intact_up_to=count_of((noted[4] or "0").encode()),
        forks=[fork for each in zip(SignedTree, forks, strict=True) if (fork := fork_of(*each)) is not None],
    )


def _last_verification(began_ms: str | None, up_to: str | None, finding: str | None) -> LastVerification | None:
    """What the background verification noted about its last round; None before the first."""
    began_at = _time_or_none(began_ms)
    if began_at is None:
        return None
    with decoding_record("The note about the last verification"):
        found = _finding_of(finding) if finding else None
    return LastVerification(began_at=began_at, up_to=count_of((up_to or "0").encode()), finding=found)


def _time_or_none(text: str | None) -> str | None:
    return rfc3339(time_ms) if text and (time_ms := count_of(text.encode())) else None
