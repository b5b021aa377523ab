"""`remit authorize`: ask the running service, as an agent's runtime does; `remit decisions`: report outcomes."""

import json
import sys
from typing import Any

import click

from app.cli.addresses import KEY
from app.cli.api import URL_OPTION, Api, Refused, over_http
from app.cli.completion import AGENT
from app.cli.find import find_agent
from app.cli.groups import CommandGroup
from app.cli.option_types import Uuid
from app.cli.output import ANSWER_IS_NO, Shown, in_colour, print_json, shows
from app.model.agents import agent_reference
from app.model.ids import uuid_of
from app.model.outcomes import CallStatus

_WIDTH = len("escalated")
_HINT = (
    "this key may not look up names: give the agent's id, which `remit agents list` shows, or an alias: "
    "`remit agents update NAME --alias ALIAS`"
)
CONTEXT = click.option(
    "--context",
    "context",
    multiple=True,
    metavar="NAME=VALUE",
    help="Context that the caller vouches for, such as session=42; may be repeated.",
)


@click.command()
@AGENT
@click.argument("tool")
@click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
@CONTEXT
@click.option("--action", help='The attempted action; "authorize" if left out.')
@click.option("--approval", help="Only this approval may let the call through; no new one is requested.")
@URL_OPTION
@click.option("--key", envvar=KEY, help=f"The API key to ask with; {KEY}.")
@click.option("--exit-code", is_flag=True, help="Exit with 3 unless the call is allowed, for scripts.")
@click.option("--json", "as_json", is_flag=True, help="Print the service's JSON answer unchanged.")
def authorize(
    agent: str,
    tool: str,
    parameters: tuple[str, ...],
    context: tuple[str, ...],
    action: str | None,
    approval: str | None,
    url: str,
    key: str | None,
    exit_code: bool,
    as_json: bool,
) -> None:
    """Ask whether AGENT may call TOOL; a real decision, in the log like any other.

    VALUE is read as JSON where possible (120, true, [1, 2]), otherwise as a string.

    It always asks a service over HTTP with an API key, so it shows exactly what an agent's runtime would be told.
    """
    body: dict[str, Any] = {"agent_id": agent, "tool_name": tool, "parameters": dict(map(named_value, parameters))}
    if context:
        body["context"] = dict(map(named_value, context))
    if action is not None:
        body["action"] = action
    if approval is not None:
        body["approval_id"] = approval
    answer = asked(url, key, "/v1/authorize", body, "authorize")
    if as_json:
        print_json(answer)
    else:
        result = in_colour(answer["result"], _WIDTH)
        click.echo(f"{result}  {answer['reason']}")
    if exit_code and not answer["allowed"]:
        sys.exit(ANSWER_IS_NO)


def named_value(text: str) -> tuple[str, Any]:
    """The two sides of `name=value`; the value is parsed as JSON where possible, else a string. Raises UsageError."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.UsageError(f"{text!r} must be NAME=VALUE, such as amount=120")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def asked(url: str, key: str | None, path: str, body: dict[str, Any], scope: str) -> dict[str, Any]:
    """The service's answer to a question about a call, which needs a key with the scope. Raises ClickException.

    The agent is an id, an alias or, if only one has it and the key may list agents, a name.
    """
    api = over_http(url, f"a key that may ask: `remit keys create --scope {scope} --raw` prints one", key)
    called, told = body["agent_id"], dict[str, Any]()
    if agent_reference(called) is not None:
        try:
            told = api.call("POST", path, body)
        except Refused as refused:
            if refused.code != "AGENT_NOT_FOUND" or uuid_of(called) is not None:
                raise
    return told or api.call("POST", path, body | {"agent_id": _id_by_name(api, called)})


def _id_by_name(api: Api, name: str) -> str:
    try:
        return str(find_agent(api, name)["id"])
    except Refused as refused:
        if refused.code == "INSUFFICIENT_SCOPE":
            raise click.ClickException(f'No agent has the alias "{name}"; {_HINT}') from None
        raise


@click.group(cls=CommandGroup)
def decisions() -> None:
    """Report on past decisions. Needs REMIT_API_KEY, the key that asked for them."""


@decisions.command("outcome")
@URL_OPTION
@click.argument("decision_id", type=Uuid("remit audit query --json"))
@click.argument("status", type=click.Choice([each.value for each in CallStatus]))
@shows
def report_outcome(url: str, decision_id: str, status: str) -> Shown:
    """Report the outcome of an allowed call: once, within 24 hours."""
    found = over_http(url, "the key that asked for the decision").call(
        "POST", f"/v1/decisions/{decision_id}/outcome", {"status": status}
    )
    yield found
    click.echo(f"decision {found['decisionId']} is {found['status']}; limits given back: {found['refunded']}")
