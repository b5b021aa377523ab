"""`remit serve`: the processes of one machine, started in order, replaced when they die, stopped in order."""

import asyncio
import contextlib
import http.client
import json
import select
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from app.model.api_keys import Scope
from app.redis_client.replies import StoreAway
from app.replica import open_alone
from app.serve.children import Children
from app.serve.data_folder import data_folder, store_in_words
from app.serve.doctor import Severity, check_up
from app.serve.embedded_store import EmbeddedStore, embedded_secret
from app.serve.listeners import tcp_sockets, unix_socket
from app.serve.signals import TICK_SECONDS, Signals, Told
from app.serve.tracing import require_tracing
from app.settings import Settings
from app.store.workspaces import DEFAULT

_ASK_SECONDS = (0.1, 1.0)
"""The pauses between two questions whether a replica is ready: the first, which doubles up to the last."""
_PATIENCE_SECONDS = 10.0
"""How long an answer is waited for: longer than a slow replica takes, so that no questions pile up there."""
_TICKS_BETWEEN_TRIES = 4
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where a service that listens everywhere is reached
Say = Callable[[str], None]


class StartFailed(Exception):
    """A child process ended before the service was up; its own messages say why."""


def serve(settings: Settings, say: Say, signals: Signals) -> None:
    """Serve until a signal has come, then drain: replicas first, the compactor next, the store last.

    say: takes the lines meant for the person who started it.
    An external store that is away or still loading is waited for; until it is there, calls are refused.
    Raises SettingsError if the port, the data directory or tracing cannot be used; StoreUnavailable if the store
    refuses what the start needs, StartFailed if a replica does not start.
    """
    require_tracing(settings)
    all_answered = True
    with contextlib.suppress(Told), contextlib.ExitStack() as stack:
        signals.check()
        sockets, guard = tcp_sockets(settings, signals.pause)
        stack.enter_context(guard)
        unix = stack.enter_context(unix_socket(settings))
        store = None
        if settings.redis_url is None:
            store = stack.enter_context(EmbeddedStore(data_folder(settings), signals.pause))
            settings = replace(settings, redis_url=store.url, secret=settings.secret or embedded_secret(store.folder))
            look = f"redis-cli -s {shlex.quote(str(store.socket_path))}"
            say(f"store     embedded in {store.folder}/, look inside with: {look}")
        prepare_once = partial(_prepare, settings, first_start=store is not None, say=say)
        raw_key, away = None, None
        try:
            raw_key = asyncio.run(prepare_once())
        except StoreAway as error:
            if store is not None:
                raise
            away = error
            say(f"waiting   {error} (the store is {store_in_words(settings)})")
        children = stack.enter_context(Children(settings, sockets, unix))
        if away is not None:  # until there is a store, the replicas refuse every call and say why
            _prepare_when_there(prepare_once, children, signals.pause)
        _wait_until_ready(settings, children, say, signals.pause)
        guard.close()
        code = asyncio.run(_sign_in_code(settings)) if raw_key is not None and settings.console else None
        remit = remit_command(settings.data_dir if store is not None else None)
        _announce(settings, raw_key, code, remit, say)
        while not signals.told:
            if store is not None:
                store.keep()
            children.keep()
            time.sleep(TICK_SECONDS)
        all_answered = children.stop(hurry=lambda: signals.told > 1)
    how = (
        "every request that was accepted has been answered"
        if all_answered
        else "at once, and cut off what was in progress"
    )
    say(f"stopped   {how}")


def _prepare_when_there(
    prepare_once: Callable[[], Coroutine[None, None, str | None]], children: Children, pause: Callable[[], None]
) -> None:
    """Wait for the store, and prepare it. Raises StartFailed if a child ends meanwhile."""
    while True:
        for _ in range(_TICKS_BETWEEN_TRIES):
            pause()
        _require_running(children)
        with contextlib.suppress(StoreAway):
            asyncio.run(prepare_once())
            return


async def _prepare(settings: Settings, *, first_start: bool, say: Say) -> str | None:
    """Prepare the store for requests; return the admin key if one was just created. Raises StoreUnavailable.

    say: takes what the store's check-up found, and the key.
    """
    async with open_alone(settings) as services:
        has_secret = settings.secret is not None
        for finding in await check_up(services.client, private=first_start, has_secret=has_secret):
            if finding.severity is not Severity.OK:
                say(f"{finding.severity:9} {finding.sentence}")
        if first_start and not await services.records.workspaces.by_name():
            _, raw_key = await services.records.workspaces.create(DEFAULT)
            # Printed at once, because the key is stored nowhere and the start may still fail.
            say(f"admin key {raw_key} (shown only once)")
            return raw_key
    return None


async def _sign_in_code(settings: Settings) -> str:
    """A one-time code with which the person who started the service signs in to the console, within a minute."""
    async with open_alone(settings) as services:
        workspaces = await services.records.workspaces.by_name()
        return await services.records.sign_ins.new_code(workspaces[DEFAULT], "first start", (Scope.ADMIN,))


def _announce(settings: Settings, raw_key: str | None, code: str | None, remit: str, say: Say) -> None:
    """Print where it serves, and what to type next; the commands can be pasted into a terminal in this folder.

    raw_key, code: those of the first start; None at any other.
    """
    host = _ANYWHERE.get(settings.host, settings.host)
    url = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
    lines = [f"serving   {url} (API page {url}/docs/api), stop with Ctrl-C"]
    if settings.socket is not None:
        lines.append(f"socket    {settings.socket}")
    if settings.console:
        lines.append(f"console   {url}/console" + (f"/sign-in#{code} (signs in once, within a minute)" if code else ""))
    if raw_key is not None:
        lines.append(f'try       curl -s {url}/v1/agents -H "Authorization: Bearer {raw_key}"')
    else:
        lines.append(f"keys      those of before are valid; `{remit} keys list` shows them")
    lines.append(f"next      `{remit} keys create` makes a key, `{remit} --help` lists what else there is")
    lines.append(f"ask       `REMIT_URL={url} REMIT_API_KEY=svc_… {remit} authorize AGENT TOOL`, in another terminal")
    say("\n".join(lines))  # in one write, so that a program that waits for the first line finds all of them


def remit_command(data_dir: str | None, search_path: str | None = None) -> str:
    """The command that calls `remit` in another terminal in this folder: its name if that is on PATH, else its path.

    data_dir: where the store is, if a command without settings would look elsewhere.
    """
    own = Path(sys.executable).parent / "remit"
    on_path = shutil.which("remit", path=search_path)
    if on_path is not None and Path(on_path).resolve() == own.resolve():
        command = "remit"
    else:
        command = shlex.quote(str(own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own))
    return command if data_dir is None else f"REMIT_DATA_DIR={shlex.quote(data_dir)} {command}"


def _wait_until_ready(settings: Settings, children: Children, say: Say, pause: Callable[[], None]) -> None:
    """Wait until a replica is ready, saying what it waits for. Raises StartFailed if a child ends instead."""
    printed, asks_at, (between_s, longest_s) = None, 0.0, _ASK_SECONDS

    def wait() -> None:
        _require_running(children)
        pause()

    while True:
        if time.monotonic() >= asks_at:
            obstacle = _obstacle(settings, wait)
            if obstacle is None:
                return
            if obstacle not in ("", printed):
                say(f"waiting   {obstacle}")
                printed = obstacle
            if obstacle:  # each such answer is a line of the log, and the store may take hours to be repaired
                asks_at = time.monotonic() + between_s
                between_s = min(2 * between_s, longest_s)
        wait()


def _require_running(children: Children) -> None:
    if dead := children.dead():
        raise StartFailed(f"{', '.join(dead)} did not start; its messages stand above")


def _obstacle(settings: Settings, wait: Callable[[], None]) -> str | None:
    """The reason why no replica is ready, in the words of /readyz; "" if none answers; None if one is ready.

    wait: waits for a moment; what it raises ends the question.
    """
    host, deadline = _ANYWHERE.get(settings.host, settings.host), time.monotonic() + _PATIENCE_SECONDS
    connection = http.client.HTTPConnection(host, settings.port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("GET", "/readyz")
        while not select.select([connection.sock], [], [], 0)[0]:
            if time.monotonic() >= deadline:
                return ""
            wait()
        answer = connection.getresponse()
        if answer.status == http.client.OK:
            return None
        return str(json.loads(answer.read())["error"]["message"])
    except (OSError, http.client.HTTPException, ValueError):
        return ""
    finally:
        connection.close()
