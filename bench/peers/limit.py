"""Limiters alone, by the peers' own libraries, on the store of the benchmark.

`limit <redis url> <pid of the store> <seconds>` prints JSON: label → one round of calls, one at a time;
`limit <redis url> facts` prints label → what it holds and how many it admits.
"""

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import limits  # type: ignore[import-not-found]
import redis
from limits import strategies
from limits.storage import RedisStorage  # type: ignore[import-not-found]
from throttled import RateLimiterType, Throttled, rate_limiter, store  # type: ignore[import-not-found]

from bench.peers.windows import most_within, open_window

HELD = 10_000
WIDE_LIMIT, WIDE_SECONDS = 1_000_000, 600
TIGHT_LIMIT, TIGHT_SECONDS = 100, 2
COUNTER = "INCRBY by redis-py, which limits nothing"
Ask = Callable[[], bool]
Make = Callable[[int, int], Ask]
"""A limiter with a limit and a window in seconds."""


def main() -> None:
    url = sys.argv[1]
    made = limiters(url)
    if sys.argv[2] == "facts":
        print(json.dumps({label: facts(make, redis.Redis.from_url(url)) for label, make in made.items()}))
    else:
        pid, seconds = int(sys.argv[2]), float(sys.argv[3])
        client = redis.Redis.from_url(url)
        client.flushall()
        wide = {label: make(WIDE_LIMIT, WIDE_SECONDS) for label, make in made.items()}
        print(json.dumps({label: speed(ask, client, pid, seconds) for label, ask in wide.items()}))


def facts(make: Make, client: redis.Redis) -> dict[str, float]:
    """The bytes a limiter holds per call, and how many calls it admits in its worst window; empties the store first."""
    client.flushall()
    wide = make(WIDE_LIMIT, WIDE_SECONDS)
    for _ in range(HELD):
        wide()
    held = sum(client.memory_usage(key, samples=0) or 0 for key in client.scan_iter(count=1000))
    client.flushall()
    admissions = open_window(make(TIGHT_LIMIT, TIGHT_SECONDS), TIGHT_SECONDS)
    most = most_within(admissions, TIGHT_SECONDS)
    return {"bytes a call": held / HELD, "most in a window": most}


def limiters(url: str) -> dict[str, Make]:
    """Every limiter by label."""
    storage = RedisStorage(url)
    shared = store.RedisStore(server=url)
    client = redis.Redis.from_url(url)

    def incrby(_: int, __: int) -> Ask:
        return lambda: bool(client.incrby("counter"))

    def of_limits(kind: type) -> Make:
        def make(limit: int, seconds: int) -> Ask:
            strategy, item = kind(storage), limits.parse(f"{limit} per {seconds} second")
            return lambda: bool(strategy.hit(item, kind.__name__))

        return make

    def of_throttled(kind: RateLimiterType) -> Make:
        def make(limit: int, seconds: int) -> Ask:
            quota = rate_limiter.per_duration(timedelta(seconds=seconds), limit=limit, burst=limit)
            throttle = Throttled(key=kind.value, using=kind.value, quota=quota, store=shared)
            return lambda: not throttle.limit().limited

        return make

    made: dict[str, Make] = {COUNTER: incrby}
    version = importlib.metadata.version("limits")
    for kind, name in (
        (strategies.FixedWindowRateLimiter, "fixed window"),
        (strategies.SlidingWindowCounterRateLimiter, "sliding window counter"),
        (strategies.MovingWindowRateLimiter, "moving window"),
    ):
        made[f"limits {version}, {name}"] = of_limits(kind)
    version = importlib.metadata.version("throttled-py")
    for each in RateLimiterType:
        made[f"throttled-py {version}, {each.value.replace('_', ' ')}"] = of_throttled(each)
    return made


def speed(ask: Ask, client: redis.Redis, pid: int, seconds: float) -> dict[str, float]:
    """One caller, one call at a time."""
    for _ in range(200):
        ask()
    client.config_resetstat()
    calls, began, spent_us = 0, time.perf_counter(), cpu_us(pid)
    while time.perf_counter() - began < seconds:
        for _ in range(50):
            if not ask():
                raise RuntimeError("refused although there was room")
        calls += 50
    took, store_us = time.perf_counter() - began, (cpu_us(pid) - spent_us) / calls
    return {"calls/s": calls / took, "store us": store_us, "commands us": commands_us(client) / calls}


def commands_us(client: redis.Redis) -> float:
    """The store's time in commands, us; a script's time includes the commands it calls."""
    spent = {
        name.removeprefix("cmdstat_"): statistics["usec"]
        for name, statistics in client.info("commandstats").items()
        if name not in {"cmdstat_info", "cmdstat_config|resetstat"}
    }
    scripts = [spent[name] for name in ("eval", "evalsha") if name in spent]
    return float(sum(scripts or spent.values()))


def cpu_us(pid: int) -> float:
    return sum(int((task / "schedstat").read_text().split()[0]) / 1000 for task in Path(f"/proc/{pid}/task").iterdir())


if __name__ == "__main__":
    main()
