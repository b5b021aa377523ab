"""Aliases of agents: one agent has one at a time, whoever asks for it and however many at once."""

import pytest

from app.errors import AgentNotFound
from app.model.agents import AgentStatus, is_alias, require_alias
from app.model.text import FieldError
from app.store.keyspace import Keyspace
from tests.support import parts
from tests.support.actors import BY

UUID = "018bcfe5-6800-7000-8000-00000000cafe"


@pytest.fixture
def agents(client, ids):
    return parts.agents(client, ids)


@pytest.fixture
def aliases(client, workspace_id):
    """What the index holds."""

    async def read():
        return dict(await client.call("HGETALL", Keyspace(workspace_id).agent_aliases))

    return read


@pytest.mark.parametrize("alias", ["a", "booking/prod", "svc:billing@eu-1", ".env", "a" * 128, "x/.y/z.", UUID[:-1]])
def test_everyday_program_names_are_valid_aliases(alias):
    require_alias("alias", alias)
    assert is_alias(alias)


@pytest.mark.parametrize(
    ("alias", "why"),
    [
        ("", "must be"),
        ("a" * 129, "must be"),
        ("a b", "must be"),
        ("a%2Fb", "must be"),
        ("büro", "must be"),
        ("a\n", "must be"),
        (".", "must be"),
        ("..", "must be"),
        ("a/../b", "must be"),
        ("a/./b", "must be"),
        ("/a", "must be"),
        ("a/", "must be"),
        ("a//b", "must be"),
        (UUID, "UUID"),
        (UUID.upper(), "UUID"),
        (UUID.replace("-", ""), "UUID"),
        (f"urn:uuid:{UUID}", "UUID"),
        ("svc_0123456789abcdef0123456789abcdef", "API key"),
    ],
)
def test_a_string_that_could_be_a_path_or_an_id_is_not_an_alias(alias, why):
    with pytest.raises(FieldError, match=why):
        require_alias("alias", alias)
    assert not is_alias(alias)


async def test_an_unknown_alias_and_another_workspaces_are_not_found(agents, workspace_id, ids):
    """However they are looked up."""
    await agents.create(workspace_id, "a", None, alias="here", by=BY)
    for where, called in ((workspace_id, "there"), (ids.new(0), "here"), (workspace_id, "HERE")):
        for find in (agents.id_of, agents.load):
            with pytest.raises(AgentNotFound):
                await find(where, called)


async def test_an_alias_that_moves_during_a_look_up_leads_to_its_current_agent(agents, workspace_id):
    """An agent is never loaded for an alias that it did not have when its record was read."""
    first = await agents.create(workspace_id, "a", None, alias="x", by=BY)
    second = await agents.create(workspace_id, "b", None, by=BY)
    look_up = agents.id_of

    async def overtaken(workspace, called):
        found = await look_up(workspace, called)
        agents.id_of = look_up
        await agents.update(workspace, first.id, alias=None, by=BY)
        await agents.update(workspace, second.id, alias="x", by=BY)
        return found

    agents.id_of = overtaken
    assert (await agents.load(workspace_id, "x")).agent.id == second.id


async def test_agents_are_listed_by_name_and_state_in_their_order(agents, workspace_id):
    """With limit and offset among those that match."""
    made = [await agents.create(workspace_id, f"n{number % 2}", None, by=BY) for number in range(8)]
    await agents.update(workspace_id, made[1].id, status=AgentStatus.SUSPENDED, by=BY)
    made[1] = await agents.get(workspace_id, made[1].id)

    async def listed(*page, **filters):
        return [agent async for agent in agents.each(workspace_id, *page, **filters)]

    odd = [made[number] for number in (1, 3, 5, 7)]
    assert await listed(name="n1") == odd
    assert await listed(2, 1, name="n1") == odd[1:3]
    assert await listed(name="n1", status=AgentStatus.ACTIVE) == odd[1:]
    assert await listed(status=AgentStatus.SUSPENDED) == [made[1]]
    assert await listed(name="n2") == await listed(name="n1", status=AgentStatus.REVOKED) == []
    assert await listed(3, 2) == made[2:5]
