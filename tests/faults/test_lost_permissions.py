"""The store's user loses a permission under load and gets it back: scripts end where they were refused."""

import pytest
import redis
from servers import Replica
from topologies import SEALING_FAST, until

from app.store.keyspace import Keyspace

COMMIT = ["evalsha", "time", "hmget", "xadd", "hset", "lpush"]
SEAL = ["set", "zadd", "xtrim", "xrange"]
FEW = 10


@pytest.fixture(scope="module")
def store(new_store):
    """A store with a user whose permissions a test may remove; the test's own connection keeps all of its own."""
    made = new_store()
    with redis.Redis(port=made.port) as made.redis:
        made.redis.execute_command("ACL", "SETUSER", "remit", "on", ">secret", "~remit:*", "+@all")
        made.limited_url = made.url.replace("//", "//remit:secret@")
        yield made


@pytest.fixture(scope="module")
def replica(store, shared):
    return shared(Replica(store.limited_url, **SEALING_FAST))


@pytest.fixture
def witness(store, replica, checked_witness):
    yield checked_witness(store.redis, store.url, replica)
    store.redis.execute_command("ACL", "SETUSER", "remit", "+@all")


@pytest.mark.parametrize("command", [*COMMIT, *SEAL])
def test_a_permission_that_was_gone_for_a_while_leaves_nothing_behind(store, replica, witness, command):
    """What a script wrote before it was refused stops neither decisions nor sealing afterwards; no answer is missing.

    Without LPUSH, a commit is refused after its entry and before its Idempotency-Key, so each retry adds an entry.
    """
    agent_id, head = witness.new_agent(max_calls=100_000), Keyspace(witness.tenant.id).audit_head
    with (
        witness.load(agent_id, idempotent=command != "lpush") as patient,
        witness.load(agent_id) as load,
    ):
        patient.after(FEW)
        store.redis.acl_log_reset()
        store.redis.execute_command("ACL", "SETUSER", "remit", f"-{command}")
        until(store.redis.acl_log, "a command was refused")
        if command in COMMIT:
            load.after(FEW, "refused")
        store.redis.execute_command("ACL", "SETUSER", "remit", f"+{command}")
        patient.after(FEW)
        sealed = int(store.redis.hget(head, "sequence") or 0)
        until(lambda: int(store.redis.hget(head, "sequence") or 0) > sealed, "entries are sealed")
    assert (patient.wrong, load.wrong, patient.cut, load.cut) == ([], [], [], [])
