"""The manifest of an archive, as far as the store still has its segments: what the files of an archive must be."""

import hashlib

from app.audit.log_state import read_head
from app.audit.segments import Segment, missing, read_segment
from app.model.archives import ArchivedSegment, ArchiveManifest, ManifestQuery
from app.model.times import rfc3339
from app.redis_client.client import Client
from app.store.keyspace import Keyspace


def line_of(segment: Segment) -> ArchivedSegment:
    """The segment's line in the manifest. The caller has verified it, or says that it is not verified."""
    return ArchivedSegment(
        segment=segment.number,
        file=f"{segment.number}.jsonl.zst",
        first_sequence=segment.first_sequence,
        last_sequence=segment.last_sequence,
        first_time=rfc3339(segment.first_ms),
        last_time=rfc3339(segment.last_ms),
        count=segment.count,
        previous=segment.previous,
        sha256=segment.sha256,
        file_sha256=hashlib.sha256(segment.data).hexdigest(),
    )


async def read_manifest(client: Client, workspace_id: str, query: ManifestQuery) -> ArchiveManifest:
    """The manifest's lines for segments that the store has, as they were sealed; the chain is not recomputed.

    Raises AuditLogDamaged if a segment is missing that retention has not dropped.
    """
    keyspace = Keyspace(workspace_id)
    head, _ = await read_head(client, keyspace)
    first = max(head.first_segment, query.after + 1)
    found: list[ArchivedSegment] = []
    for number in range(first, min(head.segment, first + query.limit - 1) + 1):
        segment = await read_segment(client, keyspace, number)
        if segment is None:
            now, _ = await read_head(client, keyspace)
            if number >= now.first_segment:
                raise missing(number)
            return await read_manifest(client, workspace_id, query)  # retention has dropped it meanwhile
        found.append(line_of(segment))
    archived = None if not head.archived else await read_segment(client, keyspace, head.archived)
    return ArchiveManifest(
        archived_up_to=head.archived,
        archived_at=None if archived is None else rfc3339(archived.last_ms),
        sealed_up_to=head.segment,
        first_segment=head.first_segment,
        segments=found,
    )
