"""`remit workspaces …`."""

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import click

from app.cli.groups import CommandGroup
from app.cli.options import NAME, REASON
from app.cli.output import Shown, print_table, shows
from app.cli.store_access import read_settings, with_services

if TYPE_CHECKING:
    from app.replica import Services


@click.group(cls=CommandGroup)
def workspaces() -> None:
    """Manage workspaces: tenants isolated from each other."""


@workspaces.command("create")
@click.argument("name", type=NAME)
@click.option("--shard", metavar="HOST:PORT", help="The cluster's master that holds it; else one with the fewest.")
@REASON
@shows
def create_workspace(name: str, shard: str | None, reason: str) -> Shown:
    """Create a workspace and print its id and its first admin key, once."""

    async def create(services: "Services") -> tuple[str, str]:
        return await services.records.workspaces.create(name, reason, shard)

    workspace_id, raw_key = with_services(create)
    yield {"id": workspace_id, "name": name, "key": raw_key}
    click.echo(f"workspace {workspace_id}\nadmin key {raw_key} (shown only once)")


@workspaces.command("list")
@shows
def list_workspaces() -> Shown:
    """List every workspace's id and name, and in a cluster the master that holds it."""
    from app.store.placement import holders

    async def read(services: "Services") -> tuple[dict[str, str], dict[str, str]]:
        known = await services.records.workspaces.by_name()
        return known, await holders(services.client, known.values())

    known, held = with_services(read)
    yield [
        {"id": workspace_id, "name": name} | ({"shard": held[workspace_id]} if held else {})
        for name, workspace_id in known.items()
    ]
    rows = [(workspace_id, name, *([held[workspace_id]] if held else [])) for name, workspace_id in known.items()]
    titles = ("ID", "NAME", "SHARD") if held else ("ID", "NAME")
    print_table(titles, rows, "There are no workspaces; `remit workspaces create NAME` creates one")


@workspaces.command("move")
@click.argument("name", type=NAME)
@click.argument("shard", metavar="HOST:PORT")
@shows
def move_workspace(name: str, shard: str) -> Shown:
    """Move a workspace to another master of the cluster, while it is used.

    Its slot moves, with every workspace in it. Calls of these may be 503 until it is done. If it is interrupted, the
    same command finishes it. REMIT_REDIS_URL must be of a user that may move slots.
    """
    from app.store.placement import move, sharing_slot

    async def run(services: "Services") -> tuple[str, list[str], int]:
        known = await services.records.workspaces.by_name()
        workspace_id = await services.records.workspaces.find(name)
        others = sharing_slot(workspace_id, known.values())
        url = urlsplit(read_settings().redis_url or "")
        login = (unquote(url.username or "default"), unquote(url.password)) if url.password else ()
        moved = 0
        async for moved in move(services.client, workspace_id, shard, login):
            click.echo(f"{moved} keys have moved", err=True)
        return workspace_id, others, moved

    workspace_id, others, moved = with_services(run)
    yield {"id": workspace_id, "shard": shard, "keys": moved, "with": others}
    click.echo(f"workspace {workspace_id} is on {shard}; {moved} keys have moved")
    for each in others:
        click.echo(f"workspace {each} was in the same slot and is there, too")
