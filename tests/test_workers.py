"""`pytest -n`: every test runs once, each file's in one process, and whatever happens to a worker is reported."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import workers

def pytest_addoption(parser):
    parser.getgroup("remit")._addoption("-n", type=int, dest="count")

def pytest_configure(config):
    config.pluginmanager.register(workers.Workers(config.option.count))
"""
TESTS = {
    "together": "from os import getpid\npids = set()\n"
    + "".join(f"def test_{n}(tmp_path): pids.add(getpid()); assert len(pids) == 1\n" for n in range(3)),
    "skipped": "import pytest\ndef test_skipped(): pytest.skip('no luck')",
    "failing": "def test_failing(): print('printed'); assert 1 == 2",
    "broken": "import pytest\n@pytest.fixture\ndef f(): yield; raise OSError('teardown')\ndef test_broken(f): pass",
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
    """With what a failed test printed and where it failed; a worker that dies fails the test it was running."""
    code, printed = run(*TESTS)
    assert code == 1
    assert re.search(r"2 failed, 4 passed, 1 skipped, 1 error", printed), printed
    for told in ("assert 1 == 2", "printed", "no luck", "OSError: teardown", "The worker ended with 7 in this test"):
        assert told in printed
    assert "FAILED test_dying.py::test_dying" in printed


@pytest.mark.slow
def test_the_first_failure_ends_a_run_that_says_so(run):
    code, printed = run("failing", "together", options=["-x"])
    assert code == 1
    assert "stopping after 1 failures" in printed
