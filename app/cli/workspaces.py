"""`remit workspaces …`."""

from typing import TYPE_CHECKING

import click

from app.cli.groups import CommandGroup
from app.cli.options import JSON, NAME, REASON
from app.cli.output import print_table
from app.cli.session import print_json, with_services

if TYPE_CHECKING:
    from app.replica import Services


@click.group(cls=CommandGroup)
def workspaces() -> None:
    """Manage workspaces: tenants isolated from each other."""


@workspaces.command("create")
@click.argument("name", type=NAME)
@REASON
@JSON
def create_workspace(name: str, as_json: bool, reason: str) -> None:
    """Create a workspace and print its id and its first admin key, once."""

    async def create(services: "Services") -> tuple[str, str]:
        return await services.records.workspaces.create(name, reason)

    workspace_id, raw_key = with_services(create)
    if as_json:
        print_json({"id": workspace_id, "name": name, "key": raw_key})
    else:
        click.echo(f"workspace {workspace_id}\nadmin key {raw_key} (shown only once)")


@workspaces.command("list")
@JSON
def list_workspaces(as_json: bool) -> None:
    """List every workspace's id and name."""
    known = with_services(lambda services: services.records.workspaces.by_name())
    if as_json:
        print_json([{"id": workspace_id, "name": name} for name, workspace_id in known.items()])
    else:
        rows = [(workspace_id, name) for name, workspace_id in known.items()]
        print_table(("ID", "NAME"), rows, "There are no workspaces; `remit workspaces create NAME` creates one")
