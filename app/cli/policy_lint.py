"""`remit policy lint`, and the warnings of commands that write: rules that are valid but probably not meant."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from app.cli.api import Api, on_api
from app.cli.options import JSON
from app.cli.output import ANSWER_IS_NO, print_json
from app.cli.policy_apply import VALUES, read_files

if TYPE_CHECKING:
    from app.cli.policy_sets import Sets
    from app.model.policies import Owner


class StoredWarning(Struct, frozen=True, rename="camel"):
    """A warning about a stored policy."""

    owner: str
    policy_id: str
    policy_name: str
    code: str
    path: str
    message: str


@click.command("lint")
@on_api
@click.option("--agent", help="The stored policies of this agent: its id, alias or name.")
@click.option("--group", help="The stored policies of this group.")
@click.option("--strict", is_flag=True, help=f"Exit with {ANSWER_IS_NO} if there is a warning.")
@VALUES
@JSON
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
def lint(
    api: Api, agent: str | None, group: str | None, strict: bool, values_file: Path | None, as_json: bool,
    paths: tuple[Path, ...],
) -> None:  # fmt: skip
    """Warn about rules that are valid but probably not meant. A folder means all policy files in it.

    Files are checked without a store: those of each agent and group together with the workspace's, if that file is
    given. Without a file, stored policies are checked, those of --agent or --group or all of --workspace, each together
    with all others that govern the same agents.
    """
    if len([each for each in (agent, group, paths or None) if each is not None]) > 1:
        raise click.UsageError("Give only one of FILE, --agent and --group")
    if values_file is not None and not paths:
        raise click.UsageError("--values needs FILE: what is stored refers to no values")
    found = _in_files(paths, values_file) if paths else _in_store(api, agent, group)
    if as_json:
        print_json([warning for warning, _ in found])
    else:
        for _, line in found:
            click.echo(line)
        click.echo("No warnings." if not found else f"{len(found)} warning{'s' if len(found) > 1 else ''}")
    if strict and found:
        raise click.exceptions.Exit(ANSWER_IS_NO)


def is_warning(detail: dict[str, str]) -> bool:
    """True if a detail of a refusal is a warning: its message begins with a warning's code."""
    from app.policy_tools.lint import Code

    code, colon, _ = detail["message"].partition(": ")
    return bool(colon) and code in set(Code)


def print_warnings(warnings: Iterable[dict[str, str]]) -> None:
    """Print a line for each warning to stderr, free of characters that move the cursor."""
    from app.model.text import with_hidden_shown

    for each in warnings:
        said = f"{each['code']}: {each['message']}" if "code" in each else each["message"]
        click.echo(with_hidden_shown(f"Warning: {each['path']}: {said}"), err=True)


def _in_files(paths: tuple[Path, ...], values_file: Path | None) -> list[tuple[Struct, str]]:
    from app.policy_tools.files.file_warnings import lint_files

    found = lint_files(read_files(paths, values_file))
    return [(each, f"{each.file}:{each.line}: {each.path}: {each.code}: {each.message}") for each in found]


def _in_store(api: Api, agent: str | None, group: str | None) -> list[tuple[Struct, str]]:
    from app.cli.policy_sets import Sets
    from app.model.policies import Owner
    from app.model.text import with_hidden_shown

    sets = Sets(api)
    if agent is not None:
        owners = [Owner(sets.agent(agent)[0])]
        if not sets.get(owners[0]).policies:
            click.echo(f"The agent {agent} has no policy of its own; without others, every call is denied", err=True)
    else:
        owners = sets.owners() if group is None else [Owner(group=group)]
    called = {agent_id: each.called for agent_id, each in sets.agents()}
    found = [each for owner in owners for each in _about(sets, owner, called)]
    return [
        (each, with_hidden_shown(f'{each.owner}: "{each.policy_name}" {each.path}: {each.code}: {each.message}'))
        for each in found
    ]


def _about(sets: "Sets", owner: "Owner", called: dict[str, str]) -> list[StoredWarning]:
    """The warnings about the owner's policies. called: agent names by id."""
    policies = sets.get(owner).policies
    name = "workspace" if owner.group is None else f"group {owner.group}"
    if owner.agent_id is not None:
        name = f"agent {called.get(owner.agent_id, owner.agent_id)}"
    warnings = sets.warnings(owner, policies)
    return [
        StoredWarning(name, policy.id, policy.name, each.code.value, each.path, each.message)
        for policy, about in zip(policies, warnings, strict=True)
        for each in about
    ]
