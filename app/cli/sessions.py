"""`remit console`, which signs a browser in, and `remit sessions …`, also of calls, with pinned requests."""

from typing import TYPE_CHECKING, Any

import click

from app.cli.api import URL_OPTION, Api, on_api, segment
from app.cli.groups import CommandGroup
from app.cli.option_types import Uuid
from app.cli.options import REASON, WORKSPACE, name_and_scopes
from app.cli.output import Shown, print_record, print_table, shows
from app.cli.store_access import in_workspace
from app.model.api_keys import Scope
from app.model.pinned_requests import PIN_SECONDS, PIN_SECONDS_MAX

if TYPE_CHECKING:
    from app.replica import Services


@click.command("pin")
@on_api
@click.argument("session")
@click.argument("request", type=click.File(encoding="utf-8"))
@click.option(
    "--valid-seconds",
    type=click.IntRange(1, PIN_SECONDS_MAX),
    default=PIN_SECONDS,
    show_default=True,
    help="For how long it counts.",
)
@shows
@REASON
def pin_request(api: Api, session: str, request: Any, valid_seconds: int, reason: str) -> Shown:
    """Pin the user's request, from a file or - for standard input, for a session of calls; the first one counts."""
    body = {"request": request.read(), "validSeconds": valid_seconds}
    return _shown(api.call("POST", _path(session), body, reason=reason))


@click.command("request")
@on_api
@click.argument("session")
@shows
def show_request(api: Api, session: str) -> Shown:
    """Print what is known about the request that is pinned for a session of calls; its text is not stored."""
    return _shown(api.get(_path(session)))


def _path(session: str) -> str:
    return f"/v1/sessions/{segment(session)}/request"


def _shown(pinned: dict[str, Any]) -> Shown:
    yield pinned
    fields = [("session", pinned["session"]), ("characters", str(pinned["length"])), ("hmac", pinned["hmac"])]
    print_record([*fields, ("pinned", pinned["pinnedAt"]), ("by", pinned["pinnedBy"]), ("until", pinned["expiresAt"])])


@click.command("console")
@WORKSPACE
@URL_OPTION
@name_and_scopes(
    name="Who signs in, for log and trail.",
    by="{}",
    nameless="console",
    default=Scope.ADMIN,
    what="What the session may do; may be given more than once.",
)
@shows
def sign_in_link(workspace: str, url: str, name: str, scopes: tuple[str, ...]) -> Shown:
    """Print a link that signs a browser in, once, within a minute.

    Whoever may run this command has the store, and so may do everything. The code is in the part of the link that
    browsers send nowhere.
    """

    async def make(services: "Services", workspace_id: str) -> str:
        return await services.records.sign_ins.new_code(workspace_id, name, tuple(map(Scope, scopes)))

    link = f"{url.rstrip('/')}/console/sign-in#{in_workspace(workspace, make)}"
    yield {"url": link}
    click.echo(link)


@click.group(cls=CommandGroup)
def sessions() -> None:
    """List and end the sessions of people who have signed in, and pin the requests of sessions of calls."""


@sessions.command("list")
@on_api
@shows
def list_sessions(api: Api) -> Shown:
    """List a workspace's sessions, those first that end first."""
    found = api.get("/v1/sessions")
    yield found
    rows = [
        (each["id"], ",".join(each["scopes"]), each["via"], each["createdAt"], each["until"], each["name"])
        for each in found
    ]
    print_table(("ID", "SCOPES", "VIA", "SINCE", "UNTIL", "NAME"), rows, "Nobody is signed in")


@sessions.command("end")
@on_api
@click.argument("session", type=Uuid("remit sessions list"))
@shows
@REASON
def end_session(api: Api, session: str, reason: str) -> Shown:
    """End the session with this id; every later request with it is answered 401."""
    api.call("DELETE", f"/v1/sessions/{session}", reason=reason)
    yield {"ended": session}
    click.echo(f"ended {session}")


for _command in (pin_request, show_request):
    sessions.add_command(_command)
