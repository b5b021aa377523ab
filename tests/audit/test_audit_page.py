"""docs/audit.md: its commands, run as they are printed with redis-cli, zstd and jq, and its table of keys."""

import re
import subprocess
from pathlib import Path

import pytest
from audit_entries import Writer

from app.audit.index import name_of
from app.audit.seal.sealer import Sealer
from app.redis_client.clients import open_client
from app.settings import names
from app.store.keyspace import Keyspace

PAGE = (Path(__file__).parents[2] / "docs/audit.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
NEEDED = ("redis-cli", "zstd", "jq", "sha256sum")


@pytest.fixture
async def log(program, store, workspace_id):
    """A log of seven segments, if the page's programs are installed."""
    for name in NEEDED:
        program(name, "the commands of docs/audit.md")
    client = open_client(store.url, 5_000)
    await Writer(client, workspace_id).append(7 * 16)
    sealer = Sealer(client, 16, 100)
    while await sealer.seal_next(workspace_id):
        pass
    await client.close()
    return store, workspace_id


def run(log, block):
    """What a block of the page prints, on this store and for this workspace."""
    store, workspace_id = log
    script = block.replace("redis-cli", f"redis-cli -p {store.port}").replace("<workspace>", workspace_id)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_segment_is_read_with_redis_cli_zstd_and_jq(log):
    """Sixteen entries as their time, result and tool; and the name of a tool's index."""
    *entries, name = run(log, BLOCKS[0])
    assert len(entries) == 16
    assert entries[0] == '["2027-01-15T08:00:00.001Z","allowed","file.read"]'
    assert name == name_of("file.read")


def test_a_link_of_the_chain_is_computed_by_hand(log):
    """sha256sum gives the segment's own sha256."""
    computed, stored = run(log, BLOCKS[1])
    assert computed.split()[0] == stored


def test_every_key_of_the_page_is_a_key_of_the_keyspace():
    """And every key of the audit log is on the page."""
    keyspace = Keyspace("w")
    named = set(re.findall(r"^\| `(audit:[^`]*)`", PAGE, re.MULTILINE))
    keys = [
        key
        for name in dir(keyspace)
        if isinstance(key := getattr(keyspace, name), str) and key.startswith("remit:{w}:audit:")
    ]
    keys += [
        keyspace.audit_segment(1),
        keyspace.audit_data(1),
        keyspace.audit_columns(2),
        keyspace.audit_names(2),
        keyspace.audit_hours(2),
        keyspace.audit_by_all(2),
        keyspace.audit_by("tool", "v", 2),
    ]
    made = {key.removeprefix("remit:{w}:") for key in keys}
    shown = {
        each.replace("<n>", "1").replace("<part>", "2").replace("<dimension>", "tool").replace("<value>", "v")
        for each in named
    }
    assert shown == made


def test_every_setting_of_the_page_is_a_setting():
    """The page promises no setting that Remit would reject at the start."""
    assert set(re.findall(r"REMIT_[A-Z_]+", PAGE)) <= set(names())
