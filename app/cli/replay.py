"""`remit policy replay`: what a draft would have changed."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.api import Api, on_api
from app.cli.find import find_agent
from app.cli.option_types import Time
from app.cli.options import JSON, require_span
from app.cli.output import ANSWER_IS_NO, print_json
from app.model.times import rfc3339

if TYPE_CHECKING:
    from app.model.policy_sets import Entries


@click.command("replay")
@on_api
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--agent", help="The agent whose calls are replayed, if FILE names no owner.")
@click.option("--group", help="The group whose agents' calls are replayed, if FILE names no owner.")
@click.option("--from", "from_", type=Time(), help="The start of the span; a week before --to if left out.")
@click.option("--to", type=Time(end=True), help="The end of the span; now if left out. A date means its end.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option("--exit-code", is_flag=True, help=f"Exit with {ANSWER_IS_NO} if the result of any call flips.")
@JSON
def replay_draft(
    api: Api, file: Path | None, agent: str | None, group: str | None, from_: int | None, to: int | None,
    markdown: bool, exit_code: bool, as_json: bool,
) -> None:  # fmt: skip
    """Judge logged calls again by the policies in FILE, and print which results flip.

    FILE is a policy file in YAML or JSON, as `remit policy export` writes it: all policies of an agent, of a group or
    of the workspace. If it does not name the owner, give --agent or --group; it may then be a list of policies, or one
    policy. Without FILE, the policies in force at the time are replayed, which should flip nothing. Limits are counted
    on the log's own timeline.
    """
    if agent is not None and group is not None:
        raise click.UsageError("Give --agent or --group, not both")
    if markdown and as_json:
        raise click.UsageError("Give --markdown or --json, not both")
    require_span(from_, to)
    from app.cli.replay_report import markdown_lines, terminal_lines

    draft = None
    if file is not None:
        owner, draft = _read_draft(file)
        if owner is not None and (agent, group) != (None, None):
            raise click.UsageError("FILE names the owner of its policies; leave out --agent and --group")
        agent, group = owner or (agent, group)

    from app.cli.policy_sets import bodies, report_of

    asked = {
        "agent_id": None if agent is None else find_agent(api, agent)["id"],
        "group": group,
        "from": None if from_ is None else rfc3339(from_),
        "to": None if to is None else rfc3339(to),
        "policies": None if draft is None else bodies(draft),
    }
    report = report_of(api, asked)
    if as_json:
        print_json(report)
    else:
        click.echo("\n".join(markdown_lines(report) if markdown else terminal_lines(report)))
    if exit_code and report.flipped:
        raise click.exceptions.Exit(ANSWER_IS_NO)


def _read_draft(path: Path) -> "tuple[tuple[str | None, str | None] | None, Entries]":
    """The policies in a file, and the agent or group that it names, or None.

    Raises ClickException that names the file and the place in it.
    """
    from app.model.policy_sets import PolicyEntry
    from app.policy_tools.files.policy_file import FileError, PolicySetFile, decoded, read_text

    try:
        document = read_text(path)
        value = document.value
        if isinstance(value, dict) and "policies" in value and value.keys() - {"policies", "$schema"}:
            file: PolicySetFile = decoded(path, document, PolicySetFile)
            return (file.agent_ref, file.group_name), file.policies
        if isinstance(value, dict) and "policies" not in value:
            return None, [decoded(path, document, PolicyEntry)]
        listed = document.inside("policies") if isinstance(value, dict) else document
        return None, decoded(path, listed, list[PolicyEntry])
    except FileError as error:
        raise click.ClickException(str(error)) from None
