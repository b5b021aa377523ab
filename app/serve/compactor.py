"""The process of `remit compact`: the compactor, the sender of webhooks, and background verification."""

import asyncio
import gc
import os
import signal
from functools import partial

import uvloop
from msgspec.structs import replace

from app.approvals.reaper import ApprovalReaper
from app.audit.compactor import Compactor
from app.audit.verification_rounds import VerificationRounds
from app.model.ids import Ids
from app.redaction.signer import Signer
from app.redis_client.clients import open_client
from app.serve.embedded_store import reachable_store
from app.settings import Settings
from app.webhooks.delivery import Delivery
from app.webhooks.records import note_finding
from app.webhooks.secrets import Secrets
from app.webhooks.sender import Sender
from app.webhooks.webhooks import Webhooks

_NICENESS = 10
"""Niceness: sealing can wait, unlike callers who wait for a decision on the same cores."""


def compact(settings: Settings) -> None:
    """Seal, send webhooks and verify logs until SIGINT or SIGTERM; a segment being sealed is finished first."""
    with reachable_store(settings) as url:
        uvloop.run(_seal_until_told(replace(settings, redis_url=url)))


async def _seal_until_told(settings: Settings) -> None:
    os.nice(_NICENESS)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    client = open_client(settings.redis_url or "", settings.store_timeout_ms)
    gc.collect()
    gc.freeze()  # objects made at the start stay, and need not be walked again and again
    try:
        reaper = ApprovalReaper(client, Ids(), settings.audit_backlog_max)
        secrets = Secrets(Signer(settings.secrets))
        webhooks = Webhooks(client, Ids(), secrets, settings.webhooks_max)
        compactor = Compactor(client, settings, end_approvals=reaper.end_approvals, read_up_to=webhooks.read_up_to)
        sender = Sender(client, Delivery(settings, secrets), settings.audit_backlog_max)
        rounds = VerificationRounds(client, settings, partial(note_finding, client))
        await asyncio.gather(compactor.run(stopped), sender.run(stopped), rounds.run(stopped))
    finally:
        await client.close()
