"""What must be true of a workspace's whole log after a run, whatever broke during it.

Each oracle takes what callers saw and what the store holds, and raises AssertionError with a sentence. The log is
read out of the store's bytes, without code of the service; only the chain is checked by the service's own verifier,
whose tests are elsewhere.
"""

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import redis
import zstandard
from audit_entries import entry_of

from app.audit.verify.verifier import Verifier
from app.redis_client.clients import open_client

ANSWER_ONLY = {"allowed", "retryAfterSeconds", "code", "nextAction"}
"""Fields of an answer that its entry does not have."""

ENTRY_ONLY = {"keyId", "policyVersion", "session", "shadow"}
"""Fields of an entry that its answer does not have."""


@dataclass
class Call:
    """One question of a caller: its number stands in the request's parameters and so in the entry.

    sent, received: when, in ns of one monotonic clock of this process; of the first request, of the last answer.
    sends: how often it was sent; more than once only with an Idempotency-Key.
    status: of the last answer; None if the connection ended without one.
    """

    number: int
    body: dict[str, Any]
    key: str | None = None
    sent: int = 0
    received: int | None = None
    sends: int = 0
    status: int | None = None
    answer: dict[str, Any] | None = None

    def entry(self) -> dict[str, Any]:
        """The entry that the log must hold if this call was decided as it was answered."""
        asked = {"agentId": self.body["agent_id"], "toolName": self.body["tool_name"]}
        asked |= {"action": self.body.get("action", "authorize"), "parameters": self.body["parameters"]}
        return asked | {name: value for name, value in self.answer.items() if name not in ANSWER_ONLY}


@dataclass(frozen=True)
class Quota:
    """At most `max_calls` allowed entries of the agent in any `window_seconds`."""

    agent_id: str
    max_calls: int
    window_seconds: int


@dataclass(frozen=True)
class Forbidden:
    """Acknowledged at `since` (ns, the callers' clock): no call of this agent sent later is allowed."""

    agent_id: str
    since: int


@dataclass
class Log:
    """A workspace's entries, oldest first, each with its place in the log."""

    entries: list[dict[str, Any]]
    sequences: list[int]
    last_sequence: int
    by_id: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_id = {entry["id"]: entry for entry in self.entries}


def read_log(store: redis.Redis, workspace_id: str) -> Log:
    """The whole log as the store holds it: every segment, then the stream."""
    name = f"remit:{{{workspace_id}}}:"
    while True:
        head = int(store.hget(f"{name}audit:head", "segment") or 0)
        stream = store.xrange(f"{name}audit:stream")
        last = int(store.hget(f"{name}commits", "sequence") or 0)
        if head == int(store.hget(f"{name}audit:head", "segment") or 0):
            break  # nothing was sealed in between
    entries, sequences = [], []
    for number in range(1, head + 1):
        first = store.hget(f"{name}audit:segment:{number}", "first_sequence")
        data = store.get(f"{name}audit:data:{number}")
        lines = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read().splitlines()
        entries += map(json.loads, lines)
        sequences += range(int(first), int(first) + len(lines))
    for place, fields in stream:
        entries.append(entry_of({key.decode(): value.decode() for key, value in fields.items()}))
        sequences.append(int(place.partition(b"-")[0]))
    return Log(entries, sequences, last)


def check_all(
    store: redis.Redis,
    url: str,
    workspace_id: str,
    calls: Sequence[Call],
    quotas: Iterable[Quota] = (),
    forbidden: Sequence[Forbidden] = (),
) -> Log:
    """Every oracle, over the log as it is now; nobody may write it meanwhile."""
    log = read_log(store, workspace_id)
    check_answers(log, calls)
    check_quotas(log, quotas)
    check_forbidden(calls, forbidden)
    check_sequence(log)
    check_chain(url, workspace_id)
    return log


def check_answers(log: Log, calls: Iterable[Call]) -> None:
    """Every answer is in the log once with equal content, and nothing is there that nobody asked for.

    A call without an answer may have its entry: it counts, once for each time it was sent. One that had an
    Idempotency-Key has one entry at most, however often it was sent.
    """
    twice = [name for name, count in Counter(entry["id"] for entry in log.entries).items() if count > 1]
    assert not twice, f"these ids are in the log more than once: {twice[:5]}"
    entries_of = Counter(entry["parameters"]["call"] for entry in log.entries)
    asked = {}
    for call in calls:
        asked[call.number] = call
        if call.answer is not None:
            held = log.by_id.get(call.answer["id"])
            assert held is not None, f"the answer to call {call.number} is not in the log: {call.answer}"
            assert held.get("code", call.answer["code"]) == call.answer["code"], held
            held = {name: value for name, value in held.items() if name not in {*ENTRY_ONLY, "code"}}
            assert held == call.entry(), f"call {call.number} was answered {call.entry()}, the log says {held}"
        most = min(call.sends, 1) if call.key is not None else call.sends
        count = entries_of[call.number]
        assert count <= most, f"call {call.number} was sent {call.sends} times and has {count} entries"
    unknown = entries_of.keys() - asked.keys()
    assert not unknown, f"the log holds calls that nobody made: {sorted(unknown)[:5]}"


def check_quotas(log: Log, quotas: Iterable[Quota]) -> None:
    """No window holds more than `max_calls` admitted calls, by the log's own timestamps."""
    for quota in quotas:
        times = sorted(
            _ms(entry["timestamp"])
            for entry in log.entries
            if entry["agentId"] == quota.agent_id and entry["result"] == "allowed"
        )
        # A call admitted exactly one window ago no longer counts.
        for first, last in zip(times, times[quota.max_calls :], strict=False):
            assert last - first >= quota.window_seconds * 1000, (
                f"{quota.max_calls + 1} calls were admitted within {last - first} ms, from {first} on; {quota}"
            )


def check_forbidden(calls: Iterable[Call], forbidden: Sequence[Forbidden]) -> None:
    """No call sent after an acknowledged deny, suspension or revocation was allowed."""
    for call in calls:
        for act in forbidden:
            late = call.body["agent_id"] == act.agent_id and call.sent > act.since
            allowed = call.answer is not None and call.answer["allowed"]
            assert not (late and allowed), (
                f"call {call.number} was sent {call.sent - act.since} ns after it was forbidden, and allowed"
            )


def check_sequence(log: Log) -> None:
    """The sequence numbers are 1, 2, 3 … up to the one that the last commit took."""
    wanted = list(range(1, log.last_sequence + 1))
    for held, expected in itertools.zip_longest(log.sequences, wanted):
        assert held == expected, f"{held} stands where {expected} must stand, of {log.last_sequence}"


def check_chain(url: str, workspace_id: str) -> None:
    """The hash chain leads from the first entry to the last, and the stream follows it."""

    async def verify() -> None:
        client = open_client(url, 10_000)
        try:
            found = await Verifier(client, workspace_id).verify()
        finally:
            await client.close()
        assert found.finding is None, f"the chain is broken: {found.finding}"
        assert found.complete

    asyncio.run(verify())


def check_suffix(log: Log, calls: Iterable[Call], lost: Sequence[Call]) -> None:
    """Of these calls, only the last are lost: every remaining one is older."""
    kept = [call.answer["timestamp"] for call in calls if call.answer is not None and call.answer["id"] in log.by_id]
    if lost:
        first = min(call.answer["timestamp"] for call in lost)
        assert max(kept, default="") <= first, f"an answer of {first} is lost, and one of {max(kept)} is not"


def gone(log: Log, calls: Iterable[Call]) -> Iterator[Call]:
    """The calls whose answers are not in the log."""
    return (call for call in calls if call.answer is not None and call.answer["id"] not in log.by_id)


def _ms(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
