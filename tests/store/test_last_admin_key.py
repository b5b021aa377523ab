"""A workspace keeps one valid admin key, unless its revocation is forced."""

import pytest

from app.authorize.authenticator import Authenticator
from app.errors import LastAdminKey
from app.model.api_keys import Scope
from app.redis_client.clients import store_time_ms
from tests.support import parts
from tests.support.actors import BY

ADMIN, READ = (Scope.ADMIN,), (Scope.READ,)


@pytest.fixture
def keys(client, ids):
    return parts.api_keys(client, ids)


async def held(keys, workspace_id):
    """The ids of the existing keys."""
    return {key.id async for key in keys.each(workspace_id)}


async def test_an_expired_admin_key_does_not_count(keys, client, workspace_id):
    """Neither as the other one nor as one that must stay."""
    now_ms = await store_time_ms(client)
    last, _ = await keys.create(workspace_id, "last", ADMIN, by=BY)
    expired, _ = await keys.create(workspace_id, "expired", ADMIN, now_ms - 1, by=BY)
    with pytest.raises(LastAdminKey):
        await keys.revoke(workspace_id, last.id, by=BY)
    await keys.revoke(workspace_id, expired.id, by=BY)
    assert await held(keys, workspace_id) == {last.id}


async def test_the_script_checks_again_for_another_admin_key(keys, workspace_id, monkeypatch):
    """The other key may be gone by the time the script runs."""
    kept, _ = await keys.create(workspace_id, "kept", ADMIN, by=BY)
    gone, _ = await keys.create(workspace_id, "gone", ADMIN, by=BY)
    wanted, _ = await keys.create(workspace_id, "wanted", ADMIN, by=BY)
    look, seen = keys._other_admin, []

    async def look_too_early(*args):
        seen.append(await look(*args))
        return gone.id if len(seen) == 1 else seen[-1]

    await keys.revoke(workspace_id, gone.id, by=BY)
    monkeypatch.setattr(keys, "_other_admin", look_too_early)
    await keys.revoke(workspace_id, wanted.id, by=BY)
    assert len(seen) == 2
    assert await held(keys, workspace_id) == {kept.id}


async def test_a_successor_has_the_agents_of_the_key(keys, client, workspace_id, ids):
    """A replica new to the key reads its agents together with its scopes."""
    agent_id = ids.new(0)
    key, _ = await keys.create(workspace_id, "bound", (Scope.AUTHORIZE,), by=BY)
    await client.call("HSET", f"remit:{{{workspace_id}}}:key:{key.id}", "agents", agent_id)
    successor, raw_key, _ = await keys.rotate(workspace_id, key.id, 0, by=BY)
    assert successor.agents == (agent_id,)
    caller = await Authenticator(client, 10).authenticate(raw_key)
    assert (caller.agents, caller.asks_for_all) == (frozenset({agent_id}), False)
    assert [caller.may_ask_for(each) for each in (agent_id, ids.new(0))] == [True, False]
