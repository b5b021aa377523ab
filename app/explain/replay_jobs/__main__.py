"""The process of one replay, proposal or analysis: the task on standard input, lines of JSON on standard output."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec

from app.audit.log import AuditLog
from app.errors import AppError
from app.explain.replay_jobs.analyses import ANSWER, AnalysisTask, analysed
from app.explain.replay_jobs.proposer import Proposer
from app.explain.replay_jobs.replayer import Replayer
from app.model.ids import Ids
from app.model.proposals import ProposalLine, ProposeTask
from app.model.replays import ReplayLine, ReplayTask
from app.redaction.redactor import Redactor
from app.redis_client.client import Client
from app.redis_client.clients import open_client
from app.runtime.fairness.thread_pool import FairThreadPool
from app.settings import Settings
from app.store.agents import Agents
from app.store.catalog import Catalog
from app.store.changes import Changes
from app.store.limits import WorkspaceLimits
from app.store.policies import Policies

_encode = msgspec.json.encode


def main() -> None:
    """Replay, propose or analyse, and end as soon as the output is no longer read."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=ReplayTask | ProposeTask | AnalysisTask)
    settings = Settings.from_env(os.environ)
    with suppress(BrokenPipeError):
        if isinstance(task, ReplayTask | ProposeTask):
            asyncio.run(_read(task, settings))
        else:
            _write(ANSWER + _encode(analysed(task, Redactor(settings.redact.split(",")).may_be_secret)) + b"}\n")
    # Nothing may be left to flush into a pipe that may be gone.
    os._exit(0)


async def _read(task: ReplayTask | ProposeTask, settings: Settings) -> None:
    """Do what needs the store."""
    client = open_client(settings.redis_url or "", settings.store_timeout_ms)
    try:
        async for line in _lines(task, client, settings):
            _write(_encode(line) + b"\n")
    except AppError as error:
        _write(_encode(ReplayLine(error=str(error))) + b"\n")
    finally:
        await client.close()


def _lines(
    task: ReplayTask | ProposeTask, client: Client, settings: Settings
) -> AsyncIterator[ReplayLine] | AsyncIterator[ProposalLine]:
    ids, limits, pool = Ids(), WorkspaceLimits(), FairThreadPool()
    agents, audit = Agents(client, ids, limits, pool), AuditLog(client)
    policies, redactor = Policies(client, ids, limits, pool), Redactor(settings.redact.split(","))
    if isinstance(task, ProposeTask):
        return Proposer(agents, policies, Catalog(client), audit).lines(task)
    return Replayer(agents, policies, Changes(client), audit, redactor.may_be_secret).lines(task)


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
