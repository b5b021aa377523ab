"""`remit authorize`: ask the running service, as an agent's runtime does."""

import json
import sys
from typing import Any

import click

from app.cli.addresses import KEY, LOCAL, URL, ServiceUrl, require_sendable
from app.cli.session import print_json

_NOT_ALLOWED = 3
_WIDTH = len("escalated")
_HINTS = {
    "AGENT_NOT_FOUND": "a call gives its agent's id or alias, and not its name: `remit agents list` shows all three",
    "UNAUTHORIZED": f"run: export {KEY}=$(remit keys create --raw)",
}
"""Hints on how to resolve an error of the service, by its code."""
COLOURS = {"allowed": "green", "denied": "red", "escalated": "yellow"}


@click.command()
@click.argument("agent")
@click.argument("tool")
@click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--action", help='The attempted action; "authorize" if left out.')
@click.option("--approval", help="Only this approval may let the call through; no new one is requested.")
@click.option(
    "--url", type=ServiceUrl(), envvar=URL, default=LOCAL, show_default=True, help=f"The URL of the service; {URL}."
)
@click.option("--key", envvar=KEY, help=f"The API key to ask with; {KEY}.")
@click.option("--exit-code", is_flag=True, help="Exit with 3 unless the call is allowed, for scripts.")
@click.option("--json", "as_json", is_flag=True, help="Print the service's JSON answer unchanged.")
def authorize(
    agent: str,
    tool: str,
    parameters: tuple[str, ...],
    action: str | None,
    approval: str | None,
    url: str,
    key: str | None,
    exit_code: bool,
    as_json: bool,
) -> None:
    """Ask whether AGENT may call TOOL; a real decision, in the log like any other.

    VALUE is read as JSON where possible (120, true, [1, 2]), otherwise as a string.

    Most commands work on the store, for its operator. This one calls the service over HTTP with an API key, so it shows
    exactly what an agent's runtime would be told.
    """
    if key is None:
        raise click.UsageError(f"No API key is given; run: export {KEY}=$(remit keys create --raw)")
    body: dict[str, Any] = {"agent_id": agent, "tool_name": tool, "parameters": dict(map(named_value, parameters))}
    if action is not None:
        body["action"] = action
    if approval is not None:
        body["approval_id"] = approval
    answer = post_json(f"{url}/v1/authorize", key, json.dumps(body).encode())
    if as_json:
        print_json(answer)
    else:
        result = click.style(f"{answer['result']:{_WIDTH}}", fg=COLOURS.get(answer["result"]))
        click.echo(f"{result}  {answer['reason']}")
    if exit_code and not answer["allowed"]:
        sys.exit(_NOT_ALLOWED)


def named_value(text: str) -> tuple[str, Any]:
    """The two sides of `name=value`; the value is parsed as JSON where possible, else a string. Raises UsageError."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.UsageError(f"{text!r} must be NAME=VALUE, such as amount=120")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def post_json(url: str, key: str, body: bytes) -> dict[str, Any]:
    """POST the body and return the JSON answer. Raises ClickException with the service's message or the failure."""
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    require_sendable(key)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        with urlopen(Request(url, body, headers), timeout=10) as answer:  # noqa: S310 - http and https alone
            told: dict[str, Any] = json.load(answer)
            return told
    except HTTPError as error:
        with error:
            raise click.ClickException(_refusal(error.code, error.read())) from None
    except (URLError, TimeoutError, ValueError) as error:
        why = getattr(error, "reason", error)
        raise click.ClickException(f"{url} does not answer ({why}); `remit serve` starts a service") from None


def _refusal(status: int, body: bytes) -> str:
    try:
        error = json.loads(body)["error"]
        message, hint = str(error["message"]), _HINTS.get(error["code"])
    except (ValueError, KeyError, TypeError):
        return f"the answer was {status}, and not from Remit"
    return f"{message}; {hint}" if hint else message
