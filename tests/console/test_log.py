"""The log in the console: verified, compared with a signed and witnessed checkpoint, and an entry proved."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from audit_entries import grow_trees

from app.audit.seal.sealer import Sealer
from app.audit.trail_chain import seal_changes
from app.model.notes import OF_CHANGES, SignatureType, origin_of
from app.transparency.keys import SigningKey
from app.transparency.rounds import CheckpointRounds
from app.transparency.witness import LogWitness, witness_server
from app.transparency.witnesses import Witness

pytestmark = pytest.mark.slow
NAME = "remit.example.com"


@pytest.fixture
def signed(scene, tmp_path):
    """The scene's log, sealed, signed and witnessed; the newest checkpoint."""
    workspace = scene.tenant.id
    key, witness = SigningKey.new(NAME), SigningKey.new("auditor.example", SignatureType.COSIGNATURE)
    origin = origin_of(NAME, workspace)
    logs = [key.named(each).verifier for each in (origin, origin + OF_CHANGES)]
    server = witness_server("127.0.0.1", 0, LogWitness(tmp_path / "witness.sqlite", witness, logs))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    async def sign(client):
        while await Sealer(client, 16, 100).seal_next(workspace):
            pass
        await seal_changes(client, workspace)
        await grow_trees(client, workspace)
        known = [Witness(f"http://127.0.0.1:{server.server_port}", witness.verifier)]
        await CheckpointRounds(client, [key], known).run(asyncio.Event())

    with ThreadPoolExecutor(1) as thread:  # this thread's loop is the browser's
        thread.submit(scene.tenant.in_store, sign).result()
    yield scene.tenant.admin.get("/v1/audit-logs/checkpoint").text
    server.shutdown()
    server.server_close()


def test_the_log_is_compared_with_a_checkpoint_and_proves_an_entry(visit, signed):
    """Who signed and when the witness did; a checkpoint of another history is a finding that stays."""
    visitor = visit("audit")
    page = visitor.open("/console/log", "Log")
    page.get_by_text("auditor.example").first.wait_for()
    assert page.locator("dd", has_text="auditor.example").locator("time").count() == 2
    compare = page.get_by_label("Checkpoint to compare with")
    compare.fill(signed)
    page.get_by_role("button", name="Verify now").click()
    page.locator(".verdict").get_by_text("verified").wait_for()
    assert visitor.violations() == []
    origin, size, root = signed.split("\n")[:3]
    compare.fill("\n".join([origin, size, ("A" if root[0] != "A" else "B") + root[1:]]))
    page.get_by_role("button", name="Verify now").click()
    page.get_by_role("alert").get_by_text("The log has been").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the manifest").click()
    lines = [json.loads(line) for line in saved.value.path().read_text().splitlines()]
    assert lines == visitor.context.request.get(f"{visitor.base_url}/v1/audit-logs/archive").json()["segments"] != []
    visitor.open("/console/decisions", "Decisions")
    page.get_by_role("row").nth(1).wait_for()  # the first is the header
    page.get_by_role("row").last.click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Proof").click()
    assert saved.value.path().read_text().startswith("c2sp.org/tlog-proof@v1\n")
