"""`remit console`, which signs a browser in, and `remit sessions …`."""

import getpass
from typing import TYPE_CHECKING

import click

from app.cli.api import URL_OPTION, Api, on_api
from app.cli.groups import CommandGroup
from app.cli.options import JSON, NAME, REASON, WORKSPACE
from app.cli.output import print_table
from app.cli.pinned_requests import pin_request, show_request
from app.cli.session import in_workspace, print_json
from app.model.api_keys import Scope
from app.model.ids import canonical_uuid

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
@URL_OPTION
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
    """List and end the sessions of people who have signed in, and pin the requests of sessions of calls."""


@sessions.command("list")
@on_api
@JSON
def list_sessions(api: Api, as_json: bool) -> None:
    """List a workspace's sessions, those first that end first."""
    found = api.get("/v1/sessions")
    if as_json:
        print_json(found)
        return
    rows = [
        (each["id"], ",".join(each["scopes"]), each["via"], each["createdAt"], each["endsAt"], each["name"])
        for each in found
    ]
    print_table(("ID", "SCOPES", "VIA", "SINCE", "UNTIL", "NAME"), rows, "Nobody is signed in")


@sessions.command("end")
@on_api
@click.argument("session")
@JSON
@REASON
def end_session(api: Api, session: str, as_json: bool, reason: str) -> None:
    """End the session with this id; every later request with it is answered 401."""
    session_id = canonical_uuid(session)
    if session_id is None:
        raise click.BadParameter("is not an id; `remit sessions list` shows them", param_hint="SESSION")
    api.call("DELETE", f"/v1/sessions/{session_id}", reason=reason)
    if as_json:
        print_json({"ended": session_id})
    else:
        click.echo(f"ended {session_id}")


for _command in (pin_request, show_request):
    sessions.add_command(_command)
