"""`remit console`, which signs a browser in, and `remit sessions …`."""

import getpass
from typing import TYPE_CHECKING

import click

from app.cli.groups import CommandGroup
from app.cli.options import JSON, NAME, REASON, WORKSPACE
from app.cli.output import print_table
from app.cli.remote import URL
from app.cli.session import in_workspace, print_json
from app.model.actors import ChangedBy
from app.model.api_keys import Scope
from app.model.ids import canonical_uuid
from app.model.sign_ins import SignIn
from app.model.times import rfc3339
from app.views.sessions import SessionView

if TYPE_CHECKING:
    from app.replica import Services


def _who() -> str:
    """The default name of a session: that of the operating system's user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "console"  # the user id has no name, as in a container


@click.command("console")
@WORKSPACE
@URL
@click.option("--name", type=NAME, default=_who, show_default="who runs it", help="Who signs in, for log and trail.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([each.value for each in Scope]),
    default=["admin"],
    show_default=True,
    help="What the session may do; may be given more than once.",
)
@JSON
def sign_in_link(workspace: str, url: str, name: str, scopes: tuple[str, ...], as_json: bool) -> None:
    """Print a link that signs a browser in, once, within a minute.

    Whoever may run this command has the store, and so may do everything. The code is in the part of the link that
    browsers send nowhere.
    """

    async def make(services: "Services", workspace_id: str) -> str:
        return await services.records.sign_ins.new_code(workspace_id, name, tuple(map(Scope, scopes)))

    link = f"{url.rstrip('/')}/console/sign-in#{in_workspace(workspace, make)}"
    if as_json:
        print_json({"url": link})
    else:
        click.echo(link)


@click.group(cls=CommandGroup)
def sessions() -> None:
    """List and end the sessions of people who have signed in."""


@sessions.command("list")
@WORKSPACE
@JSON
def list_sessions(workspace: str, as_json: bool) -> None:
    """List a workspace's sessions, those first that end first."""

    async def read(services: "Services", workspace_id: str) -> list[SignIn]:
        return [each async for each in services.records.sign_ins.each(workspace_id)]

    found = in_workspace(workspace, read)
    if as_json:
        print_json([SessionView.of(each) for each in found])
        return
    rows = [
        (each.id, ",".join(each.scopes), each.via, rfc3339(each.created_ms), rfc3339(each.ends_ms), each.name)
        for each in found
    ]
    print_table(("ID", "SCOPES", "VIA", "SINCE", "UNTIL", "NAME"), rows, "Nobody is signed in")


@sessions.command("end")
@WORKSPACE
@click.argument("session")
@JSON
@REASON
def end_session(workspace: str, session: str, as_json: bool, by: ChangedBy) -> None:
    """End the session with this id; every later request with it is answered 401."""
    session_id = canonical_uuid(session)
    if session_id is None:
        raise click.BadParameter("is not an id; `remit sessions list` shows them", param_hint="SESSION")

    async def end(services: "Services", workspace_id: str) -> None:
        await services.records.sign_ins.end(workspace_id, session_id, by=by)

    in_workspace(workspace, end)
    if as_json:
        print_json({"ended": session_id})
    else:
        click.echo(f"ended {session_id}")
