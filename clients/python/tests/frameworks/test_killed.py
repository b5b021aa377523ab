"""Processes that are killed between the legs of a run: another one goes on with the same call."""

import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stage import DRIVERS, ROWS, Cast, Stage

HERE = Path(__file__).parent
LEGS = ("start", "resume", "refuse", "amend")
PLAYED = [row for row in ROWS if "again" not in row["steps"] and sum(step in LEGS for step in row["steps"]) > 1]
"""What is played again is saved nowhere but in memory."""


class Killed:
    """A driver whose every leg is played by a process that is killed at its end."""

    def __init__(self, framework, row, folder, program, settings, agent, *_):
        self.agent, self._program, self._folder = agent, program, folder
        self._leg = functools.partial(self._play, framework.__name__, settings, row)
        self.ran, self.said = [], ""
        for leg in LEGS:
            setattr(self, leg, functools.partial(self._leg, leg))

    def restart(self):
        """Every leg begins with what the one before has left behind."""

    async def _play(self, framework, settings, row, leg):
        asked = framework, settings, self.agent, row, leg, str(self._folder)
        self._program.stdin.write(json.dumps(asked) + "\n")
        self._program.stdin.flush()
        assert int(self._program.stdout.readline()) == -signal.SIGKILL
        kept = json.loads((self._folder / "kept").read_text())
        self.ran, self.said = kept["ran"], kept["said"]


@pytest.fixture(scope="module")
def program():
    command, env = [sys.executable, HERE / "legs.py"], os.environ | {"PYTHONPATH": str(HERE.parent)}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        yield running
        running.stdin.close()


@pytest.mark.parametrize("row", PLAYED, ids=lambda row: row["name"])
@pytest.mark.parametrize("framework", [one for one in DRIVERS if "KEPT" in vars(one)], ids=lambda one: one.__name__)
async def test_another_process_goes_on_with_the_run(framework, row, service, admin, person, program, tmp_path):
    if row["name"] in framework.CANNOT:
        pytest.skip(framework.CANNOT[row["name"]])
    driver = functools.partial(Killed, framework, row, tmp_path, program)
    stage = await Stage.of(driver, row, Cast(service, admin, person))
    await stage.play()
