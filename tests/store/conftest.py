"""Fixtures for tests of agents and policies in the store."""

import pytest

from tests.support import parts
from tests.support.actors import BY


@pytest.fixture
def agents(client, ids):
    return parts.agents(client, ids)


@pytest.fixture
def policies(client, ids):
    return parts.policies(client, ids)


@pytest.fixture
def sets(client, ids):
    return parts.policy_sets(client, ids)


@pytest.fixture
async def agent(agents, workspace_id):
    return await agents.create(workspace_id, "a", None, by=BY)
