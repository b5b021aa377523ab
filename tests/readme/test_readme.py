"""README.md is run as a newcomer would run it."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from servers import clean_env, free_port, wait_until_ready

from app.settings import Settings

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "end of block"
RUN = {"sh": str, "python": "python3 - <<'END OF PYTHON'\n{}END OF PYTHON\n".format}
"""The blocks that are run, as shell; `pip install clients/python` is PYTHONPATH here."""
WHERE = f"127.0.0.1:{Settings().port}"
"""Where the service listens by default; here it gets a port that no other test has."""


@pytest.fixture
def newcomer(tmp_path):
    """A folder with nothing but the environment that `make` sets up, and the service as `make run` starts it."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    port = free_port()
    env = clean_env() | {"REMIT_PORT": str(port), "XDG_DATA_HOME": str(tmp_path / "home")}
    service = subprocess.Popen(
        [tmp_path / ".venv/bin/remit", "serve"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    )
    wait_until_ready(f"http://127.0.0.1:{port}", service)
    yield tmp_path, port
    service.send_signal(signal.SIGINT)
    said, _ = service.communicate(timeout=30)
    assert service.returncode == 0
    assert "admin key svc_" in said


@pytest.mark.slow
def test_the_session_prints_what_the_readme_says(newcomer):
    """Every block of shell and Python of the first session, in one shell, followed by the answer printed below it."""
    folder, port = newcomer
    session = README.split("## A first session")[1].split("## The hot path")[0]
    assert WHERE in session
    blocks = BLOCK.findall(session.replace(WHERE, f"127.0.0.1:{port}"))
    script = "".join(f"{RUN[kind](text)}echo '{MARK}'\n" for kind, text in blocks if kind in RUN)

    env = clean_env() | {"REMIT_PORT": str(port), "PYTHONPATH": str(ROOT / "clients/python/src")}
    env["XDG_DATA_HOME"] = str(folder / "home")
    ran = subprocess.run(["bash", "-eu"], input=script, cwd=folder, env=env, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    answers = [text.strip() for text in ran.stdout.split(MARK)[:-1]]
    assert [as_example(answer) for answer in answers] == [as_example(text) for text in expected(blocks)]


def test_the_answers_on_the_first_screen_are_those_of_the_session():
    """Result and reason of each row, as the session prints them."""
    rows = re.findall(r"^\| [^|]+ \| \*\*(\w+)\*\* \| (.+) \|$", README.split("## Start")[0], re.MULTILINE)
    assert len(rows) == 5
    printed = [
        line.split(maxsplit=1) for kind, text in BLOCK.findall(README) if kind == "text" for line in text.splitlines()
    ]
    assert [row for row in rows if list(row) not in printed] == []


def expected(blocks):
    """For each shell block the block of text or JSON after it, or nothing."""
    following = [*blocks[1:], ("", "")]
    return [
        after.strip() if after_kind in {"json", "text"} else ""
        for (kind, _), (after_kind, after) in zip(blocks, following, strict=True)
        if kind in RUN
    ]


def as_example(text):
    """Text with every id, time and latency replaced: equal ids stay equal, in the order in which they appear."""
    if not text:
        return ""
    seen = {}

    def number(match):
        return seen.setdefault(match[0], f"<{len(seen)}>")

    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", number, text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
    if not text.startswith("{"):
        return text
    # Pairs and not dicts: the order counts, and a name that stands there twice is not what was printed.
    return json.loads(re.sub(r'("latencyMs": )[\d.]+', r"\g<1>0", text), object_pairs_hook=list)


def test_every_link_of_the_readme_leads_somewhere():
    """So a newcomer finds every page."""
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link and link[0] != "#"]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    """`make run`, `make test` and `make test-all`, as the start section says."""
    start = README.split("## Start")[1].split("## A first session")[0]
    commands = re.findall(r"^make [\w-]+|(?<=; )make [\w-]+", start, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert commands == ["make run", "make test", "make test-all"]
    assert all(re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE) for command in commands)
