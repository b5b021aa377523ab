"""The processes in which replays run, before they do any work."""

import asyncio
import sys

import pytest

from app.errors import TooManyReplays
from app.explain.replay_jobs import processes
from app.explain.replay_jobs.processes import ReplayProcesses
from app.model.replays import ReplayTask
from app.settings import Settings

TASK = ReplayTask(workspace_id="w", agent_id=None, from_ms=0, to_ms=1, policies=None)
SAYS_HOW_IT_RUNS = """#!{python}
import os, sys
sys.stdin.read()  # it has stepped aside by the time it is told what to do
print('{{"report":', os.sched_getscheduler(0) == os.SCHED_IDLE, os.nice(0), os.getsid(0) == os.getsid(os.getppid()))
"""


@pytest.fixture
def python(tmp_path, monkeypatch):
    path = tmp_path / "python"
    path.write_text(SAYS_HOW_IT_RUNS.format(python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))


@pytest.mark.skipif(sys.platform != "linux", reason="there is no class of idle processes there")
@pytest.mark.usefixtures("python")
async def test_a_replay_lowers_its_priority_before_it_begins():
    """Its start takes half a second of computing, and decisions do not wait for that either.

    In a session of its own, the scheduler would give it as much of the core as the whole replica.
    """
    lines = await ReplayProcesses(Settings(), asyncio.Event()).begin(TASK, "key")
    assert [line async for line in lines if b"progress" not in line] == [b'{"report": True 19 True\n']


@pytest.mark.usefixtures("python")
async def test_no_key_takes_the_last_place_of_its_workspace():
    """One too many is refused before its body is read. There is room again once the running one has ended."""
    replays = ReplayProcesses(Settings(replays_per_workspace=2), asyncio.Event())
    storm = await replays.begin(TASK, "storm")
    with pytest.raises(TooManyReplays, match="API key has 1 replay"):
        replays.require_room("w", "storm")
    calm = await replays.begin(TASK, "calm")
    with pytest.raises(TooManyReplays, match="workspace has 2 replays"):
        replays.require_room("w", "third")
    replays.require_room("another", "a key of it")
    assert [line async for line in storm]
    replays.require_room("w", "storm")
    assert [line async for line in calm]
    assert len(replays) == 0


@pytest.mark.parametrize("last", ['{"report":{}}', '{"proposal":{}}', '{"error":"no"}'])
async def test_what_a_process_says_last_is_the_last_line_however_slowly_it_ends(monkeypatch, last):
    """On a busy machine it takes seconds: nothing else has so little of it."""
    monkeypatch.setattr(processes, "_SILENCE_S", 0.05)
    says = f"import time; print({last!r}, flush=True); time.sleep(1)"
    monkeypatch.setattr(processes, "PROGRAM", ("-c", says))
    replays = ReplayProcesses(Settings(), asyncio.Event())
    lines = [each async for each in await replays.begin(TASK, "key") if not each.startswith(b'{"progress":')]
    assert lines == [f"{last}\n".encode()]
    assert len(replays) == 0
