"""`remit workspaces …`."""

from typing import TYPE_CHECKING

import click

from app.cli.groups import CommandGroup
from app.cli.options import NAME, REASON
from app.cli.output import Shown, print_table, shows
from app.cli.store_access import with_services

if TYPE_CHECKING:
    from app.replica import Services


@click.group(cls=CommandGroup)
def workspaces() -> None:
    """Manage workspaces: tenants isolated from each other."""


@workspaces.command("create")
@click.argument("name", type=NAME)
@REASON
@shows
def create_workspace(name: str, reason: str) -> Shown:
    """Create a workspace and print its id and its first admin key, once."""

    async def create(services: "Services") -> tuple[str, str]:
        return await services.records.workspaces.create(name, reason)

    workspace_id, raw_key = with_services(create)
    yield {"id": workspace_id, "name": name, "key": raw_key}
    click.echo(f"workspace {workspace_id}\nadmin key {raw_key} (shown only once)")


@workspaces.command("list")
@shows
def list_workspaces() -> Shown:
    """List every workspace's id and name."""
    known = with_services(lambda services: services.records.workspaces.by_name())
    yield [{"id": workspace_id, "name": name} for name, workspace_id in known.items()]
    rows = [(workspace_id, name) for name, workspace_id in known.items()]
    print_table(("ID", "NAME"), rows, "There are no workspaces; `remit workspaces create NAME` creates one")
