"""How failures of the store are described."""

import pytest
from redis import exceptions

from app.errors import StoreUnavailable
from app.redis_client.clients import open_client
from app.redis_client.scripts import TAKE_LEASE
from app.store.readiness import require_ready


@pytest.fixture(params=["redis", "valkey"])
async def limited(request):
    """A client whose user lacks SET, which scripts run as well."""
    store = request.getfixturevalue(f"{request.param}_store")
    root = open_client(store.url, 5_000)
    await root.call("ACL", "SETUSER", "limited", "on", ">any", "~*", "+@all", "-set")
    client = open_client(store.url.replace("//", "//limited:any@"), 5_000)
    yield client
    await client.close()
    await root.call("ACL", "DELUSER", "limited")
    await root.close()


async def test_a_missing_permission_is_named_without_claiming_that_nothing_was_done(limited):
    """Redis 7.0 and Valkey say ERR, in different words; a script refused halfway may have written something."""
    with pytest.raises(StoreUnavailable, match=r"may not run a command of a script \(NOPERM\).* not undone"):
        await limited.run(TAKE_LEASE, ["remit:ready"], ["somebody", 1])
    with pytest.raises(StoreUnavailable, match=r"refused the command \(NOPERM\); nothing was done"):
        await require_ready(limited)


async def test_a_connection_that_cannot_be_closed_is_no_failure_of_the_process_that_ends(valkey_store, monkeypatch):
    """redis-py gives up after a quarter of a second, and on a busy machine the stop of a replica failed with that."""
    client = open_client(valkey_store.url, 5_000)
    await client.call("PING")

    async def late(*_, **__):
        raise exceptions.TimeoutError("Timed out closing connection after 0.25")

    with monkeypatch.context() as busy:
        busy.setattr(client._redis.connection_pool, "aclose", late)
        await client.close()
    await client.close()
