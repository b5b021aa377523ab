"""The effect of applying policy files: on the policies, and on the results of logged calls."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from app.cli.policy_sets import NEW_AGENT, Sets
from app.cli.replay_report import markdown_lines, terminal_lines
from app.model.policies import Owner
from app.model.policy_sets import PolicyChange, PolicySet, entries_after
from app.model.text import with_hidden_shown
from app.policy_tools.files.comparison import COMMENT_LENGTH, Difference, as_code

if TYPE_CHECKING:
    from app.model.comparisons import PolicyComparison
    from app.model.replays import ReplayReport
    from app.policy_tools.files.policy_file import ReadFile


class FileChange(NamedTuple):
    """What applying one file would change. held: the stored set, or None if the agent does not exist."""

    read: "ReadFile"
    owner: Owner
    held: PolicySet | None
    changes: Sequence[PolicyChange]
    difference: Difference


def replayed(sets: Sets, files: Sequence[FileChange], span_ms: int) -> "dict[str, ReplayReport]":
    """The results of the latest `span_ms` that would flip, by owner, for each file that changes anything.

    Each file is replayed separately, together with the other owners' current policies. A new agent has no calls to
    replay.
    Raises ClickException that names the file.
    """
    from app.errors import AppError

    reports = {}
    for file in files:
        if file.difference.is_any and file.owner != NEW_AGENT:
            try:
                report = sets.replay(file.owner, entries_after(file.changes), span_ms)
            except (AppError, click.ClickException) as error:
                raise click.ClickException(f"{file.read.path}: cannot be replayed: {error}") from None
            reports[file.difference.owner] = report
    return reports


def flips_as_text(reports: "Mapping[str, ReplayReport]") -> Iterator[str]:
    """The flips as lines for a terminal, to print below the differences."""
    for owner, report in reports.items():
        yield ""
        yield f"{with_hidden_shown(owner)}, replayed:"
        yield from (f"  {line}".rstrip() for line in terminal_lines(report))


def flips_as_markdown(reports: "Mapping[str, ReplayReport]") -> Iterator[str]:
    """The flips as Markdown, for a pull request."""
    if reports:
        yield ""
        yield "### Replay"
    for owner, report in reports.items():
        yield ""
        yield f"{as_code(owner)}:"
        yield from markdown_lines(report, COMMENT_LENGTH // len(reports))


def flips_as_json(
    differences: Sequence[Difference],
    reports: "Mapping[str, ReplayReport] | None",
    meant: "Mapping[str, PolicyComparison] | None",
) -> list[dict[str, Any]]:
    """The differences; each with the report of its `replay` and with its `meaning`, if asked for; null = no change."""
    import msgspec

    shown = []
    for each in differences:
        plain: dict[str, Any] = msgspec.to_builtins(each)
        if reports is not None:
            plain["replay"] = msgspec.to_builtins(reports.get(each.owner))
        if meant is not None:
            plain["meaning"] = msgspec.to_builtins(meant.get(each.owner))
        shown.append(plain)
    return shown
