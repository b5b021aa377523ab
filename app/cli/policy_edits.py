"""`remit policies create` and `remit policies update`."""

import json
from typing import Any, BinaryIO

import click

from app.cli.api import Api, Refused, on_api
from app.cli.completion import AGENTS, POLICY
from app.cli.find import find_agent, find_policy
from app.cli.option_types import WholeNumber
from app.cli.options import NAME, OF_AGENT, OF_GROUP, QUIET, REASON
from app.cli.output import ANSWER_IS_NO, Shown, shows

_LOWEST, _HIGHEST = 0, 1_000
FILE = click.File("rb")
MODE = click.option(
    "--mode", type=click.Choice(["enforce", "shadow"]), help="Whether it decides, or only records where it would have."
)
STRICT = click.option("--strict", is_flag=True, help="Write nothing and exit with 3 if there is a warning.")


@click.command("create")
@on_api
@click.argument("agent", required=False, shell_complete=AGENTS)
@click.option("--group", help="The group that owns the policy, instead of an agent.")
@click.option("--file", "-f", "file", type=FILE, required=True, help="The policy as JSON; - is standard input.")
@MODE
@STRICT
@QUIET
@shows
@REASON
def create_policy(
    api: Api, agent: str | None, group: str | None, file: BinaryIO, mode: str | None, strict: bool, quiet: bool,
    reason: str,
) -> Shown:  # fmt: skip
    """Create a policy of AGENT or of a group; it applies from the next decision on.

    With neither it is a guardrail of the whole workspace, and the file must say so: "kind": "guardrail". Warnings about
    rules that are valid but probably not meant go to stderr.
    """
    if agent is not None and group is not None:
        raise click.UsageError("Give AGENT or --group, not both")
    given = _read(file)
    agent_id = None if agent is None else find_agent(api, agent)["id"]
    options = {"agent_id": agent_id, "group": group, "mode": mode}
    body = given | {name: value for name, value in options.items() if value is not None}
    made = _written(api, "POST", "/v1/policies", body, reason, file.name, strict=strict)
    yield made
    if quiet:
        click.echo(made["id"])
    else:
        print_written(made, f"policy {made['id']}")


@click.command("update")
@on_api
@POLICY
@OF_AGENT
@OF_GROUP
@click.option("--file", "-f", "file", type=FILE, help="What to change, as JSON; - is standard input.")
@click.option("--name", type=NAME, help="Its new name.")
@click.option(
    "--priority",
    type=WholeNumber(_LOWEST, _HIGHEST),
    help="Its new priority; higher priorities are evaluated first.",
)
@click.option("--managed-by", help="Where it is managed; an empty text means that no files manage it.")
@click.option("--enable/--disable", "enabled", default=None, help="Whether it is evaluated at all.")
@MODE
@STRICT
@shows
@REASON
def update_policy(
    api: Api, policy: str, agent: str | None, group: str | None, file: BinaryIO | None, name: str | None,
    priority: int | None, managed_by: str | None, enabled: bool | None, mode: str | None, strict: bool, reason: str,
) -> Shown:  # fmt: skip
    """Change a policy; fields not given stay. Rate limits that keep their tools and window keep their counted calls."""
    if (file, name, priority, managed_by, enabled, mode) == (None,) * 6:
        options_named = "--file, --name, --priority, --mode, --managed-by, --enable or --disable"
        raise click.UsageError(f"Say what to change: {options_named}")
    options = {"name": name, "priority": priority, "enabled": enabled, "mode": mode}
    given = {} if file is None else _read(file)
    given |= {field: value for field, value in options.items() if value is not None}
    given |= {} if managed_by is None else {"managedBy": managed_by or None}
    path = f"/v1/policies/{find_policy(api, policy, agent, group)['id']}"
    changed = _written(api, "PATCH", path, given, reason, None if file is None else file.name, strict=strict)
    yield changed
    print_written(changed, f"policy {changed['id']} is at version {changed['version']}")


def _read(file: BinaryIO) -> dict[str, Any]:
    """The file's object. Raises ClickException; the service checks what is in it."""
    try:
        given = json.load(file)
    except ValueError as error:
        raise click.ClickException(f"{file.name}: is not JSON ({error})") from None
    if not isinstance(given, dict):
        raise click.ClickException(f"{file.name}: $: must be an object, and not {type(given).__name__}")
    return given


def _written(
    api: Api, method: str, path: str, body: dict[str, Any], reason: str, file: str | None, *, strict: bool
) -> dict[str, Any]:
    """The policy as it is written. If strict, warnings are printed instead, and nothing is written."""
    from app.cli.policy_lint import is_warning, print_warnings

    try:
        written: dict[str, Any] = api.call(method, path, body, reason=reason, strict=strict)
    except Refused as refused:
        if strict and refused.details and all(map(is_warning, refused.details)):
            print_warnings(refused.details)
            click.echo("Nothing was written", err=True)
            raise click.exceptions.Exit(ANSWER_IS_NO) from None
        if file is not None and refused.details:
            hint = ". Give AGENT or --group" if method == "POST" and refused.details[0]["path"] == "$.agent_id" else ""
            raise click.ClickException(f"{file}: {refused.message}{hint}") from None
        raise
    return written


def print_written(policy: dict[str, Any], sentence: str) -> None:
    """Print the sentence and, to stderr, the warnings."""
    from app.cli.policy_lint import print_warnings

    click.echo(sentence)
    print_warnings(policy.get("warnings", ()))
