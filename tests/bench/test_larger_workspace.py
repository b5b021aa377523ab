"""The simulation of a workspace on several masters agrees with what can be computed by hand."""

import pytest

from bench import larger_workspace
from bench.larger_workspace import COMMIT_US, NETWORK_US, RESERVE_US, simulate


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(larger_workspace, "CALLS", 5_000)
    monkeypatch.setattr(larger_workspace, "WARM", 500)


def test_one_master_answers_as_many_calls_as_it_has_time_for():
    found = simulate(1, 0.0, 0.0)
    assert found.most_per_s == pytest.approx(1e6 / COMMIT_US)
    assert found.busiest == 1
    assert found.p99_us > found.p50_us > COMMIT_US + NETWORK_US


def test_a_count_that_all_calls_share_is_on_one_master_however_many_there_are():
    """Its reservations alone are its bound, and each call waits for two masters."""
    found = simulate(64, 1.0, 0.0)
    assert 0.7e6 / RESERVE_US < found.most_per_s <= 1e6 / RESERVE_US
    assert found.p50_us > COMMIT_US + RESERVE_US + 2 * NETWORK_US


def test_an_agent_that_asks_most_is_on_one_master():
    """So more masters help only as far as no agent asks for all of one."""
    assert simulate(8, 0.0, 3.0).busiest > 0.8
