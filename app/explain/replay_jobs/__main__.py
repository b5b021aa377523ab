"""The process of one replay or analysis: the task on its standard input, lines of JSON on its standard output."""

import asyncio
import os
import sys
from contextlib import suppress

import msgspec

from app.audit.log import AuditLog
from app.errors import AppError
from app.explain.replay_jobs.analyses import ANSWER, AnalysisTask, analysed
from app.explain.replay_jobs.replayer import Replayer
from app.model.ids import Ids
from app.model.replays import ReplayLine, ReplayTask
from app.redaction.redactor import Redactor
from app.redis_client.clients import open_client
from app.runtime.fairness.thread_pool import FairThreadPool
from app.settings import Settings
from app.store.agents import Agents
from app.store.changes import Changes
from app.store.limits import WorkspaceLimits
from app.store.policies import Policies

_encode = msgspec.json.encode


def main() -> None:
    """Replay or analyse, and end as soon as the output is no longer read."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=ReplayTask | AnalysisTask)
    settings = Settings.from_env(os.environ)
    with suppress(BrokenPipeError):
        if isinstance(task, ReplayTask):
            asyncio.run(_replay(task, settings))
        else:
            _write(ANSWER + _encode(analysed(task, Redactor(settings.redact.split(",")).may_be_secret)) + b"}\n")
    # Nothing may be left to flush into a pipe that may be gone.
    os._exit(0)


async def _replay(task: ReplayTask, settings: Settings) -> None:
    client = open_client(settings.redis_url or "", settings.store_timeout_ms)
    try:
        ids, redactor = Ids(), Redactor(settings.redact.split(","))
        limits, pool = WorkspaceLimits(), FairThreadPool()
        agents, policies = Agents(client, ids, limits, pool), Policies(client, ids, limits, pool)
        replayer = Replayer(agents, policies, Changes(client), AuditLog(client), redactor.may_be_secret)
        try:
            async for line in replayer.lines(task):
                _say(line)
        except AppError as error:
            _say(ReplayLine(error=str(error)))
    finally:
        await client.close()


def _say(line: ReplayLine) -> None:
    _write(_encode(line) + b"\n")


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
