"""`remit audit key` and `remit audit witness`: keys in a file, and a witness that a service asks."""

import asyncio
import stat
import subprocess
import sys

from audit_entries import grow_trees
from command_line import run_remit
from forked import Forked
from servers import clean_env

from app.audit.notes import read_note
from app.audit.seal.sealer import Sealer
from app.model.checkpoints import SignedTree
from app.model.notes import VerifierKey, origin_of
from app.store.keyspace import Keyspace
from app.transparency.keys import read_keys, signed_at
from app.transparency.rounds import CheckpointRounds
from app.transparency.witnesses import witnesses_in


def remit(*words):
    done = run_remit([*map(str, words)], env=clean_env())
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_keys_are_added_to_a_file_that_only_its_owner_reads(tmp_path):
    """Each signs; a name that no key can have is refused, and the file stays as it is."""
    file = tmp_path / "keys"
    printed = [
        *remit("audit", "key", "new", "remit.example.com", file),
        *remit("audit", "key", "new", "b.example", file),
    ]
    assert printed == [str(each.verifier) for each in read_keys(file)]
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    assert run_remit(["audit", "key", "new", "no spaces", str(file)], env=clean_env()).returncode == 2
    assert len(read_keys(file)) == 2


def test_a_witness_that_was_set_up_by_command_signs_what_the_service_signs(tenant, tmp_path):
    """With the verifier keys that `key show` prints, and the one that the witness prints."""
    keys, of_witness = tmp_path / "keys", tmp_path / "witness.key"
    remit("audit", "key", "new", "remit.example.com", keys)
    [witness_vkey] = remit("audit", "key", "new", "--witness", "auditor.example", of_witness)
    shown = remit("audit", "key", "show", keys, tenant.id)
    assert remit("audit", "key", "show", of_witness) == [witness_vkey]
    origin = origin_of("remit.example.com", tenant.id)
    assert [VerifierKey.parse(each).name for each in shown] == [origin, f"{origin}/changes"]
    words = ["audit", "witness", "--key", of_witness, "--state", tmp_path / "state", "--port", "0"]
    words += [word for each in shown for word in ("--log", each)]
    command = [sys.executable, "-m", "app.cli", *map(str, words)]
    running = Forked(command, env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        listening, _, vkey = running.stdout.readline().decode().strip().partition(" as ")
        assert vkey == witness_vkey
        agent = tenant.new_agent()["id"]
        tenant.reader.post("/v1/authorize", json={"agent_id": agent, "tool_name": "file.read"})
        rounds = witnesses_in(f"{listening.removeprefix('listening on ')} {vkey}")

        async def sign(client):
            await Sealer(client, 512, 100).seal_next(tenant.id)
            await grow_trees(client, tenant.id)
            await CheckpointRounds(client, read_keys(keys), rounds).run(asyncio.Event())
            return await read_note(client, Keyspace(tenant.id).audit_checkpoint)

        note = tenant.in_store(sign)
        assert [signed_at(note, VerifierKey.parse(each)) is not None for each in (shown[0], vkey)] == [True, True]
    finally:
        running.terminate()
        running.wait(60)
        running.stdout.close()
        running.stderr.close()


def test_a_fork_is_accepted_once(tenant):
    """It is printed why nothing was signed; without --yes it is asked for first."""
    at_the_store = clean_env() | {"REMIT_REDIS_URL": tenant.store_url}
    command = ["audit", "accept-fork", "--workspace", tenant.id]
    key = Keyspace(tenant.id).changes_checkpoint
    fork = tenant.fork(SignedTree.CHANGES, "at 2 leaves, it does not continue 1")
    told = run_remit(["audit", "status", "--workspace", tenant.id], env=at_the_store).stderr
    assert told.startswith(f"forked    changes, not signed since {fork['since']}: at 2 leaves, it does not continue 1")
    assert run_remit(command, env=at_the_store).returncode == 1
    printed = [run_remit([*command, "--yes"], env=at_the_store).stdout for _ in range(2)]
    assert printed == [
        f"changes: not signed since {fork['since']}: at 2 leaves, it does not continue 1\n",
        "nothing to accept: log and trail are signed\n",
    ]
    assert tenant.in_store(lambda client: client.call("HGET", key, "fork")) == "accepted"
