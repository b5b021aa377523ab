"""Which commands of an append-only file stay when its logs have begun anew; tests/faults has real stores."""

import json

import pytest

from app.errors import Invalid
from app.serve.lost_at_restart import Mended, mend

OURS, OTHERS = "remit:{ours}:", "remit:{others}:"


def command(*words) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in map(str.encode, words))


def block(*commands) -> bytes:
    return b"".join([command("MULTI"), *(command(*each) for each in commands), command("EXEC")])


def commit(number, of=OURS, *more) -> bytes:
    """What a decision leaves, with what else it writes."""
    entry = ("XADD", f"{of}audit:stream", f"{number}-0", "id", f"{of}{number}")
    state = ("HSET", f"{of}commits", "sequence", str(number), "time_us", "7")
    return block(entry, state, ("HSET", f"{of}commits", "room:9", "99"), *more)


@pytest.fixture
def written(tmp_path):
    """Writes the folder's files, which a manifest names after a base; returns a function that mends and reads them."""
    folder, left_out = tmp_path / "appendonlydir", tmp_path / "left-out.jsonl"
    folder.mkdir()

    def write(*files: bytes):
        paths = [folder / f"appendonly.aof.{number}.incr.aof" for number in range(1, len(files) + 1)]
        lines = [f"file {path.name} seq {number} type i\n" for number, path in enumerate(paths, 1)]
        manifest = "file appendonly.aof.1.base.rdb seq 1 type b\n" + "".join(lines)
        (folder / "appendonly.aof.manifest").write_text(manifest)
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)

        def mended():
            told = mend(folder, left_out)
            lines = left_out.read_text().splitlines() if left_out.exists() else []
            return told, [path.read_bytes() for path in paths], [json.loads(line)["id"] for line in lines]

        return mended

    return write


def test_of_three_lives_in_two_files_the_longest_stays(written):
    """The writes of a commit that are no log's stay in every life, and so does another workspace."""
    quota = ("LPUSH", f"{OURS}quota:p:f", "1")
    token = ("HSET", f"{OURS}commits", "workspace", "t")
    tree = block(("HSET", f"{OURS}changes:tree", "1:0", "ab"), ("HSET", f"{OURS}changes:tree", "size", "3"))
    first = command("SELECT", "0") + commit(1) + tree + commit(1, OTHERS) + b"#TS:1700000000\r\n"
    second = commit(1, OURS, quota) + commit(2) + block(("SET", f"{OURS}audit:data:1", "x")) + tree + block(token)
    third = commit(2, OTHERS) + commit(1, OURS, quota) + command("SET", "another", "commits")

    told, files, left_out = written(first + second, third)()

    assert told == [Mended("ours", 3, 2, 2)]
    assert left_out == [f"{OURS}1", f"{OURS}1"]
    nothing = block()
    assert files == [
        command("SELECT", "0") + nothing + tree + commit(1, OTHERS) + b"#TS:1700000000\r\n"
        + commit(1, OURS, quota) + commit(2) + block(("SET", f"{OURS}audit:data:1", "x")) + nothing + block(token),
        commit(2, OTHERS) + block(quota) + command("SET", "another", "commits"),
    ]  # fmt: skip


def test_numbers_that_only_grow_are_left_alone(written):
    """Also when they do not begin at 1, because the base has those before."""
    data = commit(41) + commit(42) + commit(1, OTHERS)
    told, files, left_out = written(data, b"")()
    assert (told, files, left_out) == ([], [data, b""], [])


WHOLE = commit(1) + commit(1)


@pytest.mark.parametrize(
    "damaged", [WHOLE[:-1], WHOLE[:-14], WHOLE[: len(commit(1)) + 20], WHOLE.replace(b"$4", b"?4")]
)
def test_files_that_are_not_whole_are_refused_and_unchanged(written, damaged):
    """Wherever it is cut; the message says what to run."""
    mended = written(WHOLE, damaged)
    with pytest.raises(Invalid, match="redis-check-aof --fix"):
        mended()


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    """Such as the one above it."""
    with pytest.raises(Invalid, match="name the folder appendonlydir of a store"):
        mend(tmp_path, tmp_path / "left-out.jsonl")
