"""Signed checkpoints and proofs over HTTP and with `remit audit verify --checkpoint`."""

import base64

from audit_entries import grow_trees, is_included
from command_line import run_remit
from servers import clean_env

from app.audit.merkle import leaf_hash
from app.audit.seal.sealer import Sealer
from app.audit.trail_chain import seal_changes
from app.model.notes import Note, origin_of
from app.transparency.keys import SigningKey, signed
from app.transparency.rounds import CheckpointRounds

NAME = "remit.example.com"


def sign(tenant, key):
    """Seal, grow and sign, as the background process does."""

    async def work(client):
        await Sealer(client, 512, 100).seal_next(tenant.id)
        await seal_changes(client, tenant.id)
        await grow_trees(client, tenant.id)
        rounds = CheckpointRounds(client, [key], [])
        for suffix in ("", "/changes"):
            await rounds._sign(tenant.id, suffix)

    tenant.in_store(work)


def decide(tenant, times):
    agent = tenant.new_agent()["id"]
    return [
        tenant.reader.post("/v1/authorize", json={"agent_id": agent, "tool_name": "file.read"}).json()["id"]
        for _ in range(times)
    ]


def test_a_checkpoint_and_the_proof_of_an_entry(tenant):
    """Both are files for other programs; an entry that no checkpoint covers yet has no proof."""
    ids = decide(tenant, 3)
    for path in ("/v1/audit-logs/checkpoint", f"/v1/audit-logs/{ids[0]}/proof", "/v1/changes/checkpoint"):
        answer = tenant.admin.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "CHECKPOINT_NOT_FOUND")
    key = SigningKey.new(NAME)
    sign(tenant, key)
    answer = tenant.reader.get("/v1/audit-logs/checkpoint")
    note = Note.parse(answer.text)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert (note.origin, note.size) == (origin_of(NAME, tenant.id), 3)
    assert Note.parse(tenant.admin.get("/v1/changes/checkpoint").text).origin == f"{note.origin}/changes"
    answer = tenant.reader.get(f"/v1/audit-logs/{ids[1]}/proof")
    assert answer.headers["content-disposition"] == f'attachment; filename="{ids[1]}.tlog-proof"'
    head, shown = answer.text.split("\n\n", 1)
    _, extra, place, *hashes = head.split("\n")
    line = base64.b64decode(extra.removeprefix("extra "))
    assert (shown, place) == (str(note), "index 1")
    assert ids[1].encode() in line
    assert is_included(leaf_hash(line), 1, 3, [base64.b64decode(each) for each in hashes], note.root)
    [late] = decide(tenant, 1)
    answer = tenant.reader.get(f"/v1/audit-logs/{late}/proof")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "CHECKPOINT_NOT_FOUND")
    assert tenant.reader.get("/v1/audit-logs/018bcfe5-6800-7000-8000-00000000cafe/proof").status_code == 404


def test_verification_takes_a_note(tenant):
    """It says whether the log continues it; another workspace's, and what is not a note, is refused."""
    decide(tenant, 3)
    sign(tenant, SigningKey.new(NAME))
    note = Note.parse(tenant.reader.get("/v1/audit-logs/checkpoint").text)
    trail = tenant.admin.get("/v1/changes/checkpoint").text

    def verified(text):
        return tenant.admin.get("/v1/audit-logs/verify", params={"note": text})

    for text in (str(note), note.text, trail):
        assert verified(text).json()["intact"], text
    found = verified(Note(note.origin, 2, note.root).text).json()["finding"]
    assert (found["fault"], found["part"]) == ("rewritten", "tree")
    other = Note(origin_of(NAME, "018bcfe5-6800-7000-8000-00000000cafe"), 2, note.root)
    for text in (other.text, "x", f"{note.origin}\n"):
        assert verified(text).status_code == 400


def test_the_command_verifies_signatures_and_then_the_log(tenant, tmp_path):
    """Exit code 1 and a sentence for a key that has not signed, and for a log that does not continue the note."""
    decide(tenant, 2)
    key = SigningKey.new(NAME)
    sign(tenant, key)
    file = tmp_path / "cp.note"
    file.write_text(tenant.reader.get("/v1/audit-logs/checkpoint").text)
    note = Note.parse(file.read_text())
    vkey = str(key.named(note.origin).verifier)
    environment = {"REMIT_URL": str(tenant.admin.base_url), "REMIT_API_KEY": tenant.admin_key}

    def verify(*args):
        return run_remit(["audit", "verify", *map(str, args)], env=clean_env() | environment)

    assert verify("--checkpoint", file, "--key", vkey).returncode == 0
    other = str(SigningKey.new(NAME).named(note.origin).verifier)
    for args, code, said in (
        (("--checkpoint", file, "--key", other), 1, "no valid signature"),
        (("--checkpoint", file, "--key", vkey, "--witness", other), 1, "no valid cosignature"),
        (("--checkpoint", file), 2, "--key"),
        (("--key", vkey), 2, "--checkpoint"),
        (("--checkpoint", file, "--key", "x"), 2, "verifier key"),
        (("--checkpoint", file, "--key", vkey, "--quorum", "1"), 2, "--quorum"),
        (("--checkpoint", file, "--key", vkey, *("--witness", other) * 2, "--quorum", "2"), 2, "there are 1 different"),
    ):
        done = verify(*args)
        assert (done.returncode, said in done.stderr) == (code, True), (args, done.stderr)
    forged = Note(note.origin, note.size, bytes(32))
    file.write_text(str(signed(forged, [key])))
    done = verify("--checkpoint", file, "--key", vkey)
    assert (done.returncode, "rewritten at the tree" in done.stderr) == (1, True), done.stderr
