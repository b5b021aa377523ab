"""An approval on the terminal: the whole call, who may decide, who decided, and what is unusual about it."""

import json
from collections.abc import Iterator
from typing import Any

import click

from app.cli.api import Api
from app.cli.output import print_record
from app.model.actors import Via
from app.model.text import with_hidden_shown
from app.model.usual import GRAVE

_ORIGINS = {"request": "the user's request", "approved_before": "approved before", "unverified": "unverified"}


def print_call(approval: dict[str, Any]) -> None:
    """Print the whole call. Nothing in it can move the cursor, colour a line or imitate another field."""
    status = approval["status"]
    fields = [
        ("approval", approval["id"]),
        ("status", status),
        ("agent", approval["agentId"]),
        ("tool", visible(approval["toolName"])),
        ("action", visible(approval["action"])),
        ("reason", visible(approval["reason"])),
        ("asked by", f"{_named(approval['requestedBy'])}, {approval['requests']} times"),
        ("needs", f"{approval['required']} with different keys" if approval["required"] > 1 else "one person"),
        *[("needs", line) for line in _demands(approval)],
        ("expires", approval["expiresAt"]),
        *_plan(approval),
    ]
    fields += [("said", f"{each['verdict']} by {_named(each['by'])}: {visible(each['note'])}")
               for each in approval["approvals"]]  # fmt: skip
    print_record(fields)
    bound = set(approval["boundContext"])
    said = {name: value for part in (approval["accessRequest"] or {}).values() for name, value in part.items()}
    parts = {"parameters": approval["parameters"], "context": approval["context"]}
    for title, values in (parts | ({"requested with": said} if said else {})).items():
        click.echo(f"{title}:")
        for name, value in values.items():
            mark = " (bound)" if name in bound and title == "context" else ""
            click.echo(f"  {visible(name)}{mark} = {visible(json.dumps(value, ensure_ascii=False))}")
    _print_commands(approval)
    _print_origins(approval)


def _print_commands(approval: dict[str, Any]) -> None:
    """Print what a shell line runs, command by command."""
    if approval["commands"]:
        click.echo("what the line runs:")
    for each in approval["commands"]:
        click.echo(f"  {visible(each['text'])}: {'may run' if each['passed'] else visible(each['why'])}")


def _print_origins(approval: dict[str, Any]) -> None:
    """Print where each value came from when the call was requested."""
    if not approval["values"]:
        return
    click.echo("where the values come from:")
    for each in approval["values"]:
        click.echo(f"  {visible(each['path'])}: {_ORIGINS.get(each['origin'], visible(each['origin']))}")
        if beside := each.get("notInRequest"):
            click.echo(f"    not in the request: {visible(', '.join(beside))}")


def print_unusual(api: Api, approval_id: str) -> None:
    """Print what is unusual about the call; or why that is not known, such as to the runtime that asked."""
    try:
        usual = api.get(f"/v1/approvals/{approval_id}/usual")
    except click.ClickException as error:
        click.echo(f"not compared with other calls: {error.format_message()}")
        return
    if not usual["calls"]:
        click.echo("this agent was never allowed to call this tool before")
        return
    click.echo(f"compared with the {usual['calls']} latest allowed calls:")
    found = [each for each in usual["values"] if "unusual" in each]
    unusual = sorted(found, key=lambda each: each["difference"] not in GRAVE)
    for each in unusual:
        mark = "!" if each["difference"] in GRAVE else " "
        click.echo(f"{mark} {visible(each['path'])}: {visible(each['unusual'])}")
    if usual["omitted"]:
        click.echo(f"  {usual['omitted']} more values were not compared")
    elif not unusual:
        click.echo("  nothing is unusual")


def _plan(approval: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if plan := approval.get("plan"):
        yield "plan", f"call {plan['index'] + 1} of {plan['calls']}; `remit approvals list --plan-id {plan['id']}`"


def _demands(approval: dict[str, Any]) -> Iterator[str]:
    """What the rules ask of the people who decide, in words."""
    for each in approval.get("approvers", ()):
        yield f"somebody in {' or '.join(map(visible, each['groups']))}, signed in with the identity provider"
    if "fresh" in approval:
        yield f"a sign-in at most {approval['fresh']} seconds ago (`remit login --max-age {approval['fresh']}`)"


def _named(person: dict[str, Any]) -> str:
    """The name of who asked or decided and, if it was not with a key, how."""
    via = person.get("via", Via.KEY)
    return visible(person["name"]) + ("" if via == Via.KEY else f" ({via})")


def visible(text: str) -> str:
    """The string on one line; every invisible or cursor-moving character is shown as its code."""
    return with_hidden_shown(text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r"))
