"""The API of one workspace: in a running service, over HTTP, or in this process, on the store.

A command is written once, as requests and what to print of the answers. Where the requests go decides who has done it:
the key of REMIT_API_KEY, or the command line.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from functools import wraps
from typing import IO, Any, NamedTuple, Protocol, TypeVar
from urllib.parse import quote, urlencode

import click
import msgspec
from click.core import ParameterSource

from app.cli.addresses import KEY, LOCAL, URL, ServiceUrl, is_of_this_machine, local_url, require_sendable
from app.settings import SettingsError

F = TypeVar("F", bound=Callable[..., Any])
LISTENING = "listening"
_REFUSED = 400
_WAITS = 202
_HINTS = {
    "UNAUTHORIZED": f"run: export {KEY}=$(remit keys create --raw)",
    "SEVERAL_WORKSPACES": "give --workspace",
}
"""How to resolve an error of the service, by its code."""


class Answer(NamedTuple):
    """An answer as it arrives. headers: by name in lower case."""

    status: int
    headers: Mapping[str, str]
    pieces: Iterable[bytes]

    def read(self) -> bytes:
        """The whole body."""
        return b"".join(self.pieces)


class Transport(Protocol):
    """Sends requests to an application. where: of what, for a message about an error of its store."""

    where: str

    def send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, bytes], *, endless: bool
    ) -> AbstractContextManager[Answer]:
        """The answer, while it is read. endless: its pieces may be far apart. Raises ClickException, AppError."""

    def workspace_id(self) -> str | None:
        """The id of the workspace, if it is known here."""

    def close(self) -> None:
        """Give up what it needed."""


class Refused(click.ClickException):
    """The application refused a request. status, code, details: of its answer."""

    def __init__(self, status: int, code: str, message: str, details: list[dict[str, str]]) -> None:
        super().__init__(message)
        self.status, self.code, self.details = status, code, details


class Waits(click.ClickException):
    """The application has not made a change of policies: it waits for a second person. The exit code is 3, "no"."""

    exit_code = 3

    def __init__(self, review_id: str) -> None:
        super().__init__(f"not in force yet: waits for a second person, `remit policy reviews show {review_id}`")

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=True)


class Api:
    """The API of one workspace. Its transport is opened by the first request."""

    def __init__(self, transport: Callable[[], Transport]) -> None:
        self._open = transport
        self._opened: Transport | None = None

    @property
    def _transport(self) -> Transport:
        self._opened = self._opened or self._open()
        return self._opened

    def workspace_id(self) -> str:
        """The id of the workspace. Raises UsageError over HTTP, where only the service knows it."""
        workspace_id = self._transport.workspace_id()
        if workspace_id is None:
            raise click.UsageError("This needs the store; leave out --url, and unset REMIT_URL or give --workspace")
        return workspace_id

    def close(self) -> None:
        """Close what requests were sent over."""
        if self._opened is not None:
            self._opened.close()

    def call(
        self, method: str, path: str, body: Any = None, *, if_match: str | None = None, reason: str = "", **query: Any
    ) -> Any:
        """The JSON answer; None if it has no body. Parameters of the query that are None are left out.

        body: values, or JSON as bytes, which are sent unchanged.
        reason: why something is changed, for the trail. Raises Waits, Refused, ClickException, AppError.
        """
        headers = {"if-match": (if_match or "").encode(), "change-reason": reason.encode()}
        given = {name: value for name, value in headers.items() if value}
        with self._answer(method, with_query(path, query), body, given) as answer:
            text, waits = answer.read(), answer.status == _WAITS
        if waits:
            raise Waits(json.loads(text)["id"])
        return json.loads(text) if text else None

    def get(self, path: str, **query: Any) -> Any:
        """The JSON answer to a GET."""
        return self.call("GET", path, **query)

    def page(self, path: str, query: Mapping[str, Any]) -> tuple[list[bytes], str | None]:
        """One page of a list, each item as its JSON, and the cursor of the next page; None on the last one."""
        with self._answer("GET", with_query(path, query)) as answer:
            items = msgspec.json.decode(answer.read(), type=list[msgspec.Raw])
            return [*map(bytes, items)], answer.headers.get("x-next-cursor")

    def pieces(self, path: str, query: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the body of a GET as it arrives."""
        with self._answer("GET", with_query(path, query), endless=True) as answer:
            yield from answer.pieces

    def lines(self, path: str, body: Any) -> Iterator[bytes]:
        """Yield the lines of a POST's answer as they arrive."""
        with self._answer("POST", path, body, endless=True) as answer:
            yield from _lines(answer.pieces)

    def events(
        self, path: str, query: Mapping[str, Any] | None = None, after: int | None = None
    ) -> Iterator[tuple[str, bytes]]:
        """Yield name and data, as JSON, of server-sent events. The first is LISTENING: from then on no event is missed.

        after: the id of the event to continue after.
        """
        headers = {"accept": b"text/event-stream"} | ({} if after is None else {"last-event-id": b"%d" % after})
        with self._answer("GET", with_query(path, query or {}), None, headers, endless=True) as answer:
            yield LISTENING, b""
            name = ""
            for line in _lines(answer.pieces):
                field, _, value = line.partition(b": ")
                if field == b"event":
                    name = value.decode()
                elif field == b"data":
                    yield name, value

    @contextmanager
    def _answer(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, bytes] | None = None,
        *, endless: bool = False,
    ) -> Iterator[Answer]:  # fmt: skip
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with self._transport.send(method, path, sent, headers or {}, endless=endless) as answer:
            if answer.status >= _REFUSED:
                raise _refusal(answer, self._transport.where)
            yield answer


def with_query(path: str, query: Mapping[str, Any]) -> str:
    """The path with the parameters that are not None."""
    given = {
        name: "true" if value is True else value
        for name, value in query.items()
        if value is not None and value is not False
    }
    return f"{path}?{urlencode(given)}" if given else path


def segment(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _refusal(answer: Answer, where: str) -> Refused:
    try:
        error = json.loads(answer.read())["error"]
        code, message, details = str(error["code"]), str(error["message"]), error.get("details") or []
    except (ValueError, LookupError, TypeError):
        return Refused(answer.status, "", f"The answer was {answer.status}, and not from Remit ({where})", [])
    if code == "STORE_UNAVAILABLE":
        message = f"{message} ({where})"
    hint = _HINTS.get(code)
    return Refused(answer.status, code, f"{message}; {hint}" if hint else message, details)


URL_OPTION = click.option(
    "--url",
    type=ServiceUrl(),
    envvar=URL,
    default=local_url,
    show_default=LOCAL,
    help=f"The URL of the service; {URL}.",
)


def over_http(url: str, whose: str, key: str | None = None, seconds: float = 75.0) -> Api:
    """The API of a running service, with the key given, that of REMIT_API_KEY, or the session of `remit login`.

    whose: the key that is needed, for the UsageError without one. seconds: how long to wait for an answer's next bytes.
    """

    def transport() -> Transport:
        from app.cli.http_transport import HttpTransport
        from app.cli.saved_session import key_for

        raw_key = key or key_for(url)
        if not raw_key:
            raise click.UsageError(f"{KEY} is not set; it must be {whose}")
        require_sendable(raw_key)
        return HttpTransport(url, raw_key, seconds)

    return Api(transport)


def on_api(command: F) -> F:
    """The command receives `api`: on the store, or over HTTP if --url or REMIT_URL is given, without --workspace."""

    @click.option("--workspace", "-w", default="default", show_default=True, help="On the store: this workspace.")
    @click.option(
        "--url", type=ServiceUrl(), envvar=URL, help=f"Over HTTP: this service, with the key in {KEY}; {URL}."
    )
    @wraps(command)
    def with_api(*args: Any, url: str | None, workspace: str, **values: Any) -> Any:
        with closing(_chosen(click.get_current_context(), url, workspace)) as api:
            return command(*args, api=api, **values)

    return with_api  # type: ignore[return-value]


def _chosen(ctx: click.Context, url: str | None, workspace: str) -> Api:
    if ctx.get_parameter_source("workspace") is ParameterSource.COMMANDLINE:
        if ctx.get_parameter_source("url") is ParameterSource.COMMANDLINE:
            raise click.UsageError("Give --url or --workspace, not both: over HTTP, the key determines the workspace")
        if url is not None:
            _note_elsewhere(url, "`--workspace` asks {store}, and not {url}, the REMIT_URL", served=False)
        url = None
    if url is not None:
        if ctx.get_parameter_source("url") is ParameterSource.ENVIRONMENT:
            _note_elsewhere(url, "REMIT_URL asks {url}, and not {store}, which is served here; `--workspace` does")
        return over_http(
            url, "a key of the workspace; `remit keys create --name deploy --scope policies` creates one on the store"
        )

    def transport() -> Transport:
        from app.cli.store_transport import StoreTransport

        return StoreTransport(workspace)

    return Api(transport)


def _note_elsewhere(url: str, note: str, *, served: bool = True) -> None:
    """Say on standard error which of the two is asked, if the service is not of this machine and a store embedded here.

    served: only if a service uses that store now. A store that REMIT_REDIS_URL names may be the service's own.
    """
    if os.environ.get("REMIT_REDIS_URL") or is_of_this_machine(url):
        return
    from app.cli.store_access import settings_of_commands
    from app.serve.data_folder import data_folder
    from app.serve.embedded_store import running_store
    from app.serve.server_binaries import has_been_served

    try:
        folder = data_folder(settings_of_commands())
    except SettingsError:
        return  # which only a command on the store needs
    if running_store(folder) if served else has_been_served(folder):
        click.echo(f"note: {note.format(url=url, store=f'the store embedded in {folder}')}", err=True)
