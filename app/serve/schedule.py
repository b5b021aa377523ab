"""Jobs that run again and again, each in a separate task, so that none waits for another or stops with it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from app.runtime.fault_isolation import failures_logged

log = logging.getLogger(__name__)


class Job(NamedTuple):
    """Work that is repeated until the process ends.

    name: completes the sentence "cannot …". interval_s: from the end of one run to the start of the next.
    run: finishes what it has begun and returns soon once the event is set. It returns True if more is waiting, which is
    then done at once.
    waits_first: the first run comes an interval after the start, too.
    """

    name: str
    interval_s: float
    run: Callable[[asyncio.Event], Awaitable[object]]
    waits_first: bool = False


async def run_jobs(jobs: Sequence[Job], stopped: asyncio.Event) -> None:
    """Run the jobs until `stopped` is set. A run that fails is logged, and the job runs again after its interval."""
    await asyncio.gather(*(_repeat(job, stopped) for job in jobs))


async def _repeat(job: Job, stopped: asyncio.Event) -> None:
    if job.waits_first:
        await wait(stopped, job.interval_s)
    while not stopped.is_set():
        has_more: object = False
        with failures_logged(log, job.name, level=logging.WARNING):
            has_more = await job.run(stopped)
        if has_more is not True:
            await wait(stopped, job.interval_s)


async def wait(stopped: asyncio.Event, seconds: float) -> None:
    """Wait this long, or until `stopped` is set."""
    try:
        await asyncio.wait_for(stopped.wait(), seconds)
    except TimeoutError:
        return
