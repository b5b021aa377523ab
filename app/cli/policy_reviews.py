"""`remit policies reviews …`: changes of policies that wait for a second person."""

import json
from typing import TYPE_CHECKING, Any

import click

from app.cli.api import Api, on_api
from app.cli.groups import CommandGroup
from app.cli.option_types import Duration, Uuid
from app.cli.output import Shown, print_record, print_table, shows
from app.model.text import with_hidden_shown

if TYPE_CHECKING:
    from app.model.policies import Owner

_PATH = "/v1/policy-reviews"
ID = click.argument("review_id", type=Uuid("remit policies reviews list"))
NOTE = click.option("--note", default="", help="A note for the trail of changes and for whoever asked.")


@click.group(cls=CommandGroup)
def reviews() -> None:
    """See and decide changes of policies that wait for a second person (REMIT_REVIEW=policies)."""


@reviews.command("list")
@on_api
@click.option("--status", help="Only those in this state, or in one of several, comma-separated.")
@click.option("--agent", help="Only those of the agent with this id or alias.")
@click.option("--group", help="Only those of policies of this group.")
@shows
def list_reviews(api: Api, status: str | None, agent: str | None, group: str | None) -> Shown:
    """List changes that wait, or did, newest first."""
    found = api.get(_PATH, status=status, agent_id=agent, group=group)
    yield found
    rows = [
        (
            each["id"],
            each["status"],
            each["expiresAt"],
            with_hidden_shown(each["askedBy"]["name"]),
            ", ".join(f"{policy['kind']} {_quoted(policy['name'])}" for policy in each["policies"]),
        )
        for each in found
    ]
    print_table(("ID", "STATUS", "EXPIRES", "ASKED BY", "POLICIES"), rows, "Nothing waits for a second person")


@reviews.command("show")
@on_api
@ID
@click.option("--meaning", is_flag=True, help="Also print a call for each kind of result that would differ.")
@click.option(
    "--replay", "span_ms", type=Duration(), metavar="SPAN", help="Also replay the last SPAN (24h) of the log."
)
@shows
def show_review(api: Api, review_id: str, meaning: bool, span_ms: int | None) -> Shown:
    """Print what would change, who asked and who has decided."""
    found = api.get(f"{_PATH}/{review_id}")
    whose = {"agent_id": found["agentId"], "group": found["group"]}
    meant = api.call("POST", "/v1/policies/compare", whose | {"after": found["after"]}) if meaning else None
    yield found if meant is None else found | {"meaning": meant}
    print_record(
        [
            ("review", found["id"]),
            ("status", found["status"]),
            ("asked by", with_hidden_shown(found["askedBy"]["name"])),
            *([("reason", with_hidden_shown(found["reason"]))] if found["reason"] else []),
            ("expires", found["expiresAt"]),
            *([("decided by", with_hidden_shown(found["decidedBy"]["name"]))] if found["decidedBy"] else []),
            *([("note", with_hidden_shown(found["note"]))] if found["note"] else []),
        ]
    )
    _print_change(found)
    if meant is not None:
        _print_meaning(meant)
    if span_ms is not None:
        _print_replay(api, found, span_ms)


@reviews.command("approve")
@on_api
@ID
@NOTE
@shows
def approve_review(api: Api, review_id: str, note: str) -> Shown:
    """Approve a change that somebody else asked for; it is made in the same step."""
    yield from _decide(api, review_id, "approve", note)


@reviews.command("deny")
@on_api
@ID
@NOTE
@shows
def deny_review(api: Api, review_id: str, note: str) -> Shown:
    """Deny a change that somebody else asked for."""
    yield from _decide(api, review_id, "deny", note)


@reviews.command("cancel")
@on_api
@ID
@NOTE
@shows
def cancel_review(api: Api, review_id: str, note: str) -> Shown:
    """Withdraw a change that was asked for with this key."""
    yield from _decide(api, review_id, "cancel", note)


def _decide(api: Api, review_id: str, verb: str, note: str) -> Shown:
    found = api.call("POST", f"{_PATH}/{review_id}/{verb}", {"note": note})
    yield found
    click.echo(f"review {found['id']} is {found['status']}")


def _quoted(name: str) -> str:
    """The name, in which nothing looks like the policy after it."""
    return with_hidden_shown(json.dumps(name, ensure_ascii=False))


def _owner(found: dict[str, Any]) -> "Owner":
    from app.model.policies import Owner

    return Owner(found["agentId"], found["group"])


def _print_change(found: dict[str, Any]) -> None:
    """Print the policies before and after, value by value, as `remit policy diff` does."""
    import msgspec

    from app.cli.policy_sets import policy_of
    from app.model.policies import new_policy
    from app.model.policy_sets import PolicyChange, PolicyEntry
    from app.policy_tools.files.comparison import as_text, compare

    owner = _owner(found)
    whose = f"agent {owner.agent_id}" if owner.agent_id else f"group {owner.group}" if owner.group else "every agent"
    changes = [
        PolicyChange(
            None if each["before"] is None else policy_of(each["before"]),
            None
            if each["after"] is None
            else new_policy(owner, msgspec.convert(each["after"], PolicyEntry), each["policyId"]),
        )
        for each in found["policies"]
    ]
    for line in as_text([compare(whose, "review", changes, len(changes))]):
        click.echo(line)


def _print_meaning(meant: dict[str, Any]) -> None:
    import msgspec

    from app.cli.policy_meaning import terminal_lines
    from app.model.comparisons import PolicyComparison

    click.echo("\nin meaning:")
    for line in terminal_lines(msgspec.convert(meant, PolicyComparison)):
        click.echo(f"  {line}")


def _print_replay(api: Api, found: dict[str, Any], span_ms: int) -> None:
    import msgspec

    from app.cli.policy_sets import Sets
    from app.cli.replay_report import terminal_lines
    from app.model.policy_sets import PolicyEntry

    click.echo("\nreplayed:")
    entries = msgspec.convert(found["after"], list[PolicyEntry])
    for line in terminal_lines(Sets(api).replay(_owner(found), entries, span_ms)):
        click.echo(f"  {line}".rstrip())
