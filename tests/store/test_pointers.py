"""What says that there is no such key: only a master that takes writes, and never one that has been replaced."""

import pytest
import redis
from servers import Store, until

from app.errors import StoreUnavailable
from app.redis_client.clients import open_client
from app.store.keyspace import key_pointer
from app.store.pointers import point, pointed

NAME = key_pointer("0" * 64)


@pytest.fixture
async def store(server, tmp_path):
    started = Store(server("redis"), tmp_path / "store")
    client = open_client(started.url, 5_000)
    with redis.Redis(port=started.port) as admin:
        yield client, admin
    await client.close()
    started.kill()


async def test_a_master_says_what_is_there_and_what_is_not(store):
    client, _ = store
    assert await pointed(client, NAME) is None
    await point(client, NAME, "w k")
    assert await pointed(client, NAME) == "w k"


async def test_a_full_master_says_it_too(store):
    """Nothing is written."""
    client, admin = store
    admin.config_set("maxmemory", 1)
    assert await pointed(client, NAME) is None


async def test_what_was_the_master_does_not_say_that_a_key_is_unknown(store):
    """It follows another now, and may lack what that one has acknowledged: 401 would be wrong, and is final."""
    client, admin = store
    admin.replicaof("127.0.0.1", 1)
    until(lambda: admin.role()[0] == b"slave", "it follows another")
    with pytest.raises(StoreUnavailable, match="READONLY"):
        await pointed(client, NAME)


async def test_a_master_that_its_replicas_have_left_does_not_say_it_either(store):
    """It has not heard yet that it was replaced."""
    client, admin = store
    admin.config_set("min-replicas-to-write", 1)
    with pytest.raises(StoreUnavailable, match="NOREPLICAS"):
        await pointed(client, NAME)
