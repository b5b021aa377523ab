"""A test's own workspace, reached over HTTP as its admin, as a reader, and without a key."""

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers import Replica

from app.audit.notes import checkpoint_key
from app.model.ids import Ids
from app.model.times import rfc3339
from app.redis_client.clients import open_client
from app.store.keyspace import Keyspace
from app.store.workspaces import Workspaces
from tests.support import parts
from tests.support.actors import BY

FREE = {"type": "tool_allowlist", "tools": ["*"]}


class Tenant:
    """A new workspace on `store`, and clients of it that talk to `replica`."""

    def __init__(self, store_url: str, replica: Replica) -> None:
        self.replica = replica
        self.store_url = store_url
        self.id, self.admin_key = in_store(store_url, create_workspace)
        self.admin = replica.client(self.admin_key)
        self.read_key = self.new_key(["read"])["key"]
        self.reader = replica.client(self.read_key)

    def close(self):
        self.admin.close()
        self.reader.close()

    def new_key(self, scopes, **fields):
        """The answer to a key's creation."""
        return self._made("/v1/api-keys", {"name": "a key", "scopes": scopes, **fields})

    def second_person(self, name, *scopes):
        """The key of somebody who counts as nobody else: no key of this workspace has made it."""
        return self.in_store(lambda client: parts.api_keys(client, Ids()).create(self.id, name, scopes, by=BY))[1]

    def let_expire(self, key_id):
        """Make the key expire now."""
        self.in_store(lambda client: client.call("HSET", Keyspace(self.id).key(key_id), "expires_ms", 1))

    def fork(self, tree, message):
        """The fork that the log's status shows from now on, of the log or of the trail of changes."""
        key, since_ms = checkpoint_key(Keyspace(self.id), tree), 1_795_176_000_000
        self.in_store(lambda client: client.call("HSET", key, "fork", f"{since_ms} {message}"))
        return {"tree": tree.value, "since": rfc3339(since_ms), "message": message}

    def new_agent(self, **fields):
        return self._made("/v1/agents", {"name": "an agent", **fields})

    def new_policy(self, agent_id, *rules, **fields):
        """A policy with these rules; without any, one that allows everything."""
        body = {"agent_id": agent_id, "name": "a policy", "rules": list(rules) or [FREE], **fields}
        made = self._made("/v1/policies", body)
        made.pop("warnings", None)  # which GET does not show
        return made

    def authorize(self, agent_id, tool="file.read", **fields):
        """The answer to one tool call."""
        answer = self.reader.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": tool, **fields})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def log(self, **filters):
        """The log's entries, newest first."""
        answer = self.reader.get("/v1/audit-logs", params=filters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def in_store(self, act):
        """The result of `act` with a client of the store; no replica notices it."""
        return in_store(self.store_url, act)

    def _made(self, path, body):
        answer = self.admin.post(path, json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()


def tenant_on(replica="replica", scope="function"):
    """A fixture: a workspace of a test's or a module's own, reached through the replica that this fixture names."""

    @pytest.fixture(scope=scope)
    def tenant(request, store):
        made = Tenant(store.url, request.getfixturevalue(replica))
        yield made
        made.close()

    return tenant


def in_store(store_url, act):
    """What `act` gives with a client of the store."""

    async def run():
        client = open_client(store_url, 10_000)
        try:
            return await act(client)
        finally:
            await client.close()

    # Fixtures of asynchronous tests run while a loop does, so this one gets a thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


async def create_workspace(client):
    ids = Ids()
    return await Workspaces(client, ids, parts.api_keys(client, ids)).create(f"test {uuid.uuid4()}")
