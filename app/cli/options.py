"""Options shared by several commands, and the types of their values."""

import getpass
import re
import sys
import time
from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem
from msgspec import Struct

from app.cli.completion import AGENTS
from app.cli.output import WholeNumber, shortened
from app.model.actors import MAX_REASON
from app.model.agents import require_alias
from app.model.api_keys import Scope
from app.model.audit import ANY_SHADOW
from app.model.ids import canonical_uuid
from app.model.query_fields import QueryFields, Spelled
from app.model.text import FieldError, require_visible
from app.model.times import parse_moment_ms, rfc3339
from app.struct_schemas.queries import Parameter, parameters_of

F = TypeVar("F", bound=Callable[..., Any])

OF_AGENT = click.option("--agent", shell_complete=AGENTS, help="The agent that owns the policy.")
OF_GROUP = click.option("--group", help="The group that owns the policy.")
WORKSPACE = click.option("--workspace", "-w", default="default", show_default=True, help="Name or id of the workspace.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print the id and nothing else.")
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_A_UUID = "0198c2a1-7d4e-7c3b-9a55-2f6b8e1d4c07"
_LONGEST_MS = 3_650 * _UNITS_MS["d"]


class Text(click.ParamType[str]):
    """Visible characters as the API accepts them: at least `least` and at most `most`."""

    def __init__(self, name: str, least: int, most: int, *, lines: bool = False) -> None:
        self.name = name
        self._least, self._most, self._lines = least, most, lines

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, unchanged."""
        if not self._least <= len(value) <= self._most:
            span = f"{self._least} to {self._most}" if self._least else f"at most {self._most}"
            self.fail(f"must have {span} characters", param, ctx)
        try:
            require_visible(self.name, value, lines=self._lines)
        except FieldError as error:
            self.fail(error.message, param, ctx)
        return str(value)


NAME = Text("name", 1, 255)
A_GROUP = Text("group", 1, 64)
LONG_TEXT = Text("text", 0, 2000, lines=True)
REASON = click.option(
    "--reason", type=Text("text", 0, MAX_REASON), default="", help="Why, for readers of the trail of changes."
)


def name_and_scopes(*, name: str, by: str, nameless: str, default: Scope, what: str) -> Callable[[F], F]:
    """The options --name and --scope of a command that makes a key or a session.

    by: the name if none is given, from that of the operating system's user. nameless: the same if that user has none,
    as in a container. name, what: the help.
    """

    def usual() -> str:
        try:
            return by.format(getpass.getuser())
        except (KeyError, OSError):
            return nameless

    scopes = click.Choice([each.value for each in Scope])
    named = click.option("--name", type=NAME, default=usual, show_default=by.format("USER"), help=name)
    scoped = click.option(
        "--scope", "scopes", multiple=True, type=scopes, default=[default.value], show_default=True, help=what
    )
    return lambda command: named(scoped(command))


def asks_first(question: str) -> Callable[[F], F]:
    """The option --yes; without it the command asks, on standard error, and does nothing unless the answer is yes."""

    def ask(ctx: click.Context, _: click.Parameter, yes: bool) -> None:
        if yes or ctx.resilient_parsing:
            return
        try:
            agreed = click.confirm(question, err=True)
        except click.Abort:
            if sys.stdin.isatty():
                raise
            click.echo(err=True)
            raise click.ClickException("There is nobody to ask; use --yes") from None
        if not agreed:
            raise click.Abort

    return click.option("--yes", is_flag=True, callback=ask, expose_value=False, help="Do not ask.")


class AgentAlias(click.ParamType[str]):
    """An agent's alias as the API accepts it; the empty string removes it, where that is possible."""

    name = "alias"

    def __init__(self, *, empty: bool = False) -> None:
        self._empty = empty

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The alias, unchanged."""
        if self._empty and not value:
            return ""
        try:
            require_alias("alias", value)
        except FieldError as error:
            self.fail(error.message, param, ctx)
        return str(value)


class Duration(click.ParamType[int]):
    """A duration in ms: 0, or a number with a unit, up to ten years."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The duration in milliseconds."""
        match = re.fullmatch(r"([0-9]{1,9})([smhd])", "0s" if value == "0" else value)
        span_ms = int(match[1]) * _UNITS_MS[match[2]] if match else _LONGEST_MS + 1
        if span_ms > _LONGEST_MS:
            self.fail("must be 0, or a number followed by s, m, h or d, such as 90m; at most 3650d", param, ctx)
        return span_ms


class Time(click.ParamType[int]):
    """A time in ms since the epoch: an ISO 8601 time or date, or a word such as `yesterday`.

    end: a date, `today` and `yesterday` mean their last millisecond instead of their first. Without an offset it is
    UTC.
    """

    name = "time"

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return parse_moment_ms(value, time.time_ns() // 1_000_000, end=self._end)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Uuid(click.ParamType[str]):
    """A UUID in its canonical form.

    listed: the command that prints such ids.
    """

    name = "uuid"

    def __init__(self, listed: str) -> None:
        self._listed = listed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return canonical_uuid(value) or self.fail(
            f"must be an id such as {_A_UUID}, as `{self._listed}` prints it, and not {shortened(value)}", param, ctx
        )


class Shadow(Uuid):
    """A shadow policy's id, or `any`."""

    name = "uuid|any"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return ANY_SHADOW if value == ANY_SHADOW else super().convert(value, param, ctx)


class Words(click.ParamType[str]):
    """One or several of some words, separated by commas."""

    name = "word,..."

    def __init__(self, spelled: Spelled) -> None:
        self._spelled = spelled

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            self._spelled.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words that may follow the last comma."""
        before, comma, begun = incomplete.rpartition(",")
        return [CompletionItem(before + comma + each) for each in self._spelled.words if each.startswith(begun)]


class Option(Struct, frozen=True):
    """The differences between an option and the query field it is made from."""

    flag: str | None = None
    kind: click.ParamType[Any] | None = None
    help: str | None = None


def filters(fields: type[QueryFields], **differing: Option) -> Callable[[F], F]:
    """Options for the fields of a query: with name, type and description of the field, unless `differing` has others.

    The command receives those given as one argument, `query`: a dict for the query of a request. A field that is added
    to the struct is thereby an option.
    """
    parameters = parameters_of(fields)

    def decorate(command: F) -> F:
        @wraps(command)
        def with_query(**values: Any) -> Any:
            typed = [(field, values.pop(field.attribute)) for field in parameters]
            query = {field.name: _text(field, value) for field, value in typed if value not in (None, False)}
            return command(query=query, **values)

        decorated: Any = with_query
        for field in reversed(parameters):
            decorated = _option(field, differing.get(field.attribute, Option()))(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate


def _option(field: Parameter, differing: Option) -> Callable[[F], F]:
    kind, flag = differing.kind, differing.flag or f"--{field.name.replace('_', '-')}"
    text = differing.help or field.description
    if kind is None and field.spelled is not None:
        kind = Words(field.spelled) if field.spelled.words else click.STRING
        text = f"{text} One of: {', '.join(field.spelled.words)}." if field.spelled.words else text
    elif kind is None and field.kind is int:
        kind = WholeNumber(field.schema["minimum"], field.schema["maximum"])
    elif kind is None and issubclass(field.kind, Enum):
        kind = click.Choice(field.schema["enum"])
    return click.option(flag, field.attribute, type=kind, is_flag=field.kind is bool, help=text)


def _text(field: Parameter, value: Any) -> str:
    if isinstance(value, int) and field.schema.get("format") == "date-time":
        return rfc3339(value)
    return "true" if value is True else str(value)
