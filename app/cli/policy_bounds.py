"""`remit policy bounds`: what an agent can ever do, under the policies in force or those in files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.api import Api, on_api
from app.cli.find import agent_path
from app.cli.options import JSON
from app.cli.output import print_json
from app.cli.policy_apply import VALUES, read_files

if TYPE_CHECKING:
    from app.model.bounds import AgentBounds, ExampleCall, ToolBounds
    from app.model.policies import Policy
    from app.policy_tools.files.policy_file import ReadFile


@click.command("bounds")
@on_api
@VALUES
@JSON
@click.argument("named", metavar="AGENT|FILE...", nargs=-1, required=True)
def print_bounds(api: Api, values_file: Path | None, as_json: bool, named: tuple[str, ...]) -> None:
    """Print what an agent can ever do: for each tool never, asks, bounded or any, with a call for each result.

    AGENT is an id, an alias or a unique name, whose policies in force are judged; files and folders are judged as if
    they were applied, and need no store. Also names the rules without which nothing would be answered otherwise.
    """
    import msgspec

    from app.model.bounds import AgentBounds

    paths = [Path(each) for each in named]
    if any(path.exists() for path in paths):
        found = dict(_in_files(read_files(paths, values_file)))
    elif len(named) > 1:
        raise click.UsageError(f"{named[0]}: no such file; several arguments are files")
    else:
        answer = api.get(f"{agent_path(api, named[0])}/bounds")
        found = {f"agent {named[0]}": msgspec.convert(answer, AgentBounds)}
    if as_json:
        print_json([{"owner": owner, **msgspec.to_builtins(bounds)} for owner, bounds in found.items()])
        return
    for place, (owner, bounds) in enumerate(found.items()):
        for line in ([""] if place else []) + [owner, *_lines(bounds)]:
            click.echo(line)


def _in_files(files: "Sequence[ReadFile]") -> "Iterator[tuple[str, AgentBounds]]":
    """Yield the bounds of each agent that has a file."""
    from app.policy_tools.compare.bounds import bounds_of
    from app.policy_tools.files.test_run import policies_in

    for read in files:
        if read.file.agent_ref is None:
            continue
        groups = (None, *read.file.new_agent.groups)
        governing = [each for each in files if each.file.agent_ref is None and each.file.group_name in groups]
        policies: list[Policy] = [policy for each in (read, *governing) for policy in policies_in(each)]
        yield read.file.owner, bounds_of(policies, lambda _: False)


def _lines(bounds: "AgentBounds") -> Iterator[str]:
    """Nothing in a policy can move the cursor or reorder a line."""
    from app.model.text import with_hidden_shown

    for tool in bounds.tools:
        yield from (with_hidden_shown(f"  {line}") for line in _tool_lines(tool))
    for said, rules in (("changes nothing", bounds.idle_rules), ("not judged", bounds.not_judged)):
        for rule in rules:
            yield with_hidden_shown(f'  {said}: policy "{rule.policy}", rule {rule.rule_index} ({rule.rule_type})')
    if bounds.complete:
        yield f"  Complete: {len(bounds.tools)} kinds of tools."
        return
    for doubt in bounds.because:
        yield with_hidden_shown(f"  Not a proof: {doubt.reason} ({doubt.tool})")


def _tool_lines(tool: "ToolBounds") -> Iterator[str]:
    more = f", as {len(tool.like)} others" if len(tool.like) > 1 else f", as {tool.like[0]}" if tool.like else ""
    yield f"{tool.calls:9}  {tool.tool}{more}"
    for bound in tool.bounds:
        yield f"    {'else asks' if bound.effect == 'escalate' else 'else denied':11}  {bound.text}"
    for example in tool.examples if len(tool.examples) > 1 else ():
        yield f"    {example.result:11}  {_shown(example)}"


def _shown(example: "ExampleCall") -> str:
    from app.cli.policy_meaning import as_json

    context = {name: each for name, each in example.context.items() if name not in ("session", "request")}
    beside = f" context {as_json(context)}" if context else ""
    limits = ", while limits are full" if example.limits else ""
    at = f", at {example.at}" if example.at is not None else ""
    return f"{as_json(example.parameters)}{beside}{at}{limits}: {example.reason}"
