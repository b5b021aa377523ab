"""Options that several commands share."""

import getpass
import sys
from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct

from app.cli.completion import AGENTS
from app.cli.option_types import Text, WholeNumber, Words
from app.model.actors import MAX_REASON
from app.model.api_keys import Scope
from app.model.query_fields import QueryFields
from app.model.times import rfc3339
from app.policy_tools.struct_schemas.queries import Parameter, parameters_of

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

OF_AGENT = click.option("--agent", shell_complete=AGENTS, help="The agent that owns the policy.")
OF_GROUP = click.option("--group", help="The group that owns the policy.")
WORKSPACE = click.option("--workspace", "-w", default="default", show_default=True, help="Name or id of the workspace.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print the id and nothing else.")


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
            require_span(*({field.name: value for field, value in typed}.get(end) for end in ("from", "to")))
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
    return click.option(flag, field.attribute, type=kind, is_flag=field.kind is bool or None, help=text)


def require_span(from_ms: Any, to_ms: Any) -> None:
    """Raise UsageError if `--to` is before `--from`."""
    if isinstance(from_ms, int) and isinstance(to_ms, int) and from_ms > to_ms:
        raise click.UsageError(f"--from must not be after --to, which is {rfc3339(to_ms)}")


def _text(field: Parameter, value: Any) -> str:
    if isinstance(value, int) and field.schema.get("format") == "date-time":
        return rfc3339(value)
    return "true" if value is True else str(value)


def checked(kind: type[T], given: dict[str, Any]) -> T:
    """The struct of these values, within the limits of a request. Raises UsageError."""
    from app.validation_messages import explain

    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        detail = explain(error, kind, given)
        raise click.UsageError(f"{detail.path.removeprefix('$.')}: {detail.message}") from None
