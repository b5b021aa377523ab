"""Notices: events that come from neither an entry nor a change."""

import msgspec

from app.model.checkpoints import Finding
from app.redis_client.client import Client
from app.redis_client.scripts import NOTE_FINDING
from app.store.keyspace import Keyspace

_KEPT = 1_000


async def note_finding(client: Client, workspace_id: str, finding: Finding) -> None:
    """Notify webhooks that the log is not what was sealed; once, however often the same finding recurs."""
    await client.run(NOTE_FINDING, [Keyspace(workspace_id).notices], [msgspec.json.encode(finding), _KEPT])
