"""Verification of the trail of changes: recomputes its chain, and counts the changes not yet chained."""

import hashlib
from collections.abc import AsyncIterator
from typing import NamedTuple

from app.audit.segments import chain
from app.audit.trail_chain import TrailLink, read_changes, read_links, trail_genesis
from app.audit.trees import trail_tree
from app.audit.verify.tree import TreeCheck
from app.model.checkpoints import Fault, FaultFound, Part, Rest
from app.redis_client.client import Client
from app.store.keyspace import Keyspace


class Trail(NamedTuple):
    """The changes of an intact trail. linked: the number that the chain covers; sha256: as in a checkpoint."""

    changes: int
    linked: int
    sha256: str


class TrailCheck:
    """Reads a workspace's trail once, from its first change to its newest."""

    def __init__(self, client: Client, workspace_id: str, since: Rest | None) -> None:
        self._client = client
        self._keyspace = Keyspace(workspace_id)
        self._link = trail_genesis(workspace_id)
        self._since = since
        self._tree = TreeCheck(client, self._keyspace.changes_tree)
        self._all = trail_tree(client, workspace_id)
        self._digest = hashlib.sha256()
        self._met = since is None
        self._read = 0

    async def run(self) -> Trail:
        """The trail, if intact. Raises FaultFound with its first fault."""
        changes = read_changes(self._client, self._keyspace, "0-0")
        waiting: list[tuple[str, bytes]] = []
        self._take_up()
        await self._tree.begin(self._all, 0)
        async for link in read_links(self._client, self._keyspace):
            if link.position <= self._link.position:
                raise _broken(
                    Fault.INSERTED,
                    f"The chain of the changes contains something that is not a link, after {self._link}",
                )
            await self._check(link, changes, waiting)
            self._link = link
            self._take_up()
        await self._tree.compare()
        self._tree.end(self._link.position)
        unchained = [line for _, line in waiting] + [line async for _, line in changes]
        for line in unchained:
            self._take(line)
        await self._require_whole()
        since = self._since
        if since is not None and self._read < since.changes:
            message = f"There are {self._read} changes; the checkpoint has seen {since.changes}"
            raise _broken(Fault.TRUNCATED, message)
        if since is not None and since.linked > self._link.position:
            raise _broken(Fault.TRUNCATED, f"The chain of the changes ends before change {since.linked}")
        if since is not None and not self._met:
            raise _broken(Fault.REWRITTEN, f"The checkpoint's change {since.linked} is missing from the chain")
        sha256 = chain(self._link.sha256, b"".join(unchained)) if unchained else self._link.sha256
        return Trail(self._read, self._link.position, sha256)

    async def _check(
        self, link: TrailLink, changes: AsyncIterator[tuple[str, bytes]], waiting: list[tuple[str, bytes]]
    ) -> None:
        """Check that the link covers the changes that were chained. `waiting`: changes read for later links."""
        batch, waiting[:] = waiting[:], []
        last = _order(link.last_id)
        while not batch or _order(batch[-1][0]) < last:
            try:
                batch.append(await anext(changes))
            except StopAsyncIteration:
                break
        while batch and _order(batch[-1][0]) > last:
            waiting.insert(0, batch.pop())
        first, expected = self._link.position + 1, link.position - self._link.position
        where = f"Of changes {first} to {link.position}, chained up to {link.last_id},"
        if len(batch) < expected:
            fault = Fault.REMOVED if waiting or len(batch) else Fault.TRUNCATED
            raise _broken(fault, f"{where} {expected - len(batch)} are gone")
        if len(batch) > expected:
            raise _broken(Fault.INSERTED, f"{where} there are {len(batch) - expected} too many")
        is_linked = link.previous == self._link.sha256
        if not is_linked or chain(self._link.sha256, b"".join(line for _, line in batch)) != link.sha256:
            raise _broken(Fault.CHANGED, f"{where} one is not what was chained")
        for _, line in batch:
            self._take(line)
        self._tree.take([line for _, line in batch], link.last_id)

    def _take_up(self) -> None:
        """Start comparing with the checkpoint where its link ends."""
        since = self._since
        if since is None or since.linked != self._link.position:
            return
        self._met = True
        self._digest = hashlib.sha256(self._link.sha256.encode())
        if since.changes == since.linked and self._link.sha256 != since.changes_sha256:
            raise _broken(
                Fault.REWRITTEN, f"The first {since.linked} changes are not those that the checkpoint has seen"
            )

    def _take(self, line: bytes) -> None:
        self._read += 1
        since = self._since
        if since is None or not since.linked < self._read <= since.changes:
            return
        self._digest.update(line)
        if self._read == since.changes and self._digest.hexdigest() != since.changes_sha256:
            raise _broken(Fault.REWRITTEN, f"The first {self._read} changes are not those that the checkpoint has seen")

    async def _require_whole(self) -> None:
        """Check that the streams of changes and links contain everything ever added. Raises FaultFound."""
        for key, name in ((self._keyspace.changes, "change"), (self._keyspace.changes_chain, "link of the changes")):
            if not await self._client.call("EXISTS", key):
                continue
            raw = await self._client.call_bytes("XINFO", "STREAM", key)
            info = dict(zip(raw[::2], raw[1::2], strict=True))
            missing = info[b"entries-added"] - info[b"length"]
            newest = info[b"last-entry"][0] if info[b"last-entry"] else b"0-0"
            if missing or newest != info[b"last-generated-id"]:
                deleted = info[b"max-deleted-entry-id"].decode()
                message = (
                    f"{max(1, missing)} {name} was or were deleted after it was added, {deleted} the newest of them"
                )
                fault = Fault.REMOVED if newest == info[b"last-generated-id"] else Fault.TRUNCATED
                raise _broken(fault, message)


def _order(change_id: str) -> tuple[int, int]:
    first, _, second = change_id.partition("-")
    return int(first), int(second)


def _broken(fault: Fault, message: str) -> FaultFound:
    return FaultFound(fault, 0, message, Part.CHANGES)
