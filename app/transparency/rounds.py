"""The job that signs checkpoints: a note of each log and each trail that has grown, cosigned by the witnesses."""

import asyncio
import logging
from collections.abc import Sequence

from msgspec.structs import replace

from app.audit.notes import read_note
from app.audit.tree import Tree, read_tree
from app.audit.trees import read_log_tree, trail_tree
from app.model.notes import OF_CHANGES, Note, Signature, origin_of
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.scripts import PUT_CHECKPOINT
from app.runtime.fault_isolation import failures_logged
from app.store.keyspace import Keyspace
from app.store.workspaces import workspace_ids
from app.transparency.keys import SigningKey, signed, signed_at
from app.transparency.witnesses import Witness, WitnessRefused

log = logging.getLogger(__name__)


class CheckpointRounds:
    """Signs what has grown since the last checkpoint. Witnesses that fail delay nothing but their cosignatures."""

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
        key = keyspace.audit_checkpoint if of_log else keyspace.changes_checkpoint
        frontier = (await read_tree(self._client, tree_key)).frontier
        origin = origin_of(self._keys[0].verifier.name, workspace_id) + suffix
        last = await read_note(self._client, key)
        if not frontier.size or (last is not None and last.size > frontier.size):
            return  # nothing to sign, or a store that has lost what was signed, which witnesses refuse
        note = signed(Note(origin, frontier.size, frontier.root), self._keys)
        if last is not None and last.text == note.text:
            cosigned = [each for each in last.signatures if each.name != origin]
            note = replace(note, signatures=(*note.signatures, *cosigned))
        missing = [each for each in self._witnesses if signed_at(note, each.key) is None]
        if last is not None and str(last) == str(note) and not missing:
            return
        tree = await read_log_tree(self._client, workspace_id) if of_log else trail_tree(self._client, workspace_id)
        await self._put(key, note, waits=bool(missing))
        given = await asyncio.gather(*(self._cosigned(each, note, tree) for each in missing))
        if any(given):
            note = replace(note, signatures=(*note.signatures, *(each for some in given for each in some)))
        waits = any(signed_at(note, each.key) is None for each in self._witnesses)
        await self._put(key, note, waits=waits)

    async def _cosigned(self, witness: Witness, note: Note, tree: Tree) -> Sequence[Signature]:
        try:
            return [await witness.cosign(note, tree)]
        except WitnessRefused as error:
            log.warning("the witness %s has not signed %s at %d: %s", witness.key.name, note.origin, note.size, error)
            return []

    async def _put(self, key: str, note: Note, *, waits: bool) -> None:
        now_ms = await store_time_ms(self._client)
        await self._client.run(PUT_CHECKPOINT, [key], [note.size, str(note), "" if not waits else now_ms])
