"""Reads the columns of the segments of a part, and looks up in them which segments a policy has decided in."""

from collections.abc import Sequence

from app.audit.columns import POLICY, Columns, Names
from app.audit.hours import WholePart, without
from app.audit.index_rows import Posting
from app.redis_client.client import Client, Value
from app.runtime.fairness.loop_turns import take_turn
from app.store.keyspace import Keyspace

ALL_FRAMES = (1 << 53) - 1
UNKNOWN = Posting((1 << 32) - 1, ALL_FRAMES, exact=False)
"""What is known of a segment without columns."""
_PER_TURN = 16
"""Segments looked through before other tasks run: about half a millisecond."""


async def read_columns(
    client: Client, keyspace: Keyspace, part: int, entries: dict[int, int]
) -> dict[int, Columns | None]:
    """The columns of these segments of a part; None for one that has none. entries: of each segment, by its number.

    Raises AuditLogDamaged.
    """
    # The names are read second, because none is ever taken away while a segment of the part is there.
    commands: list[tuple[Value, ...]] = [("HMGET", keyspace.audit_columns(part), *entries)]
    packed, names = await client.read_pipelined([*commands, ("HGETALL", keyspace.audit_names(part))], as_bytes=True)
    known = Names(names)
    return {
        number: None if each is None else Columns(each, known, entries[number])
        for number, each in zip(entries, packed, strict=True)
    }


async def decided_by(
    client: Client,
    keyspace: Keyspace,
    policy_id: str,
    parts: Sequence[int],
    kept: Sequence[range],
    whole: Sequence[WholePart],
) -> list[dict[int, Posting]]:
    """For each part, the segments with decisions of the policy, and those without columns. kept: each part's segments.

    Columns are read only in parts that may have the policy, by their hours or by the names of their columns.
    whole: those of the parts that may have hours.
    """
    lacking = await without(client, keyspace, POLICY, policy_id, whole)
    commands = [
        command
        for part in parts
        if part not in lacking
        for command in (("HGETALL", keyspace.audit_names(part)), ("HKEYS", keyspace.audit_columns(part)))
    ]
    replies = iter(await client.read_pipelined(commands, as_bytes=True))
    postings: list[dict[int, Posting]] = []
    for part, segments in zip(parts, kept, strict=True):
        if part in lacking:
            postings.append({})
            continue
        names, having = Names(next(replies)), {int(number) for number in next(replies)}
        posted = {number: UNKNOWN for number in segments if number not in having}
        if names.may_have(policy_id):
            numbers = [number for number in segments if number in having]
            posted |= await _decided_in(client, keyspace, policy_id, part, numbers, names)
        postings.append(posted)
        await take_turn()
    return postings


async def _decided_in(
    client: Client, keyspace: Keyspace, policy_id: str, part: int, numbers: Sequence[int], names: Names
) -> dict[int, Posting]:
    """names: of the part, read when these segments were there, so that they have all that the columns refer to."""
    if not numbers:
        return {}
    packed = await client.call_bytes("HMGET", keyspace.audit_columns(part), *numbers)
    found = dict[int, Posting]()
    for position, (segment, each) in enumerate(zip(numbers, packed, strict=True)):
        if position % _PER_TURN == 0:
            await take_turn()
        columns = None if each is None else Columns(each, names)
        wanted = None if columns is None else columns.number_of(policy_id)
        if columns is not None and wanted is not None:
            policies = columns.numbers(POLICY)
            if count := policies.count(wanted):
                # A single number stands for all entries of the segment.
                found[segment] = Posting(UNKNOWN.entries if len(policies) == 1 else count, ALL_FRAMES, exact=True)
    return found
