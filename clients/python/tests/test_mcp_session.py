"""Whose session a proxy is that is given none."""

import subprocess
import sys

import pytest

NAME = "from remit_client.mcp.starter import starter_session; print(starter_session())"
STARTER = f"import subprocess, sys; [subprocess.run([sys.executable, '-c', {NAME!r}]) for _ in range(2)]"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there it has none")


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_all_starts_by_one_program_are_one_session_and_those_by_another_are_another():
    """A client that starts a server anew for each call is in one session all the same."""
    first, again = run(STARTER)
    others = run(STARTER)
    assert first == again
    assert len({first, *others}) == 2
    assert len(first) == 32


def test_a_program_that_ended_before_its_proxy_began_is_no_session():
    """All such proxies would else share the session of the first process of the machine."""
    orphan = f"import os, sys\nwhile os.getppid() == int(sys.argv[1]): pass\n{NAME}"
    program = (
        "import os, subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {orphan!r}, str(os.getpid())], start_new_session=True)\n"
    )
    assert run(program) == ["None"]
