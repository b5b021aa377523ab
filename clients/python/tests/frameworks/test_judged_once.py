"""The rows of clients/adapters.json, played by each adapter through its framework with a real service."""

import pytest
from stage import DRIVERS, ROWS, Cast, Stage


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
async def test_a_call_is_judged_once(framework, row, service, admin, person):
    if row["name"] in framework.CANNOT:
        pytest.skip(framework.CANNOT[row["name"]])
    if not framework.COMES_BACK and set(row["steps"]) != {"start"}:
        pytest.skip("it does not come back to a call")
    stage = await Stage.of(framework, row, Cast(service, admin, person))
    await stage.play()


@pytest.mark.parametrize("framework", DRIVERS, ids=lambda one: one.__name__)
def test_what_a_framework_cannot_play_is_a_row(framework):
    assert framework.CANNOT.keys() <= {row["name"] for row in ROWS}
