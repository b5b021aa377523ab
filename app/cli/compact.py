"""`remit compact`."""

import asyncio
import gc
import os
import signal

import click
import uvloop
from msgspec.structs import replace

from app.audit.compactor import Compactor
from app.cli.session import read_settings
from app.logs import configure_logging
from app.redis_client.client import open_client
from app.serve.embedded_store import reachable_store
from app.settings import Settings

_NICENESS = 10
"""Sealing can wait, whoever wants a decision from the store or a replica on the same cores cannot."""


@click.command()
def compact() -> None:
    """Seal audit streams into segments until Ctrl-C or SIGTERM.

    `remit serve` runs one already. More of them, here or on other machines, do no harm and take over when one dies.
    """
    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    with reachable_store(settings) as url:
        uvloop.run(run_compactor(replace(settings, redis_url=url)))


async def run_compactor(settings: Settings) -> None:
    """Seal until SIGINT or SIGTERM; a segment that is being sealed is finished."""
    os.nice(_NICENESS)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    client = open_client(settings.redis_url or "", settings.store_timeout_ms)
    gc.collect()
    gc.freeze()  # what the start left stays, and need not be looked through again and again
    try:
        await Compactor(client, settings).run(stopped)
    finally:
        await client.close()
