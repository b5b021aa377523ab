"""`remit audit verify` in every form, on a log and an archive that are tampered with: exit codes and messages."""

import json
import subprocess

import pytest
from audit_entries import AGENTS, Writer
from redis import Redis
from servers import clean_env

from app.audit.seal.sealer import Sealer
from app.audit.segments import chain, pack, read_segment
from app.redis_client.clients import open_client
from app.store.keyspace import WORKSPACES


@pytest.fixture
async def writer(redis_store, workspace_id):
    """Three segments of 16 entries, four entries in the stream, and two changes."""
    client = open_client(redis_store.url, 5_000)
    await client.call("HSET", WORKSPACES, workspace_id, workspace_id)
    writer = Writer(client, workspace_id)
    await writer.append_each({"agentId": AGENTS[number % 4]} for number in range(52))
    sealer = Sealer(client, 16, 100)
    for _ in range(3):
        await sealer.seal_next(workspace_id)
    for number in (1, 2):
        await client.call("XADD", writer.keyspace.changes, f"{number}-0", "kind", "updated", "before", "", "after", "")
    yield writer
    await client.call("HDEL", WORKSPACES, workspace_id)
    await client.close()


@pytest.fixture
def verify(redis_store, writer, workspace_id, run_remit):
    """Runs `remit audit verify` on the workspace."""

    def run(*arguments: object, command: str = "verify", stdin: str = "") -> subprocess.CompletedProcess:
        env = clean_env() | {"REMIT_REDIS_URL": redis_store.url}
        return run_remit(["audit", command, "-w", workspace_id, *arguments], env, stdin=stdin)

    return run


@pytest.fixture
def redis(redis_store):
    with Redis.from_url(redis_store.url) as connection:
        yield connection


async def change_in_segment(writer):
    segment = await read_segment(writer.client, writer.keyspace, 2)
    body = segment.body().replace(b"allows", b"denies", 1)
    frames, data, digests = pack([body.splitlines(keepends=True)])
    record = writer.keyspace.audit_segment(2)
    sha256 = chain(segment.previous, body)
    await writer.client.call("HSET", record, "frames", frames, "digests", digests, "sha256", sha256)
    await writer.client.call("SET", writer.keyspace.audit_data(2), data)


async def remove_segment(writer):
    await writer.client.call("DEL", writer.keyspace.audit_segment(2), writer.keyspace.audit_data(2))


async def remove_from_stream(writer):
    await writer.client.call("XDEL", writer.keyspace.audit_stream, "50-0")


async def forge_in_index(writer):
    await writer.client.call("ZADD", writer.keyspace.audit_by_all(0), 1, "100:16:1601:1:1")


async def remove_change(writer):
    await writer.client.call("XDEL", writer.keyspace.changes, "2-0")


TAMPERINGS = {
    change_in_segment: "changed at segment ",  # with a checkpoint, the link of the next one is what is wrong
    remove_segment: "removed at segment 2",
    remove_from_stream: "removed at the stream",
    forge_in_index: "changed at segment 100",
    remove_change: "truncated at the changes",
}


@pytest.mark.slow
@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda act: act.__name__)
async def test_every_form_finds_and_names_it(verify, writer, redis, tmp_path, tamper):
    """With exit code 1, no new checkpoint file, and JSON if asked for."""
    line, kept = verify().stdout.strip(), tmp_path / "checkpoint"
    old = " ".join(line.split()[:5])
    kept.write_text(f"{line}\n")
    assert verify(tmp_path / "archive", command="archive").returncode == 0
    await tamper(writer)
    forms = {
        "plain": [],
        "json": ["--json"],
        "checkpoint": ["--since-checkpoint", line],
        "checkpoint of five words": ["--since-checkpoint", old],
        "checkpoint file": ["--checkpoint-file", kept],
        "archive": ["--archive", tmp_path / "archive"],
        "archive and json": ["--archive", tmp_path / "archive", "--json"],
        "watch": ["--watch", "1s"],
    }
    for name, words in forms.items():
        done = verify(*words)
        assert done.returncode == 1, (name, done)
        if "--json" in words:
            finding = json.loads(done.stdout)["finding"]
            part = finding["part"]
            place = f"segment {finding['segment']}" if part == "segments" else f"the {part}"
            assert f"{finding['fault']} at {place}".startswith(TAMPERINGS[tamper]), name
        else:
            assert TAMPERINGS[tamper] in done.stderr, (name, done.stderr)
            assert "intact" not in done.stderr
    assert kept.read_text() == f"{line}\n"


def swap(folder):
    one, two = (folder / f"{number}.jsonl.zst" for number in (1, 2))
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)


def edit(folder, change):
    manifest = folder / "manifest.jsonl"
    rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    manifest.write_text("".join(json.dumps(row) + "\n" for row in change(rows)))


ALTERED = {
    "a file changed": (lambda folder: (folder / "2.jsonl.zst").write_bytes(b"x"), "2.jsonl.zst was changed"),
    "a file removed": (lambda folder: (folder / "2.jsonl.zst").unlink(), "2.jsonl.zst cannot be read"),
    "a file truncated": (
        lambda folder: (folder / "3.jsonl.zst").write_bytes((folder / "3.jsonl.zst").read_bytes()[:-9]),
        "3.jsonl.zst was changed",
    ),
    "two files swapped": (swap, "1.jsonl.zst was changed"),
    "a row removed": (lambda folder: edit(folder, lambda rows: [rows[0], rows[2]]), "3.jsonl.zst does not follow 1"),
    "rows swapped": (
        lambda folder: edit(folder, lambda rows: [rows[1], rows[0], rows[2]]),
        "1.jsonl.zst does not follow",
    ),
    "a row twice": (lambda folder: edit(folder, lambda rows: [*rows, rows[2]]), "3.jsonl.zst does not follow 3"),
    "a time changed": (
        lambda folder: edit(folder, lambda rows: [*rows[:2], rows[2] | {"lastTime": "2020-01-01T00:00:00.000Z"}]),
        "The manifest describes 3.jsonl.zst differently than its entries do",
    ),
    "a time that is none": (
        lambda folder: edit(folder, lambda rows: [*rows[:2], rows[2] | {"lastTime": "yesterday"}]),
        "The manifest describes 3.jsonl.zst differently than its entries do",
    ),
    "a sequence changed": (
        lambda folder: edit(folder, lambda rows: [*rows[:2], rows[2] | {"lastSequence": 90}]),
        "The manifest describes 3.jsonl.zst differently than its entries do",
    ),
    "no JSON": (lambda folder: (folder / "manifest.jsonl").write_text("?\n"), "manifest.jsonl cannot be read"),
}


@pytest.mark.slow
def test_an_archive_is_added_to_once_and_is_intact(verify, tmp_path, workspace_id):
    added = json.loads(verify(tmp_path, "--json", command="archive").stdout)
    assert added == {"folder": str(tmp_path / workspace_id), "segmentsAdded": 3}
    assert verify(tmp_path, command="archive").stdout == "0 segments added\n"
    whole = verify("--archive", tmp_path)
    assert whole.returncode == 0
    assert "intact: archive: files up to segment 3 and entry 48, and that the log continues them" in whole.stderr


@pytest.mark.slow
@pytest.mark.parametrize("altered", ALTERED)
def test_an_archive_that_was_altered_is_named(verify, tmp_path, workspace_id, altered):
    """By its file or its manifest, with exit code 1; the log's own report does not begin."""
    assert verify(tmp_path, command="archive").returncode == 0
    alter, said = ALTERED[altered]
    alter(tmp_path / workspace_id)
    plain, machine = (verify("--archive", tmp_path, *words) for words in ([], ["--json"]))
    assert (plain.returncode, plain.stdout, machine.returncode, machine.stderr) == (1, "", 1, "")
    finding = json.loads(machine.stdout)["finding"]
    assert finding["part"] == "archive"
    assert said in finding["message"]
    said_to_people = [f"{finding['fault']} at the archive: {finding['message']}"]
    assert plain.stderr.splitlines() == [
        *said_to_people,
        "not checked: the log in the store; verify it without --archive",
    ]


@pytest.mark.slow
def test_the_page_says_what_no_verification_of_an_archive_finds(verify, tmp_path, workspace_id):
    """A file that no manifest names may be left over from a crash; a log that has the rest fits a shorter manifest."""
    assert verify(tmp_path, command="archive").returncode == 0
    folder = tmp_path / workspace_id
    (folder / "9.jsonl.zst").write_bytes(b"x")
    assert verify("--archive", tmp_path).returncode == 0
    edit(folder, lambda rows: rows[:1])
    assert "intact: archive: files up to segment 1 and entry 16" in verify("--archive", tmp_path).stderr
    (folder / "manifest.jsonl").unlink()
    done = verify("--archive", tmp_path)
    assert (done.returncode, "archive: no segments; its manifest is empty, or there is none" in done.stderr) == (
        0,
        True,
    )


@pytest.mark.slow
async def test_an_interrupted_export_leaves_no_file(verify, writer, tmp_path):
    """A damaged segment, an entry that is gone from the stream: exit code 1, no file, and no end record."""
    await writer.client.call("XDEL", writer.keyspace.audit_stream, "50-0")
    for name, cut in (("an entry", 1), ("a segment", 2)):
        if cut == 2:
            await remove_segment(writer)
        done = verify("-o", tmp_path / "log", command="export")
        assert (done.returncode, list(tmp_path.iterdir())) == (1, []), name
        assert "Error: " in done.stderr
        piped = verify(command="export")
        assert (piped.returncode, '"end"' in piped.stdout) == (1, False)
        assert piped.stdout.count("\n") == {1: 49, 2: 16}[cut]
