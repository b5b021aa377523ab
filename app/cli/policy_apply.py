"""`remit policy diff` and `apply`: compare files with the stored policies, and make them current."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.api import Api, Refused, Waits, on_api
from app.cli.option_types import Duration
from app.cli.options import REASON
from app.cli.output import ANSWER_IS_NO, print_json

if TYPE_CHECKING:
    from app.cli.policy_flips import FileChange
    from app.cli.policy_sets import Sets
    from app.model.comparisons import PolicyComparison
    from app.model.policies import Owner
    from app.model.replays import ReplayReport
    from app.policy_tools.files.policy_file import ReadFile

MANAGED_ELSEWHERE = "managed_elsewhere"
FILES = click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
PRUNE = click.option("--prune", is_flag=True, help="Delete policies of these owners that are not in the files.")
FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="The output format."
)
VALUES = click.option(
    "--values",
    "values_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What differs in this environment: the values to which {$value: NAME} in the files refers.",
)
MANAGED_BY = click.option(
    "--managed-by",
    "source",
    metavar="SOURCE",
    help="Where these files are, such as a repository: whoever changes their policies elsewhere is warned.",
)
REPLAY = click.option(
    "--replay",
    "span_ms",
    type=Duration(),
    metavar="SPAN",
    help="Also replay the last SPAN (24h) of the log and print the flips.",
)
EXIT_CODE = click.option(
    "--exit-code",
    is_flag=True,
    help=f"Exit with {ANSWER_IS_NO} if anything would change; with --replay, if any call flips.",
)


@click.command("diff")
@on_api
@PRUNE
@FORMAT
@MANAGED_BY
@VALUES
@click.option(
    "--against",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Compare with these files, not with what is stored; needs no store. Or with what was stored: @-7d, @TIME.",
)
@click.option(
    "--against-values", metavar="FILE", type=click.Path(path_type=Path), help="The values of the files of --against."
)
@click.option("--meaning", is_flag=True, help="Also print a call for each kind of result that would differ.")
@click.option(
    "--fail-on",
    type=click.Choice(["loosened"]),
    help=f"With --meaning, exit with {ANSWER_IS_NO} if a call is newly allowed, no longer denied or no longer asked "
    "about.",
)
@REPLAY
@EXIT_CODE
@FILES
def diff_policies(
    api: Api, prune: bool, form: str, source: str | None, values_file: Path | None, against: tuple[Path, ...],
    against_values: Path | None, meaning: bool, fail_on: str | None, span_ms: int | None, exit_code: bool,
    paths: tuple[Path, ...],
) -> None:  # fmt: skip
    """Print what applying these files would change. A folder means all policy files in it."""
    files = read_files(paths, values_file, source)
    if fail_on and not meaning:
        raise click.UsageError("--fail-on needs --meaning")
    if not against:
        if against_values is not None:
            raise click.UsageError("--against-values needs --against")
        _preview(
            files, api, form, span_ms, prune=prune, create=True, exit_code=exit_code, meaning=meaning, fail_on=fail_on
        )
        return
    if len(against) == 1 and (given := str(against[0])).startswith("@"):
        if span_ms is not None or against_values is not None:
            raise click.UsageError("--replay and --against-values do not go with what was stored earlier")
        _preview(
            files, api, form, None, prune=prune, create=True, exit_code=exit_code, meaning=meaning, fail_on=fail_on,
            at_ms=_time_of(given[1:]),
        )  # fmt: skip
        return
    if prune or source is not None or span_ms is not None:
        raise click.UsageError("--prune, --managed-by and --replay need a store, and --against uses none")
    from app.cli.policy_meaning import against_files

    changed = against_files(files, read_files(against, against_values))
    meant = _meanings(changed, None) if meaning else None
    _print(changed, form, None, meant)
    _end(exit_code and any(each.difference.is_any for each in changed), meant, fail_on)


@click.command("apply")
@on_api
@PRUNE
@FORMAT
@MANAGED_BY
@VALUES
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@REPLAY
@EXIT_CODE
@REASON
@click.option("--create-agents", is_flag=True, help="Create missing agents, with the groups that the files name.")
@FILES
def apply_policies(
    api: Api, prune: bool, form: str, source: str | None, values_file: Path | None, dry_run: bool, span_ms: int | None,
    exit_code: bool, reason: str, create_agents: bool, paths: tuple[Path, ...],
) -> None:  # fmt: skip
    """Make the policies in these files current: each file as a whole or not at all.

    All files are read and compared before the first is applied. If an owner's policies change in between, its file and
    those after it are refused; run `apply` again. Exits with 3 if a change waits for a second person.
    """
    from app.cli.policy_sets import Sets

    if not dry_run and (span_ms is not None or exit_code):
        raise click.UsageError("--replay and --exit-code need --dry-run, as they describe what would change")
    files = read_files(paths, values_file, source)
    if dry_run:
        _preview(files, api, form, span_ms, prune=prune, create=create_agents, exit_code=exit_code)
        return

    sets = Sets(api)
    changed = [_changed_by(sets, each, prune=prune, create=create_agents) for each in files]
    waiting: list[str] = []
    for file_change in changed:
        try:
            _apply(sets, file_change, prune=prune, source=source, reason=reason)
        except Waits as waits:
            waiting.append(f"{file_change.read.path}: {waits.message}")
    _print(changed, form, None)
    for line in waiting:
        click.echo(line, err=True)
    _end(bool(waiting), None, None)


def _preview(
    files: "Sequence[ReadFile]", api: Api, form: str, span_ms: int | None,
    *, prune: bool, create: bool, exit_code: bool, meaning: bool = False, fail_on: str | None = None,
    at_ms: int | None = None,
) -> None:  # fmt: skip
    """Print what would change and, if asked, what that means and what would flip; nothing is changed.

    at_ms: compare with what was stored at this time.
    """
    from app.cli.policy_flips import replayed
    from app.cli.policy_sets import NEW_AGENT, FormerSets, Sets

    sets = Sets(api) if at_ms is None else FormerSets(api, at_ms)
    if isinstance(sets, FormerSets) and not sets.knows_deleted:
        message = "Policies that were deleted since then are not compared: a key needs the scope audit to read of them"
        click.echo(message, err=True)
    changed = [_changed_by(sets, each, prune=prune, create=create) for each in files]
    for file_change in changed:
        if file_change.owner == NEW_AGENT:
            needed = "there is no such agent yet, so `apply` needs --create-agents"
            click.echo(f"{file_change.read.path}: {file_change.read.file.owner}: {needed}", err=True)
    reports = None if span_ms is None else replayed(sets, changed, span_ms)
    meant = _meanings(changed, sets) if meaning else None
    _print(changed, form, reports, meant)
    is_any = any(file_change.difference.is_any for file_change in changed)
    is_any = is_any if reports is None else any(report.flipped for report in reports.values())
    _end(is_any and exit_code, meant, fail_on)


def _time_of(given: str) -> int:
    """`-7d`, seven days ago, or a time, in ms since the epoch. Raises BadParameter."""
    from app.model.times import parse_time_ms

    if given.startswith("-"):
        return time.time_ns() // 1_000_000 - Duration().convert(given[1:], None, None)
    try:
        return parse_time_ms(given)
    except ValueError as error:
        raise click.BadParameter(f"@{given}: {error}", param_hint="--against") from None


def _meanings(changed: "Sequence[FileChange]", sets: "Sets | None") -> "dict[str, PolicyComparison]":
    from app.cli.policy_meaning import meanings

    return meanings(changed, sets)


def _end(is_no: bool, meant: "dict[str, PolicyComparison] | None", fail_on: str | None) -> None:
    """Exit with 3 if the answer is no."""
    is_loosened = any(each.is_loosened for each in (meant or {}).values())
    if is_no or (fail_on and is_loosened):
        raise click.exceptions.Exit(ANSWER_IS_NO)


def read_files(paths: Sequence[Path], values_file: Path | None = None, source: str | None = None) -> "list[ReadFile]":
    """The policy files given, or found in the folders given, with the values of an environment.

    source: what manages them. Raises ClickException.
    """
    from msgspec.structs import replace

    from app.model.policy_sets import managed
    from app.policy_tools.files.policy_file import (
        FileError,
        find_files,
        read_policy_files,
        read_values,
        require_one_file_each,
        require_used,
    )

    try:
        values = None if values_file is None else read_values(values_file)
        files = read_policy_files(find_files(paths), values)
        require_one_file_each(files)
        if values is not None:
            require_used(values, files)
    except FileError as error:
        raise click.ClickException(str(error)) from None
    return [replace(each, file=replace(each.file, policies=managed(each.file.policies, source))) for each in files]


def _changed_by(sets: "Sets", read: "ReadFile", *, prune: bool, create: bool) -> "FileChange":
    """What applying the file would change."""
    from app.cli.policy_flips import FileChange
    from app.cli.policy_sets import NEW_AGENT
    from app.errors import AppError
    from app.model.policy_sets import KeyTaken, UnknownPolicy, settle
    from app.policy_tools.files.comparison import compare

    try:
        owner = _owner(sets, read, create=create)
        held = None if owner == NEW_AGENT else sets.get(owner)
        policies = [] if held is None else held.policies
        changes = settle(policies, read.file.policies, owner, prune=prune)
    except (UnknownPolicy, KeyTaken) as error:
        place = f"{read.path}:{read.document.line_of(f'$.{error.field}')}: $.{error.field}"
        raise click.ClickException(f"{place}: {error.message}") from None
    except click.UsageError:
        raise
    except (AppError, click.ClickException) as error:
        raise click.ClickException(f"{read.path}: {error}") from None
    difference = compare(read.file.owner, str(read.path), changes, len(read.file.policies))
    return FileChange(read, owner, held, changes, difference)


def _owner(sets: "Sets", read: "ReadFile", *, create: bool) -> "Owner":
    from app.cli.policy_sets import NEW_AGENT
    from app.errors import AgentNotFound
    from app.model.policies import Owner

    called = read.file.agent_ref
    if called is None:
        return Owner(group=read.file.group_name)
    try:
        return Owner(sets.agent(called)[0])
    except AgentNotFound as error:
        if create:
            return NEW_AGENT
        message = f'{error}. `remit agents create "{called}"` creates it, and so does `--create-agents`'
        raise AgentNotFound(message) from None


def _apply(sets: "Sets", file_change: "FileChange", *, prune: bool, source: str | None, reason: str) -> None:
    from app.cli.policy_lint import print_warnings
    from app.errors import AppError
    from app.model.policies import Owner

    file, path, owner, held = file_change.read.file, file_change.read.path, file_change.owner, file_change.held
    try:
        if held is None:
            owner = Owner(sets.create_agent(file.new_agent, reason))
            held = sets.get(owner)
        if file_change.difference.is_any:
            warnings = sets.put(owner, list(file.policies), held.version, prune=prune, source=source, reason=reason)
            print_warnings(each for each in warnings if each["code"] == MANAGED_ELSEWHERE)
    except Waits:
        raise
    except Refused as refused:
        if refused.code != "VERSION_CONFLICT":
            raise click.ClickException(f"{path}: {refused.message}. This file was not applied") from None
        message = f"{path}: the policies of {file.owner} changed meanwhile, so this file was not applied"
        raise click.ClickException(f"{message}; run `remit policy diff` again, then `apply`") from None
    except (AppError, click.ClickException) as error:
        raise click.ClickException(f"{path}: {error}. This file was not applied") from None


def _print(
    changed: "Sequence[FileChange]", form: str, reports: "dict[str, ReplayReport] | None",
    meant: "dict[str, PolicyComparison] | None" = None,
) -> None:  # fmt: skip
    from app.cli.policy_flips import flips_as_json, flips_as_markdown, flips_as_text
    from app.policy_tools.files.comparison import as_markdown, as_text

    differences = [file_change.difference for file_change in changed]
    if form == "json":
        print_json(flips_as_json(differences, reports, meant))
        return
    lines = as_text(differences) if form == "text" else as_markdown(differences)
    flips = flips_as_text(reports or {}) if form == "text" else flips_as_markdown(reports or {})
    for line in (*lines, *_in_meaning(meant or {}, form), *flips):
        click.echo(line)


def _in_meaning(meant: "dict[str, PolicyComparison]", form: str) -> Iterator[str]:
    if not meant:
        return
    from app.cli.policy_meaning import markdown_lines, terminal_lines
    from app.model.text import with_hidden_shown

    if form == "markdown":
        yield from markdown_lines(meant)
        return
    for owner, meaning in meant.items():
        yield ""
        yield f"{with_hidden_shown(owner)}, in meaning:"
        yield from (f"  {line}" for line in terminal_lines(meaning))
