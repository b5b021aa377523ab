"""`remit issuers …`: whose tokens workloads may send in place of an API key."""

from typing import BinaryIO

import click

from app.cli.api import Api, Refused, on_api
from app.cli.groups import CommandGroup
from app.cli.options import REASON
from app.cli.output import Shown, print_record, print_table, shows
from app.cli.policy_lint import print_warnings
from app.model.text import counted, with_hidden_shown

_PATH = "/v1/issuers"
NAME = click.argument("name")


@click.group(cls=CommandGroup)
def issuers() -> None:
    """Manage issuers of workload tokens: Kubernetes, SPIFFE, GitHub, GitLab and others."""


@issuers.command("put")
@on_api
@NAME
@click.argument("file", type=click.File("rb"))
@shows
@REASON
def put_issuer(api: Api, name: str, file: BinaryIO, reason: str) -> Shown:
    """Create or replace the issuer NAME with what FILE (- is standard input) has, in JSON."""
    try:
        put = api.call("PUT", f"{_PATH}/{name}", file.read(), reason=reason)
    except Refused as refused:
        raise click.ClickException(f"{file.name}: {refused.message}") from None
    print_warnings(put.get("warnings", ()))
    yield put
    click.echo(f"issuer {put['name']} has {counted(len(put['rules']), 'rule')}")


@issuers.command("list")
@on_api
@shows
def list_issuers(api: Api) -> Shown:
    """List issuers by name, and when the keys of each were last read."""
    found = api.get(_PATH)
    yield found
    rows = [
        (
            each["name"],
            with_hidden_shown(each["issuer"]),
            with_hidden_shown(each["audience"]),
            "given" if "jwks" in each else each["keysReadAt"] or "not read yet",
        )
        for each in found
    ]
    print_table(("NAME", "ISSUER", "AUDIENCE", "KEYS"), rows, "No tokens count; `remit issuers put` adds an issuer")


@issuers.command("show")
@on_api
@NAME
@shows
def show_issuer(api: Api, name: str) -> Shown:
    """Print an issuer: its tokens, and what their subjects may ask, rule by rule."""
    found = api.get(f"{_PATH}/{name}")
    yield found
    print_record([(each, with_hidden_shown(str(found[each]))) for each in ("name", "issuer", "audience")])
    for rule in found["rules"]:
        wanted = ", ".join(f"{claim} = {value}" for claim, value in rule["match"].items())
        agents = f", about {', '.join(rule['agents'])}" if "agents" in rule else ""
        click.echo(with_hidden_shown(f"{wanted}: {', '.join(rule['scopes']) or 'refused'}{agents}"))
    print_warnings(found.get("warnings", ()))


@issuers.command("delete")
@on_api
@NAME
@shows
@REASON
def delete_issuer(api: Api, name: str, reason: str) -> Shown:
    """Delete an issuer: none of its tokens counts any more, on any replica."""
    api.call("DELETE", f"{_PATH}/{name}", reason=reason)
    yield {"deleted": name}
    click.echo(f"issuer {name} is deleted")
