"""The rows of clients/adapters.json, played by each adapter through its framework with a real service."""

import json
import re

import pytest
from service import ROOT
from stage import DRIVERS, Cast, Stage

ROWS = json.loads((ROOT / "clients/adapters.json").read_text())["rows"]
NAMES = {row["name"] for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
async def test_a_call_is_judged_once(framework, row, service, admin, person):
    if row["name"] in framework.CANNOT:
        pytest.skip(framework.CANNOT[row["name"]])
    if not framework.COMES_BACK and set(row["steps"]) != {"start"}:
        pytest.skip("it does not come back to a call")
    stage = await Stage.of(framework, row, Cast(service, admin, person))
    for step in row["steps"]:
        await getattr(stage if hasattr(stage, step) else stage.desk, step)()
    assert (sorted(stage.desk.ran), await stage.allowed()) == (row["ran"], row["allowed"])
    assert re.search(row["says"], stage.desk.said, re.IGNORECASE), stage.desk.said
    assert await stage.pending() == []


@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
def test_what_a_framework_cannot_play_is_a_row(framework):
    assert framework.CANNOT.keys() <= NAMES
