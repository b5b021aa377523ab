"""`remit serve`: the processes of one machine, started in order, replaced when they die, stopped in order."""

import asyncio
import contextlib
import http.client
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType

from msgspec.structs import replace

from app.main import open_services
from app.settings import Settings, SettingsError
from app.store.checkup import Severity, check_up
from app.store.embedded import EmbeddedStore, die_with_parent
from app.store.workspaces import DEFAULT
from app.worker import shared_socket

log = logging.getLogger(__name__)
_DRAIN_SECONDS = 25.0
_READY_SECONDS = 60.0
_RESPAWN_SECONDS = 1.0
Say = Callable[[str], None]


def serve(settings: Settings, say: Say) -> None:
    """Serve until SIGINT or SIGTERM, then drain: replicas first, the compactor next, the store last.

    say: takes the lines meant for the person who started it.
    Raises SettingsError if the port or the data directory is taken, StoreUnavailable if there is no store.
    """
    _require_free_port(settings)
    with contextlib.ExitStack() as stack:
        store = None
        if settings.redis_url is None:
            store = stack.enter_context(EmbeddedStore(settings.data_path))
            settings = replace(settings, redis_url=store.url)
            say(f"store     embedded in {store.folder}/, look inside with: redis-cli -s {store.socket_path}")
        raw_key = asyncio.run(_prepare(settings, first_start=store is not None, say=say))
        family = _Family(settings, store)
        family.start()
        _announce(settings, raw_key, say)
        family.run_until_told_to_stop()
        say("stopped: every request that was accepted has been answered")


async def _prepare(settings: Settings, *, first_start: bool, say: Say) -> str | None:
    """What must exist before the first request does; the admin key if one was made just now."""
    async with open_services(settings) as services:
        for finding in await check_up(services.client):
            if finding.severity is not Severity.OK:
                say(f"{finding.severity:9} {finding.sentence}")
        if first_start and not await services.workspaces.by_name():
            _, raw_key = await services.workspaces.create(DEFAULT)
            return raw_key
    return None


def _announce(settings: Settings, raw_key: str | None, say: Say) -> None:
    url = f"http://{settings.host}:{settings.port}"
    say(f"serving   {url} (API page {url}/docs), stop with Ctrl-C")
    if raw_key is not None:
        say(f"admin key {raw_key} (shown this once; `remit key create` makes more)")
        say(f'try       curl -s {url}/v1/agents -H "Authorization: Bearer {raw_key}"')


def _require_free_port(settings: Settings) -> None:
    # Our replicas share the port among themselves, so the kernel would let a stranger in as well.
    try:
        shared_socket(settings.host, settings.port, shared=False).close()
    except OSError as error:
        message = f"REMIT_PORT: {settings.host}:{settings.port} cannot be bound ({error.strerror})"
        raise SettingsError(message) from None


class _Family:
    """The child processes of one `remit serve`."""

    def __init__(self, settings: Settings, store: EmbeddedStore | None) -> None:
        self._settings = settings
        self._store = store
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._born: dict[str, float] = {}
        self._stopping = False

    def start(self) -> None:
        """Every child runs and the service answers. Raises StoreUnavailable if it does not in time."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._told_to_stop)
        for name in self._names():
            self._spawn(name)
        deadline = time.monotonic() + _READY_SECONDS
        while not self._stopping and not _ready(self._settings):
            dead = [name for name, child in self._children.items() if child.poll() is not None]
            if dead or time.monotonic() > deadline:
                self._stop_children()
                raise SettingsError(f"{', '.join(dead) or 'the service'} did not start; its messages stand above")
            time.sleep(0.02)

    def run_until_told_to_stop(self) -> None:
        """Return after SIGINT or SIGTERM, with every child gone; until then start again what dies."""
        while not self._stopping:
            time.sleep(0.1)
            if self._store is not None:
                self._store.keep()
            for name, child in list(self._children.items()):
                if child.poll() is None or self._stopping:
                    continue
                if time.monotonic() - self._born[name] < _RESPAWN_SECONDS:
                    continue  # it died at once: do not spin
                log.error("%s (pid %s) ended with %s; starting another", name, child.pid, child.returncode)
                self._spawn(name)
        self._stop_children()

    def _names(self) -> list[str]:
        return [f"replica {number}" for number in range(1, self._settings.workers + 1)]

    def _spawn(self, name: str) -> None:
        env = dict(os.environ) | {"REMIT_REDIS_URL": self._settings.redis_url or ""}
        module = "app.worker"
        self._children[name] = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", module],
            env=env,
            start_new_session=True,  # Ctrl-C is for us; children are told in order
            preexec_fn=die_with_parent,
        )
        self._born[name] = time.monotonic()

    def _told_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _stop_children(self) -> None:
        for child in self._children.values():
            child.terminate()
        deadline = time.monotonic() + _DRAIN_SECONDS
        for name, child in self._children.items():
            try:
                child.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("%s (pid %s) did not end in %s s; killed", name, child.pid, _DRAIN_SECONDS)  # noqa: TRY400
                child.kill()
                child.wait()


def _ready(settings: Settings) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    connection = http.client.HTTPConnection(host, settings.port, timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()
