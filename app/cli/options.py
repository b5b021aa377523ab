"""Options shared by several commands, and the types of their values."""

import re
import sys
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from app.cli.output import shortened
from app.model.actors import COMMAND_LINE, MAX_REASON, ChangedBy
from app.model.agents import require_alias
from app.model.audit import ANY_SHADOW, AuditQuery
from app.model.decisions import Result
from app.model.ids import canonical_uuid
from app.model.text import FieldError, require_visible
from app.model.times import parse_moment_ms

F = TypeVar("F", bound=Callable[..., Any])

OF_AGENT = click.option("--agent", help="The agent that owns the policy.")
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
    "--reason",
    "by",
    type=Text("text", 0, MAX_REASON),
    default="",
    callback=lambda _ctx, _param, reason: ChangedBy(COMMAND_LINE, reason),
    help="Why, for readers of the trail of changes.",
)
"""The command receives the actor and the reason together, as `by`."""


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


def filters(command: F) -> F:
    """The options that filter audit entries; the command receives them as one AuditQuery, `query`."""

    @wraps(command)
    def with_query(
        agent: str | None, action: str | None, tool: str | None, result: str | None, entry_id: str | None,
        key: str | None, policy: str | None, rule_type: str | None, shadow: str | None,
        from_: int | None, to: int | None, **others: Any,
    ) -> Any:  # fmt: skip
        query = AuditQuery(
            agent_id=agent,
            action=action,
            tool_name=tool,
            result=None if result is None else Result(result),
            id=entry_id,
            key_id=key,
            policy_id=policy,
            rule_type=rule_type,
            shadow=shadow,
            from_ms=from_,
            to_ms=to,
        )
        return command(query=query, **others)

    options = (
        click.option("--agent", help="Only entries of this agent: its id, its alias, or a name that only one has."),
        click.option("--action", help="Only entries with this action."),
        click.option("--tool", help="Only entries for this tool."),
        click.option("--result", type=click.Choice([each.value for each in Result]), help="Only this result."),
        click.option("--id", "entry_id", type=Uuid("remit audit query --json"), help="Only the entry with this id."),
        click.option("--key", type=Uuid("remit keys list"), help="Only entries of calls made with this API key."),
        click.option("--policy", type=Uuid("remit policies list"), help="Only entries that this policy decided."),
        click.option("--rule-type", help="Only entries that a rule of this type decided."),
        click.option(
            "--shadow",
            type=Shadow("remit policies list"),
            help="Only where this shadow policy, or any, would have decided otherwise.",
        ),
        click.option(
            "--from",
            "from_",
            type=Time(),
            help="Only entries at or after this time: ISO 8601, a date, yesterday, -24h.",
        ),
        click.option("--to", type=Time(end=True), help="Only entries at or before this time; a date means its end."),
    )
    decorated: Any = with_query
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]
