"""`pytest -n`: every test runs once, each file's in one process, and whatever happens to a worker is reported."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from forked import Forked
from serving import all_gone

CONFTEST = """
import costs
import workers

def pytest_addoption(parser):
    parser.getgroup("remit")._addoption("-n", type=int, dest="count")

def pytest_configure(config):
    config.pluginmanager.register(workers.Workers(config.option.count, 0, costs.Costs()))
"""
TESTS = {
    "together": "from os import getpid\npids = set()\n"
    + "".join(f"def test_{n}(tmp_path): pids.add(getpid()); assert len(pids) == 1\n" for n in range(3)),
    "skipped": "import pytest\ndef test_skipped(): pytest.skip('no luck')",
    "failing": "def test_failing(): print('printed'); assert 1 == 2",
    "broken": "import pytest\n@pytest.fixture\ndef f(): yield; raise OSError('teardown')\ndef test_broken(f): pass",
    "interrupted": """
import os, pathlib, signal, pytest

@pytest.fixture
def first():
    yield
    pathlib.Path("first").touch()

@pytest.fixture
def second(first):
    yield
    os.kill(os.getpid(), signal.SIGINT)

def test_interrupted(second): pass
def test_never_run(): pass
""",
    "interrupted_early": """
import os, pathlib, signal, pytest

@pytest.fixture
def started():
    os.kill(os.getpid(), signal.SIGINT)
    yield
    pathlib.Path("ended").touch()

def test_interrupted(started): pass
""",
    "dying": "import os\ndef test_dying(): os._exit(7)\ndef test_never_run(): pass",
}


@pytest.fixture
def run(tmp_path):
    """Runs these tests in two workers; gives the exit code and what is printed."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name, text in TESTS.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]")

    def run_them(*names, options=()):
        words = ["-m", "pytest", "-n", "2", "-rA", "-p", "no:xdist", "-p", "no:schemathesis", *options]
        env = os.environ | {"PYTHONPATH": str(Path(__file__).parent / "support")}
        files = [f"test_{name}.py" for name in names]
        ran = subprocess.run(
            [sys.executable, *words, *files], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100
        )
        return ran.returncode, ran.stdout

    return run_them


@pytest.mark.slow
def test_every_outcome_is_reported_and_a_file_stays_together(run):
    """With what a failed test printed and where it failed; a worker that dies fails the test it was running, and those
    of its file that nobody runs then, or a second try of what failed would pass without them.
    """
    code, printed = run(*TESTS.keys() - {"interrupted", "interrupted_early"})
    assert code == 1
    assert re.search(r"3 failed, 4 passed, 1 skipped, 1 error", printed), printed
    for told in ("assert 1 == 2", "printed", "no luck", "OSError: teardown", "The worker ended with 7 in this test"):
        assert told in printed
    assert "FAILED test_dying.py::test_dying" in printed
    assert "FAILED test_dying.py::test_never_run" in printed


@pytest.mark.slow
def test_the_first_failure_ends_a_run_that_says_so(run):
    code, printed = run("failing", "together", options=["-x"])
    assert code == 1
    assert "stopping after 1 failures" in printed


@pytest.mark.slow
def test_ctrl_c_waits_for_setup_and_teardown_and_no_test_is_forgotten(run, tmp_path):
    """What these had begun would stay behind; a worker that ends alone leaves tests that nobody runs."""
    code, printed = run("interrupted", "interrupted_early")
    assert (tmp_path / "first").exists()
    assert (tmp_path / "ended").exists()
    assert code == 1
    assert "The worker ended with 130 in this test" in printed
    assert "FAILED test_interrupted.py::test_never_run" in printed


def test_a_fork_ends_with_the_process_that_asked_for_it(tmp_path):
    """A worker that is killed stops no replica itself."""
    (tmp_path / "sleeps.py").write_text("import time; time.sleep(600)")
    asked = Forked([sys.executable, tmp_path / "sleeps.py"], env=dict(os.environ))
    asked._zygote.close()  # as the kernel does at the end of a process
    assert all_gone([asked.pid])
