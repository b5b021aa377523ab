"""`remit policy export`, `diff` and `apply`: policies as files, whole sets of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.options import REASON, WORKSPACE
from app.cli.session import print_json

if TYPE_CHECKING:
    from app.cli.policy_sets import Owner, Sets
    from app.model.policy_sets import PolicyChange, PolicySet
    from app.policy_files.comparison import Difference
    from app.policy_files.policy_file import ReadFile

DIFFERS = 3
FILES = click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
_URL_HELP = "A running service, asked with the key of REMIT_API_KEY; else the store itself."
URL = click.option("--url", envvar="REMIT_URL", help=_URL_HELP)
PRUNE = click.option("--prune", is_flag=True, help="Delete policies of these owners that are not in the files.")
FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="How to print it."
)


@click.command("export")
@WORKSPACE
@URL
@click.option("--agent", help="Only this agent's; printed if no folder is given.")
@click.option("--group", help="Only this group's; printed if no folder is given.")
@click.option("--json", "as_json", is_flag=True, help="JSON files instead of YAML.")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
def export_policies(
    workspace: str, url: str | None, agent: str | None, group: str | None, as_json: bool, folder: Path | None
) -> None:
    """Write policies as files: one for each agent and group that has any, and one for the workspace.

    What is in FOLDER already is replaced where it has the same name, and nothing else is touched.
    """
    from app.cli.policy_sets import with_sets
    from app.policy_files.written import as_json as to_json
    from app.policy_files.written import as_yaml

    if folder is None and (agent is None) == (group is None):
        raise click.UsageError("Give a FOLDER to write to, or one of --agent and --group to print")

    async def read(sets: "Sets") -> list[tuple[str, dict[str, Any]]]:
        return await _exported(sets, agent, group)

    for name, file in with_sets(url, workspace, read):
        text = to_json(file) if as_json else as_yaml(file)
        if folder is None:
            click.echo(text, nl=False)
            continue
        path = folder / f"{name}.{'json' if as_json else 'yaml'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        click.echo(path)


@click.command("diff")
@WORKSPACE
@URL
@PRUNE
@FORMAT
@click.option("--exit-code", is_flag=True, help=f"End with {DIFFERS} if anything would change.")
@FILES
def diff_policies(
    workspace: str, url: str | None, prune: bool, form: str, exit_code: bool, paths: tuple[Path, ...]
) -> None:
    """Print what applying these files would change. A folder stands for all policy files in it."""
    from app.cli.policy_sets import with_sets

    files = read_files(paths)

    async def compare(sets: "Sets") -> "list[Difference]":
        return [(await _planned(sets, each, prune=prune, create=True))[3] for each in files]

    found = with_sets(url, workspace, compare)
    _print(found, form)
    if exit_code and any(each.is_any for each in found):
        raise click.exceptions.Exit(DIFFERS)


@click.command("apply")
@WORKSPACE
@URL
@PRUNE
@FORMAT
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@REASON
@click.option("--create-agents", is_flag=True, help="Make agents that do not exist, with the groups that files name.")
@FILES
def apply_policies(
    workspace: str,
    url: str | None,
    prune: bool,
    form: str,
    dry_run: bool,
    reason: str,
    create_agents: bool,
    paths: tuple[Path, ...],
) -> None:
    """Make the policies in these files current: each file at once or not at all.

    All files are read and compared before the first is applied. One whose owner's policies changed in between is
    refused, and so are those after it; say `apply` again.
    """
    from app.cli.policy_sets import with_sets

    files = read_files(paths)

    async def apply(sets: "Sets") -> "list[Difference]":
        planned = [await _planned(sets, each, prune=prune, create=create_agents) for each in files]
        if dry_run:
            return [difference for _, _, _, difference in planned]
        for each, (owner, held, _, difference) in zip(files, planned, strict=True):
            await _apply(sets, each, owner, held, difference, prune=prune, reason=reason)
        return [difference for _, _, _, difference in planned]

    _print(with_sets(url, workspace, apply), form)


@click.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of policy files, for editors; a service has it at /v1/policies/schema.json."""
    from app.http.openapi.policy_schema import schema

    print_json(schema())


def read_files(paths: Sequence[Path]) -> "list[ReadFile]":
    """The policy files that are named or lie in folders that are named. Raises ClickException."""
    from app.policy_files.policy_file import FileError, find_files, read_policy_file, require_one_file_each

    try:
        files = [read_policy_file(path) for path in find_files(paths)]
        require_one_file_each(files)
    except FileError as error:
        raise click.ClickException(str(error)) from None
    return files


async def _planned(
    sets: "Sets", read: "ReadFile", *, prune: bool, create: bool
) -> "tuple[Owner, PolicySet | None, list[PolicyChange], Difference]":
    """Whose they are, what is there (None: the agent is not there), and what applying the file would change."""
    from app.errors import AppError
    from app.model.policy_sets import KeyTaken, UnknownPolicy, settle
    from app.policy_files.comparison import compare

    try:
        owner = await _owner(sets, read, create=create)
        held = None if owner.is_new else await sets.get(owner)
        policies = [] if held is None else held.policies
        changes = settle(policies, read.file.policies, owner.agent_id, owner.group, prune=prune)
    except (UnknownPolicy, KeyTaken) as error:
        place = f"{read.path}:{read.document.line_of(f'$.{error.field}')}: $.{error.field}"
        raise click.ClickException(f"{place}: {error.message}") from None
    except (AppError, click.ClickException) as error:
        raise click.ClickException(f"{read.path}: {error}") from None
    return owner, held, changes, compare(read.file.owner, str(read.path), changes, len(read.file.policies))


async def _owner(sets: "Sets", read: "ReadFile", *, create: bool) -> "Owner":
    from app.cli.policy_sets import Owner
    from app.errors import AgentNotFound

    called = read.file.agent_ref
    if called is None:
        return Owner(None, read.file.group_name)
    try:
        return Owner((await sets.agent(called))[0], None)
    except AgentNotFound as error:
        if create:
            return Owner("", None)
        message = f'{error}. `remit agents create "{called}"` makes it, and so does `--create-agents`'
        raise AgentNotFound(message) from None


async def _apply(
    sets: "Sets",
    read: "ReadFile",
    owner: "Owner",
    held: "PolicySet | None",
    difference: "Difference",
    *,
    prune: bool,
    reason: str,
) -> None:
    from app.cli.policy_sets import Owner
    from app.errors import AppError, VersionConflict

    try:
        if held is None:
            owner = Owner(await sets.create_agent(read.file.new_agent, reason), None)
            held = await sets.get(owner)
        if difference.is_any:
            await sets.put(owner, list(read.file.policies), held.version, prune=prune, reason=reason)
    except VersionConflict:
        message = f"{read.path}: the policies of {read.file.owner} changed meanwhile, so this file was not applied"
        raise click.ClickException(f"{message}; run `remit policy diff` again, then `apply`") from None
    except (AppError, click.ClickException) as error:
        raise click.ClickException(f"{read.path}: {error}. This file was not applied") from None


async def _exported(sets: "Sets", agent: str | None, group: str | None) -> list[tuple[str, dict[str, Any]]]:
    """For each owner that has policies the name of its file, without the ending, and what is in it."""
    from msgspec.structs import replace

    from app.cli.policy_sets import Owner
    from app.policy_files.policy_file import as_file, as_owner
    from app.policy_files.written import file_name

    agents = await sets.agents()
    if agent is not None:
        agent_id, _ = await sets.agent(agent)
        wanted = [Owner(agent_id, None)]
    elif group is not None:
        wanted = [Owner(None, group)]
    else:
        found = {(agent_id, group) async for agent_id, group in sets.policies()}
        wanted = [Owner(*each) for each in sorted(found, key=lambda each: (each[0] or "", each[1] or ""))]
    names = [each.name for _, each in agents]
    known = dict(agents)
    files: dict[str, dict[str, Any]] = {}
    for owner in wanted:
        policies = (await sets.get(owner)).policies
        if owner.agent_id is not None:
            found_agent = known[owner.agent_id]
            is_unique = found_agent.alias is not None or names.count(found_agent.name) == 1
            called = as_owner(found_agent if is_unique else replace(found_agent, name=owner.agent_id))
            path = f"agents/{file_name(found_agent.called)}" + ("" if is_unique else f"-{owner.agent_id}")
        elif owner.group is not None:
            called, path = {"group": owner.group}, f"groups/{file_name(owner.group)}"
        else:
            called, path = {"workspace": True}, "workspace"
        while path.lower() in (each.lower() for each in files):
            path += "-2"
        files[path] = as_file(policies, called)
    return list(files.items())


def _print(differences: "list[Difference]", form: str) -> None:
    from app.policy_files.comparison import as_markdown, as_text

    if form == "json":
        print_json(differences)
    else:
        for line in as_text(differences) if form == "text" else as_markdown(differences):
            click.echo(line)
