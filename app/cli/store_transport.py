"""Requests of the command line to the application in this process, on the store of the settings."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import unquote

from msgspec.structs import replace

from app.authorize.authenticator import Authenticator
from app.cli.api import Answer
from app.cli.store_access import settings_of_commands
from app.errors import AppError
from app.http.application import Application, application_of
from app.model.actors import COMMAND_LINE
from app.model.api_keys import Caller, Scope
from app.redis_client.client import Client
from app.replica import KEY_WATCH_SECONDS, Services, open_alone
from app.runtime.logs import configure_logging
from app.serve.data_folder import store_in_words
from app.serve.embedded_store import reachable_store
from app.settings import Settings
from app.store.shared_polling import SharedPolling

_NO_KEY = b"Bearer svc_" + b"0" * 32
"""Has the form of a key; the command line needs none."""


class StoreTransport:
    """The application of a replica that listens nowhere. The store is opened at the first request."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._settings = settings_of_commands()
        self.where = f"the store is {store_in_words(self._settings)}"
        self._opened = ExitStack()
        self._parts: tuple[asyncio.Runner, Application, str] | None = None

    @contextmanager
    def send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, bytes],
        *,
        endless: bool,  # noqa: ARG002 - nothing times out
    ) -> Iterator[Answer]:
        """The answer, while it is read."""
        loop, app, _ = self._open()
        run, messages = loop.run, asyncio.Queue[Any](1)
        task = loop.get_loop().create_task(_answered(app, _scope(method, path, headers), body, messages))
        try:
            start = run(_next(messages))
            names = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}

            def pieces() -> Iterator[bytes]:
                while (message := run(_next(messages))) is not None:
                    if piece := message["body"]:
                        yield piece
                    if not message.get("more_body"):
                        return

            yield Answer(start["status"], names, pieces())
        finally:
            run(_ended(task))

    def workspace_id(self) -> str:
        """The id of the workspace."""
        return self._open()[2]

    def close(self) -> None:
        """Close the store."""
        self._opened.close()

    def _open(self) -> tuple[asyncio.Runner, Application, str]:
        """The loop, the application and the workspace's id, opened by the first call."""
        if self._parts is None:
            configure_logging("error")
            url = self._opened.enter_context(reachable_store(self._settings))
            loop = self._opened.enter_context(asyncio.Runner())
            opening = _services(replace(self._settings, redis_url=url), self._workspace)
            services, workspace_id = loop.run(opening.__aenter__())
            app = application_of(services)
            self._opened.callback(lambda: loop.run(opening.__aexit__(None, None, None)))
            self._parts = loop, app, workspace_id
        return self._parts


class _CommandLine(Authenticator):
    """Takes every request for one of the command line, which may do everything in its workspace."""

    def __init__(self, client: Client, workspace_id: str) -> None:
        super().__init__(client, 1)
        scopes = frozenset({Scope.ADMIN})
        self._caller = Caller(workspace_id, COMMAND_LINE.id, scopes, name=COMMAND_LINE.name)

    async def authenticate(self, raw_key: str, *, promptly: bool = False) -> Caller:  # noqa: ARG002 - there is no key
        """The command line."""
        return self._caller


@asynccontextmanager
async def _services(settings: Settings, workspace: str) -> AsyncIterator[tuple[Services, str]]:
    """The parts of a replica, for the command line in one workspace, and that workspace's id.

    Raises WorkspaceNotFound, StoreUnavailable.
    """
    async with open_alone(settings) as services:
        workspace_id = await services.records.workspaces.find(workspace)
        command_line = _CommandLine(services.client, workspace_id)
        callers = SharedPolling(command_line.authenticate, KEY_WATCH_SECONDS, services.streams.stopping)
        decisions = replace(services.decisions, authenticator=command_line)
        yield replace(services, decisions=decisions, streams=replace(services.streams, callers=callers)), workspace_id


def _scope(method: str, path: str, headers: Mapping[str, bytes]) -> dict[str, Any]:
    raw_path, _, query = path.partition("?")
    given = [(b"authorization", _NO_KEY), (b"content-type", b"application/json")]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw_path),
        "raw_path": raw_path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": given + [(name.encode(), value) for name, value in headers.items()],
        "client": None,
        "server": None,
        "state": {},
        "extensions": {},
    }


async def _answered(app: Application, scope: Any, body: bytes | None, messages: asyncio.Queue[Any]) -> None:
    """Let the application answer. Its messages go to the queue, and at the end None, or what it raised."""
    request = [{"type": "http.request", "body": body or b"", "more_body": False}]

    async def receive() -> Any:
        return request.pop() if request else await asyncio.Event().wait()

    try:
        await app(scope, receive, messages.put)
    except Exception as error:  # noqa: BLE001 - raised where the answer is read
        await messages.put(error)
    else:
        await messages.put(None)


async def _next(messages: asyncio.Queue[Any]) -> Any:
    """The next message; None after the last. Raises what the application raised."""
    message = await messages.get()
    if isinstance(message, Exception):
        cause: BaseException = message
        while (below := cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__) is not None:
            cause = below
        raise cause if isinstance(cause, AppError) else message
    return message


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))
