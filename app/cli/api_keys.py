"""`remit keys …`."""

import getpass
from typing import TYPE_CHECKING

import click

from app.admin.requests import NewKey
from app.cli.find import find_agent, find_key
from app.cli.groups import CommandGroup
from app.cli.options import JSON, NAME, REASON, WORKSPACE, Duration
from app.cli.output import print_table
from app.cli.session import checked, in_workspace, print_json
from app.model.actors import ChangedBy
from app.model.api_keys import ApiKey, Scope, SessionFrom, can_be_bound
from app.model.times import parse_time_ms, rfc3339
from app.views.api_keys import ApiKeyView, CreatedApiKey, RotatedApiKey

if TYPE_CHECKING:
    from app.replica import Services


def _made_by() -> str:
    """The default name of a key: `<user> with remit`."""
    try:
        return f"{getpass.getuser()} with remit"
    except (KeyError, OSError):
        return "made with remit"  # the user id has no name, as in a container


@click.group(cls=CommandGroup)
def keys() -> None:
    """Manage a workspace's API keys. KEY is an id, the beginning of a key, or a name that only one key has."""


@keys.command("create")
@WORKSPACE
@click.option("--name", type=NAME, default=_made_by, show_default="who made it", help="What the key is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([each.value for each in Scope]),
    default=["read"],
    show_default=True,
    help="What it may do; may be given more than once, admin implies all others.",
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
    workspace: str,
    name: str,
    scopes: tuple[str, ...],
    agents: tuple[str, ...],
    session_from: str | None,
    expires_at: str | None,
    raw: bool,
    as_json: bool,
    by: ChangedBy,
) -> None:
    """Create a key and print it, once."""
    expires_ms = _time_ms(expires_at)
    if agents and not can_be_bound([*map(Scope, scopes)]):
        raise click.UsageError("--agent goes with --scope authorize; keys with read or admin ask for every agent")
    if session_from and not can_be_bound([*map(Scope, scopes)]):
        raise click.UsageError("--session-from goes with --scope authorize; keys with read or admin ask in any session")

    async def create(services: "Services", workspace_id: str) -> tuple[ApiKey, str]:
        await _require_future(services, expires_ms)
        bound = [(await find_agent(services, workspace_id, agent)).id for agent in agents]
        given = {"name": name, "scopes": scopes, "agents": bound or None, "sessionFrom": session_from}
        new = checked(NewKey, given | {"expiresAt": expires_at})
        return await services.admin.keys.create(workspace_id, new, by)

    made, raw_key = in_workspace(workspace, create)
    if raw:
        click.echo(raw_key)
    elif as_json:
        print_json(CreatedApiKey.of(made, raw_key))
    else:
        click.echo(f"id  {made.id}\nkey {raw_key} (shown only once)")


@keys.command("rotate")
@WORKSPACE
@click.argument("key")
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
def rotate_key(
    workspace: str, key: str, overlap: int, expires_at: str | None, raw: bool, as_json: bool, by: ChangedBy
) -> None:
    """Create a key's successor, print it, once, and let the old key expire after an overlap.

    The successor has the same name and scopes. Both changes are made in one step, and nothing has to run later.
    """
    expires_ms = _time_ms(expires_at)

    async def rotate(services: "Services", workspace_id: str) -> tuple[ApiKey, str, ApiKey]:
        found = await find_key(services, workspace_id, key)
        await _require_future(services, expires_ms)
        return await services.admin.keys.rotate(workspace_id, found.id, overlap, expires_ms, by)

    made, raw_key, old = in_workspace(workspace, rotate)
    until = rfc3339(old.expires_ms or 0)
    if raw:
        click.echo(raw_key)
    elif as_json:
        print_json(RotatedApiKey.succeeding(old, made, raw_key))
    else:
        ends = "" if made.expires_ms is None else f"new {made.id} is valid until {rfc3339(made.expires_ms)}\n"
        click.echo(f"id  {made.id}\nkey {raw_key} (shown only once)\n{ends}old {old.id} is valid until {until}")


@keys.command("list")
@WORKSPACE
@JSON
def list_keys(workspace: str, as_json: bool) -> None:
    """List a workspace's keys; raw keys are stored nowhere."""

    async def read(services: "Services", workspace_id: str) -> list[ApiKey]:
        return await services.records.api_keys.list_page(workspace_id)

    found = in_workspace(workspace, read)
    if as_json:
        print_json([ApiKeyView.of(each) for each in found])
        return
    rows = [
        (
            each.id,
            f"{each.prefix}…",
            ",".join(each.scopes),
            "never" if each.last_used_ms is None else rfc3339(each.last_used_ms),
            "never" if each.expires_ms is None else rfc3339(each.expires_ms),
            each.name,
        )
        for each in found
    ]
    hint = "There are no keys; `remit keys create` creates one"
    print_table(("ID", "KEY", "SCOPES", "USED", "EXPIRES", "NAME"), rows, hint)


@keys.command("revoke")
@WORKSPACE
@click.argument("key")
@click.option("--force", is_flag=True, help="Even if it is the workspace's last admin key.")
@JSON
@REASON
def revoke_key(workspace: str, key: str, force: bool, as_json: bool, by: ChangedBy) -> None:
    """Revoke a key; every later request with it is answered 401."""

    async def revoke(services: "Services", workspace_id: str) -> ApiKey:
        found = await find_key(services, workspace_id, key)
        await services.admin.keys.revoke(workspace_id, found.id, by, force=force)
        return found

    revoked = in_workspace(workspace, revoke)
    if as_json:
        print_json({"deleted": revoked.id})
        return
    click.echo(f"revoked {revoked.id} ({revoked.prefix}…, {revoked.name})")


async def _require_future(services: "Services", expires_ms: int | None) -> None:
    """Raise click's error if a key that expires then would never be valid, by the store's clock."""
    from app.redis_client.clients import store_time_ms

    if expires_ms is not None and expires_ms <= (now_ms := await store_time_ms(services.client)):
        sentence = f"{rfc3339(expires_ms)} has passed, so the key would never be valid; it is {rfc3339(now_ms)} now"
        raise click.BadParameter(sentence, param_hint="--expires-at")


def _time_ms(expires_at: str | None) -> int | None:
    try:
        return None if expires_at is None else parse_time_ms(expires_at)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--expires-at") from None
