"""`remit sessions pin` and `remit sessions request`."""

from typing import Any
from urllib.parse import quote

import click

from app.cli.api import Api, on_api
from app.cli.options import REASON
from app.cli.output import print_record
from app.cli.session import Shown, shows
from app.model.pinned_requests import PIN_SECONDS, PIN_SECONDS_MAX


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
    return f"/v1/sessions/{quote(session, safe='')}/request"


def _shown(pinned: dict[str, Any]) -> Shown:
    yield pinned
    fields = [("session", pinned["session"]), ("characters", str(pinned["length"])), ("hmac", pinned["hmac"])]
    print_record([*fields, ("pinned", pinned["pinnedAt"]), ("by", pinned["pinnedBy"]), ("until", pinned["expiresAt"])])
