"""The Merkle trees of a workspace, read with the leaves that its entries and its changes give."""

from collections.abc import Sequence

from app.audit.log_state import Head, read_head
from app.audit.merkle import leaf_hashes
from app.audit.read.forward_reader import ForwardReader
from app.audit.trail_chain import position_before, read_changes
from app.audit.tree import BLOCK, Tree, hashes_of
from app.errors import AuditLogDamaged
from app.model.audit import AuditFilters
from app.redis_client.client import Client
from app.store.keyspace import Keyspace


async def read_log_tree(client: Client, workspace_id: str) -> Tree:
    """The tree of the log, where it begins now. Raises AuditLogDamaged."""
    head, _ = await read_head(client, Keyspace(workspace_id))
    return log_tree(client, workspace_id, head)


def log_tree(client: Client, workspace_id: str, head: Head) -> Tree:
    """The tree of the log, which begins at the head's floor. Raises AuditLogDamaged."""

    async def leaves(start: int, end: int) -> Sequence[bytes]:
        hashes: list[bytes] = []
        async for chunk in ForwardReader(client, workspace_id, AuditFilters()).chunks(start, end):
            hashes += leaf_hashes(chunk.body.splitlines(keepends=True))
        return hashes

    floor = head.first_sequence - 1
    return Tree(client, Keyspace(workspace_id).audit_tree, leaves, floor, _floor_hashes(head, floor))


def trail_tree(client: Client, workspace_id: str) -> Tree:
    """The tree of the trail of changes."""
    keyspace = Keyspace(workspace_id)

    async def leaves(start: int, end: int) -> Sequence[bytes]:
        before = await position_before(client, workspace_id, start)
        position, lines = before.position, list[bytes]()
        async for _, line in read_changes(client, keyspace, before.last_id):
            position += 1
            if position > start:
                lines.append(line)
            if position == end:
                return leaf_hashes(lines)
        raise AuditLogDamaged(f"The trail of changes ends before change {end}, which its Merkle tree has")

    return Tree(client, keyspace.changes_tree, leaves)


def _floor_hashes(head: Head, floor: int) -> tuple[bytes, ...] | None:
    if head.floor_tree is None:
        return None
    try:
        hashes = hashes_of(head.floor_tree)
    except ValueError:
        hashes = None
    if hashes is None or len(hashes) != (floor % BLOCK).bit_count():
        raise AuditLogDamaged("The head of the audit log has no readable hashes of the Merkle tree at the floor")
    return hashes
