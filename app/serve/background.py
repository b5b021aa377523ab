"""The background process: `remit compact`, which `remit serve` also starts."""

import asyncio
import gc
import os
import signal

import uvloop
from msgspec.structs import replace

from app.redis_client.clients import open_client
from app.serve.embedded_store import reachable_store
from app.serve.jobs import background_jobs
from app.serve.schedule import run_jobs
from app.settings import Settings

_NICENESS = 10
"""Niceness: sealing can wait, unlike callers who wait for a decision on the same cores."""


def run_background(settings: Settings) -> None:
    """Run the background jobs until SIGINT or SIGTERM; a segment being sealed is finished first."""
    with reachable_store(settings) as url:
        uvloop.run(_run_until_told(replace(settings, redis_url=url)))


async def _run_until_told(settings: Settings) -> None:
    os.nice(_NICENESS)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    client = open_client(settings.redis_url or "", settings.store_timeout_ms)
    gc.collect()
    gc.freeze()  # objects made at the start stay, and need not be walked again and again
    try:
        async with background_jobs(client, settings) as jobs:
            await run_jobs(jobs, stopped)
    finally:
        await client.close()
