"""Verification of a Merkle tree: it has the leaves that the entries, or the changes, give, and nothing else."""

from collections.abc import Sequence

from app.audit.merkle import HASH_BYTES, Frontier, leaf_hashes
from app.audit.tree import Dropped, Tree, TreeState, read_tree, tile_place
from app.audit.trees import read_log_tree, trail_tree
from app.errors import AuditLogDamaged
from app.model.checkpoints import Fault, FaultFound, Part
from app.model.notes import Note
from app.redis_client.client import Client
from app.redis_client.replies import ForeignData
from app.store.keyspace import Keyspace


class TreeCheck:
    """Compares a stored tree with the lines that it should have, given in order from some position on.

    A tree that is behind is compared as far as it goes, because it may be catching up.
    """

    def __init__(self, client: Client, key: str) -> None:
        self._client = client
        self._key = key
        self._stored = TreeState()
        self._frontier: Frontier | None = None
        self._new: list[tuple[str, int, bytes]] = []

    async def begin(self, tree: Tree, position: int, *, required: bool = True) -> None:
        """Begin after this many leaves. Raises FaultFound.

        required: if not, and what the tree has before the position cannot be read, nothing is compared.
        """
        self._frontier = None
        try:
            self._stored = await read_tree(self._client, self._key)
        except (AuditLogDamaged, ForeignData) as error:
            raise _changed(error.message) from None
        if self._stored.frontier.size < position:
            return
        try:
            self._frontier = await tree.frontier(position)
        except (AuditLogDamaged, ForeignData) as error:
            if required:
                raise _changed(error.message) from None
        else:
            self._meet(None)

    def take(self, lines: Sequence[bytes], at: str) -> None:
        """Take the lines of the next segment or link, which ends `at` its number or last id. Raises FaultFound."""
        before = self._frontier
        if before is None or before.size >= self._stored.frontier.size:
            return  # the tree is behind, or has grown since
        self._frontier, completed = before.extended(leaf_hashes(lines))
        for level, (first, hashes) in completed.items():
            self._new += [(*tile_place(level, index), each) for index, each in enumerate(hashes, first)]
        self._meet(at)

    async def compare(self) -> None:
        """Compare the tiles with the lines taken since the last call. Raises FaultFound."""
        new, self._new = self._new, []
        try:
            fields = {field: await self._tile(field) for field, _, _ in new}
        except ForeignData as error:
            raise _changed(error.message) from None
        for field, offset, each in new:
            if fields[field][offset : offset + HASH_BYTES] != each:
                raise _changed(f"Tile {field} has another hash at byte {offset} than the entries give")

    def end(self, size: int) -> None:
        """Check that the stored tree does not go beyond the last line. size: number of leaves that there can be."""
        if self._stored.frontier.size > size:
            raise _changed(f"The tree has {self._stored.frontier.size} leaves; there are {size}")

    async def _tile(self, field: str) -> bytes:
        return await self._client.call_bytes("HGET", self._key, field) or b""

    def _meet(self, at: str | None) -> None:
        """Compare with the stored frontier where it ends. at: None = not known."""
        stored, frontier = self._stored, self._frontier
        if frontier is None or frontier.size < stored.frontier.size:
            return
        if frontier != stored.frontier or at not in (None, stored.at):
            raise _changed(f"The frontier at {stored.frontier.size} leaves is not what the entries give")


async def compare_with_note(client: Client, workspace_id: str, note: Note | None) -> None:
    """Check that the tree of which the note is continues the note's. Raises FaultFound."""
    if note is None:
        return
    keyspace = Keyspace(workspace_id)
    key = keyspace.changes_tree if note.is_of_changes else keyspace.audit_tree
    try:
        size = (await read_tree(client, key)).frontier.size
        if size < note.size:
            message = f"The tree has {size} leaves; the checkpoint has seen {note.size}"
            raise FaultFound(Fault.TRUNCATED, 0, message, Part.TREE)
        is_trail = note.is_of_changes
        tree = trail_tree(client, workspace_id) if is_trail else await read_log_tree(client, workspace_id)
        if await tree.hash(0, note.size) != note.root:
            message = f"The first {note.size} leaves are not those that the checkpoint has seen"
            raise FaultFound(Fault.REWRITTEN, 0, message, Part.TREE)
    except Dropped:
        message = f"Retention dropped entries of the first {note.size}, which the checkpoint has seen: give a newer one"
        raise FaultFound(Fault.REMOVED, 0, message, Part.TREE) from None
    except (AuditLogDamaged, ForeignData) as error:
        raise _changed(error.message) from None


def _changed(message: str) -> FaultFound:
    return FaultFound(Fault.CHANGED, 0, message, Part.TREE)
