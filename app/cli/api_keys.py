"""`remit keys …`."""

import time

import click

from app.cli.api import Api, on_api
from app.cli.completion import KEY
from app.cli.find import find_agent, find_key
from app.cli.groups import CommandGroup
from app.cli.option_types import Duration
from app.cli.options import JSON, REASON, checked, name_and_scopes
from app.cli.output import Shown, print_json, print_table, shows
from app.model.api_keys import Scope, SessionFrom, can_be_bound
from app.model.requests import NewKey, Rotation
from app.model.times import parse_time_ms, rfc3339

_PATH = "/v1/api-keys"


@click.group(cls=CommandGroup)
def keys() -> None:
    """Manage a workspace's API keys. KEY is an id, the beginning of a key, or a name that only one key has."""


@keys.command("create")
@on_api
@name_and_scopes(
    name="What the key is for.",
    by="{} with remit",
    nameless="made with remit",
    default=Scope.READ,
    what="What it may do; may be given more than once, admin implies all others.",
)
@click.option(
    "--agent", "agents", multiple=True, help="With the scope authorize: ask for this agent only; may be repeated."
)
@click.option(
    "--session-from",
    type=click.Choice([each.value for each in SessionFrom]),
    help="With the scope authorize: key = all its calls are one session, whatever they say.",
)
@click.option("--expires-at", help="ISO 8601 time at which the key expires, UTC without an offset; never if left out.")
@click.option("--raw", is_flag=True, help="Print the raw key and nothing else.")
@JSON
@REASON
def create_key(
    api: Api, name: str, scopes: tuple[str, ...], agents: tuple[str, ...], session_from: str | None,
    expires_at: str | None, raw: bool, as_json: bool, reason: str,
) -> None:  # fmt: skip
    """Create a key and print it, once."""
    if agents and not can_be_bound([*map(Scope, scopes)]):
        raise click.UsageError("--agent goes with --scope authorize; keys with read or admin ask for every agent")
    if session_from and not can_be_bound([*map(Scope, scopes)]):
        raise click.UsageError("--session-from goes with --scope authorize; keys with read or admin ask in any session")
    _require_future(expires_at)
    bound = [find_agent(api, agent)["id"] for agent in agents]
    given = {"name": name, "scopes": scopes, "agents": bound or None, "sessionFrom": session_from}
    given["expiresAt"] = expires_at
    checked(NewKey, given)
    made = api.call("POST", _PATH, given, reason=reason)
    if raw:
        click.echo(made["key"])
    elif as_json:
        print_json(made)
    else:
        click.echo(f"id  {made['id']}\nkey {made['key']} (shown only once)")


@keys.command("rotate")
@on_api
@KEY
@click.option(
    "--overlap",
    type=Duration(),
    default="24h",
    show_default=True,
    help="How long the old key stays valid: 0, or a number of s, m, h or d.",
)
@click.option(
    "--expires-at",
    help="ISO 8601 time at which the new key expires; if left out, it gets the old key's original lifetime.",
)
@click.option("--raw", is_flag=True, help="Print the raw key and nothing else.")
@JSON
@REASON
def rotate_key(api: Api, key: str, overlap: int, expires_at: str | None, raw: bool, as_json: bool, reason: str) -> None:
    """Create a key's successor, print it, once, and let the old key expire after an overlap.

    The successor has the same name and scopes. Both changes are made in one step, and nothing has to run later.
    """
    _require_future(expires_at)
    asked = {"overlapSeconds": overlap // 1000, "expiresAt": expires_at}
    checked(Rotation, asked)
    made = api.call("POST", f"{_PATH}/{find_key(api, key)['id']}/rotate", asked, reason=reason)
    if raw:
        click.echo(made["key"])
    elif as_json:
        print_json(made)
    else:
        ends = "" if made["expiresAt"] is None else f"new {made['id']} is valid until {made['expiresAt']}\n"
        old = f"old {made['replaces']} is valid until {made['replacedUntil']}"
        click.echo(f"id  {made['id']}\nkey {made['key']} (shown only once)\n{ends}{old}")


@keys.command("list")
@on_api
@shows
def list_keys(api: Api) -> Shown:
    """List a workspace's keys; raw keys are stored nowhere."""
    found = api.get(_PATH)
    yield found
    rows = [
        (
            each["id"],
            f"{each['prefix']}…",
            ",".join(each["scopes"]),
            each["lastUsedAt"] or "never",
            each["expiresAt"] or "never",
            each["name"],
        )
        for each in found
    ]
    hint = "There are no keys; `remit keys create` creates one"
    print_table(("ID", "KEY", "SCOPES", "USED", "EXPIRES", "NAME"), rows, hint)


@keys.command("revoke")
@on_api
@KEY
@click.option("--force", is_flag=True, help="Even if it is the workspace's last admin key.")
@shows
@REASON
def revoke_key(api: Api, key: str, force: bool, reason: str) -> Shown:
    """Revoke a key; every later request with it is answered 401."""
    revoked = find_key(api, key)
    api.call("DELETE", f"{_PATH}/{revoked['id']}", reason=reason, force=force)
    yield {"deleted": revoked["id"]}
    click.echo(f"revoked {revoked['id']} ({revoked['prefix']}…, {revoked['name']})")


def _require_future(expires_at: str | None) -> None:
    """Raise click's error if a key that expires then would never be valid, by this machine's clock."""
    try:
        expires_ms = None if expires_at is None else parse_time_ms(expires_at)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--expires-at") from None
    if expires_ms is not None and expires_ms <= (now_ms := time.time_ns() // 1_000_000):
        sentence = f"{rfc3339(expires_ms)} has passed, so the key would never be valid; it is {rfc3339(now_ms)} now"
        raise click.BadParameter(sentence, param_hint="--expires-at")
