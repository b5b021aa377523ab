"""The benchmarks create only what a caller could: an agent's limits apply to them as well."""

import pytest

from bench import many_agents
from bench.harness.population import PolicySketch, make_place

POPULATIONS = {
    "many_agents": [many_agents.rules_of_group(number) for number in range(many_agents.POLICIES_EACH)],
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_an_agent_may_have_what_is_measured(valkey_store, workspace_id, name):
    """Otherwise the question would fail in the middle of a long run."""
    sketches = [PolicySketch(rules) for rules in POPULATIONS[name]]
    assert len(make_place(valkey_store.url, f"{name} {workspace_id}", sketches).policy_ids) == len(sketches)
