"""What is at risk with this store: the same findings at start and from `remit doctor`."""

import re
import time
from enum import StrEnum

from msgspec import Struct

from app.errors import StoreUnavailable
from app.store.client import Client
from app.store.records import as_record
from app.store.scripts import SCRIPTS

_CLOCK_TOLERANCE_S = 5
_OLDEST = {"redis": (7, 0), "valkey": (8, 0)}


class Severity(StrEnum):
    """`ok`; `risk` = it works, but something can be lost; `broken` = do not run it so."""

    OK = "ok"
    RISK = "risk"
    BROKEN = "broken"


class Finding(Struct, frozen=True):
    """One thing looked at, and a sentence that says what it means."""

    subject: str
    severity: Severity
    sentence: str


async def check_up(client: Client) -> list[Finding]:
    """Everything that can be said about the store without changing it. Raises StoreUnavailable."""
    return [
        await _version(client),
        await _eviction(client),
        await _durability(client),
        await _scripts(client),
        await _clock(client),
    ]


async def _version(client: Client) -> Finding:
    info = _info(await client.call("INFO", "server"))
    family = "valkey" if "valkey_version" in info else "redis"
    text = info.get("valkey_version", info.get("redis_version", "0"))
    numbers = tuple(int(part) for part in re.findall(r"\d+", text)[:2])
    oldest = ".".join(map(str, _OLDEST[family]))
    if numbers < _OLDEST[family]:
        return Finding("version", Severity.BROKEN, f"{family} {text} is too old; Remit needs {oldest}")
    return Finding("version", Severity.OK, f"{family} {text}")


async def _eviction(client: Client) -> Finding:
    policy = await _config(client, "maxmemory-policy")
    if policy is None:
        return Finding("eviction", Severity.RISK, "maxmemory-policy may not be read; it must be noeviction")
    if policy != "noeviction":
        sentence = (
            f"maxmemory-policy is {policy}: when memory runs out, quotas and audit entries disappear; set noeviction"
        )
        return Finding("eviction", Severity.BROKEN, sentence)
    return Finding("eviction", Severity.OK, "nothing is evicted")


async def _durability(client: Client) -> Finding:
    appending, syncing = await _config(client, "appendonly"), await _config(client, "appendfsync")
    if appending is None:
        return Finding("durability", Severity.RISK, "appendonly may not be read; without it a crash loses answers")
    if appending != "yes":
        sentence = "appendonly is off: a crash of the store loses policies, revocations, quotas and audit entries"
        return Finding("durability", Severity.RISK, sentence)
    if syncing != "always":
        lost = "the last second" if syncing == "everysec" else "whatever the system had not written yet"
        sentence = f"appendfsync is {syncing}: a crash of the store's machine loses {lost}; always loses nothing"
        return Finding("durability", Severity.RISK, sentence)
    return Finding("durability", Severity.OK, "every answer is on disk before it is given")


async def _scripts(client: Client) -> Finding:
    for script in SCRIPTS:
        await client.call("SCRIPT", "LOAD", script.text)
    return Finding("scripts", Severity.OK, f"all {len(SCRIPTS)} scripts load")


async def _clock(client: Client) -> Finding:
    seconds, _ = await client.call("TIME")
    ahead = int(seconds) - time.time()
    if abs(ahead) > _CLOCK_TOLERANCE_S:
        sentence = (
            f"the store's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's; "
            "the store's decides on time windows and expiry"
        )
        return Finding("clock", Severity.RISK, sentence)
    return Finding("clock", Severity.OK, "the store's clock agrees with this machine's")


async def _config(client: Client, name: str) -> str | None:
    """A setting of the store, None where it may not be read (ACL, managed services)."""
    try:
        return as_record(await client.call("CONFIG", "GET", name)).get(name)
    except StoreUnavailable:
        return None


def _info(reply: dict[str, str] | str) -> dict[str, str]:
    if isinstance(reply, dict):
        return {name: str(value) for name, value in reply.items()}
    return dict(line.split(":", 1) for line in reply.splitlines() if ":" in line)
