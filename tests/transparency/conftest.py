"""A log with entries in it, its keys, and witnesses."""

import asyncio
import threading

import pytest
from audit_entries import Writer, grow_trees
from servers import Store

from app.audit.notes import accept_fork
from app.audit.seal.sealer import Sealer
from app.audit.trail_chain import seal_changes
from app.model.checkpoints import SignedTree
from app.model.notes import OF_CHANGES, SignatureType, origin_of
from app.redis_client.clients import open_client, store_time_ms
from app.store.keyspace import WORKSPACES
from app.transparency.keys import SigningKey
from app.transparency.rounds import CheckpointRounds
from app.transparency.witness import LogWitness, witness_server
from app.transparency.witnesses import Witness
from tests.support.actors import BY

NAME = "remit.example.com"
CHANGE = "actorId", "console", "kind", "updated", "after"


class SignedLog:
    """A workspace whose log and trail grow and are signed; `witness` is one that runs, if any."""

    def __init__(self, client, workspace_id):
        self.client, self.workspace_id = client, workspace_id
        self.writer = Writer(client, workspace_id)
        self.keys = self.writer.keyspace
        self.key = SigningKey.new(NAME)
        self.origin = origin_of(NAME, workspace_id)
        self.vkey = self.key.named(self.origin).verifier
        self.vkey_of_changes = self.key.named(self.origin + OF_CHANGES).verifier
        self.changes = 0

    async def grow(self, entries=40):
        await self.writer.append(entries)
        while await Sealer(self.client, 16, 100).seal_next(self.workspace_id):
            pass
        self.changes += 1
        await self.client.call("XADD", self.keys.changes, "*", *CHANGE, self.changes)
        await seal_changes(self.client, self.workspace_id)
        await grow_trees(self.client, self.workspace_id)

    async def sign(self, *witnesses, keys=None):
        rounds = CheckpointRounds(self.client, keys or [self.key], witnesses)
        await self.client.call("HSET", WORKSPACES, self.workspace_id, self.workspace_id)
        try:
            await rounds.run(asyncio.Event())
        finally:
            await self.client.call("HDEL", WORKSPACES, self.workspace_id)

    async def accept(self):
        """The fork of the log that the command line has accepted, or None."""
        accepted = await accept_fork(self.client, self.workspace_id, SignedTree.LOG, BY)
        self.changes += accepted is not None
        return accepted

    async def unwitnessed_ms(self):
        since = await self.client.call("HGET", self.keys.audit_checkpoint, "unwitnessed_ms")
        return None if since is None else await store_time_ms(self.client) - int(since)


@pytest.fixture(scope="module")
def own_store(server, tmp_path_factory):
    """Signing looks at every workspace of a store, and other tests leave many in theirs."""
    store = Store(server("valkey"), tmp_path_factory.mktemp("checkpoints"))
    yield store
    store.stop()


@pytest.fixture
async def client(own_store):
    opened = open_client(own_store.url, 5_000)
    yield opened
    await opened.close()


@pytest.fixture
async def log(client, workspace_id):
    signed = SignedLog(client, workspace_id)
    await signed.grow()
    return signed


@pytest.fixture
async def one_log(valkey_store, workspace_id):
    """The same on one store, for what takes long and is the same on each."""
    client = open_client(valkey_store.url, 5_000)
    signed = SignedLog(client, workspace_id)
    await signed.grow()
    yield signed
    await client.close()


@pytest.fixture(scope="session")
def go_cache(tmp_path_factory):
    """Where Go keeps what it has compiled."""
    return str(tmp_path_factory.mktemp("go"))


@pytest.fixture
def witnessing(tmp_path):
    """Starts a witness of a log; its state is kept under the name."""
    servers = []

    def start(log, name="auditor.example", signing=None, more=()):
        signing = signing or SigningKey.new(name, SignatureType.COSIGNATURE)
        known = LogWitness(tmp_path / f"{name}.sqlite", signing, [log.vkey, log.vkey_of_changes, *more])
        server = witness_server("127.0.0.1", 0, known)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return Witness(f"http://127.0.0.1:{server.server_port}", signing.verifier)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
