"""Stores and replicas that tests share, and the list of what this machine could not run.

No test flushes a store: every one makes a workspace of its own, and a workspace sees nothing else.
"""

import asyncio
import functools
import inspect
import os
import shutil

import pytest
from fake_store import FakeClient
from servers import Replica, Store, store_binaries

from app.model.ids import Ids
from app.redis_client.client import open_client
from app.settings import Settings

STORES = ("fakeredis", "redis", "valkey")
PATIENCE_S = 120
_missing: set[str] = set()


def pytest_collection_modifyitems(items):
    """An asynchronous test that hangs fails."""
    for item in items:
        if inspect.iscoroutinefunction(getattr(item, "obj", None)):
            item.obj = _patient(item.obj)


def _patient(test):
    @functools.wraps(test)
    async def patient(*args, **kwargs):
        async with asyncio.timeout(PATIENCE_S):
            await test(*args, **kwargs)

    return patient


def _binary(name: str) -> str:
    return _present(store_binaries().get(name), name, f"everything on {name}")


def _present(path: str | None, name: str, what: str) -> str:
    """The path of a program; without it the test is skipped and `what` is listed, in CI it fails."""
    if path is None:
        _missing.add(f"{what}: {name} is not on this machine")
        if os.environ.get("CI"):
            pytest.fail(f"CI has everything, but {name} is missing")
        pytest.skip(f"{name} is not on this machine")
    return path


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
        opened = open_client(request.getfixturevalue(f"{request.param}_store").url, 250)
    yield opened
    await opened.close()


@pytest.fixture
def ids():
    return Ids()


@pytest.fixture
def workspace_id(ids):
    """A workspace that no other test uses."""
    return ids.new(0)


@pytest.fixture(scope="session")
def store(valkey_store):
    """The store that the replicas below share."""
    return valkey_store


@pytest.fixture(scope="session")
def replica(store):
    """A running replica. Tests send it hundreds of keys that do not exist, all from one address."""
    running = Replica(store.url, REMIT_AUTH_FAILURES_PER_MINUTE="0")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def other_replica(store):
    """Another replica on the same store."""
    running = Replica(store.url, REMIT_AUTH_FAILURES_PER_MINUTE="0")
    yield running
    running.stop()


@pytest.fixture
def settings():
    return Settings()


def pytest_terminal_summary(terminalreporter):
    """Say what could not be run here; in CI that is a failure."""
    if _missing:
        terminalreporter.section("could not run on this machine")
        for line in sorted(_missing):
            terminalreporter.line(f"- {line}")
