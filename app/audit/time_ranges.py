"""Maps a span of time to a range of sequences."""

from app.audit.head import read_head, read_newest
from app.audit.index import Lookup
from app.audit.sealed_range import kept_parts
from app.model.audit import AuditQuery
from app.redis_client.client import Client
from app.store.keyspace import Keyspace


async def sequences_between(client: Client, keyspace: Keyspace, from_ms: int, to_ms: int) -> tuple[int, int]:
    """(after, until): every current entry with a time in the span has after < sequence <= until.

    The range may include others: segments are taken whole, and times do not follow sequences where clocks step back.
    """
    newest = await read_newest(client, keyspace)
    head, spans = await read_head(client, keyspace)
    parts = kept_parts(head, spans)
    late = [part for part in parts if spans[part].last_ms >= from_ms]
    after = head.sequence
    if late:
        (found,) = await Lookup(keyspace, AuditQuery()).read(client, head, spans, late[:1])
        firsts = [each.row.first_sequence for each in found if each.row.last_ms >= from_ms]
        after = min(firsts, default=spans[late[0]].first_sequence) - 1
    early = max((part for part in parts if spans[part].first_ms <= to_ms), default=None)
    until = newest
    if early is not None and early + 1 in parts:
        until = spans[early + 1].first_sequence - 1
    return max(after, head.first_sequence - 1), until
