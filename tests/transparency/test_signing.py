"""Checkpoints are signed as the tree grows, whatever witnesses do, and mean what other programs read in them."""

import asyncio
import base64
import json
import re
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest
from audit_entries import Writer, grow_trees
from forged_log import ForgedLog
from msgspec.structs import replace

from app.audit.backlog import SealingWatch
from app.audit.merkle import Frontier, is_consistent, leaf_hash, node_hash
from app.audit.notes import proof_of, read_fork, read_note
from app.audit.read.forward_reader import ForwardReader
from app.audit.seal.sealer import Sealer
from app.audit.trees import read_log_tree
from app.audit.verify.verifier import Verifier
from app.errors import CheckpointNotFound, Invalid
from app.model.audit import AuditFilters
from app.model.notes import Note, Signature, SignatureType, VerifierKey
from app.serve.jobs import background_jobs
from app.settings import Settings, SettingsError
from app.store.keyspace import WORKSPACES
from app.transparency.keys import AHEAD_S, NotVerified, SigningKey, read_keys, require_signed, signed, signed_at
from app.transparency.rounds import CheckpointRounds
from app.transparency.witness import LogWitness
from app.transparency.witnesses import Witness, WitnessRefused, witnesses_in

HERE = Path(__file__).parent
GO = Path("/usr/share/gocode")


async def newest(log):
    return await read_note(log.client, log.keys.audit_checkpoint)


async def lines_of(log, size):
    chunks = ForwardReader(log.client, log.workspace_id, AuditFilters()).chunks(0, size)
    return b"".join([chunk.body async for chunk in chunks]).splitlines()


async def test_what_grew_is_signed_and_what_did_not_stays_the_same(log):
    """Log and trail have a note each; a round without new entries writes nothing."""
    with pytest.raises(CheckpointNotFound, match="Nothing is signed yet"):
        await proof_of(log.client, log.workspace_id, 1, b"")
    await log.sign()
    first, trail = await newest(log), await read_note(log.client, log.keys.changes_checkpoint)
    assert (first.origin, first.size, signed_at(first, log.vkey)) == (log.origin, 40, 0)
    assert (trail.origin, trail.size, signed_at(trail, log.vkey_of_changes)) == (f"{log.origin}/changes", 1, 0)
    await log.sign()
    assert await newest(log) == first
    await log.grow()
    await log.sign()
    assert (await newest(log)).size == 80
    for note in (first, await newest(log), trail):
        assert (await Verifier(log.client, log.workspace_id).verify(note=note)).finding is None


async def test_a_key_is_replaced_while_checkpoints_go_on(log, witnessing, tmp_path):
    """Every key of the file signs, so the new one is known before the old one goes; the witness follows throughout."""
    new = SigningKey.new("remit.example.com")
    new_vkey = new.named(log.origin).verifier
    (tmp_path / "keys").write_text(log.key.line + new.line)
    witness = witnessing(log, more=[new_vkey])
    for keys, signers in (([log.key], (0, None)), (read_keys(tmp_path / "keys"), (0, 0)), ([new], (None, 0))):
        await log.grow()
        await log.sign(witness, keys=keys)
        note = await newest(log)
        assert tuple(signed_at(note, each) for each in (log.vkey, new_vkey)) == signers
        assert len(note.signatures) == len(keys) + 1
        assert signed_at(note, witness.key)
        assert (await Verifier(log.client, log.workspace_id).verify(note=note)).finding is None


async def test_a_restored_backup_is_witnessed_once_its_auditor_begins_anew(log, witnessing):
    """What was signed after the backup is missed by whoever kept it, and the witness signs nothing until then."""
    found = await log.client.call("KEYS", f"remit:{{{log.workspace_id}}}:*")
    backup = {key: await log.client.call_bytes("DUMP", key) for key in found}
    signing = SigningKey.new("auditor.example", SignatureType.COSIGNATURE)
    witness = witnessing(log, signing=signing)
    before = len(log.writer.written)
    await log.grow()
    await log.sign(witness)
    kept = await newest(log)
    await log.client.call("DEL", *await log.client.call("KEYS", f"remit:{{{log.workspace_id}}}:*"))
    for key, value in backup.items():
        await log.client.call("RESTORE", key, 0, value)
    verified = await Verifier(log.client, log.workspace_id).verify(note=kept)
    assert verified.finding.fault.value == "truncated"
    del log.writer.written[before:]
    await log.writer.append_each([{"reason": "after the backup"}] * 60)
    await log.grow(0)
    await log.sign(witness)
    assert await newest(log) is None, "nobody gets a second history"
    assert await log.accept()
    await log.sign(witness)
    assert signed_at(await newest(log), witness.key) is None
    assert await log.unwitnessed_ms() is not None
    anew = witnessing(log, "anew", signing)
    await log.grow()
    await log.sign(anew)
    note = await newest(log)
    assert (signed_at(note, witness.key) > 0, await log.unwitnessed_ms()) == (True, None)
    assert (await Verifier(log.client, log.workspace_id).verify(note=kept)).finding.fault.value == "rewritten"


@pytest.mark.parametrize("by", ["a witness", "its own checkpoint"])
async def test_a_log_that_does_not_continue_what_was_signed_is_signed_no_more(log, witnessing, by):
    """Until a person accepts it; others go on, it is counted meanwhile, and what the witness signed is the newest."""
    witnesses = [witnessing(log)] if by == "a witness" else []
    await log.sign(*witnesses)
    kept = await newest(log)
    await forge(log)
    if witnesses:  # what the store itself had signed is lost, too
        await log.client.call("DEL", log.keys.audit_checkpoint)
        kept = None
    for _ in range(2):
        await log.grow()
        await log.sign(*witnesses)
        assert await newest(log) == kept
        assert (await forks(log)) == 1
        assert (await read_note(log.client, log.keys.changes_checkpoint)).size == log.changes
    assert "40 leaves" in (await log.accept()).message
    assert await log.accept() is None
    for _ in range(2):
        await log.grow()
        await log.sign(*witnesses)
        assert (await forks(log)) == 0
    assert (await newest(log)).size == len(log.writer.written)
    assert (await read_fork(log.client, log.keys.audit_checkpoint) == "accepted") == bool(witnesses)


async def forge(log):
    """The log begins anew, as after a failover that lost what was signed."""
    for key in (log.keys.audit_tree, log.keys.audit_head, log.keys.audit_stream, log.keys.commits):
        await log.client.call("DEL", key)
    for key in await log.client.call("KEYS", f"remit:{{{log.workspace_id}}}:audit:[sdb]*"):
        await log.client.call("DEL", key)
    log.writer = Writer(log.client, log.workspace_id)
    await log.writer.append_each([{"reason": "another history"}] * 40)


async def forks(log):
    """How many trees of all workspaces are signed no more."""
    await log.client.call("HSET", WORKSPACES, log.workspace_id, log.workspace_id)
    try:
        return (await SealingWatch(log.client).look()).forks
    finally:
        await log.client.call("HDEL", WORKSPACES, log.workspace_id)


async def test_a_witness_that_has_seen_more_is_no_fork_if_the_store_has_it_by_now(log, witnessing):
    """Two compactors sign: the one that comes later has read a smaller tree."""
    witness = witnessing(log)
    await log.grow()

    class Late(Witness):
        async def cosign(self, note, tree):
            await log.grow()
            await CheckpointRounds(log.client, [log.key], [witness])._sign(log.workspace_id, "")
            return await super().cosign(note, tree)

    late = Late(witness._url.removesuffix("/add-checkpoint"), witness.key)
    await CheckpointRounds(log.client, [log.key], [late])._sign(log.workspace_id, "")
    assert (await newest(log)).size == len(log.writer.written)
    assert await read_fork(log.client, log.keys.audit_checkpoint) is None


async def test_a_witness_that_does_not_answer_is_no_fork(log, witnessing):
    """Neither is one that does not know the log or its key."""
    stranger = witnessing(log, "stranger.example", more=[])
    for witness in (Witness("http://127.0.0.1:9", stranger.key), Witness("http://127.0.0.1:9", log.vkey)):
        await log.grow()
        await log.sign(witness)
        assert (await newest(log)).size == len(log.writer.written)
        assert await read_fork(log.client, log.keys.audit_checkpoint) is None


async def test_witnesses_cosign_each_checkpoint_and_one_that_is_away_delays_nothing(log, witnessing):
    """It is asked again each time, and the time without its signature is counted until it has signed."""
    one, away = (
        witnessing(log),
        Witness("http://127.0.0.1:9", SigningKey.new("away", SignatureType.COSIGNATURE).verifier),
    )
    await log.sign(one, away)
    note = await newest(log)
    assert (note.size, signed_at(note, one.key) > 0, signed_at(note, away.key)) == (40, True, None)
    assert await log.unwitnessed_ms() >= 0
    await log.grow()
    await log.sign(one)
    note = await newest(log)
    assert (note.size, signed_at(note, one.key) > 0, await log.unwitnessed_ms()) == (80, True, None)
    two = witnessing(log, "second.example")
    await log.sign(one, two)
    require_signed(await newest(log), log.vkey, [one.key, two.key], 2, 1 << 40)
    two._sizes.clear()  # as after a start of the compactor: the witness answers 409 and its size
    await log.grow()
    await log.sign(one, two)
    require_signed(await newest(log), log.vkey, [one.key, two.key], 2, 1 << 40)


async def test_a_witness_signs_no_second_history(log, witnessing):
    """Not another tree of the same size, nor a larger one that does not continue it, nor a smaller one."""
    witness = witnessing(log)
    await log.grow()
    await log.sign(witness)
    assert signed_at(await newest(log), witness.key)
    await log.grow()
    honest = await read_log_tree(log.client, log.workspace_id)
    for forged in (
        Note(log.origin, 80, b"\1" * 32),
        Note(log.origin, 120, b"\1" * 32),
        Note(log.origin, 70, b"\1" * 32),
    ):
        for again in (witness, Witness(witness._url.removesuffix("/add-checkpoint"), witness.key)):
            with pytest.raises(WitnessRefused):
                await again.cosign(signed(forged, [log.key]), honest)


async def test_the_witness_answers_as_its_protocol_says(log, witnessing, tmp_path):
    """Each status for its reason; 409 has the size and the type."""
    key = SigningKey.new("w.example", SignatureType.COSIGNATURE)
    witness = LogWitness(tmp_path / "state", key, [log.vkey])
    await log.sign()
    note = await newest(log)
    stranger = signed(note, [SigningKey.new("remit.example.com")])
    unknown = signed(replace(note, origin="elsewhere/log"), [log.key])
    for body, status in (
        (b"\xff", 400),
        (b"new 0\n\n" + str(note).encode(), 400),
        (b"old 41\n\n" + str(note).encode(), 400),
        (b"old 00\n\n" + str(note).encode(), 400),
        (b"old +0\n\n" + str(note).encode(), 400),
        (b"old " + b"9" * 5_000 + b"\n\n" + str(note).encode(), 400),
        (b"old 0\n" + base64.b64encode(bytes(31)) + b"\n\n" + str(note).encode(), 400),
        (b"old 0\n\n" + str(note).replace("\n", "\r\n").encode(), 400),
        (b"old 0\n\n" + str(note).encode() + b"\xff", 400),
        (f"old 0\n\n{unknown}".encode(), 404),
        (f"old 0\n\n{stranger}".encode(), 403),
        (f"old 7\n\n{note}".encode(), 409),
        (f"old 0\n{base64.b64encode(bytes(32)).decode()}\n\n{note}".encode(), 422),
        (f"old 0\n\n{note}".encode(), 200),
        (f"old 40\n\n{note}".encode(), 200),
    ):
        answer = witness.add_checkpoint(body)
        assert answer.status == status, body
        assert status != 400 or re.match("The request (is not|has a line)|The old size", answer.text), answer.text
    answer = LogWitness(tmp_path / "state", key, [log.vkey]).add_checkpoint(f"old 0\n\n{note}".encode())
    assert answer == (409, "40\n", "text/x.tlog.size"), "what it has signed is forgotten at a restart"


def test_hashes_of_a_proof_that_are_split_elsewhere_prove_nothing(tmp_path):
    """A node is the hash of two hashes: with another split the bytes are the same, and the new root would be free."""
    key, signing = SigningKey.new("log.example/1"), SigningKey.new("w.example", SignatureType.COSIGNATURE)
    witness = LogWitness(tmp_path / "state", signing, [key.verifier])
    old = Frontier().extended([leaf_hash(b"1"), leaf_hash(b"2"), leaf_hash(b"3")]).frontier
    first, second = old.hashes
    for at in (16, 32):
        proof = [second[at:] if at < 32 else second, leaf_hash(b"4"), first + second[:at] if at < 32 else first]
        root = node_hash(proof[2], node_hash(proof[0], proof[1]))
        assert is_consistent(3, old.root, 4, root, proof) == (at == 32)
        for size, body in (
            (3, "old 0\n"),
            (4, "old 3\n" + "".join(f"{base64.b64encode(one).decode()}\n" for one in proof)),
        ):
            note = signed(Note("log.example/1", size, old.root if size == 3 else root), [key])
            answer = witness.add_checkpoint(f"{body}\n{note}".encode())
        assert answer.status == (200 if at == 32 else 400)


async def test_a_witness_whose_file_is_in_use_says_so(tmp_path):
    """It signs nothing meanwhile, and answers the next time."""
    key, signing = SigningKey.new("log.example/1"), SigningKey.new("w.example", SignatureType.COSIGNATURE)
    witness = LogWitness(tmp_path / "state", signing, [key.verifier])
    witness._seen.execute("PRAGMA busy_timeout = 0")
    request = f"old 0\n\n{signed(Note('log.example/1', 1, leaf_hash(b'1')), [key])}".encode()
    with closing(sqlite3.connect(tmp_path / "state", isolation_level=None)) as user:
        user.execute("BEGIN IMMEDIATE")
        answer = witness.add_checkpoint(request)
    assert (answer.status, answer.text) == (503, "The witness cannot use its file: database is locked\n")
    assert witness.add_checkpoint(request).status == 200


async def test_witnesses_with_one_file_sign_one_history(tmp_path, monkeypatch):
    """Two processes that have the same state open: neither signs what the other has not seen."""
    key, signing = SigningKey.new("log.example/1"), SigningKey.new("w.example", SignatureType.COSIGNATURE)
    one, other = (LogWitness(tmp_path / "state", signing, [key.verifier]) for _ in range(2))
    bodies = [f"old 0\n\n{signed(Note('log.example/1', 1, bytes([each]) * 32), [key])}".encode() for each in range(2)]
    has_looked, is_judged = threading.Event(), threading.Event()

    def consistent(*_):
        if not has_looked.is_set():
            has_looked.set()
            is_judged.wait(0.5)  # which the other one's answer must not precede
        return True

    monkeypatch.setattr("app.transparency.witness.is_consistent", consistent)
    first = asyncio.create_task(asyncio.to_thread(one.add_checkpoint, bodies[0]))
    await asyncio.to_thread(has_looked.wait)
    second = await asyncio.to_thread(other.add_checkpoint, bodies[1])
    is_judged.set()
    assert ((await first).status, second.status) == (200, 409)


@pytest.mark.parametrize("witnessed", [False, True])
async def test_what_somebody_could_do_with_a_checkpoint_is_found(log, witnessing, witnessed):
    """With and without a witness: unknown key, other log, altered, rolled back, forked, of the future."""
    witness = witnessing(log)
    witnesses, quorum = ([witness.key], 1) if witnessed else ([], 0)
    await log.sign(*([witness] if witnessed else []))
    note = await newest(log)
    require_signed(note, log.vkey, witnesses, quorum, 1 << 40)

    def refused(note, key=log.vkey, trusted=witnesses, now_s=1 << 40):
        with pytest.raises(NotVerified) as found:
            require_signed(note, key, trusted, quorum, now_s)
        return str(found.value)

    other = SigningKey.new("remit.example.com").named(log.origin)
    assert "no valid signature" in refused(note, key=other.verifier)
    assert "is of the log" in refused(note, key=log.vkey_of_changes)
    assert "no valid signature" in refused(replace(note, size=39))
    assert "no valid signature" in refused(replace(note, root=bytes(32)))
    assert "no valid signature" in refused(replace(note, signatures=()))
    if witnessed:
        assert "future" in refused(note, now_s=signed_at(note, witness.key) - AHEAD_S - 1)
        assert "no valid cosignature" in refused(signed(note, [log.key]))
        stranger = SigningKey.new(witness.key.name, SignatureType.COSIGNATURE).verifier
        assert "no valid cosignature" in refused(note, trusted=[stranger])

    async def fault(note):
        finding = (await Verifier(log.client, log.workspace_id).verify(note=note)).finding
        return finding and (finding.fault.value, finding.part.value)

    # The operator signs another history. Its own signature is valid; the witness, which saw the first, does not sign.
    forked = signed(Note(log.origin, 40, bytes(32)), [log.key])
    assert await fault(forked) == ("rewritten", "tree")
    if witnessed:
        assert "no valid cosignature" in refused(forked)
    else:
        require_signed(forked, log.vkey, [], 0, 0)
    ahead = signed(Note(log.origin, 41, note.root), [log.key])
    assert await fault(ahead) == ("truncated", "tree"), "the log was rolled back behind what was signed"
    with pytest.raises(Invalid):
        await fault(Note("remit.example.com/018bcfe5-6800-7000-8000-00000000cafe", 1, bytes(32)))
    await log.client.call("HSET", log.keys.audit_tree, "frontier", "")
    assert await fault(note) == ("changed", "tree")


async def test_a_store_that_lost_what_was_signed_signs_nothing_older(log):
    """The newest note stays, so that what is missing is seen."""
    await log.grow()
    await log.sign()
    await log.client.call("DEL", log.keys.audit_tree)
    await log.sign()
    assert (await newest(log)).size == 80


@pytest.mark.stores
async def test_other_programs_verify_what_is_signed_and_proved(one_log, witnessing, tmp_path, program, go_cache):
    """Go's golang.org/x/mod opens the note, checks inclusion and consistency, and refuses what was altered."""
    log, go = one_log, program("go", "checks with golang.org/x/mod")
    environment = {"GO111MODULE": "off", "GOPATH": str(GO), "GOCACHE": go_cache, "PATH": "/usr/bin:/bin"}
    built = await asyncio.to_thread(
        subprocess.run,
        [go, "build", "-o", tmp_path / "checks", HERE / "go_checks.go"],
        env=environment,
        capture_output=True,
    )
    assert built.returncode == 0, built.stderr
    witness = witnessing(log)
    await log.sign(witness)
    old = await newest(log)
    await log.grow(600)
    await log.sign(witness)
    note, lines = await newest(log), await lines_of(log, 640)
    tree = await read_log_tree(log.client, log.workspace_id)
    asked = {"note": str(note), "vkey": str(log.vkey)}
    questions = [asked | {"kind": "note"}]
    for index in (0, 39, 255, 256, 639):
        head, proof_note = (await proof_of(log.client, log.workspace_id, index + 1, lines[index])).split("\n\n", 1)
        magic, extra, place, *hashes = head.split("\n")
        assert (magic, place, proof_note) == ("c2sp.org/tlog-proof@v1", f"index {index}", str(note))
        line = base64.b64decode(extra.removeprefix("extra ")).decode()
        questions.append(asked | {"kind": "inclusion", "index": index, "line": line, "proof": hashes})
    proof = [base64.b64encode(each).decode() for each in await tree.consistency(old.size, note.size)]
    root = base64.b64encode(old.root).decode()
    questions.append(asked | {"kind": "consistency", "old": old.size, "oldRoot": root, "proof": proof})
    questions.append(asked | {"kind": "cosignature", "vkey": str(witness.key)})
    wrong = [
        questions[0] | {"note": str(note).replace("\n640\n", "\n641\n")},
        questions[1] | {"line": "{}"},
        questions[2] | {"index": 38},
        questions[-2] | {"oldRoot": base64.b64encode(bytes(32)).decode()},
        questions[-1] | {"note": str(old).replace("\n40\n", "\n41\n")},
    ]
    text = "".join(f"{json.dumps(each)}\n" for each in questions + wrong)
    run = await asyncio.to_thread(subprocess.run, [tmp_path / "checks"], input=text.encode(), capture_output=True)
    answers = run.stdout.decode().splitlines()
    assert answers[: len(questions)] == ["ok"] * len(questions), (answers, run.stderr)
    assert len(answers) == len(questions + wrong)
    assert "ok" not in answers[len(questions) :]


async def test_settings_that_cannot_sign_stop_the_start(client, tmp_path):
    """A file that is missing or has no key, a witness without a key; none of it shows what the file contains."""
    bad, good = tmp_path / "bad", tmp_path / "good"
    bad.write_text("PRIVATE+KEY+secret")
    good.write_text(SigningKey.new("remit.example.com").line)
    vkey = SigningKey.new("w", SignatureType.NOTE).verifier
    for file, witnesses, said in (
        (tmp_path / "none", "", "cannot be read"),
        (bad, "", "not a key"),
        (good, "w.example", "URL of a witness"),
        (good, "https://w.example x", "verifier key"),
        (good, f"https://w.example {vkey}", "type 4"),
    ):
        with pytest.raises(SettingsError, match=said) as found:
            async with background_jobs(client, Settings(checkpoint_key_file=str(file), checkpoint_witnesses=witnesses)):
                pass
        assert "secret" not in str(found.value)
    async with background_jobs(client, Settings(checkpoint_key_file=str(good))) as jobs:
        assert "sign checkpoints" in [job.name for job in jobs]
    assert witnesses_in("") == []


def test_notes_and_keys_are_read_strictly():
    """What is not exactly a note or a key is refused with a sentence."""
    note = Note("a.example/log", 5, bytes(32))
    assert Note.parse(str(note)) == note
    signed = str(replace(note, signatures=(Signature("a.example", bytes(68)), Signature("b.example", bytes(5)))))
    assert str(Note.parse(signed)) == signed
    assert Note.parse(note.text) == note
    for text in (
        "",
        "a\n5\n",
        str(note).replace("\n5\n", "\n05\n"),
        f"{note.text}extension\n\n",
        f"{note}— a b\n",
        str(note).replace("\n5\n", "\n+5\n"),
        str(note).replace("\n", "\r\n"),
        str(note).replace("a.example", "a.example\0"),
        str(note).replace("A=", "B="),  # other bits, of which the root has no use
        f"{signed}\r\n",
        f"{signed}\n",
        signed.replace("\n— ", "\x85— "),
        f"{signed[:-3]}1=\n",
        "x" * 20_000,
    ):
        with pytest.raises(ValueError, match=r"^(is not|has a line)"):
            Note.parse(text)
    key = SigningKey.new("a.example").verifier
    assert VerifierKey.parse(str(key)) == key
    for text in ("", "a+b+c", str(key).replace("a.", "b.", 1), str(key)[:-4]):
        with pytest.raises(ValueError, match="is not a verifier key"):
            VerifierKey.parse(text)


@pytest.mark.stores
async def test_the_program_of_the_page_verifies_a_proof(one_log, tmp_path, program, go_cache):
    """As it is printed; it refuses a proof whose entry was altered."""
    log, go = one_log, program("go", "the program of docs/checkpoints.md")
    page = (HERE.parents[1] / "docs/checkpoints.md").read_text()
    [source] = re.findall(r"```go\n(.*?)```", page, re.DOTALL)
    (tmp_path / "verify.go").write_text(source)
    [command] = re.findall(r"^(GO111MODULE=off .*)$", page, re.MULTILINE)
    await log.sign()
    [line] = (await lines_of(log, 7))[6:]
    proof = await proof_of(log.client, log.workspace_id, 7, line)
    environment = {
        "VKEY": str(log.vkey),
        "GOCACHE": str(tmp_path / "cache"),
        "PATH": f"{Path(go).parent}:/usr/bin:/bin",
    }

    async def run(written):
        (tmp_path / "entry.tlog-proof").write_text(written)
        return await asyncio.to_thread(
            subprocess.run, command, shell=True, env=environment, cwd=tmp_path, capture_output=True, text=True
        )

    done = await run(proof)
    assert done.stdout == f"entry 7 of {log.origin}: {line.decode()}\n", done.stderr
    forged = proof.replace(base64.b64encode(line).decode(), base64.b64encode(line[::-1]).decode())
    done = await run(forged)
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("entries", [40, 24], ids=["rewritten", "set back"])
@pytest.mark.parametrize("witnessed", [False, True])
async def test_a_history_written_anew_is_found_by_what_was_signed(log, witnessing, witnessed, entries):
    """With its chain, tree and note: by whoever has an older checkpoint, and a witness signs it for nobody."""
    witness = witnessing(log)
    witnesses = [witness] if witnessed else []
    await log.sign(*witnesses)
    kept = await newest(log)
    found = await log.client.call("KEYS", f"remit:{{{log.workspace_id}}}:audit:*")
    await log.client.call("DEL", log.keys.commits, *found)
    log.writer = Writer(log.client, log.workspace_id)
    await log.writer.append_each([{"reason": "as the operator would have it"}] * entries)
    while await Sealer(log.client, 16, 100).seal_next(log.workspace_id):
        pass
    await grow_trees(log.client, log.workspace_id)
    assert (await Verifier(log.client, log.workspace_id).verify()).finding is None, "nothing inside shows it"
    await log.sign(*witnesses)
    forged = await newest(log)
    assert (forged.size, signed_at(forged, log.vkey), signed_at(forged, witness.key)) == (entries, 0, None)
    assert (await log.unwitnessed_ms() is not None) == witnessed
    finding = (await Verifier(log.client, log.workspace_id).verify(note=kept)).finding
    assert finding.fault.value == ("rewritten" if entries == kept.size else "truncated")


async def alter_entry(forged):
    await forged.forge(2, hashed=False)


async def alter_entry_and_links(forged):
    await forged.forge_with_links(2)


async def alter_entry_links_and_tree(forged):
    await forged.forge_with_links(2, tree=True)


async def alter_tile(forged):
    tile = await forged.client.call_bytes("HGET", forged.keys.audit_tree, "1:0")
    await forged.call("HSET", forged.keys.audit_tree, "1:0", bytes([tile[0] ^ 1]) + tile[1:])


@pytest.mark.parametrize(
    ("alter", "witnessed", "plain", "with_kept", "is_cosigned"),
    [
        (alter_entry, True, "changed", "changed", True),
        (alter_entry_and_links, True, "changed", "changed", True),
        (alter_entry_links_and_tree, True, None, "rewritten", False),
        (alter_entry_links_and_tree, False, None, "rewritten", False),
        (alter_tile, True, "changed", "changed", False),
    ],
)
async def test_what_is_altered_below_a_checkpoint_is_found(
    log, witnessing, alter, witnessed, plain, with_kept, is_cosigned
):
    """One entry, one tile. The next checkpoint is signed only if it is of the leaves that were signed before."""
    witness = witnessing(log)
    witnesses = [witness] if witnessed else []
    await log.grow(260)
    await log.sign(*witnesses)
    kept = await newest(log)
    await alter(ForgedLog(log.client, log.workspace_id))

    async def fault(note=None):
        finding = (await Verifier(log.client, log.workspace_id).verify(note=note)).finding
        return finding and finding.fault.value

    assert (await fault(), await fault(kept)) == (plain, with_kept)
    await log.grow()
    await log.sign(*witnesses)
    assert (await newest(log) == kept) != is_cosigned, "what does not continue the last checkpoint is not signed"
    if not is_cosigned:
        assert await log.accept()
        await log.sign(*witnesses)
    later = await newest(log)
    assert (later.size, signed_at(later, log.vkey)) == (kept.size + 40, 0)
    assert await fault(later) == plain
    if witnessed:
        require_signed(kept, log.vkey, [witness.key], 1, 1 << 40)
        assert (signed_at(later, witness.key) is not None) == is_cosigned
        assert (await log.unwitnessed_ms() is None) == is_cosigned
