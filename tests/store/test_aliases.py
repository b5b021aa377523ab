"""Aliases of agents: one agent has one at a time, whoever asks for it and however many at once."""

import asyncio

import pytest

from app.errors import AgentNotFound, AliasTaken
from app.model.agents import Agent, AgentStatus, is_alias, require_alias
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


async def test_an_agent_is_found_by_its_alias_as_by_its_id(agents, workspace_id):
    """Its record says it, and so does what is loaded for decisions."""
    made = await agents.create(workspace_id, "a", None, alias="booking/prod", by=BY)
    assert made.alias == "booking/prod"
    assert await agents.get(workspace_id, made.id) == made
    assert await agents.id_of(workspace_id, "booking/prod") == made.id
    assert (await agents.load(workspace_id, "booking/prod")).agent == made
    assert (await agents.load(workspace_id, made.id)).agent == made


async def test_an_unknown_alias_and_another_workspaces_are_not_found(agents, workspace_id, ids):
    """However they are looked up."""
    await agents.create(workspace_id, "a", None, alias="here", by=BY)
    for where, called in ((workspace_id, "there"), (ids.new(0), "here"), (workspace_id, "HERE")):
        for find in (agents.id_of, agents.load):
            with pytest.raises(AgentNotFound):
                await find(where, called)


async def test_a_second_agent_does_not_get_an_alias_that_is_taken(agents, workspace_id, aliases):
    """Neither on creation nor on change; nothing of the refused change is stored."""
    first = await agents.create(workspace_id, "a", None, alias="x", by=BY)
    second = await agents.create(workspace_id, "b", None, alias="y", by=BY)

    with pytest.raises(AliasTaken, match='"x"'):
        await agents.create(workspace_id, "c", None, alias="x", by=BY)
    with pytest.raises(AliasTaken):
        await agents.update(workspace_id, second.id, name="c", alias="x", by=BY)

    assert await agents.list_page(workspace_id) == [first, second]
    assert await aliases() == {"x": first.id, "y": second.id}


async def test_an_alias_can_move_or_be_given_back_and_is_deleted_with_its_agent(agents, workspace_id, aliases):
    """Every such change replaces the version token of the agent that had it."""
    first = await agents.create(workspace_id, "a", None, alias="x", by=BY)
    second = await agents.create(workspace_id, "b", None, by=BY)

    without = await agents.update(workspace_id, first.id, alias=None, by=BY)
    moved = await agents.update(workspace_id, second.id, alias="x", by=BY)

    assert (without.alias, moved.alias) == (None, "x")
    assert without.version != first.version
    assert await agents.id_of(workspace_id, "x") == second.id

    renamed = await agents.update(workspace_id, second.id, alias="z", by=BY)
    assert await aliases() == {"z": second.id}
    assert (await agents.update(workspace_id, second.id, name="c", by=BY)).alias == "z"
    assert (await agents.update(workspace_id, second.id, alias="z", by=BY)).version != renamed.version

    await agents.delete(workspace_id, second.id, by=BY)
    assert await aliases() == {}
    again = await agents.create(workspace_id, "d", None, alias="z", by=BY)
    assert await agents.id_of(workspace_id, "z") == again.id


async def test_of_many_agents_that_want_one_alias_at_once_one_gets_it(agents, workspace_id, aliases):
    """By creation, by change, and while its holder gives it up."""
    held = await agents.create(workspace_id, "a", None, alias="x", by=BY)
    others = [await agents.create(workspace_id, str(n), None, by=BY) for n in range(4)]
    for _ in range(10):
        outcomes = await asyncio.gather(
            agents.update(workspace_id, held.id, alias=None, by=BY),
            *(agents.update(workspace_id, each.id, alias="x", by=BY) for each in others),
            *(agents.create(workspace_id, "new", None, alias="x", by=BY) for _ in range(2)),
            return_exceptions=True,
        )
        assert {type(each) for each in outcomes} <= {Agent, AliasTaken}
        having = [each.id async for each in agents.each(workspace_id) if each.alias == "x"]
        assert await aliases() == ({"x": having[0]} if having else {})
        assert len(having) <= 1
        for each in having:
            await agents.update(workspace_id, each, alias=None, by=BY)
        held = await agents.create(workspace_id, "a", None, alias="x", by=BY)
        await agents.update(workspace_id, others[0].id, name="again", by=BY)


async def test_records_of_a_release_without_aliases_do_not_block_an_alias(agents, client, workspace_id, aliases):
    """Such a release rewrites the record without the alias, or deletes it, and leaves the index."""
    keyspace = Keyspace(workspace_id)
    rewritten = await agents.create(workspace_id, "a", None, alias="x", by=BY)
    removed = await agents.create(workspace_id, "b", None, alias="y", by=BY)
    await client.call("HDEL", keyspace.agent(rewritten.id), "alias")
    await client.call("DEL", keyspace.agent(removed.id))

    for alias in ("x", "y"):
        with pytest.raises(AgentNotFound):
            await agents.load(workspace_id, alias)
        made = await agents.create(workspace_id, "c", None, alias=alias, by=BY)
        assert (await agents.load(workspace_id, alias)).agent == made
    assert set(await aliases()) == {"x", "y"}


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


async def test_lists_are_narrowed_by_alias_name_and_status(agents, workspace_id):
    """All given filters must match; pages count the matching agents."""
    made = [await agents.create(workspace_id, f"n{n % 2}", None, alias=f"x{n}", by=BY) for n in range(6)]
    await agents.update(workspace_id, made[2].id, status=AgentStatus.SUSPENDED, by=BY)

    async def ids_of(*page, **wanted):
        return [made.index(each) if each in made else 2 async for each in agents.each(workspace_id, *page, **wanted)]

    assert await ids_of(alias="x3") == [3]
    assert await ids_of(alias="x3", name="n0") == []
    assert await ids_of(alias="x3", offset=1) == []
    assert await ids_of(name="n0") == [0, 2, 4]
    assert await ids_of(name="n0", status=AgentStatus.ACTIVE) == [0, 4]
    assert await ids_of(2, 1, name="n1") == [3, 5]
    assert await ids_of(1, 0, status=AgentStatus.SUSPENDED) == [2]
    assert await ids_of(name="n2") == []
