"""`remit audit …`: read, check and export the log."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from app.cli.atomic_output import atomic_output
from app.cli.explain import explain_decision
from app.cli.find import find_agent_id
from app.cli.groups import CommandGroup
from app.cli.options import JSON, WORKSPACE, Option, Shadow, Time, Uuid, filters
from app.cli.output import WholeNumber, counted
from app.cli.session import in_workspace, print_json, progress_bar
from app.cli.verify import verify_log
from app.errors import AgentNotFound
from app.model.audit import AuditEntry, AuditFilters, AuditPage, AuditQuery, Backlog, Format, decode_entry

if TYPE_CHECKING:
    from app.replica import Services


_HIGHEST = 10**15 - 1
FILTERS = filters(
    AuditFilters,
    AuditQuery,
    agent_id=Option(
        "--agent", click.STRING, "Only entries of this agent: its id, its alias, or a name that only one has."
    ),
    tool_name=Option("--tool"),
    result=Option(help="Only this result."),
    id=Option(kind=Uuid("remit audit query --json")),
    key_id=Option("--key", Uuid("remit keys list")),
    policy_id=Option("--policy", Uuid("remit policies list")),
    shadow=Option(
        kind=Shadow("remit policies list"), help="Only where this shadow policy, or any, would have decided otherwise."
    ),
    from_ms=Option(kind=Time(), help="Only entries at or after this time: ISO 8601, a date, yesterday, -24h."),
    to_ms=Option(kind=Time(end=True), help="Only entries at or before this time; a date means its end."),
)


@click.group(cls=CommandGroup)
def audit() -> None:
    """Read, verify, export and archive the audit log."""


@audit.command("query")
@WORKSPACE
@FILTERS
@click.option("--limit", type=WholeNumber(1, 1000), default=100, show_default=True, help="The most entries to print.")
@click.option("--offset", type=WholeNumber(0, _HIGHEST), default=0, help="How many to skip first.")
@click.option(
    "--before",
    type=WholeNumber(1, _HIGHEST),
    help="Only entries before this one: the position that the last page ended with.",
)
@JSON
def query_entries(
    workspace: str, query: AuditQuery, limit: int, offset: int, before: int | None, as_json: bool
) -> None:
    """Print entries, newest first. If there are more than --limit, standard error says how to get them."""
    wanted = replace(query, limit=limit, offset=offset, before=before)

    async def read(services: "Services", workspace_id: str) -> tuple[AuditPage, dict[str, str]]:
        page = await services.log.audit.query(workspace_id, await _settled(services, workspace_id, wanted))
        names: dict[str, str] = {}
        if not as_json:
            await _name_agents(services, workspace_id, page.entries, names)
        return page, names

    page, names = in_workspace(workspace, read)
    if as_json:
        from app.views.audit_log import with_code

        click.echo("[" + ",\n ".join(with_code(line).decode() for line in page.lines) + "]")
    else:
        width = max((len(entry.tool_name) for entry in page.entries), default=0)
        for entry in page.entries:
            click.echo(sentence(entry, names, width))
    if page.next_before is not None:
        shown = counted(len(page.lines), "entry", "entries")
        more = f"{shown} shown; there are older ones: add --before {page.next_before} for the next page"
        click.echo(f"{more}, raise --limit (up to 1000), or take all with `remit audit export`", err=True)


def sentence(entry: AuditEntry, names: dict[str, str], width: int = 0) -> str:
    """The entry on one line, for people; names: agent names by id. The tool name is padded to `width` characters."""
    result = entry.result or "unreadable"
    called = names.get(entry.agent_id, "")
    agent = f"agent {called} {entry.agent_id}" if called else f"agent {entry.agent_id}"
    return f"{entry.timestamp}  {result:9}  {entry.tool_name:{width}}  {agent}  {entry.reason}"


async def _settled(services: "Services", workspace_id: str, query: AuditQuery) -> AuditQuery:
    """The query with the id of the agent it names."""
    if query.agent_id is None:
        return query
    return replace(query, agent_id=await find_agent_id(services, workspace_id, query.agent_id))


async def _name_agents(
    services: "Services", workspace_id: str, entries: list[AuditEntry], names: dict[str, str]
) -> None:
    """Add the alias, or else the name, of every agent of these entries that still exists to `names`."""
    for agent_id in {entry.agent_id for entry in entries} - names.keys():
        try:
            agent = await services.records.agents.get(workspace_id, agent_id)
        except AgentNotFound:
            names[agent_id] = ""
        else:
            names[agent_id] = agent.alias or agent.name


@audit.command("tail")
@WORKSPACE
@FILTERS
@click.option(
    "--lines",
    "-n",
    type=WholeNumber(0, 1000),
    default=10,
    show_default=True,
    help="The newest entries to print first.",
)
@click.option("--follow", "-f", "following", is_flag=True, help="Print new entries as they are appended, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, for scripts.")
def tail_log(workspace: str, query: AuditQuery, lines: int, following: bool, as_json: bool) -> None:
    """Print the newest entries, oldest first."""
    names: dict[str, str] = {}

    async def show(services: "Services", workspace_id: str, lines: list[bytes]) -> None:
        if as_json:
            for line in lines:
                click.echo(line)
            return
        entries = [decode_entry(line) for line in lines]
        await _name_agents(services, workspace_id, entries, names)
        for entry in entries:
            click.echo(sentence(entry, names))

    async def read(services: "Services", workspace_id: str) -> None:
        wanted = await _settled(services, workspace_id, query)
        # Entries appended between the two reads are in the second, which begins where the log ended before.
        newest = (await services.log.audit.backlog(workspace_id)).last_sequence
        if lines:
            page = await services.log.audit.query(workspace_id, replace(wanted, limit=lines, before=newest + 1))
            await show(services, workspace_id, page.lines[::-1])
        if following:
            async for stretch in services.log.audit.follow(workspace_id, wanted, newest, services.streams.stopping):
                if stretch is not None:
                    await show(services, workspace_id, stretch.body.splitlines())

    with suppress(KeyboardInterrupt):
        in_workspace(workspace, read)


@audit.command("status")
@WORKSPACE
@JSON
def show_status(workspace: str, as_json: bool) -> None:
    """Print the extent of the log, and how far sealing lags."""

    async def read(services: "Services", workspace_id: str) -> Backlog:
        return await services.log.audit.backlog(workspace_id)

    backlog = in_workspace(workspace, read)
    if as_json:
        print_json(backlog)
        return
    click.echo(f"entries   {backlog.first_sequence} to {backlog.last_sequence}, sealed up to {backlog.sealed_sequence}")
    click.echo(f"unsealed  {backlog.unsealed}, the oldest for {backlog.lag_seconds:.1f} s")
    click.echo(f"segments  {backlog.segments}")
    if backlog.poison:
        click.echo(f"poison    {backlog.poison} entries could not be sealed unchanged; see docs/audit.md", err=True)


@audit.command("export")
@WORKSPACE
@FILTERS
@click.option(
    "--format",
    "kind",
    type=click.Choice([each.value for each in Format]),
    default="ndjson",
    show_default=True,
    help="The format of the export.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="-",
    help="The file to write; standard output if left out.",
)
def export_log(workspace: str, query: AuditQuery, kind: str, output: str) -> None:
    """Export every matching entry, oldest first. The last record marks the end; a file appears only when complete."""

    async def write(services: "Services", workspace_id: str) -> None:
        wanted = await _settled(services, workspace_id, query)
        with atomic_output(output) as file, progress_bar("exporting") as progress:
            async for piece in services.log.audit.export(workspace_id, wanted, Format(kind), progress):
                file.write(piece)

    in_workspace(workspace, write)


@audit.command("archive")
@WORKSPACE
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@JSON
def archive_log(workspace: str, folder: Path, as_json: bool) -> None:
    """Add every sealed segment that is not archived yet to FOLDER/<workspace id>/.

    Files are zstd-compressed JSON lines; manifest.jsonl names each with its hashes. Retention only drops archived
    segments, unless REMIT_AUDIT_DROP_UNARCHIVED is set.
    """

    async def write(services: "Services", workspace_id: str) -> tuple[str, int]:
        with progress_bar("archiving") as progress:
            return workspace_id, await services.log.audit.archive(folder, workspace_id, progress)

    workspace_id, added = in_workspace(workspace, write)
    if as_json:
        print_json({"folder": str(folder / workspace_id), "segmentsAdded": added})
    else:
        click.echo(f"{counted(added, 'segment')} added")


audit.add_command(explain_decision)
audit.add_command(verify_log)
