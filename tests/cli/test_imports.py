"""Modules that a command without a store must not load, so that it starts at once; a timing test would not say why."""

import json
import subprocess
import sys

import pytest
from servers import clean_env

HEAVY = {"litestar", "redis", "hiredis", "uvicorn", "uvloop", "httptools", "re2", "zstandard", "asyncio"}
ROOMS = {
    *("app.http", "app.serve", "app.replica", "app.main", "app.authorize", "app.audit", "app.store"),
    *("app.redis_client", "app.pdp", "app.runtime.metrics"),
}
RUN = """
import contextlib, io, json, os, sys
import click
from app.cli.main import main
for line in sys.stdin:
    words, env = json.loads(line)
    if os.fork() == 0:
        os.environ.update(env)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit, click.ClickException):
            main(words, standalone_mode=False)
        print(json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def loaded():
    """Every module that a process has loaded once `remit WORDS` is done; each is forked from one that has loaded
    what every command loads.
    """
    env = clean_env() | {"REMIT_REDIS_URL": "redis://127.0.0.1:1"}
    program = [sys.executable, "-c", RUN]
    with subprocess.Popen(program, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def modules(*words, **env):
            process.stdin.write(json.dumps([words, env]) + "\n")
            process.stdin.flush()
            return set(json.loads(process.stdout.readline()))

        yield modules
        process.stdin.close()


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("--version",),
        *((group, "--help") for group in ("agents", "audit", "keys", "policies", "workspaces")),
        ("audit", "verify", "--help"),
        ("policies", "create", "--help"),
        ("authorize", "--help"),
        ("serve", "--help"),
        ("compact", "--help"),
        ("doctor", "--help"),
    ],
    ids=" ".join,
)
def test_a_command_without_a_store_loads_neither_server_nor_client(loaded, words):
    """Neither their libraries nor our layers that use one."""
    modules = loaded(*words)
    assert "app.cli.main" in modules
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert modules & ROOMS == set()


@pytest.mark.parametrize(
    "words",
    [
        ("policies", "schema"),
        ("policies", "lint", "examples/airline/policies.json"),
        ("policies", "test", "examples/airline/policies.test.yaml"),
    ],
    ids=" ".join,
)
def test_a_command_about_files_loads_neither_server_nor_client(loaded, words):
    """They judge rules, for which they need RE2 and `pdp`, and nothing else."""
    modules = loaded(*words)
    assert "app.policy_tools.files.policy_file" in modules
    assert {name.split(".")[0] for name in modules} & HEAVY <= {"re2"}
    assert modules & ROOMS <= {"app.pdp"}


@pytest.mark.parametrize(
    "words",
    [
        ("agents", "list"),
        ("agents", "tools", "a"),
        ("approvals", "list"),
        ("audit", "query"),
        ("audit", "verify"),
        ("authorize", "a", "t"),
        ("catalog", "list"),
        ("changes",),
        ("decisions", "outcome", "0198c2a1-7d4e-7c3b-9a55-2f6b8e1d4c07", "executed"),
        ("explain", "a", "t"),
        ("keys", "list"),
        ("policies", "create", "a", "--file", "examples/airline/policies.json"),
        ("policies", "list"),
        ("webhooks", "list"),
    ],
    ids=" ".join,
)
def test_a_command_that_talks_to_a_service_starts_at_once(loaded, words):
    """It loads neither a server nor a store nor what judges policies; the service has all of that."""
    modules = loaded(*words, REMIT_URL="http://127.0.0.1:1", REMIT_API_KEY="svc_" + "0" * 32)
    assert {"app.cli.http_transport", "http.client"} <= modules
    assert {name.split(".")[0] for name in modules} & {*HEAVY, "jsonschema_rs", "yaml"} == set()
    assert not {"subprocess", "zipfile"} & modules
    assert modules & {*ROOMS, "app.language.schemas"} == set()


def test_a_command_that_talks_to_a_store_loads_no_server(loaded):
    """It has the application in its own process, but nothing that listens."""
    modules = loaded("key", "list", "--workspace", "nowhere")
    assert "app.replica" in modules
    assert {name.split(".")[0] for name in modules} & {"uvicorn", "httptools"} == set()
    assert not [name for name in modules if name.startswith("app.serve.worker")]


def test_the_command_that_starts_replicas_has_loaded_all_that_they_need():
    """They are its forks: what one of them loaded itself, all would load, each time that one is replaced."""
    program = "import app.serve.supervisor, json, sys; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], env=clean_env(), capture_output=True, text=True, check=True)
    modules = set(json.loads(ran.stdout))
    assert {"app.main", "app.http.protocol.connection", "app.serve.jobs"} <= modules
    assert {"litestar", "uvicorn", "uvloop"} <= {name.split(".")[0] for name in modules}


def test_a_command_that_is_not_there_is_a_misuse():
    """The group looks the name up before it imports anything."""
    ran = subprocess.run([sys.executable, "-m", "app.cli", "nonsense"], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "No such command 'nonsense'" in ran.stderr
