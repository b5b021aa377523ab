"""docs/explain.md: its session prints what the page says."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from servers import clean_env, free_port, wait_until_ready

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs/explain.md").read_text()
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MARK = "end of command"


def commands():
    """Each command of the page with what it shall print."""
    for block in BLOCKS:
        for text in block.split("$ ", 1)[1].split("\n$ "):
            lines = text.splitlines()
            count = 1 + sum(line.startswith("> ") for line in lines)
            yield "\n".join(line.removeprefix("> ") for line in lines[:count]), "\n".join(lines[count:]).strip()


@pytest.fixture
def service(tmp_path, program):
    """`remit serve` on a store of its own, and the environment of a shell beside it."""
    program("jq", "the session of docs/explain.md")
    port = free_port()
    env = clean_env() | {"REMIT_PORT": str(port), "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin"}
    serving = subprocess.Popen([sys.executable, "-m", "app.cli", "serve"], cwd=tmp_path, env=env | paths())
    wait_until_ready(f"http://127.0.0.1:{port}", serving)
    yield tmp_path, env | paths() | {"REMIT_URL": f"http://127.0.0.1:{port}"}
    serving.send_signal(signal.SIGINT)
    assert serving.wait(timeout=30) == 0


def paths():
    return {"PYTHONPATH": str(Path(__file__).parents[2])}


def test_the_session_prints_what_the_page_says(service):
    """Every command, in one shell; `…` stands for what differs from run to run."""
    folder, env = service
    script = "".join(f"{command}\necho '{MARK}'\n" for command, _ in commands())
    ran = subprocess.run(["bash", "-eu"], input=script, cwd=folder, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    printed = [text.strip() for text in ran.stdout.split(MARK)[:-1]]
    wanted = [text for _, text in commands()]
    assert len(printed) == len(wanted) > 6
    for got, want in zip(printed, wanted, strict=True):
        assert re.fullmatch(re.escape(want).replace("…", r"[0-9TZ:.-]+"), got), f"{got}\n\n{want}"
