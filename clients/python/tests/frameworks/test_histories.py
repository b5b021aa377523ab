"""Random histories of each framework with a real service: no tool runs more often than the log has allowed it."""

import asyncio
import itertools
import os
import random

import pytest
from stage import DRIVERS, Cast, Stage

from remit_client import RemitError

HISTORIES, SEED = int(os.environ.get("HISTORIES", "8")), int(os.environ.get("SEED", "1"))
"""By hand, a framework a run: HISTORIES=1000, and SEED for others."""
AT_ONCE, STEPS_MAX, MESSAGES_MAX, LEGS_MAX = 8, 4, 2, 40
PAUSES_OFTEN = "a budget is charged once for a call that pauses"
RULES = [{}, {"asks": True}, {"limit": 1}, {"limit": 3}]
LEGS = ["start", "resume", "resume", "resume", "refuse", "amend", "again", "again"]
BETWEEN = ["restart", "edit", "approve", "approve", "approve", "deny"]


class History:
    """Runs of one agent. Plain: ids are unique, everybody says yes, and nothing is edited or played again."""

    def __init__(self, framework, seed):
        self._framework, self._random = framework, random.Random(seed)
        self.is_plain = self._random.random() < 0.4
        self._ids = itertools.count(1)
        self._row = {**self._random.choice(RULES), "calls": [], "pauses": self._random.randrange(2)}
        pauses_at_most_once = self.is_plain and PAUSES_OFTEN in framework.CANNOT
        is_short = pauses_at_most_once and (self._row["pauses"] or "asks" in self._row)
        self._steps_max, self._messages_max = (1, 1) if is_short else (STEPS_MAX, MESSAGES_MAX)

    async def play(self, cast):
        """How often the tool has run, and how often the log has allowed it."""
        self._stage = await Stage.of(self._framework, self._row, cast)
        legs = ["start"] if self.is_plain or not self._framework.COMES_BACK else LEGS
        await self._leg("start")
        for _ in range(self._random.randrange(self._steps_max)):
            await self._leg(self._random.choice(legs))
        return len(self._stage.desk.ran), await self._stage.allowed()

    async def _leg(self, leg):
        """And what follows it, until nothing waits, if the history is plain."""
        desk = self._stage.desk
        if leg == "start":
            desk.script([self._message() for _ in range(self._random.randint(1, self._messages_max))])
        try:
            await getattr(desk, leg)()
        except (AssertionError, RemitError):
            raise
        except Exception:
            # What the framework refuses, such as ids that it has seen, or cannot play.
            if self.is_plain:
                raise
        await self._between()
        for _ in range(LEGS_MAX if self.is_plain and self._framework.COMES_BACK else 0):
            if not desk.waits:
                break
            await desk.resume()
            await self._between()

    def _message(self):
        """Calls with ids that nobody else has, or with some of a few."""
        many = self._random.randint(1, 3)
        if self.is_plain:
            return [(f"c{n}", n) for n in itertools.islice(self._ids, many)]
        return [(f"c{self._random.randrange(3)}", self._random.randint(1, 2)) for _ in range(many)]

    async def _between(self):
        """People and programs do something, or nothing."""
        stage = self._stage
        pending = await stage.pending() if "asks" in self._row else []
        for one in pending if self.is_plain else []:
            await stage.approve(one)
        for step in self._random.sample(BETWEEN[:1] if self.is_plain else BETWEEN, self._random.randrange(2)):
            if step in ("restart", "edit"):
                await getattr(stage, step)()
            elif pending:
                await getattr(stage, step)(self._random.choice(pending))


@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
async def test_no_tool_runs_more_often_than_it_was_allowed(framework, service, admin, person):
    """And none less often where the history is plain."""
    cast, seeds, wrong, completed = Cast(service, admin, person), iter(range(SEED, SEED + HISTORIES)), [], []

    async def play():
        for seed in seeds:
            history = History(framework, seed)
            ran, allowed = await history.play(cast)
            completed.append(ran)
            if ran > allowed or (history.is_plain and ran < allowed):
                wrong.append(f"seed {seed}: ran {ran} times, allowed {allowed} times")

    await asyncio.gather(*(play() for _ in range(AT_ONCE)))
    assert wrong == []
    assert sum(completed) > HISTORIES, "tools run at all"
