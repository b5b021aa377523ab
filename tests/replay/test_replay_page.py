"""docs/replay.md is run as its reader would run it."""

import re
import subprocess
from pathlib import Path

import pytest
from forked import put_remit_in
from servers import Replica, Store, clean_env

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/replay.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEY = "svc_" + "5eed" * 8

pytestmark = pytest.mark.slow


@pytest.fixture
def service(valkey_store, tmp_path):
    """A store of its own whose workspace is `default`."""
    store = Store(valkey_store.binary, tmp_path / "store")
    replica = Replica(store.url, REMIT_BOOTSTRAP_KEY=KEY)
    yield store, replica
    replica.stop()
    store.stop()


def test_the_session_prints_what_the_page_says(service, tmp_path):
    """In one shell, a text block being what the block before it prints."""
    store, replica = service
    session = BLOCK.findall(PAGE.split("## A session")[1].split("## What a draft is")[0])
    script = "".join(f"{text}echo 'end of block'\n" for kind, text in session if kind == "sh")
    env = clean_env() | {"REMIT_REDIS_URL": store.url, "REMIT_URL": replica.base_url, "REMIT_API_KEY": KEY}
    env["PATH"] = f"{put_remit_in(tmp_path / 'bin')}:{env['PATH']}"

    ran = subprocess.run(["bash", "-eu"], input=script, cwd=tmp_path, env=env, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    printed = [text.strip() for text in ran.stdout.split("end of block")[:-1]]
    pairs = zip(session, [*session[1:], ("", "")], strict=True)
    wanted = [after if then == "text" else "" for (kind, _), (then, after) in pairs if kind == "sh"]
    assert [plain(text) for text in printed] == [plain(text.strip()) for text in wanted]


def plain(text):
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
