"""Jobs of the background process: each goes on, whatever the others do."""

import asyncio

from fake_store import FakeClient

from app.errors import StoreUnavailable
from app.serve.jobs import Job, background_jobs, run_jobs
from app.settings import Settings


async def test_a_job_that_fails_or_hangs_stops_no_other_and_is_tried_again(caplog):
    """Whether the failure is expected or not."""
    stopped, runs = asyncio.Event(), []

    async def failing(_):
        runs.append("failing")
        raise StoreUnavailable("away") if runs.count("failing") == 1 else ZeroDivisionError("unexpected")

    async def hanging(stopped):
        await stopped.wait()

    async def working(_):
        runs.append("working")
        if runs.count("failing") > 2 and runs.count("working") > 2:
            stopped.set()

    jobs = [Job("fail", 0, failing), Job("hang", 0, hanging), Job("work", 0, working)]
    async with asyncio.timeout(60):
        await run_jobs(jobs, stopped)
    assert "cannot fail: away" in caplog.text
    assert "ZeroDivisionError" in caplog.text


async def test_a_job_with_more_to_do_does_not_wait_and_one_that_waits_first_does():
    """An hour does not pass in either."""
    stopped, runs = asyncio.Event(), []

    async def busy(_):
        runs.append("busy")
        if len(runs) == 3:
            stopped.set()
        return True

    async def later(_):
        runs.append("later")

    async with asyncio.timeout(60):
        await run_jobs([Job("be busy", 3600, busy), Job("wait", 3600, later, waits_first=True)], stopped)
    assert runs == ["busy"] * 3


async def test_what_is_switched_off_is_not_a_job():
    """Without a retention nothing is dropped; with an interval of 0 nothing is verified."""
    client = FakeClient()
    everything = {"apply retention", "verify logs"}
    for settings, off in [
        (Settings(), {"apply retention"}),
        (Settings(audit_verify_every_seconds=0), everything),
        (Settings(audit_retention_days=1), set()),
    ]:
        async with background_jobs(client, settings) as jobs:
            assert everything - {job.name for job in jobs} == off
    await client.close()
