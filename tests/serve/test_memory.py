"""What comes and goes leaves nothing behind: no memory in any process of a service, and no key in its store."""

import asyncio
import re
import time
from collections import Counter

import pytest
from commit_scene import names
from servers import ADMIN_KEY, Store
from serving import Service

from app.redis_client.clients import open_client
from app.serve.jobs import drop_all_spent_counts
from bench.harness.churn import WINDOW_SECONDS, Churn, outside_the_log, resident_bytes
from bench.harness.cores import family

pytestmark = pytest.mark.slow

AGENTS, ROUNDS = 40, 450
MAX_GROWTH = 3 * 1024 * 1024
"""Bytes. A lane that kept each agent that it had loaded grows by 6 MiB in this many rounds, others by 0.5 MiB."""
MAX_MORE_KEYS = 20
"""A key that stayed for every session, edit, agent or API key would make hundreds, or thirty, more."""


async def keys_left(url: str) -> Counter[str]:
    """How many keys of each kind there are outside the log, once what counts no more has been dropped."""
    client = open_client(url, 10_000)
    try:
        await drop_all_spent_counts(client, asyncio.Event())
        kinds = [re.sub(r"[0-9a-f-]{32,}", "*", name) for name in await names(client, "*")]
        return Counter(each for each in kinds if outside_the_log([each]))
    finally:
        await client.close()


@pytest.fixture
def own_store(server, tmp_path):
    store = Store(server("valkey"), tmp_path / "store")
    yield store
    store.stop()


def test_what_comes_and_goes_leaves_neither_memory_nor_keys_behind(tmp_path, own_store):
    """In every process, while the cache of agents holds a third of them and the rest is evicted again and again."""
    service = Service(
        tmp_path,
        REMIT_REDIS_URL=own_store.url,
        REMIT_BOOTSTRAP_KEY=ADMIN_KEY,
        REMIT_COMPACT="false",
        REMIT_AGENT_CACHE_BYTES=str(120_000),
        REMIT_LOG_LEVEL="error",
    ).start()
    try:
        churn = Churn(service.base_url, ADMIN_KEY, AGENTS)
        seen = []
        for _ in range(2):
            for _ in range(ROUNDS):
                churn.round()
            time.sleep(WINDOW_SECONDS + 1)
            churn.round()  # what counts no more at the time of the last commit is dropped
            seen.append((resident_bytes(family(service.process.pid)), asyncio.run(keys_left(own_store.url))))
        churn.close()
        (memory, keys), (memory_after, keys_after) = seen
        growth = {name: size - memory[name] for name, size in memory_after.items()}
        assert all(more < MAX_GROWTH for more in growth.values()), growth
        assert keys_after.total() < keys.total() + MAX_MORE_KEYS, keys_after - keys
    finally:
        service.stop()
