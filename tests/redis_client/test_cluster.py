"""A cluster refuses what a single server accepts: keys of other slots, and undeclared keys."""

import asyncio

import pytest
from commit_scene import MINUTE, START, Scene, everything, quota
from servers import Store, free_port

from app.authorize.authenticator import Authenticator
from app.errors import AgentNotFound, Unauthorized
from app.model.agents import AgentStatus
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.quotas import RateLimit
from app.model.rules import RateLimited
from app.redis_client.clients import open_client, open_clients
from app.redis_client.scripts import SCRIPTS
from app.serve.jobs import drop_all_spent_counts
from app.store.workspaces import Workspaces
from tests.support import parts
from tests.support.actors import BY

pytestmark = pytest.mark.slow

LIMIT = RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=5, window_seconds=60))
WIDER = RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=5, window_seconds=120))


@pytest.fixture(scope="module", params=["redis", "valkey"])
def cluster(request, tmp_path_factory):
    """A cluster of one node that has every slot: it checks slots as a large one does."""
    binary = request.getfixturevalue(f"{request.param}_store").binary
    # Left to itself it would take its port plus 10,000, which may not exist.
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    store = Store(binary, tmp_path_factory.mktemp("cluster"), *options)
    try:
        asyncio.run(take_all_slots(store.url))
        yield store
    finally:
        store.stop()


async def take_all_slots(url):
    client = open_client(url, 5_000)
    await client.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    async with asyncio.timeout(20):
        while "cluster_state:ok" not in await client.call("CLUSTER", "INFO"):  # noqa: ASYNC110 - it alone knows when
            await asyncio.sleep(0.05)
    await client.close()


@pytest.fixture(params=["redis-py's cluster client", "the links"])
async def path(request, cluster):
    """Cold paths over redis-py's cluster client; decisions over it, or over the links to the masters."""
    url = cluster.url.replace("redis://", "redis+cluster://").removesuffix("/0")
    async with open_clients(url, 2_000, SCRIPTS, 0, lambda _commands: None, required=True) as clients:
        yield clients.cold, clients.commits if request.param == "the links" else clients.prompt


async def test_every_operation_stays_within_one_slot(path, workspace_id):
    """I12: every operation in a workspace, with several keys in every script."""
    client, runner = path
    scene = await Scene(client, runner, workspace_id).enter()
    policies, callers = parts.policies(client, scene.ids), Authenticator(client, 10)
    await callers.authenticate(scene.raw_key)
    made = await policies.create(
        workspace_id, Owner(scene.agent.id), PolicyFields(name="p", rules=(LIMIT, WIDER)), by=BY
    )
    scene.agent = await scene.agents.get(workspace_id, scene.agent.id)
    await asyncio.gather(*(scene.commit(quota("a", 5, MINUTE), quota("b", 5, MINUTE)) for _ in range(10)))
    assert len(await scene.entries()) == 10

    await policies.update(workspace_id, made.id, PolicyChanges(rules=(WIDER,)), by=BY)
    await scene.agents.update(workspace_id, scene.agent.id, status=AgentStatus.SUSPENDED, by=BY)
    assert [each.id async for each in policies.each(workspace_id)] == [made.id]
    assert [each.id async for each in scene.agents.each(workspace_id)] == [scene.agent.id]
    assert [each.id for each in (await scene.agents.load(workspace_id, scene.agent.id)).policies] == [made.id]
    other = await policies.create(workspace_id, Owner(scene.agent.id), PolicyFields(name="q", rules=(LIMIT,)), by=BY)
    await policies.delete(workspace_id, other.id, by=BY)
    await scene.agents.delete(workspace_id, scene.agent.id, by=BY)
    with pytest.raises(AgentNotFound):
        await scene.agents.load(workspace_id, scene.agent.id)
    await scene.keys.revoke(workspace_id, scene.key.id, by=BY)
    with pytest.raises(Unauthorized):
        await callers.authenticate(scene.raw_key)


async def test_workspaces_are_made_and_found_across_slots(path, ids):
    """Names and keys are in different slots, written one after the other."""
    client, _ = path
    scene = Scene(client, client, ids.new(0))
    workspaces = Workspaces(client, ids, scene.keys)
    name = ids.new(0)
    workspace_id, raw_key = await workspaces.create(name)

    assert await workspaces.find(name) == workspace_id
    assert (await Authenticator(client, 10).authenticate(raw_key)).workspace_id == workspace_id


async def test_what_counts_no_more_is_found_on_every_master(path, workspace_id):
    """Each has key names of its own."""
    client, runner = path
    scene = await Scene(client, runner, workspace_id).enter()
    await scene.commit(quota("a", 5, MINUTE))
    await scene.commit(at=START + 2 * MINUTE)
    assert await drop_all_spent_counts(client, asyncio.Event()) >= 1
    assert await scene.admitted(quota("a", 5, MINUTE)) == []


async def test_all_keys_of_a_workspace_have_one_slot(cluster, path, workspace_id):
    """As computed by the server."""
    client, runner = path
    node = open_client(cluster.url, 5_000)
    scene = await Scene(client, runner, workspace_id).enter()
    await parts.policies(client, scene.ids).create(
        workspace_id, Owner(scene.agent.id), PolicyFields(name="p", rules=(LIMIT,)), by=BY
    )
    scene.agent = await scene.agents.get(workspace_id, scene.agent.id)
    await scene.commit(quota("a", 5, MINUTE))

    names = list(await everything(node, f"remit:{{{workspace_id}}}:*"))

    assert len(names) >= 8
    assert len({await node.call("CLUSTER", "KEYSLOT", name) for name in names}) == 1
    await node.close()
