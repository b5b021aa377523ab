"""Ways to alter a sealed log so that more and more of what depends on an entry agrees with it."""

from audit_entries import grow_trees

from app.audit.segments import chain, pack, read_segment
from app.redis_client.replies import as_record
from app.store.keyspace import Keyspace


class ForgedLog:
    """The sealed log of a workspace, in the hands of somebody who may write to the store."""

    def __init__(self, client, workspace_id):
        self.client, self.workspace_id, self.keys = client, workspace_id, Keyspace(workspace_id)

    async def call(self, *args):
        return await self.client.call(*args)

    async def record(self, number):
        return as_record(await self.client.call_bytes("HGETALL", self.keys.audit_segment(number)))

    async def put(self, number, record, data):
        flat = [part for pair in record.items() for part in pair]
        await self.call("HSET", self.keys.audit_segment(number), *flat)
        await self.call("SET", self.keys.audit_data(number), data)

    async def forge(self, number, *, hashed):
        segment = await read_segment(self.client, self.keys, number)
        body = segment.body().replace(b"allows", b"denies", 1)
        frames, data, digests = pack([body.splitlines(keepends=True)])
        hashes = {"digests": digests, "sha256": chain(segment.previous, body)} if hashed else {}
        await self.put(number, {"frames": frames} | hashes, data)

    async def forge_with_links(self, number, *, tree=False):
        """Change an entry and every link from its segment on. tree: the Merkle tree, too."""
        await self.forge(number, hashed=True)
        await self.relink(number + 1)
        if tree:
            await self.grow_tree_again()

    async def relink(self, first):
        """Recompute every link from `first` on, and the head, as a careful forger would."""
        previous = (await read_segment(self.client, self.keys, first - 1)).sha256
        for number in range(first, 1 + int(await self.call("HGET", self.keys.audit_head, "segment"))):
            segment = await read_segment(self.client, self.keys, number)
            sha256 = chain(previous, segment.body())
            await self.call("HSET", self.keys.audit_segment(number), "previous", previous, "sha256", sha256)
            previous = sha256
        await self.head(sha256=previous)

    async def head(self, **fields):
        await self.call("HSET", self.keys.audit_head, *[part for pair in fields.items() for part in pair])

    async def grow_tree_again(self):
        await self.call("DEL", self.keys.audit_tree)
        await grow_trees(self.client, self.workspace_id)
