"""Rotating a key: a successor with the same name and scopes, and an old key that ends by itself."""

import pytest

from app.authorize.authenticator import Authenticator
from app.errors import ApiKeyNotFound, Unauthorized
from app.model.api_keys import Scope
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
    listed = {each.id: each.expires_ms async for each in keys.each(workspace_id)}
    assert listed == {key.id: old.expires_ms, successor.id: None}


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
    assert [each.expires_ms async for each in keys.each(workspace_id)] == [None]
    assert await _pointers(client, workspace_id) == [f"{workspace_id} {key.id}"]


async def _pointers(client, workspace_id):
    """The pointers to records of the workspace. Only tests scan."""
    found, cursor = {}, 0
    while True:
        cursor, names = await client.call("SCAN", cursor, "MATCH", "remit:key:*", "COUNT", 1000)
        found |= {name: await client.call("GET", name) for name in names}
        if int(cursor) == 0:
            return [value for value in found.values() if value.startswith(workspace_id)]
