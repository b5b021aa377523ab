"""Rotating a key: a successor with the same name and scopes, and an old key that ends by itself."""

import asyncio

import pytest

from app.authorize.authenticator import Authenticator
from app.errors import ApiKeyExpired, ApiKeyNotFound, Unauthorized
from app.model.api_keys import Scope
from app.model.changes import ChangeQuery
from app.redis_client.clients import store_time_ms
from app.store.changes import Changes
from app.store.keyspace import Keyspace
from tests.support import parts
from tests.support.actors import BY, by_key

HOUR_MS = 3_600_000
BOTH = (Scope.ADMIN, Scope.READ)


@pytest.fixture
def keys(client, ids):
    return parts.api_keys(client, ids)


@pytest.fixture
def callers(client):
    return Authenticator(client, 100)


async def test_both_keys_are_valid_during_the_overlap(keys, callers, workspace_id):
    """Holders of the old one have time to change it."""
    key, raw_key = await keys.create(workspace_id, "pep", BOTH, by=BY)
    successor, successor_raw, old = await keys.rotate(workspace_id, key.id, HOUR_MS, by=BY)

    assert (successor.name, successor.scopes) == ("pep", BOTH)
    assert successor_raw != raw_key
    assert (await callers.authenticate(raw_key)).key_id == old.id == key.id
    assert (await callers.authenticate(successor_raw)).key_id == successor.id
    listed = {each.id: each.expires_ms for each in await keys.list_page(workspace_id)}
    assert listed == {key.id: old.expires_ms, successor.id: None}


async def test_the_old_key_expires_the_overlap_after_the_rotation(keys, client, workspace_id):
    """By the store's clock; nothing has to run."""
    key, _ = await keys.create(workspace_id, "pep", BOTH, by=BY)
    before_ms = await store_time_ms(client)
    _, _, old = await keys.rotate(workspace_id, key.id, HOUR_MS, by=BY)
    after_ms = await store_time_ms(client)

    assert before_ms + HOUR_MS <= old.expires_ms <= after_ms + HOUR_MS
    assert await client.call("HGET", Keyspace(workspace_id).key(key.id), "expires_ms") == str(old.expires_ms)


async def test_without_an_overlap_the_old_key_is_refused_at_once(keys, callers, workspace_id):
    """On every replica, even where it was cached."""
    key, raw_key = await keys.create(workspace_id, "pep", BOTH, by=BY)
    await callers.authenticate(raw_key)
    await keys.rotate(workspace_id, key.id, 0, by=BY)
    with pytest.raises(ApiKeyExpired):
        await callers.authenticate(raw_key)


async def test_a_key_that_ends_before_the_overlap_still_ends_then(keys, client, workspace_id):
    """Rotation never extends a key's lifetime."""
    soon = await store_time_ms(client) + HOUR_MS
    key, _ = await keys.create(workspace_id, "pep", BOTH, soon, by=BY)
    _, _, old = await keys.rotate(workspace_id, key.id, 24 * HOUR_MS, by=BY)
    assert old.expires_ms == soon


async def test_the_successor_lives_as_long_as_the_key_was_meant_to(keys, client, workspace_id):
    """A key for thirty days is followed by one for thirty days, not for ever."""
    key, _ = await keys.create(workspace_id, "pep", BOTH, await store_time_ms(client) + 30 * HOUR_MS, by=BY)
    successor, _, _ = await keys.rotate(workspace_id, key.id, HOUR_MS, by=BY)
    assert successor.expires_ms - successor.created_ms == key.expires_ms - key.created_ms

    until = await store_time_ms(client) + 2 * HOUR_MS
    told, _, _ = await keys.rotate(workspace_id, successor.id, HOUR_MS, until, by=BY)
    assert told.expires_ms == until


async def test_a_second_rotation_of_a_key_gives_what_the_first_gave(keys, client, workspace_id):
    """The end of the overlap is not mistaken for the key's intended lifetime."""
    for life_ms in (None, 30 * HOUR_MS):
        ends = None if life_ms is None else await store_time_ms(client) + life_ms
        key, _ = await keys.create(workspace_id, "pep", BOTH, ends, by=BY)
        lives = []
        for overlap_ms in (2 * HOUR_MS, HOUR_MS, HOUR_MS):
            successor, _, _ = await keys.rotate(workspace_id, key.id, overlap_ms, by=BY)
            lives.append(successor.expires_ms and successor.expires_ms - successor.created_ms)
        assert lives == [ends and ends - key.created_ms] * 3


async def test_rotations_of_one_key_at_once_give_keys_that_live_as_long(keys, workspace_id):
    """Whichever comes first."""
    key, _ = await keys.create(workspace_id, "pep", BOTH, by=BY)
    made = await asyncio.gather(*(keys.rotate(workspace_id, key.id, HOUR_MS, by=BY) for _ in range(3)))
    assert [successor.expires_ms for successor, _, _ in made] == [None] * 3


async def test_the_trail_has_the_new_key_and_the_end_of_the_old(keys, client, workspace_id):
    """Two changes by the same actor, together."""
    admin, _ = await keys.create(workspace_id, "the admin", (Scope.ADMIN,), by=BY)
    key, _ = await keys.create(workspace_id, "pep", BOTH, by=BY)
    successor, _, _ = await keys.rotate(workspace_id, key.id, HOUR_MS, by=by_key(admin.id))

    changes = (await Changes(client).query(workspace_id, ChangeQuery(actor_id=admin.id))).changes
    assert [(each.kind, each.resource_id) for each in changes] == [("updated", key.id), ("created", successor.id)]
    assert bytes(changes[0].before) == b'{"expiresAt":null}'


async def test_rotations_of_one_key_at_once_each_give_a_key_that_works(keys, callers, client, workspace_id):
    """With two operators, the old key ends at the time the first one set, and every raw key shown works."""
    key, _ = await keys.create(workspace_id, "pep", BOTH, by=BY)
    made = await asyncio.gather(*(keys.rotate(workspace_id, key.id, hours * HOUR_MS, by=BY) for hours in (3, 1, 2)))

    assert {(await callers.authenticate(raw_key)).key_id for _, raw_key, _ in made} == {each.id for each, _, _ in made}
    held = int(await client.call("HGET", Keyspace(workspace_id).key(key.id), "expires_ms"))
    assert held == min(old.expires_ms for _, _, old in made)


async def test_an_invalid_key_is_not_rotated(keys, callers, client, workspace_id):
    """An unknown, foreign or revoked key is not found; a request with a revoked key is refused and leaves nothing."""
    key, _ = await keys.create(workspace_id, "pep", BOTH, by=BY)
    gone, _ = await keys.create(workspace_id, "gone", BOTH, by=BY)
    await keys.revoke(workspace_id, gone.id, by=BY)
    for workspace, key_id in ((workspace_id, gone.id), (f"{workspace_id[:-1]}x", key.id)):
        with pytest.raises(ApiKeyNotFound):
            await keys.rotate(workspace, key_id, HOUR_MS, by=BY)
    with pytest.raises(Unauthorized):
        await keys.rotate(workspace_id, key.id, HOUR_MS, by=by_key(gone.id))
    with pytest.raises(Unauthorized):
        await keys.create(workspace_id, "another", BOTH, by=by_key(gone.id))
    assert [each.expires_ms for each in await keys.list_page(workspace_id)] == [None]
    assert await _pointers(client, workspace_id) == [f"{workspace_id} {key.id}"]


async def _pointers(client, workspace_id):
    """The pointers to records of the workspace. Only tests scan."""
    found, cursor = {}, 0
    while True:
        cursor, names = await client.call("SCAN", cursor, "MATCH", "remit:key:*", "COUNT", 1000)
        found |= {name: await client.call("GET", name) for name in names}
        if int(cursor) == 0:
            return [value for value in found.values() if value.startswith(workspace_id)]
