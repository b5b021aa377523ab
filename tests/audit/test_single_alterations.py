"""Every way to alter one key of a log is tried: a plain verification or a checkpoint finds it, or it is named here."""

import re

import pytest
from test_tampering import Log

from app.audit.seal.sealer import Sealer
from app.redis_client.clients import open_client
from app.store.keyspace import WORKSPACES

TEXTS = ("", "0", "-1", "1", "99999999999999999999", "x", "\xff", " 1", "01", "1.0", "a" * 64)
LIKE_OTHERS = re.compile(r"audit:(segment|data):[48]$|audit:by:(action|key|result|rule|tool):")
"""Keys that are read as others are, of which everything is tried: a middle and the last segment, and most indexes."""


async def alterations(client, key):
    """Names and commands: each alters this key in one place. Of those LIKE_OTHERS, in a third of the ways."""
    for number, each in enumerate([each async for each in _all_alterations(client, key)]):
        if number % 3 == 0 or not LIKE_OTHERS.search(key):
            yield each


async def _all_alterations(client, key):
    kind = await client.call("TYPE", key)
    yield "deleted", [("DEL", key)]
    yield "another type", [("DEL", key), ("RPUSH", key, "x")]
    read = {
        "hash": (of_hash, ("HGETALL", key)),
        "zset": (of_sorted_set, ("ZRANGE", key, 0, -1, "WITHSCORES")),
        "string": (of_string, ("GET", key)),
        "stream": (of_stream, ("XRANGE", key, "-", "+")),
    }
    alter, command = read[kind]
    for each in alter(key, await client.call_bytes(*command)):
        yield each


def of_hash(key, flat):
    for name, value in zip(flat[::2], flat[1::2], strict=True):
        yield f"field {name.decode()} gone", [("HDEL", key, name)]
        given = {*(text.encode() for text in TEXTS), value + b"0", value[:-1], value[::-1], value.upper()}
        if value.isdigit():
            given |= {b"%d" % (int(value) + step) for step in (1, -1, 1000)}
        for text in sorted(given - {value}):
            yield f"field {name.decode()} changed", [("HSET", key, name, text)]
    yield "further field", [("HSET", key, "further", "1")]


def of_sorted_set(key, flat):
    members = [*zip(flat[::2], flat[1::2], strict=True)]
    for member, score in dict.fromkeys((members[0], members[len(members) // 2], members[-1])):
        yield "member gone", [("ZREM", key, member)]
        for step in (-1, 1, 10**12):
            yield "score changed", [("ZADD", key, int(float(score)) + step, member)]
        for text in sorted(
            {member + b"0", member[:-1], b"0" + member, member.replace(b":", b"::", 1), b"x"} - {member}
        ):
            yield "member changed", [("ZREM", key, member), ("ZADD", key, score, text)]
            yield "member added", [("ZADD", key, score, text)]


def of_string(key, value):
    for at in range(0, len(value), max(1, len(value) // 40)):
        yield "byte flipped", [("SETRANGE", key, at, bytes([value[at] ^ 0x10]))]
    for name, text in (("shorter", value[:-1]), ("longer", value + b"\0"), ("twice", value + value), ("empty", b"")):
        yield name, [("SET", key, text)]


def of_stream(key, entries):
    for entry_id, fields in entries:
        yield "entry gone", [("XDEL", key, entry_id)]
        for at in range(0, len(fields), 2):
            altered = list(fields)
            altered[at + 1] += b"0"
            name = f"entry's {fields[at].decode()}"
            yield f"{name} changed", rebuilt(key, entries, {entry_id: altered})
            yield f"{name} gone", rebuilt(key, entries, {entry_id: fields[:at] + fields[at + 2 :]})
        yield "entry's fields in another order", rebuilt(key, entries, {entry_id: [*fields[2:], *fields[:2]]})
    yield "entry added", [("XADD", key, "*", *entries[-1][1])]
    yield "foreign entry added", [("XADD", key, "*", "foo", "bar")]
    yield "trimmed", [("XTRIM", key, "MAXLEN", 1)]


def rebuilt(key, entries, instead):
    return [("DEL", key), *(("XADD", key, each, *instead.get(each, fields)) for each, fields in entries)]


def kind_of(key, workspace_id):
    short = key.removeprefix(f"remit:{{{workspace_id}}}:")
    return re.sub(r"\b[0-9a-f]{16,}\b|\b[0-9]+\b|(?<=by:)(\w+):.*", lambda match: match[1] or "N", short)


SAME = "the same, spelled in another way"
UNUSED = "Remit reads no such field"
GROWS_AGAIN = "it grows again; whoever has a signed checkpoint sees what became of it"
NOT_FOUND = {
    ("audit:tree", "deleted"): GROWS_AGAIN,
    ("audit:tree", "further field"): UNUSED,
    ("changes:tree", "deleted"): GROWS_AGAIN,
    ("changes:tree", "further field"): UNUSED,
    ("audit:head", "field last_ms"): "only dates what takes the place of an entry that cannot be read",
    ("audit:head", "field names"): "only says when the index lumps rare names together",
    ("audit:head", "further field"): UNUSED,
    ("audit:segment:N", "further field"): UNUSED,
    ("commits", "further field"): UNUSED,
    ("audit:parts", "field 0"): "a longer span than the part has only makes a query look where nothing is",
    ("audit:segment:N", "field number"): SAME,
    ("audit:segment:N", "field first_sequence"): SAME,
    ("audit:stream", "entry's fields in another order"): SAME,
    ("changes:chain", "entry's fields in another order"): SAME,
    ("changes:chain", "trimmed"): "one link is left of one",
    ("changes", "entry added"): "docs/audit.md, append_change",
    ("changes", "foreign entry added"): "docs/audit.md, append_change",
}
"""What neither finds, and why that is no harm or where it is said."""


@pytest.mark.slow
async def test_every_alteration_of_one_key_is_found_or_named(valkey_store, workspace_id):
    """Of the first, a middle and the last segment, of their members of every index, of the streams and of what counts
    them.
    """
    client = open_client(valkey_store.url, 5000)
    log = await Log(client, workspace_id).write()
    whole = await log.verify()
    assert whole.finding is None
    mine = f"remit:{{{workspace_id}}}:*"
    kept = {key: await client.call_bytes("DUMP", key) for key in await client.call("KEYS", mine)}
    tried, missed = 0, set()
    for key in sorted(kept):
        if "catalog:" in key or re.search(r"audit:(segment|data):[23567]$", key):
            continue
        async for name, commands in alterations(client, key):
            for command in commands:
                await client.call(*command)
            tried += 1
            if (await log.verify()).finding is None and (await log.verify(whole.checkpoint)).finding is None:
                missed.add((kind_of(key, workspace_id), name.removesuffix(" gone").removesuffix(" changed")))
            for each in await client.call("KEYS", mine):
                if each not in kept:
                    await client.call("DEL", each)
            await client.call("RESTORE", key, 0, kept[key], "REPLACE")
    assert (await log.verify(whole.checkpoint)).finding is None
    await client.call("HDEL", WORKSPACES, workspace_id)
    await client.close()
    assert (missed - NOT_FOUND.keys(), NOT_FOUND.keys() - missed) == (set(), set())
    assert tried > 800, tried


@pytest.mark.parametrize("names", ["", "x", "0", "0 1", "0 1 1 1 1", "0 -1 1 1", "9" * 30, "1 1 1 1"])
async def test_a_head_whose_counts_cannot_be_read_is_sealed_upon(client, workspace_id, names):
    """They only cap the index."""
    log = await Log(client, workspace_id).write()
    await log.call("HSET", log.keys.audit_head, "names", names)
    await log.writer.append(16)
    assert await Sealer(client, 16, 100).seal_next(workspace_id)
    assert (await log.verify()).finding is None
