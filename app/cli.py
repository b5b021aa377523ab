"""`remit`: the console. Results go to stdout, everything else to stderr; 0 = done, 1 = failed, 2 = misused."""

import re
from typing import Any

import click
from msgspec.structs import replace

from app.audit_commands import audit, compact
from app.console import JSON, WORKSPACE, print_json, read_settings, with_services
from app.errors import AppError, StoreUnavailable
from app.logs import configure_logging
from app.model.keys import ApiKey, Scope
from app.model.text import FieldError, require_visible
from app.model.times import parse_time_ms, rfc3339
from app.services import Services
from app.settings import SettingsError
from app.store.checkup import Severity, check_up
from app.supervisor import StartFailed
from app.supervisor import serve as serve_machine

_LONGEST_NAME = 255
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_MS = 3_650 * _UNITS_MS["d"]


class Console(click.Group):
    """Ends with one sentence where a setting, the store or the request is at fault."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except StoreUnavailable as error:
            raise click.ClickException(f"{error} (the store is {read_settings().store})") from None
        except (SettingsError, AppError, StartFailed) as error:
            raise click.ClickException(str(error)) from None


class Name(click.ParamType[str]):
    """What the API takes as a name: 1 to 255 characters that can be seen."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it was given."""
        if not 1 <= len(value) <= _LONGEST_NAME:
            self.fail(f"must have 1 to {_LONGEST_NAME} characters", param, ctx)
        try:
            require_visible("name", value)
        except FieldError as error:
            self.fail(error.message, param, ctx)
        return str(value)


class Duration(click.ParamType[int]):
    """A span of time: 0, or a number with its unit, up to ten years; in ms."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The span in milliseconds."""
        match = re.fullmatch(r"([0-9]{1,9})([smhd])", "0s" if value == "0" else value)
        span_ms = int(match[1]) * _UNITS_MS[match[2]] if match else _LONGEST_MS + 1
        if span_ms > _LONGEST_MS:
            self.fail("must be 0 or a number of s, m, h or d, such as 90m; up to 3650d", param, ctx)
        return span_ms


@click.group(cls=Console, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="remit")
def main() -> None:
    """Remit decides whether an AI agent may call a tool, and keeps the record of every answer.

    Settings are environment variables that begin with REMIT_; docs/operations.md lists them. Without
    REMIT_REDIS_URL the store is embedded and keeps its files in REMIT_DATA_DIR (var).

    Exit codes: 0 = done, 1 = it failed and stderr says why, 2 = the command was misused.
    """


@main.command()
@click.option("--workers", type=click.IntRange(1, 64), help="Replicas on this machine; REMIT_WORKERS, or 1.")
def serve(workers: int | None) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Starts the embedded store where no REMIT_REDIS_URL is set. On the very first start with it, a workspace
    "default" and its admin key are made, and the key is printed, once.
    """
    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    settings = settings if workers is None else replace(settings, workers=workers)
    serve_machine(settings, lambda line: click.echo(line, err=False))


@main.group()
def workspace() -> None:
    """Workspaces: tenants that see nothing of each other."""


@workspace.command("create")
@click.argument("name", type=Name())
@JSON
def create_workspace(name: str, as_json: bool) -> None:
    """Make a workspace and print its id and its first admin key, once."""

    async def create(services: Services) -> tuple[str, str]:
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


@main.group()
def key() -> None:
    """API keys of a workspace: make one, list them, rotate one, revoke one."""


@key.command("create")
@WORKSPACE
@click.option("--name", type=Name(), required=True, help="What the key is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["admin", "read"]),
    default=["read"],
    show_default=True,
    help="What it may do; may be given twice, admin implies read.",
)
@click.option("--expires-at", help="ISO 8601 time, UTC without an offset; never if left out.")
@click.option("--raw", is_flag=True, help="Print the raw key and nothing else.")
@JSON
def create_key(
    workspace: str, name: str, scopes: tuple[str, ...], expires_at: str | None, raw: bool, as_json: bool
) -> None:
    """Make a key and print it, once."""
    expires_ms = _time_ms(expires_at)

    async def create(services: Services) -> tuple[ApiKey, str]:
        workspace_id = await services.workspaces.find(workspace)
        granted = tuple(Scope(scope) for scope in dict.fromkeys(scopes))
        return await services.keys.create(workspace_id, name, granted, expires_ms)

    made, raw_key = with_services(create)
    if raw:
        click.echo(raw_key)
    elif as_json:
        print_json(_as_the_api_shows(made) | {"key": raw_key})
    else:
        click.echo(f"id  {made.id}\nkey {raw_key} (shown this once)")


@key.command("rotate")
@WORKSPACE
@click.argument("key_id")
@click.option(
    "--overlap",
    type=Duration(),
    default="24h",
    show_default=True,
    help="How long the old key stays valid: 0, or a number of s, m, h or d.",
)
@click.option(
    "--expires-at",
    help="ISO 8601 time at which the new key expires; if left out, it lives as long as the old was meant to.",
)
@click.option("--raw", is_flag=True, help="Print the raw key and nothing else.")
@JSON
def rotate_key(workspace: str, key_id: str, overlap: int, expires_at: str | None, raw: bool, as_json: bool) -> None:
    """Make a successor of a key, print it, once, and let the old key expire after an overlap.

    The successor has the same name and scopes. Both happen in one step, and nothing has to run later.
    """
    expires_ms = _time_ms(expires_at)

    async def rotate(services: Services) -> tuple[ApiKey, str, ApiKey]:
        workspace_id = await services.workspaces.find(workspace)
        return await services.keys.rotate(workspace_id, key_id, overlap, expires_ms)

    made, raw_key, old = with_services(rotate)
    until = rfc3339(old.expires_ms or 0)
    if raw:
        click.echo(raw_key)
    elif as_json:
        print_json(_as_the_api_shows(made) | {"key": raw_key, "replaces": old.id, "replacedUntil": until})
    else:
        click.echo(f"id  {made.id}\nkey {raw_key} (shown this once)\nold {old.id} is valid until {until}")


@key.command("list")
@WORKSPACE
@JSON
def list_keys(workspace: str, as_json: bool) -> None:
    """Print a workspace's keys; raw keys are kept nowhere."""

    async def read(services: Services) -> list[ApiKey]:
        return await services.keys.list_page(await services.workspaces.find(workspace))

    keys = with_services(read)
    if as_json:
        print_json([_as_the_api_shows(each) for each in keys])
        return
    for each in keys:
        used = "never used" if each.last_used_ms is None else f"used {rfc3339(each.last_used_ms)}"
        until = "" if each.expires_ms is None else f", expires {rfc3339(each.expires_ms)}"
        click.echo(f"{each.id}  {each.prefix}…  {','.join(each.scopes):10}  {each.name} ({used}{until})")


@key.command("revoke")
@WORKSPACE
@click.argument("key_id")
def revoke_key(workspace: str, key_id: str) -> None:
    """Revoke a key by its id; every request sent from now on with it is answered 401."""

    async def revoke(services: Services) -> None:
        await services.keys.revoke(await services.workspaces.find(workspace), key_id)

    with_services(revoke)
    click.echo(f"revoked {key_id}")


@main.command()
@JSON
def doctor(as_json: bool) -> None:
    """Look at the store and say what is at risk. Exit code 1 if it should not be run so."""
    private = read_settings().redis_url is None
    findings = with_services(lambda services: check_up(services.client, private=private))
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            click.echo(f"{finding.severity.upper():7} {finding.subject:11} {finding.sentence}")
    if any(finding.severity is Severity.BROKEN for finding in findings):
        raise SystemExit(1)


def _time_ms(expires_at: str | None) -> int | None:
    try:
        return None if expires_at is None else parse_time_ms(expires_at)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--expires-at") from None


def _as_the_api_shows(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scopes,
        "expiresAt": None if key.expires_ms is None else rfc3339(key.expires_ms),
        "lastUsedAt": None if key.last_used_ms is None else rfc3339(key.last_used_ms),
        "createdAt": rfc3339(key.created_ms),
    }


main.add_command(compact)
main.add_command(audit)


if __name__ == "__main__":
    main()
