"""The job that signs checkpoints: a note of each log and each trail that has grown, cosigned by the witnesses."""

import asyncio
import logging
from collections.abc import Sequence

from msgspec.structs import replace

from app.audit.merkle import is_consistent
from app.audit.notes import checkpoint_key, fork_of, note_fork, read_fork, read_note
from app.audit.tree import Dropped, Tree, read_tree
from app.audit.trees import read_log_tree, trail_tree
from app.model.checkpoints import SignedTree
from app.model.notes import OF_CHANGES, Note, Signature, origin_of
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.scripts import PUT_CHECKPOINT
from app.runtime.fault_isolation import failures_logged
from app.store.keyspace import Keyspace
from app.store.workspaces import workspace_ids
from app.transparency.keys import SigningKey, signed, signed_at
from app.transparency.witnesses import Forked, Witness, WitnessRefused

log = logging.getLogger(__name__)


class CheckpointRounds:
    """Signs what has grown since the last checkpoint. A witness that gives no answer delays a checkpoint by seconds.

    A tree that does not continue what was signed before, here or by a witness, is not signed until a person accepts it.
    """

    def __init__(self, client: Client, keys: Sequence[SigningKey], witnesses: Sequence[Witness]) -> None:
        self._client = client
        self._keys = keys
        self._witnesses = witnesses

    async def run(self, stopped: asyncio.Event) -> None:
        """Sign every tree that has grown, and ask the witnesses that have not signed the newest checkpoint."""
        for workspace_id in await workspace_ids(self._client):
            for suffix in ("", OF_CHANGES):
                if stopped.is_set():
                    return
                with failures_logged(log, f"sign a checkpoint of workspace {workspace_id}{suffix}"):
                    await self._sign(workspace_id, suffix)

    async def _sign(self, workspace_id: str, suffix: str) -> None:
        keyspace = Keyspace(workspace_id)
        of_log = not suffix
        tree_key = keyspace.audit_tree if of_log else keyspace.changes_tree
        kind = SignedTree.LOG if of_log else SignedTree.CHANGES
        key = checkpoint_key(keyspace, kind)
        frontier = (await read_tree(self._client, tree_key)).frontier
        origin = origin_of(self._keys[0].verifier.name, workspace_id) + suffix
        last = await read_note(self._client, key)
        if not frontier.size or (last is not None and last.size > frontier.size):
            return  # nothing to sign, or a store that has lost what was signed
        note = signed(Note(origin, frontier.size, frontier.root), self._keys)
        if last is not None and last.text == note.text:
            cosigned = [each for each in last.signatures if each.name != origin]
            note = replace(note, signatures=(*note.signatures, *cosigned))
        missing = [each for each in self._witnesses if signed_at(note, each.key) is None]
        fork = await read_fork(self._client, key)
        if (found := fork_of(kind, fork)) is not None:
            log.error("%s is not signed since %s, until a person accepts that %s", origin, found.since, found.message)
            return
        if last is not None and str(last) == str(note) and not missing:
            return
        tree = await read_log_tree(self._client, workspace_id) if of_log else trail_tree(self._client, workspace_id)
        try:
            if not fork:
                await _require_continued(last, note, tree)
            # Asked before it is kept: nobody else may see a second history that this service signs.
            given = await asyncio.gather(*(self._cosigned(each, note, tree, fork) for each in missing))
        except Forked as error:
            if error.size > note.size and (await read_tree(self._client, tree_key)).frontier.size >= error.size:
                return  # another compactor has signed more in the meantime
            log.error("%s at %d is not signed: %s", origin, note.size, error)  # noqa: TRY400 - the sentence says it all
            await note_fork(self._client, key, f"at {note.size} leaves, {error}")
            return
        note = replace(note, signatures=(*note.signatures, *(each for some in given for each in some)))
        waits = any(signed_at(note, each.key) is None for each in self._witnesses)
        await self._put(key, note, waits=waits)

    async def _cosigned(self, witness: Witness, note: Note, tree: Tree, fork: str | None) -> Sequence[Signature]:
        """Its cosignature, if it gives one. Raises Forked, unless a person has accepted that it will not sign."""
        try:
            return [await witness.cosign(note, tree)]
        except Forked as error:
            if not fork:
                raise Forked(f"the witness {witness.key.name} has not signed: {error}", error.size) from None
            log.warning("the witness %s has not signed %s at %d: %s", witness.key.name, note.origin, note.size, error)
        except WitnessRefused as error:
            log.warning("the witness %s has not signed %s at %d: %s", witness.key.name, note.origin, note.size, error)
        return []

    async def _put(self, key: str, note: Note, *, waits: bool) -> None:
        now_ms = await store_time_ms(self._client)
        await self._client.run(PUT_CHECKPOINT, [key], [note.size, str(note), "" if not waits else now_ms])


async def _require_continued(last: Note | None, note: Note, tree: Tree) -> None:
    """Raise Forked unless the note continues the last one, as far as the log goes back."""
    if last is None or last.origin != note.origin or last.text == note.text:
        return
    try:
        proof = await tree.consistency(last.size, note.size) if last.size < note.size else []
    except Dropped:
        return
    if not is_consistent(last.size, last.root, note.size, note.root, proof):
        raise Forked(f"it does not continue the checkpoint of {last.size} leaves that was signed before")
