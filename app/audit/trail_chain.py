"""The chain of the trail of changes: links like the log's, beside a stream that is never altered.

Each link covers the changes since the previous one: its sha256 is that of the previous link (64 hex digits) followed by
the changes, one line each: a JSON array of its id and of the names and values of its fields, as in the stream. The
first link builds on the SHA-256 of `<workspace>:changes`.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import msgspec

from app.audit.segments import chain
from app.redis_client.client import Client, Value
from app.redis_client.scripts import SEAL_CHANGES
from app.store.keyspace import Keyspace

_is_id = re.compile(r"[0-9]{1,20}-[0-9]{1,20}", re.ASCII).fullmatch
LAST_ID = f"{2**64 - 1}-{2**64 - 1}"
"""The highest id of a stream. No change can follow it, so it has to be removed, and the chain must not include it."""
_CHUNK = 50
_LINK_CHANGES = 500
_LINK_BYTES = 4 * 1024 * 1024
_LINKS_AT_ONCE = 256


class TrailLink(NamedTuple):
    """A link of the chain. position: the number of changes covered up to here; last_id: of the last of them.
    previous: the sha256 of the link that it builds on; empty for the genesis.
    """

    position: int
    last_id: str
    sha256: str
    previous: str = ""


def trail_genesis(workspace_id: str) -> TrailLink:
    """The genesis that the first link builds on; unlike that of any other workspace or log, so no foreign link fits."""
    return TrailLink(0, "0-0", hashlib.sha256(f"{workspace_id}:changes".encode()).hexdigest())


def change_line(change_id: bytes, fields: Sequence[bytes]) -> bytes:
    """The change as a line of the chain, with its line feed."""
    return msgspec.json.encode([_text(change_id), *map(_text, fields)]) + b"\n"


async def read_changes(client: Client, keyspace: Keyspace, after: str) -> AsyncIterator[tuple[str, bytes]]:
    """Yield the id and line of every change after the one with this id, oldest first."""
    start = f"({after}"
    while True:
        chunk: Any = await client.call_bytes("XRANGE", keyspace.changes, start, "+", "COUNT", _CHUNK)
        for change_id, fields in chunk:
            yield change_id.decode(), change_line(change_id, fields)
        if len(chunk) < _CHUNK:
            return
        start = f"({chunk[-1][0].decode()}"


async def read_links(client: Client, keyspace: Keyspace, after: int = 0) -> AsyncIterator[TrailLink]:
    """Yield the links after this position, oldest first. A foreign entry among them has position -1."""
    start = f"({after}-0" if after else "-"
    while True:
        chunk: Any = await client.call_bytes("XRANGE", keyspace.changes_chain, start, "+", "COUNT", _LINKS_AT_ONCE)
        for link_id, fields in chunk:
            yield _link_of(link_id, fields)
        if len(chunk) < _LINKS_AT_ONCE:
            return
        start = f"({chunk[-1][0].decode()}"


async def position_before(client: Client, workspace_id: str, position: int) -> TrailLink:
    """The newest link that covers no more changes than this, or the genesis."""
    keyspace = Keyspace(workspace_id)
    found: Any = await client.call_bytes("XREVRANGE", keyspace.changes_chain, f"{position}-0", "-", "COUNT", 1)
    return _link_of(*found[0]) if found else trail_genesis(workspace_id)


async def unsealed_trails(client: Client, workspaces: Sequence[str]) -> list[str]:
    """The workspaces whose trail has changes not yet chained."""
    keyspaces = [Keyspace(each) for each in workspaces]
    if not keyspaces:
        return []
    links = await client.read_each(("XREVRANGE", each.changes_chain, "+", "-", "COUNT", 1) for each in keyspaces)
    last_ids = [_link_of(*newest[0]).last_id if newest else "0-0" for newest in links]
    following = await client.read_each(
        ("XRANGE", each.changes, f"({last_id}", "+", "COUNT", 1)
        for each, last_id in zip(keyspaces, last_ids, strict=True)
    )
    return [workspace_id for workspace_id, changes in zip(workspaces, following, strict=True) if changes]


async def seal_changes(client: Client, workspace_id: str) -> int:
    """Chain further changes; return how many: 0 without any, or if another process was faster."""
    keyspace = Keyspace(workspace_id)
    newest: Any = await client.call_bytes("XREVRANGE", keyspace.changes_chain, "+", "-", "COUNT", 1)
    before = _link_of(*newest[0]) if newest else trail_genesis(workspace_id)
    lines: list[bytes] = []
    size, newest_id = 0, before.last_id
    async for change_id, line in read_changes(client, keyspace, before.last_id):
        if change_id == LAST_ID:
            break
        newest_id = change_id
        lines.append(line)
        size += len(line)
        if len(lines) == _LINK_CHANGES or size >= _LINK_BYTES:
            break
    if not lines or before.position < 0:
        return 0
    position = before.position + len(lines)
    sha256 = chain(before.sha256, b"".join(lines))
    args: list[Value] = [before.sha256, before.position, position, newest_id, sha256]
    status, _ = await client.run(SEAL_CHANGES, [keyspace.changes, keyspace.changes_chain], args)
    return len(lines) if status == "sealed" else 0


def _link_of(link_id: bytes, fields: Sequence[bytes]) -> TrailLink:
    record = dict(zip(fields[::2], fields[1::2], strict=True))
    position, _, second = link_id.partition(b"-")
    values = {name: text.decode("ascii", "replace") for name, text in record.items()}
    is_ours = second == b"0" and set(values) == {b"lastId", b"sha256", b"previous"} and _is_id(values[b"lastId"])
    if not is_ours:
        return TrailLink(-1, "0-0", "", "")
    return TrailLink(int(position), values[b"lastId"], values[b"sha256"], values[b"previous"])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
