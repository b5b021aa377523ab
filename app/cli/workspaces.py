"""`remit workspace …`."""

from typing import TYPE_CHECKING

import click

from app.cli.options import JSON, Name
from app.cli.session import print_json, with_services

if TYPE_CHECKING:
    from app.replica import Services


@click.group()
def workspace() -> None:
    """Workspaces: tenants that see nothing of each other."""


@workspace.command("create")
@click.argument("name", type=Name())
@JSON
def create_workspace(name: str, as_json: bool) -> None:
    """Make a workspace and print its id and its first admin key, once."""

    async def create(services: "Services") -> tuple[str, str]:
        return await services.workspaces.create(name)

    workspace_id, raw_key = with_services(create)
    if as_json:
        print_json({"id": workspace_id, "name": name, "key": raw_key})
    else:
        click.echo(f"workspace {workspace_id}\nadmin key {raw_key} (shown this once)")


@workspace.command("list")
@JSON
def list_workspaces(as_json: bool) -> None:
    """Print every workspace's id and name."""
    known = with_services(lambda services: services.workspaces.by_name())
    if as_json:
        print_json([{"id": workspace_id, "name": name} for name, workspace_id in known.items()])
    else:
        for name, workspace_id in known.items():
            click.echo(f"{workspace_id}  {name}")
