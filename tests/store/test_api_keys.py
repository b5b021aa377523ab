"""API keys and workspaces in the store, and the callers they make."""

import asyncio

import pytest
from commit_scene import Scene, everything
from redis.asyncio import Redis

from app.authorize.authenticator import Authenticator
from app.errors import ApiKeyExpired, ApiKeyNotFound, Invalid, Unauthorized
from app.model.api_keys import Scope, digest_of, new_raw_key
from app.redis_client.clients import open_client, store_time_ms
from app.store.keyspace import WORKSPACES, Keyspace, key_pointer
from app.store.workspaces import DEFAULT, Workspaces
from tests.support import parts
from tests.support.actors import BY


@pytest.fixture
def keys(client, ids):
    return parts.api_keys(client, ids)


@pytest.fixture
def workspaces(client, ids, keys):
    return Workspaces(client, ids, keys)


async def test_no_raw_key_is_in_the_store(client, workspace_id):
    """I10: neither in a name nor in a value, after every operation with keys."""
    scene = await Scene(client, client, workspace_id).enter()
    await Authenticator(client, 10).authenticate(scene.raw_key)
    await scene.commit()

    secret = scene.raw_key.removeprefix("svc_")
    pointers = await everything(client, "remit:key:*")
    assert key_pointer(digest_of(scene.raw_key)) in pointers
    held = str(await scene.everything()) + str(pointers)
    assert scene.key.id in held
    assert secret not in held
    # The prefix alone is shown, so that a person can tell keys apart.
    assert secret[:8] in held
    assert secret[:9] not in held


@pytest.mark.parametrize("name", ["redis", "valkey"])
async def test_no_raw_key_is_sent_to_the_store(request, name, workspace_id, ids):
    """I10: MONITOR, SLOWLOG and the AOF show arguments."""
    url = request.getfixturevalue(f"{name}_store").url
    client, watcher = open_client(url, 5_000), Redis.from_url(url, decode_responses=True)
    async with watcher.monitor() as monitor:
        keys, callers = parts.api_keys(client, ids), Authenticator(client, 10)
        made, raw_key = await keys.create(workspace_id, "k", (Scope.ADMIN,), by=BY)
        await callers.authenticate(raw_key)
        await Workspaces(client, ids, keys).ensure_default(raw_key_of_another := new_raw_key())
        await keys.revoke(workspace_id, made.id, force=True, by=BY)
        await client.call("ECHO", f"over {workspace_id}")
        seen = []
        while f"over {workspace_id}" not in (said := (await monitor.next_command())["command"]):
            seen.append(said)
    await watcher.aclose()
    await client.close()

    assert digest_of(raw_key) in str(seen)
    for each in (raw_key, raw_key_of_another):
        assert each.removeprefix("svc_") not in str(seen)


async def test_a_caller_has_the_keys_workspace_and_scopes(keys, client, workspace_id):
    """And the caller is cached."""
    made, raw_key = await keys.create(workspace_id, "k", (Scope.ADMIN, Scope.READ), by=BY)
    callers = Authenticator(client, 10)
    assert callers.cached(raw_key) is None

    caller = await callers.authenticate(raw_key)

    assert (caller.workspace_id, caller.key_id) == (workspace_id, made.id)
    assert caller.scopes == {Scope.ADMIN, Scope.READ}
    assert callers.cached(raw_key) == caller


async def test_a_revoked_key_is_unknown_at_once_and_leaves_nothing(keys, client, workspace_id):
    """I7: no record, pointer or list entry; caches drop it at the next check."""
    made, raw_key = await keys.create(workspace_id, "k", (Scope.ADMIN,), by=BY)
    callers = Authenticator(client, 10)
    await callers.authenticate(raw_key)

    await keys.revoke(workspace_id, made.id, force=True, by=BY)

    with pytest.raises(Unauthorized):
        await callers.authenticate(raw_key)
    assert callers.cached(raw_key) is None
    assert [each async for each in keys.each(workspace_id)] == []
    assert not await client.call("EXISTS", Keyspace(workspace_id).key(made.id), key_pointer(digest_of(raw_key)))
    with pytest.raises(ApiKeyNotFound):
        await keys.revoke(workspace_id, made.id, force=True, by=BY)


async def test_the_other_process_hears_that_a_key_has_worked(keys, client, workspace_id):
    """Once; not after the key has failed in it; and of no more keys than it remembers callers."""
    made, raw_key = await keys.create(workspace_id, "k", (Scope.ADMIN,), by=BY)
    _, another = await keys.create(workspace_id, "k", (Scope.ADMIN,), by=BY)
    told: list[bytes] = []
    one, other = Authenticator(client, 10, tell=told.append), Authenticator(client, 1)
    await one.authenticate(raw_key)
    await one.authenticate(raw_key)
    assert not other.has_worked(raw_key)
    [note] = told
    other.hear(note)
    assert one.has_worked(raw_key)
    assert other.has_worked(raw_key)
    assert other.cached(raw_key) is None

    await keys.revoke(workspace_id, made.id, force=True, by=BY)
    with pytest.raises(Unauthorized):
        await other.authenticate(raw_key)
    assert not other.has_worked(raw_key)

    await one.authenticate(another)
    other.hear(note)
    other.hear(told[-1])
    assert (other.has_worked(raw_key), other.has_worked(another)) == (False, True)


async def test_a_pointer_without_a_record_grants_nothing(keys, client, workspace_id, ids):
    """A crash between the two writes of a creation or revocation leaves such a pointer."""
    raw_key = new_raw_key()
    await client.call("SET", key_pointer(digest_of(raw_key)), f"{workspace_id} {ids.new(0)}")
    with pytest.raises(Unauthorized):
        await Authenticator(client, 10).authenticate(raw_key)


async def test_an_expired_key_is_told_so_and_forgotten(keys, client, workspace_id):
    """By the store's clock."""
    now_ms = await store_time_ms(client)
    made, raw_key = await keys.create(workspace_id, "k", (Scope.READ,), now_ms + 600_000, by=BY)
    callers = Authenticator(client, 10)
    await callers.authenticate(raw_key)
    await client.call("HSET", Keyspace(workspace_id).key(made.id), "expires_ms", now_ms)

    with pytest.raises(ApiKeyExpired):
        await callers.authenticate(raw_key)

    assert callers.cached(raw_key) is None


async def test_the_memory_of_callers_is_bounded_and_keeps_the_latest(keys, client, workspace_id):
    """The least recently used is evicted; an unknown key is not cached."""
    callers = Authenticator(client, 2)
    raw_keys = [(await keys.create(workspace_id, str(n), (Scope.READ,), by=BY))[1] for n in range(3)]
    await callers.authenticate(raw_keys[0])
    await callers.authenticate(raw_keys[1])
    callers.cached(raw_keys[0])

    await callers.authenticate(raw_keys[2])
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await callers.authenticate(new_raw_key())

    assert [callers.cached(raw_key) is not None for raw_key in raw_keys] == [True, False, True]


async def test_a_cache_of_size_zero_caches_nobody(keys, client, workspace_id):
    """And every check still works."""
    _, raw_key = await keys.create(workspace_id, "k", (Scope.READ,), by=BY)
    callers = Authenticator(client, 0)
    await callers.authenticate(raw_key)
    assert callers.cached(raw_key) is None


async def test_a_workspace_has_a_name_of_its_own_and_a_first_admin_key(workspaces, client, ids):
    """It is found by name and by id; the same name again is refused."""
    name = ids.new(0)
    workspace_id, raw_key = await workspaces.create(name)

    caller = await Authenticator(client, 10).authenticate(raw_key)
    assert (caller.workspace_id, caller.scopes) == (workspace_id, {Scope.ADMIN})
    assert await workspaces.find(name) == await workspaces.find(workspace_id) == workspace_id
    assert (await workspaces.by_name())[name] == workspace_id
    with pytest.raises(Invalid, match="already"):
        await workspaces.create(name)
    with pytest.raises(Invalid, match=name):
        await workspaces.find("nobody's")


async def test_of_many_creations_of_one_workspace_one_succeeds(workspaces, ids):
    """The others are refused, and there is one id."""
    name = ids.new(0)
    outcomes = await asyncio.gather(*(workspaces.create(name) for _ in range(8)), return_exceptions=True)
    assert [type(each) for each in outcomes].count(Invalid) == 7


async def test_the_default_workspace_is_made_once_however_many_replicas_start(client, ids):
    """With two and eight at a time: there is one workspace with one key."""
    raw_key = new_raw_key()

    async def start():
        await Workspaces(client, ids, parts.api_keys(client, ids)).ensure_default(raw_key)

    await asyncio.gather(start(), start())
    await asyncio.gather(*(start() for _ in range(8)))

    caller = await Authenticator(client, 10).authenticate(raw_key)
    assert caller.workspace_id == await client.call("HGET", WORKSPACES, DEFAULT)
    assert caller.scopes == {Scope.ADMIN}
    listed = [each async for each in parts.api_keys(client, ids).each(caller.workspace_id)]
    assert [key.prefix for key in listed].count(raw_key[:12]) == 1


async def test_a_start_leaves_an_existing_key_unchanged(workspaces, client):
    """Its creation, last use and expiry stay the same."""
    raw_key = new_raw_key()
    await workspaces.ensure_default(raw_key)
    caller = await Authenticator(client, 10).authenticate(raw_key)
    name = Keyspace(caller.workspace_id).key(caller.key_id)
    before = await client.call("HGETALL", name)

    await workspaces.ensure_default(raw_key)

    assert await client.call("HGETALL", name) == before


async def test_a_start_brings_a_revoked_bootstrap_key_back(workspaces, keys, client):
    """REMIT_BOOTSTRAP_KEY says that the key exists; to revoke it for good, also remove it from the settings."""
    raw_key = new_raw_key()
    await workspaces.ensure_default(raw_key)
    caller = await Authenticator(client, 10).authenticate(raw_key)
    await keys.revoke(caller.workspace_id, caller.key_id, force=True, by=BY)

    await workspaces.ensure_default(raw_key)

    assert await Authenticator(client, 10).authenticate(raw_key) == caller


async def test_a_bootstrap_key_of_another_workspace_is_refused(workspaces, ids):
    """A key belongs to one workspace."""
    _, raw_key = await workspaces.create(ids.new(0))
    with pytest.raises(Invalid, match="another workspace"):
        await workspaces.ensure_default(raw_key)


async def test_a_bootstrap_key_that_may_only_read_is_refused(workspaces, keys, client):
    """The setting promises an admin key; accepting it would silently lock the admin out."""
    await workspaces.ensure_default(new_raw_key())
    _, raw_key = await keys.create(await client.call("HGET", WORKSPACES, DEFAULT), "reader", (Scope.READ,), by=BY)
    with pytest.raises(Invalid, match="admin"):
        await workspaces.ensure_default(raw_key)


async def test_a_workspace_whose_creation_was_cut_off_is_completed(client, ids):
    """If only the name was claimed, the next start writes the record."""
    held = await client.call("HGET", WORKSPACES, DEFAULT) or ids.new(0)
    await client.call("HSET", WORKSPACES, DEFAULT, held)
    await client.call("DEL", Keyspace(held).workspace)

    await Workspaces(client, ids, parts.api_keys(client, ids)).ensure_default(new_raw_key())

    record = await client.call("HGETALL", Keyspace(held).workspace)
    assert record["name"] == DEFAULT
    assert int(record["created_ms"]) > 0


async def test_a_key_that_many_use_at_once_for_the_first_time_is_looked_up_once(client, keys, workspace_id):
    """A replica that has just started does not make the same look-up a hundred times."""
    _, raw_key = await keys.create(workspace_id, "k", (Scope.READ,), by=BY)
    callers = Authenticator(client, 10)
    looked_up = asyncio.Semaphore(1)
    authenticate = callers.authenticate

    async def authenticate_once(raw_key, **options):
        assert not looked_up.locked()
        await looked_up.acquire()
        return await authenticate(raw_key, **options)

    callers.authenticate = authenticate_once
    found = await asyncio.gather(*(callers.authenticate_once(raw_key) for _ in range(100)))

    assert {caller.workspace_id for caller in found} == {workspace_id}


async def test_a_look_up_that_failed_is_not_remembered(client, keys, workspace_id):
    """The next request asks the store again."""
    callers, raw_key = Authenticator(client, 10), new_raw_key()
    with pytest.raises(Unauthorized):
        await callers.authenticate_once(raw_key)
    key, _ = await keys.create(workspace_id, "k", (Scope.READ,), by=BY)
    await client.call("SET", key_pointer(digest_of(raw_key)), f"{workspace_id} {key.id}")

    assert (await callers.authenticate_once(raw_key)).key_id == key.id
