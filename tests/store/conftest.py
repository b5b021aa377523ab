"""Fixtures for tests of agents and policies in the store."""

import pytest

from app.store.agents import Agents
from app.store.policies import Policies
from app.store.policy_sets import PolicySets
from tests.support.actors import BY


@pytest.fixture
def agents(client, ids):
    return Agents(client, ids)


@pytest.fixture
def policies(client, ids):
    return Policies(client, ids)


@pytest.fixture
def sets(client, ids):
    return PolicySets(client, ids)


@pytest.fixture
async def agent(agents, workspace_id):
    return await agents.create(workspace_id, "a", None, by=BY)
