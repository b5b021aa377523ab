"""Random histories of each framework with a real service: no tool runs more often than the log has allowed it."""

import itertools
import os
import random

import pytest
from stage import DRIVERS, Stage

from remit_client import RemitError, calls

HISTORIES, SEED = int(os.environ.get("HISTORIES", "8")), int(os.environ.get("SEED", "1"))
"""By hand: HISTORIES=10000, and SEED for others."""
STEPS, LEGS_MAX = 4, 40
RULES = [{}, {"asks": True}, {"limit": 1}, {"limit": 3}]
LEGS = ["start", "resume", "resume", "resume", "refuse", "amend", "again", "again"]
BETWEEN = ["restart", "edit", "approve", "approve", "approve", "deny"]


class History:
    """Runs of one agent. Plain: ids are unique, everybody says yes, and nothing is edited or played again."""

    def __init__(self, framework, seed, *where):
        self._random = random.Random(seed)
        self.is_plain = self._random.random() < 0.4
        self._ids = itertools.count(1)
        row = {**self._random.choice(RULES), "calls": [], "pauses": self._random.randrange(2)}
        self._stage = Stage(framework, row, *where)
        self.desk = self._stage.desk

    async def play(self):
        """How often the tool has run, and how often the log has allowed it."""
        for step in range(STEPS):
            await self._leg("start" if self.is_plain or not step else self._random.choice(LEGS))
            self._between()
            for _ in range(LEGS_MAX if self.is_plain else 0):
                if not self.desk.waits:
                    break
                await self._leg("resume")
                self._between()
        return len(self.desk.ran), self._stage.allowed()

    async def _leg(self, leg):
        if leg == "start":
            self.desk._calls = [self._message() for _ in range(self._random.randint(1, 2))]
            self.desk.restart()
        try:
            await getattr(self.desk, leg)()
        except (AssertionError, RemitError):
            raise
        except (
            Exception
        ):  # what the framework refuses, such as ids that it has seen, or an answer that nothing waits for
            if self.is_plain:
                raise

    def _message(self):
        """Calls with ids that nobody else has, or with some of a few."""
        many = self._random.randint(1, 3)
        if self.is_plain:
            return [(f"c{n}", n) for n in itertools.islice(self._ids, many)]
        return [(f"c{self._random.randrange(3)}", self._random.randint(1, 2)) for _ in range(many)]

    def _between(self):
        """People and programs do something, or nothing."""
        if self.is_plain:
            for _ in self._stage.pending():
                self._stage.approve()
        for step in self._random.sample(BETWEEN[:1] if self.is_plain else BETWEEN, self._random.randrange(2)):
            if step == "restart":
                self.desk.restart()
            elif step == "edit":
                self._stage.edit()
            elif pending := self._stage.pending():
                getattr(self._stage, step)(self._random.randrange(len(pending)))


@pytest.mark.parametrize("framework", [each for each in DRIVERS if each.COMES_BACK], ids=lambda one: one.__name__)
async def test_no_tool_runs_more_often_than_it_was_allowed(framework, service, admin, person):
    """And none less often where the history is plain."""
    key = admin.send(calls.create_api_key("runtime", ["read"]))
    completed = 0
    for seed in range(SEED, SEED + HISTORIES):
        history = History(framework, seed, service, admin, person, key)
        ran, allowed = await history.play()
        completed += ran
        assert ran <= allowed, f"seed {seed}: ran {ran} times, allowed {allowed} times"
        assert ran == allowed or not history.is_plain, f"seed {seed}: ran {ran} times, allowed {allowed} times"
    assert completed > HISTORIES, "tools run at all"
