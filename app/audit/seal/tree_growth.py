"""Growth of the Merkle trees: each takes what was sealed or chained, once, in its order.

A tree that is behind (a process was killed after it had sealed) catches up from the segments
and the trail, in steps that each are in the store as a whole.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from app.audit.log_state import read_head
from app.audit.merkle import EMPTY_LEAF, leaf_hashes
from app.audit.seal.sealer import Sealed
from app.audit.segments import chain, damaged, read_segment
from app.audit.trail_chain import TrailLink, read_changes, read_links, trail_genesis
from app.audit.tree import BLOCK, TreeState, read_tree, text_of, tile_place
from app.errors import AuditLogDamaged
from app.redis_client.client import Client, Value
from app.redis_client.replies import count_of
from app.redis_client.scripts import GROW_TREE
from app.runtime.fault_isolation import failures_logged
from app.store.keyspace import Keyspace
from app.store.workspaces import workspace_ids

log = logging.getLogger(__name__)
_REMEMBERED = 256
_WORKSPACES_AT_ONCE = 256
_EMPTY_AT_ONCE = 65_536


class TreeGrower:
    """Grows the trees of all workspaces. Any number may do so; the script accepts only what continues a tree."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._states: OrderedDict[str, TreeState] = OrderedDict()

    async def take(self, workspace_id: str, sealed: Sealed) -> None:
        """Append a segment that was just sealed; nothing happens if the tree is not that far yet."""
        key = Keyspace(workspace_id).audit_tree
        state = self._states.pop(workspace_id, None) or await read_tree(self._client, key)
        if state.frontier.size == sealed.first_sequence - 1:
            grown = await self._append(key, state, leaf_hashes(sealed.lines), str(sealed.number))
            if grown is not None:
                self._states[workspace_id] = grown
                while len(self._states) > _REMEMBERED:
                    self._states.popitem(last=False)

    async def catch_up(self, stopped: asyncio.Event) -> None:
        """Bring every tree up to its chain."""
        workspaces = await workspace_ids(self._client)
        for start in range(0, len(workspaces), _WORKSPACES_AT_ONCE):
            for workspace_id in await self._behind(workspaces[start : start + _WORKSPACES_AT_ONCE]):
                with failures_logged(log, f"grow the Merkle tree of the log of workspace {workspace_id}"):
                    while not stopped.is_set() and await self.catch_up_log(workspace_id):
                        pass
                with failures_logged(log, f"grow the Merkle tree of the changes of workspace {workspace_id}"):
                    while not stopped.is_set() and await self.catch_up_trail(workspace_id):
                        pass

    async def _behind(self, workspaces: Sequence[str]) -> list[str]:
        commands: list[Sequence[Value]] = []
        for keys in map(Keyspace, workspaces):
            commands += (("HGET", keys.audit_head, "sequence"), ("HGET", keys.audit_tree, "size"))
            commands += (
                ("XREVRANGE", keys.changes_chain, "+", "-", "COUNT", 1),
                ("HGET", keys.changes_tree, "size"),
            )
        replies = await self._client.read_each(commands)
        rows = zip(workspaces, replies[::4], replies[1::4], replies[2::4], replies[3::4], strict=True)
        return [each for each, *row in rows if _is_behind(*row)]

    async def catch_up_log(self, workspace_id: str) -> bool:
        """Append the next segment; True if more may follow. Raises AuditLogDamaged if it is not what was sealed."""
        keyspace = Keyspace(workspace_id)
        state = await read_tree(self._client, keyspace.audit_tree)
        head, _ = await read_head(self._client, keyspace)
        size, floor = state.frontier.size, head.first_sequence - 1
        if size >= head.sequence:
            return False
        if size < floor:
            # Retention dropped these before there was a tree, which has empty leaves in their place.
            empty = [EMPTY_LEAF] * min(_EMPTY_AT_ONCE, floor - size)
            return await self._append(keyspace.audit_tree, state, empty, str(head.first_segment - 1)) is not None
        number = int(state.at) + 1 if state.at.isdecimal() else head.first_segment
        segment = await read_segment(self._client, keyspace, number)
        body = None if segment is None else segment.body()
        if segment is None or body is None or segment.first_sequence != size + 1:
            raise AuditLogDamaged(f"Segment {number} of the audit log does not follow what the Merkle tree has")
        if chain(segment.previous, body) != segment.sha256:
            raise damaged(number)
        leaves = leaf_hashes(body.splitlines(keepends=True))
        return await self._append(keyspace.audit_tree, state, leaves, str(number)) is not None

    async def catch_up_trail(self, workspace_id: str) -> bool:
        """Append the next link's changes; True if more may follow. Raises AuditLogDamaged if they are not those."""
        keyspace = Keyspace(workspace_id)
        state = await read_tree(self._client, keyspace.changes_tree)
        size = state.frontier.size
        before = TrailLink(size, state.at, "") if size else trail_genesis(workspace_id)
        link = await anext(read_links(self._client, keyspace, after=before.position), None)
        if link is None:
            return False
        lines = []
        async for change_id, line in read_changes(self._client, keyspace, before.last_id):
            lines.append(line)
            if change_id == link.last_id or len(lines) > link.position - size:
                break
        if len(lines) != link.position - size or chain(link.previous, b"".join(lines)) != link.sha256:
            raise AuditLogDamaged(f"The changes up to {link.position} are not those that were chained")
        return await self._append(keyspace.changes_tree, state, leaf_hashes(lines), link.last_id) is not None

    async def _append(self, key: str, state: TreeState, leaves: Sequence[bytes], at: str) -> TreeState | None:
        """Write the tree with these leaves; return it, or None if another process was faster."""
        frontier, completed = state.frontier.extended(leaves)
        args: list[Value] = [state.frontier.size, text_of(state.frontier.hashes)]
        args += [frontier.size, at, text_of(frontier.hashes)]
        for level, (first, hashes) in completed.items():
            index, end = first, first + len(hashes)
            while index < end:
                field, offset = tile_place(level, index)
                until = min(end, index - index % BLOCK + BLOCK)
                args += [field, offset, b"".join(hashes[index - first : until - first])]
                index = until
        status, _ = await self._client.run(GROW_TREE, [key], args)
        return TreeState(frontier, at) if status == "grown" else None


def _is_behind(sealed: bytes | None, log_size: bytes | None, link: Any, trail_size: bytes | None) -> bool:
    chained = int(link[0][0].partition(b"-")[0]) if link else 0
    return count_of(sealed) > count_of(log_size) or chained > count_of(trail_size)
