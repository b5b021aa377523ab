"""`remit audit …` and `remit compact` as a person or a script runs them."""

import csv
import json
import os
import signal
import subprocess
import sys

import pytest
from audit_entries import AGENTS, Writer
from redis import Redis
from servers import clean_env

from app.audit.seal.sealer import Sealer
from app.cli.audit import newest
from app.redis_client.clients import open_client
from app.store.keyspace import WORKSPACES


@pytest.fixture
async def writer(redis_store, workspace_id):
    """A workspace with two segments of 16 entries and eight in the stream."""
    client = open_client(redis_store.url, 5_000)
    await client.call("HSET", WORKSPACES, workspace_id, workspace_id)
    writer = Writer(client, workspace_id)
    await writer.append_each({"agentId": AGENTS[number % 4]} for number in range(40))
    sealer = Sealer(client, 16, 100)
    for _ in range(2):
        await sealer.seal_next(workspace_id)
    yield writer
    await client.call("HDEL", WORKSPACES, workspace_id)
    await client.close()


@pytest.fixture
def remit(redis_store, writer, workspace_id, run_remit):
    """Runs `remit audit` on the workspace."""

    def run(command: str, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess:
        env = clean_env() | {"REMIT_REDIS_URL": redis_store.url}
        return run_remit(["audit", command, "-w", workspace_id, *arguments], env, stdin=stdin)

    return run


def test_a_query_prints_the_newest_first(remit, writer):
    """As JSON, the entries are those of the API."""
    done = remit("query", "--agent", AGENTS[1], "--limit", 3, "--json")
    assert done.returncode == 0
    assert [entry["id"] for entry in json.loads(done.stdout)] == [writer.written[n]["id"] for n in (37, 33, 29)]


def test_a_tail_prints_the_newest_last(remit, writer):
    """One line an entry."""
    done = remit("tail", "-n", 2, "--json")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [f["id"] for f in writer.written[-2:]]
    assert "allowed" in remit("tail", "-n", 1).stdout


def test_the_status_counts_what_is_not_sealed(remit):
    """For scripts, as JSON."""
    status = json.loads(remit("status", "--json").stdout)
    assert (status["unsealed"], status["sealedSequence"], status["lastSequence"], status["segments"]) == (8, 32, 40, 2)


def test_the_status_says_how_far_the_log_was_intact_and_when(remit, writer):
    """Never how long it is now beside an older verification."""
    assert "intact    not found so yet\n" in remit("status").stdout
    assert remit("verify").returncode == 0
    assert "intact    up to entry 40 when last verified as a whole, 20" in remit("status").stdout


def test_a_checkpoint_goes_from_one_verification_to_the_next(remit):
    """Standard output has only the line; a log that contradicts it ends with exit code 1."""
    first = remit("verify")
    assert first.returncode == 0
    assert first.stderr.endswith(
        "intact: segments 1 to 2: 32 entries, links and index\n"
        "intact: stream: 8 entries, that none is missing, added or unreadable\n"
        "intact: changes: 0, of which 0 are not chained yet\n"
    )
    assert remit("verify", "--since-checkpoint", "-", stdin=first.stdout).returncode == 0
    forged = first.stdout.split()
    forged[3] = "0" * 64
    second = remit("verify", "--since-checkpoint", " ".join(forged))
    assert second.returncode == 1
    assert "rewritten at segment 2" in second.stderr
    assert remit("verify", "--since-checkpoint", "nonsense").returncode == 2


@pytest.mark.parametrize("kind", ["ndjson", "csv"])
def test_an_export_is_a_whole_file(remit, writer, tmp_path, kind):
    """It appears under its name only when it is whole."""
    path = tmp_path / "log"
    done = remit("export", "--format", kind, "-o", path)
    assert done.returncode == 0
    text = path.read_text()
    if kind == "csv":
        assert len(list(csv.reader(text.splitlines()))) == 42
    else:
        assert [json.loads(line)["id"] for line in text.splitlines()[:-1]] == [f["id"] for f in writer.written]
        assert json.loads(text.splitlines()[-1])["end"]["entries"] == 40


async def test_an_export_that_fails_leaves_the_file_as_it_was(remit, writer, tmp_path):
    """Yesterday's good one, or none, with no temporary file beside it."""
    await writer.client.call("DEL", writer.keyspace.audit_data(2))
    path = tmp_path / "log"
    assert remit("export", "-o", path).returncode == 1
    assert list(tmp_path.iterdir()) == []
    path.write_text("the good export of yesterday\n")
    done = remit("export", "-o", path)
    assert done.returncode == 1
    assert "Segment 2 of the audit log is missing" in done.stderr
    assert path.read_text() == "the good export of yesterday\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_export_takes_the_place_of_the_one_before(remit, writer, tmp_path):
    """With the same permissions, also through a link; anything but a file is written directly."""
    path, link = tmp_path / "log", tmp_path / "link"
    path.write_text("the good export of yesterday\n")
    path.chmod(0o640)
    link.symlink_to(path)
    assert remit("export", "-o", link).returncode == 0
    assert path.read_bytes().count(b"\n") == 41
    assert (path.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)
    assert sorted(tmp_path.iterdir()) == [link, path]
    assert remit("export", "-o", "/dev/stdout").stdout == remit("export").stdout == path.read_text()
    done = remit("export", "-o", tmp_path / "no" / "folder")
    assert (done.returncode, "No such file or directory" in done.stderr) == (1, True)


async def test_an_archive_is_added_to_and_verified_with_the_log(remit, writer, tmp_path, workspace_id):
    """A gap between the two is found, and a changed file is named."""
    assert remit("archive", tmp_path).stdout == "2 segments added\n"
    assert remit("archive", tmp_path).stdout == "0 segments added\n"
    manifest = remit("manifest")
    assert manifest.stdout == (tmp_path / workspace_id / "manifest.jsonl").read_text()
    assert manifest.stderr == "archived up to segment 2 of 2\n"
    assert remit("verify", "--archive", tmp_path).returncode == 0
    missing = ("HSET", writer.keyspace.audit_head, "floor_segment", 4, "floor_sequence", 49, "floor_ms", 0)
    await writer.client.call(*missing, "floor_sha256", "0" * 64)
    done = remit("verify", "--archive", tmp_path)
    assert done.returncode == 1
    assert "removed at segment 3: The log begins with segment 4" in done.stderr
    assert "intact" not in done.stderr
    (tmp_path / workspace_id / "1.jsonl.zst").write_bytes(b"x")
    done = remit("verify", "--archive", tmp_path)
    assert done.returncode == 1
    assert "1.jsonl.zst was changed" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_compactor_ends_cleanly_when_it_is_told_to(run_remit, redis_store, writer, workspace_id, number):
    """Exit code 0; the current segment is sealed, and decisions have priority on a shared core."""
    env = clean_env() | {"REMIT_REDIS_URL": redis_store.url, "REMIT_AUDIT_SEGMENT_ENTRIES": "16"}
    with subprocess.Popen([sys.executable, "-m", "app.cli", "compact"], env=env) as process:
        status = ["audit", "status", "-w", workspace_id, "--json"]
        for _ in range(60):
            done = run_remit(status, env)
            if json.loads(done.stdout)["unsealed"] == 0:
                break
        assert os.getpriority(os.PRIO_PROCESS, process.pid) > os.getpriority(os.PRIO_PROCESS, 0)
        process.send_signal(number)
        assert process.wait(60) == 0
    assert json.loads(done.stdout)["sealedSequence"] == 40


def test_a_query_finds_an_entry_by_its_id_its_key_its_policy_and_its_rule(remit, writer):
    """The command line has the API's filters."""
    entry = writer.written[12]
    filters = (
        "--id",
        entry["id"],
        "--key",
        entry["keyId"],
        "--policy",
        entry["policyId"],
        "--rule-type",
        "tool_allowlist",
    )
    assert [found["id"] for found in json.loads(remit("query", *filters, "--json").stdout)] == [entry["id"]]
    assert json.loads(remit("query", "--rule-type", "rate_limit", "--json").stdout) == []


async def test_a_checkpoint_file_is_replaced_only_if_nothing_is_found(remit, writer, tmp_path):
    """Without news the line stays the same, a finding leaves the file, and anything but a checkpoint is refused."""
    kept = tmp_path / "checkpoint"
    assert remit("verify", "--checkpoint-file", kept).returncode == 0
    line = kept.read_text()
    assert remit("verify", "--checkpoint-file", kept, "--json").returncode == 0
    assert kept.read_text() == line
    await writer.append(2)
    assert remit("verify", "--checkpoint-file", kept).returncode == 0
    newer = kept.read_text()
    assert newer != line

    await writer.client.call("XDEL", writer.keyspace.audit_stream, "40-0")
    done = remit("verify", "--checkpoint-file", kept)
    assert (done.returncode, kept.read_text()) == (1, newer)
    assert "removed at the stream: Entry 40 is gone from the stream" in done.stderr

    kept.write_text("")
    done = remit("verify", "--checkpoint-file", kept)
    assert (done.returncode, kept.read_text()) == (2, "")
    assert "is not a checkpoint" in done.stderr


async def test_an_archive_and_json_give_a_checkpoint_too(remit, tmp_path):
    """Whatever is compared, and in either form of output."""
    assert remit("archive", tmp_path).returncode == 0
    line = remit("verify", "--archive", tmp_path).stdout
    assert len(line.split()) == 10
    assert json.loads(remit("verify", "--archive", tmp_path, "--json").stdout)["checkpoint"] == line.strip()
    assert remit("verify", "--since-checkpoint", line).returncode == 0


def test_a_watch_goes_on_until_something_is_found(remit, writer, redis_store, workspace_id):
    """It prints a checkpoint each time, and ends with exit code 1."""
    words = [sys.executable, "-m", "app.cli", "audit", "verify", "-w", workspace_id, "--watch", "1s"]
    env = clean_env() | {"REMIT_REDIS_URL": redis_store.url}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout.readline() == watching.stdout.readline()
        with Redis.from_url(redis_store.url) as other:
            other.xdel(writer.keyspace.audit_stream, "40-0")
        _, said = watching.communicate(timeout=30)
    assert watching.returncode == 1
    assert "truncated at the stream" in said


def test_a_query_for_a_text_goes_on_where_the_service_ended_a_page(remit, writer):
    """The service ends a page early if the filter is not indexed; people see the whole answer."""
    done = remit("query", "--text", writer.written[3]["id"], "--json")
    assert [entry["id"] for entry in json.loads(done.stdout)] == [writer.written[3]["id"]]

    asked = []

    class ShortPages:
        def page(self, path, query):
            asked.append(query)
            return [b"1", b"2"] if len(asked) in {2, 4} else [], str(90 - len(asked))

    assert newest(ShortPages(), {"q": "x", "offset": 1, "cursor": 90}, 3) == ([b"1", b"2", b"1", b"2"], "86")
    assert [(query["limit"], query["offset"], query["cursor"]) for query in asked] == [
        (3, 1, 90),
        (3, 0, "89"),
        (1, 0, "88"),
        (1, 0, "87"),
    ]


def test_a_query_says_that_there_is_more_and_how_to_get_it(remit, writer):
    """On standard error, so that standard output can be used."""
    first = remit("query", "--limit", 25)
    assert len(first.stdout.splitlines()) == 25
    assert "25 entries shown; there are older ones: add --before 16 for the next page" in first.stderr
    assert "1 entry shown; there are older ones" in remit("query", "--limit", 1).stderr
    second = remit("query", "--limit", 25, "--before", 16, "--json")
    assert [each["id"] for each in json.loads(second.stdout)] == [each["id"] for each in writer.written[14::-1]]
    assert second.stderr == ""
