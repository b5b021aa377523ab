"""docs/webhooks.md: its session runs as printed, and its receiver receives."""

import re
import subprocess
from pathlib import Path

import pytest
from approval_steps import SECRET
from forked import put_remit_in
from receivers import subscribe
from servers import Replica, Store, clean_env

from app.model.webhooks import WebhookEvent

PAGE = (Path(__file__).parents[2] / "docs/webhooks.md").read_text()
LOOPBACK = {"REMIT_WEBHOOK_HTTP": "true", "REMIT_WEBHOOK_NETWORKS": "127.0.0.0/8"}


@pytest.mark.slow
def test_the_session_prints_what_the_page_shows(valkey_store, tmp_path, receiver):
    """On a separate store; `…` stands for what differs between runs."""
    store = Store(valkey_store.binary, tmp_path / "store")
    replica = Replica(store.url, REMIT_COMPACT="false")
    try:
        [session] = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
        commands = re.findall(r"^\$ (.*)$", session, re.MULTILINE)
        env = clean_env() | LOOPBACK | {"REMIT_REDIS_URL": store.url, "REMIT_SECRET": SECRET}
        env |= {"RECEIVER": receiver.url, "PATH": f"{put_remit_in(tmp_path / 'bin')}:{clean_env()['PATH']}"}
        script = "\n".join(f"echo '$ '{_quoted(each)}\n{each}" for each in commands)
        ran = subprocess.run(["bash", "-c", f"exec 2>&1\n{script}"], env=env, capture_output=True, text=True)
        assert re.fullmatch(re.escape(session).replace("…", "[^\n ]+"), ran.stdout), ran.stdout
        assert len(receiver.got) == 1
    finally:
        replica.stop()
        store.stop()


def _quoted(command):
    return "'" + command.replace("'", "'\\''") + "'"


def test_the_pages_receiver_takes_an_event_once(tenant, receiver, sending):
    """With the code on the page."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(code, names)
    webhook = subscribe(tenant, receiver.url)
    tenant.new_policy(tenant.new_agent()["id"])
    sending.round()
    [(headers, body)] = receiver.got
    assert [names["receive"](headers, body, webhook["secret"]) for _ in range(2)] == ["policy.changed", "known"]


def test_the_page_lists_every_event():
    """And no other, except the one that is always sent."""
    told = re.findall(r"^\| `([a-z_.]+)` \|", PAGE, re.MULTILINE)
    assert sorted(told) == sorted([*WebhookEvent, "events.lost"])
