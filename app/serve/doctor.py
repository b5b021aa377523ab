"""Findings about risks of this store; printed at start and by `remit doctor`.

Long because each risk has its check and its sentence here.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from app.errors import StoreUnavailable
from app.redis_client.client import Client
from app.redis_client.replies import StoreAway, as_record, info_of
from app.redis_client.scripts import SCRIPTS
from app.store.keyspace import READINESS_PROBE, copy_of, key_pointer
from app.store.placement import holders
from app.store.readiness import SLOW_MS, require_ready
from app.store.workspaces import workspace_ids

OLDEST = {"redis": (7, 0), "valkey": (8, 0)}
"""The oldest server versions that Remit supports."""
_CLOCK_TOLERANCE_S = 5
_REPLIES = 5
_FULL_SHARE = 0.8
_POINTERS_TRIED = 256
_MIB = 1 << 20
_SCRIPTING_FIXED = {
    "redis": {(7, 2): 11, (7, 4): 6, (8, 0): 4, (8, 2): 2},
    "valkey": {(8, 0): 6, (8, 1): 4},
}
"""The first patch of each line without CVE-2025-49844 (a sandbox escape in scripting); later lines never had it."""
_TORN_WRITES_FIXED = {"redis": {}, "valkey": {(8, 0): 11, (8, 1): 10, (9, 0): 6, (9, 1): 2}}
"""The first patch of each line that removes all of a write that a crash has cut off; later lines do, too."""
_REPLAYS_ALL = {"valkey": ((9, 1), 2)}
"""The first version that replays what scripts wrote whatever the user `default` may do (valkey-io/valkey#3983)."""
SCRIPTED_WRITES = (
    "DEL, HDEL f, HINCRBY f 1, HSET f v, HSETNX f v, INCR, LPUSH v, LREM 1 v, LSET 0 v, LTRIM 0 1, PEXPIRE 1, "
    "PEXPIREAT 1, RPOP, SET v, XADD 1-1 f v, XDEL 1-1, XTRIM MINID 1, ZADD 1 m, ZREM m, ZREMRANGEBYSCORE 1 2"
)
"""The commands that scripts leave in the append-only file, without their key; a test compares them with the scripts."""


class Severity(StrEnum):
    """`ok`; `risk` = works, but data can be lost; `broken` = must not be used."""

    OK = "ok"
    RISK = "risk"
    BROKEN = "broken"


class Finding(Struct, frozen=True):
    """One checked property, and a sentence that explains it."""

    subject: str
    severity: Severity
    sentence: str


class Node(Struct, frozen=True):
    """A writable node's report about itself.

    name: host:port of a cluster's master, "" for a single server. config: None if reading it is not permitted (ACL,
    managed services).
    """

    name: str
    info: dict[str, str]
    config: dict[str, str] | None


async def check_up(client: Client, *, private: bool = False, has_secret: bool = True) -> list[Finding]:
    """Every finding that can be made without changing the store; in a cluster, the worst of any master.

    private: only this service can reach the store, so the check of who could exploit its scripting is skipped.
    has_secret: a secret is kept outside the store (REMIT_SECRET).
    Raises StoreUnavailable.
    """
    masters = await client.masters()
    nodes = [node for name, each in masters.items() if (node := await _node(name, each, alone=len(masters) == 1))]
    if not nodes:
        raise StoreAway("No master of the cluster answers; nothing was checked")
    looks = (
        lambda node: _version(node.info, private=private),
        lambda node: _role(node.info),
        _eviction,
        lambda node: _memory(node.info),
        lambda node: _durability(node, private=private),
        _replication,
    )
    worst = [
        max((_named(node, look(node)) for node in nodes), key=lambda found: list(Severity).index(found.severity))
        for look in looks
    ]
    if client.is_cluster:
        worst.append(await _shards(client, [name for name in masters if name not in {node.name for node in nodes}]))
    worst += [await _restart(client, nodes), await _scripts(client), await _decisions(client), await _clock(client)]
    worst.append(await _distance(client))
    return [*worst, _secret(has_secret=has_secret)]


def _secret(*, has_secret: bool) -> Finding:
    if has_secret:
        return Finding(
            "secret",
            Severity.OK,
            "REMIT_SECRET is set: approvals are bound to their calls, digests in the store cannot be guessed",
        )
    sentence = (
        "REMIT_SECRET is not set: approvals cannot be bound to calls, so what escalates asks nobody, and digests in "
        "the store can be guessed; set the same secret on every replica (`openssl rand -hex 32` makes one)"
    )
    return Finding("secret", Severity.RISK, sentence)


def _version(info: dict[str, str], *, private: bool) -> Finding:
    family, text = _server(info)
    line, patch = _numbers(text)
    if line < OLDEST[family]:
        oldest = ".".join(map(str, OLDEST[family]))
        return Finding("version", Severity.BROKEN, f"{family} {text} is too old; Remit needs {oldest}")
    fixed = _SCRIPTING_FIXED[family]
    if not private and line <= max(fixed) and patch < fixed.get(line, patch + 1):
        sentence = (
            f"{family} {text} has a known vulnerability in its scripting (CVE-2025-49844) unless its packager "
            "has fixed it; let nobody but Remit send it commands, and upgrade"
        )
        return Finding("version", Severity.RISK, sentence)
    return Finding("version", Severity.OK, f"{family} {text}")


def _keeps_torn_writes(info: dict[str, str]) -> bool:
    family, text = _server(info)
    line, patch = _numbers(text)
    fixed: dict[tuple[int, int], int] = _TORN_WRITES_FIXED[family]
    return patch < fixed[line] if line in fixed else line <= max(fixed, default=line)


def _server(info: dict[str, str]) -> tuple[str, str]:
    """Family and version of the server."""
    if "valkey_version" in info:
        return "valkey", info["valkey_version"]
    return "redis", info.get("redis_version", "0")


def _role(info: dict[str, str]) -> Finding:
    if info.get("role", "master") != "master":
        return Finding("role", Severity.BROKEN, "this is a replica, which takes no writes; name the master")
    return Finding("role", Severity.OK, "it takes writes")


def _eviction(node: Node) -> Finding:
    if node.config is None:
        return Finding("eviction", Severity.RISK, "maxmemory-policy may not be read; it must be noeviction")
    policy = node.config["maxmemory-policy"]
    if policy != "noeviction":
        sentence = (
            f"maxmemory-policy is {policy}: when memory runs out, quotas and audit entries disappear; set noeviction"
        )
        return Finding("eviction", Severity.BROKEN, sentence)
    return Finding("eviction", Severity.OK, "nothing is evicted")


def _memory(info: dict[str, str]) -> Finding:
    used = int(info.get("used_memory", 0))
    limit = int(info.get("maxmemory", 0)) or int(info.get("total_system_memory", 0))
    if limit and used > _FULL_SHARE * limit:
        sentence = f"{used // _MIB} of {limit // _MIB} MiB are used; when it is full, every decision is refused"
        return Finding("memory", Severity.RISK, sentence)
    return Finding("memory", Severity.OK, f"{used // _MIB} MiB are used")


def _durability(node: Node, *, private: bool) -> Finding:
    if node.config is None:
        return Finding("durability", Severity.RISK, "appendonly may not be read; without it a crash loses answers")
    if node.config["appendonly"] != "yes":
        sentence = "appendonly is off: a crash of the store loses policies, revocations, quotas and audit entries"
        return Finding("durability", Severity.RISK, sentence)
    if node.info.get("aof_last_write_status", "ok") != "ok":
        return Finding(
            "durability", Severity.BROKEN, "the last write of the append-only file failed; is the disk full?"
        )
    syncing = node.config["appendfsync"]
    if syncing != "always":
        lost = "the last second" if syncing == "everysec" else "whatever the system had not written yet"
        sentence = f"appendfsync is {syncing}: a crash of the store's machine loses {lost}; always loses nothing"
        return Finding("durability", Severity.RISK, sentence)
    if not private and _keeps_torn_writes(node.info):
        family, text = _server(node.info)
        sentence = (
            f"{family} {text} keeps the beginning of a write that a crash cut off, and at its next start loses the "
            f"answers after it; run `{family}-check-aof --fix` after a crash of its machine, before it starts"
        )
        return Finding("durability", Severity.RISK, sentence)
    return Finding("durability", Severity.OK, "every answer is on disk before it is given")


def _replication(node: Node) -> Finding:
    replicas = int(node.info.get("connected_slaves", 0))
    if replicas and node.config is not None and node.config["min-replicas-to-write"] == "0":
        sentence = (
            "min-replicas-to-write is 0: a master cut off from its replicas goes on answering, and what it answered "
            "is lost when another takes over; set 1"
        )
        return Finding("replication", Severity.RISK, sentence)
    return Finding("replication", Severity.OK, f"{replicas or 'no'} replica{'' if replicas == 1 else 's'}")


async def _restart(client: Client, nodes: Sequence[Node]) -> Finding:
    """Whether a start keeps what scripts wrote: the server replays it as the user `default`, even if that is off."""
    servers = [_server(node.info) for node in nodes]
    if all(family in _REPLAYS_ALL and _numbers(text) >= _REPLAYS_ALL[family] for family, text in servers):
        return Finding("restart", Severity.OK, "a restart replays what scripts wrote")
    dropped = []
    try:
        for write in SCRIPTED_WRITES.split(", "):
            name, *rest = write.split(" ")
            said = await client.call_each("ACL", "DRYRUN", "default", name, READINESS_PROBE, *rest)
            dropped += [name for each in said if each != "OK"][:1]
    except StoreUnavailable:
        sentence = (
            "it is unknown whether a restart keeps what scripts wrote, because `ACL DRYRUN` is refused: take over "
            "the users `remit` (`+acl|dryrun`) and `default` of deploy/redis.acl, and never restart before"
        )
        return Finding("restart", Severity.RISK, sentence)
    if dropped:
        sentence = (
            f"a restart of the store loses agents, policies, keys and decisions: it drops what scripts wrote, because "
            f"the user `default` may not run {', '.join(dropped)}; before any restart, run `ACL SETUSER default "
            "~remit:* +@write` and add the same to its line in the ACL file (docs/lost-at-restart.md)"
        )
        return Finding("restart", Severity.BROKEN, sentence)
    return Finding("restart", Severity.OK, "a restart replays what scripts wrote")


async def _scripts(client: Client) -> Finding:
    for script in SCRIPTS:
        await client.call_each("SCRIPT", "LOAD", script.text)
    return Finding("scripts", Severity.OK, f"all {len(SCRIPTS)} scripts load")


async def _decisions(client: Client) -> Finding:
    """The finding of /readyz: whether the store takes decisions now, whatever else may be wrong with it."""
    try:
        await require_ready(client)
    except StoreUnavailable as error:
        return Finding("decisions", Severity.BROKEN, f"every decision is refused: {error}")
    return Finding("decisions", Severity.OK, "the store takes what a decision writes")


async def _clock(client: Client) -> Finding:
    clocks = [int(seconds) - time.time() for seconds, _ in await client.call_each("TIME")]
    ahead = max(clocks, key=abs)
    if abs(ahead) > _CLOCK_TOLERANCE_S:
        sentence = (
            f"the store's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's; "
            "the store's decides on time windows and expiry"
        )
        return Finding("clock", Severity.RISK, sentence)
    return Finding("clock", Severity.OK, "the store's clock agrees with this machine's")


async def _distance(client: Client, now: Callable[[], float] = time.monotonic) -> Finding:
    replies_ms = list[float]()
    for _ in range(_REPLIES):
        asked_s = now()
        await client.call("PING")
        replies_ms.append((now() - asked_s) * 1_000)
    fastest_ms = min(replies_ms)
    if fastest_ms > SLOW_MS:
        sentence = (
            f"the fastest of {_REPLIES} replies took {fastest_ms:.0f} ms, and each decision waits for one; if it takes "
            "longer than REMIT_STORE_TIMEOUT_MS (250 unless set), the decision is 503: run the service near its store"
        )
        return Finding("distance", Severity.RISK, sentence)
    return Finding("distance", Severity.OK, f"the store replies within {max(1, fastest_ms):.0f} ms")


async def _node(name: str, master: Client, *, alone: bool) -> Node | None:
    """The master's report, with the settings that matter; None if it is away and not the only one."""
    names = ("maxmemory-policy", "appendonly", "appendfsync", "min-replicas-to-write")
    try:
        info = info_of(await master.call("INFO"))
    except StoreAway:
        if alone:
            raise
        return None
    try:
        return Node(name, info, as_record(await master.call("CONFIG", "GET", *names)))
    except StoreUnavailable:
        return Node(name, info, None)


def _named(node: Node, found: Finding) -> Finding:
    """The finding, which in a cluster names the master unless all is well."""
    return (
        found
        if found.severity is Severity.OK or not node.name
        else replace(found, sentence=f"{node.name}: {found.sentence}")
    )


async def _shards(client: Client, away: Sequence[str]) -> Finding:
    """Where the workspaces of a cluster are, and whether one shard alone can keep others' callers out."""
    held = Counter((await holders(client, await workspace_ids(client))).values())
    if away:
        hurt = sum(held[name] for name in away)
        sentence = f"{', '.join(away)} {'does' if len(away) == 1 else 'do'} not answer: {hurt} of {held.total()} "
        return Finding(
            "shards", Severity.BROKEN, f"{sentence}workspaces are refused; start it, or let a replica take over"
        )
    masters, _ = await client.master_names(())
    pairs = [(name, copy_of(name)) for name in map(key_pointer, map(str, range(_POINTERS_TRIED)))]
    _, names = await client.master_names(each for pair in pairs for each in pair)
    together = sum(first == second for first, second in zip(names[::2], names[1::2], strict=True))
    if len(masters) > 1 and together:
        sentence = (
            f"of {len(pairs)} pointers to a key's workspace {together} have both copies on one master: if it is away, "
            "callers of other shards are refused, too; spread the slots so that no master has two that are half the "
            "ring (8,192) apart, as `redis-cli --cluster create` does for three masters"
        )
        return Finding("shards", Severity.RISK, sentence)
    spread = ", ".join(f"{name} {held[name]}" for name in masters)
    return Finding("shards", Severity.OK, f"{held.total()} workspaces: {spread}")


def _numbers(version: str) -> tuple[tuple[int, int], int]:
    """Major and minor, and the patch, of a version such as 7.0.15."""
    major, minor, patch, *_ = [*map(int, re.findall(r"\d+", version)), 0, 0, 0]
    return (major, minor), patch
