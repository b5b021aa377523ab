"""Stores and replicas that tests share, and the list of tests that this machine could not run.

No test flushes a shared store: each creates its own workspace, and workspaces do not see each other.
"""

import asyncio
import functools
import gc
import inspect
import logging
import os
import shutil
import sys
from pathlib import Path

import command_line
import pytest
from costs import Costs
from fake_store import FakeClient
from httpx._transports import default
from profiles import register_profiles
from servers import Replica, Store, store_binaries
from tenants import tenant_on
from weekly import may_wait
from workers import Workers

from app.model.ids import Ids
from app.redis_client.clients import open_client
from app.settings import Settings

STORES = ("fakeredis", "redis", "valkey")
PATIENCE_S = 300
FAULTS = "tests/faults/"
MEMORY = "/dev/shm"
MEMORY_BYTES = 4 << 30

# No test uses TLS through httpx, and loading this machine's certificate authorities takes 25 ms per client; a context
# without any still takes milliseconds, so all clients have one in common.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull
default.create_ssl_context = functools.cache(default.create_ssl_context)

# No test may find or make a store of the user who runs it.
os.environ["XDG_DATA_HOME"] = os.devnull

# Stores sync every answer to their files. On a shared machine a disk can take longer than a test waits; memory cannot.
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)

# The library of JSON Schema would compile the grammars of IRIs, a format of no schema of ours, for 1.2 s.
sys.modules.setdefault("rfc3987_syntax", None)

register_profiles()


def pytest_addoption(parser):
    """The option that pytest-xdist has, too, which starts interpreters; see `workers`."""
    parser.getgroup("remit")._addoption("-n", "--numprocesses", type=int, default=0, help="run tests in N processes")
    parser.getgroup("remit").addoption(
        "--waiting", type=int, default=0, help="N processes more, for files whose tests mostly wait"
    )


def pytest_configure(config):
    costs = Costs()
    config.pluginmanager.register(costs)
    if config.option.numprocesses:
        config.pluginmanager.register(Workers(config.option.numprocesses, config.option.waiting, costs))


def pytest_collection_modifyitems(items):
    """Mark tests by their folder and store, run the slow ones first, and let tests that hang fail.

    TOUCHED: a file with the names of those that a push has touched, one a line; what tests one of them is not weekly.
    """
    touched = Path(os.environ["TOUCHED"]).read_text().splitlines() if "TOUCHED" in os.environ else ()
    for item in items:
        if item.nodeid.startswith(FAULTS):
            item.add_marker("faults")
        if may_wait(item.nodeid.partition("::")[0], touched):
            item.add_marker("weekly")
        if _needs_more(item):
            item.add_marker("stores")
        if inspect.iscoroutinefunction(getattr(item, "obj", None)):
            item.obj = _patient(item.obj)
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("slow", "faults"))))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep garbage collections from scanning the thousands of collected tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def _needs_more(item):
    """Whether it runs on a store other than the embedded one, or needs a program that the service does not include."""
    parameters = getattr(item, "callspec", None)
    names = (value for value in parameters.params.values() if isinstance(value, str)) if parameters else ()
    elsewhere = any(name.partition(" ")[0] in {"redis", "fakeredis"} for name in names)
    return elsewhere or not {"program", "redis_store"}.isdisjoint(item.fixturenames)


def _patient(test):
    @functools.wraps(test)
    async def patient(*args, **kwargs):
        async with asyncio.timeout(PATIENCE_S):
            await test(*args, **kwargs)

    return patient


def _binary(name: str) -> str:
    return _present(store_binaries().get(name), name, f"everything on {name}")


def _present(path: str | None, name: str, what: str) -> str:
    """The path of a program. If it is missing, the test is skipped and `what` is listed; in CI it fails."""
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(f"CI has everything, but {name} is missing")
        pytest.skip(f"{what}: {name} is not on this machine")
    return path


@pytest.fixture(autouse=True)
def logging_as_before():
    """A command that runs in the tests' process says what it logs; the next test must not be quieter because of it."""
    root = logging.getLogger()
    level = root.level
    yield
    root.setLevel(level)


@pytest.fixture(scope="session")
def program():
    """Finds a program that tests of `what` need: `program("redis-cli", "the commands of docs/keyspace.md")`."""
    return lambda name, what: _present(shutil.which(name), name, what)


@pytest.fixture(scope="session")
def server():
    """Finds the program of a store: `server("redis")`, `server("valkey")`."""
    return _binary


@pytest.fixture(scope="session")
def redis_store(tmp_path_factory):
    """Debian's Redis."""
    store = Store(_binary("redis"), tmp_path_factory.mktemp("redis"))
    yield store
    store.stop()


@pytest.fixture(scope="session")
def valkey_store(tmp_path_factory):
    """The Valkey that the embedded store uses."""
    store = Store(_binary("valkey"), tmp_path_factory.mktemp("valkey"))
    yield store
    store.stop()


@pytest.fixture(params=STORES)
async def client(request):
    """The cold paths' client, on every store."""
    if request.param == "fakeredis":
        opened = FakeClient()
    else:
        opened = open_client(request.getfixturevalue(f"{request.param}_store").url, 5_000)
    yield opened
    await opened.close()


@pytest.fixture
async def valkey_client(valkey_store):
    """The same on one store. tests/lua shows that scripts answer alike on every one, so what Python makes of their
    answers needs no more; such a module has a fixture `client` that is this one.
    """
    opened = open_client(valkey_store.url, 5_000)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def run_remit():
    """Runs `remit`: `run_remit(words, env)`, with `cwd` and `stdin` where they matter."""
    return command_line.run_remit


@pytest.fixture
def ids():
    return Ids()


@pytest.fixture
def workspace_id(ids):
    """A workspace that no other test uses."""
    return ids.new(0)


@pytest.fixture(scope="session")
def chromium(program):
    """The browser of this process: starting one costs more than a screen."""
    program("chromium-headless-shell", "the console in a browser")
    from tests.console.browsing import Browsing  # noqa: PLC0415 - without a browser there is nothing to import

    started = Browsing()
    yield started
    started.close()


@pytest.fixture(scope="module")
def browsing(chromium):
    """The browser while a file's tests use it."""
    with chromium.in_turn():
        yield chromium


@pytest.fixture(scope="session")
def store(valkey_store):
    """The store that the replicas below share."""
    return valkey_store


@pytest.fixture(scope="session")
def replica(store):
    """A running replica. Nothing seals what it writes."""
    running = Replica(store.url, REMIT_COMPACT="false")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def other_replica(store):
    """Another replica on the same store."""
    running = Replica(store.url, REMIT_COMPACT="false")
    yield running
    running.stop()


tenant = tenant_on()
"""A workspace of the test's own."""


@pytest.fixture
def settings():
    return Settings()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """In CI, a test that could not run is a failure, because every program is installed there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.getreports("skipped") and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Say what could not be run here; list what failed, by its whole id, in the file that .ci/run names."""
    if os.environ.get("FAILED_TESTS"):
        failed = (*terminalreporter.getreports("failed"), *terminalreporter.getreports("error"))
        # A file that cannot be collected ends the run before any test: there is nothing that a second try could mend.
        collected = all(isinstance(report, pytest.TestReport) for report in failed)
        Path(os.environ["FAILED_TESTS"]).write_text("".join(f"{each.nodeid}\n" for each in failed if collected))
    skipped = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")}
    if skipped:
        terminalreporter.section("could not run on this machine")
        for line in sorted(skipped):
            terminalreporter.line(f"- {line}")
