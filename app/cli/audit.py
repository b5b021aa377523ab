"""`remit audit …`: read, check, export and archive the log."""

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.api import LISTENING, Api, Refused, on_api
from app.cli.atomic_output import atomic_output
from app.cli.checkpoints import accept_forks, key, run_witness
from app.cli.explain import explain_decision
from app.cli.find import find_agent_id
from app.cli.groups import CommandGroup
from app.cli.option_types import Shadow, Time, Uuid, WholeNumber
from app.cli.options import JSON, WORKSPACE, Option, filters
from app.cli.output import Shown, in_colour, progress_bar, shows
from app.cli.store_access import in_workspace
from app.cli.verify import verify_log
from app.model.audit import AuditFilters, Format
from app.model.counts import CountBy
from app.model.text import counted, with_hidden_shown

_HIGHEST = 10**15 - 1
_END_BYTES = 4_096
_END_MARKS = {"ndjson": b'{"end":', "csv": b"#end"}
"""Begin the last record of an export, by its format."""


if TYPE_CHECKING:
    from app.replica import Services


FILTERS = filters(
    AuditFilters,
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
    text=Option("--text"),
    from_ms=Option(kind=Time(), help="Only entries at or after this time: ISO 8601, a date, yesterday, -24h."),
    to_ms=Option(kind=Time(end=True), help="Only entries at or before this time; a date means its end."),
)


@click.group(cls=CommandGroup)
def audit() -> None:
    """Read, verify, export and archive the audit log."""


@audit.command("query")
@on_api
@FILTERS
@click.option("--limit", type=WholeNumber(1, 1000), default=100, show_default=True, help="The most entries to print.")
@click.option("--offset", type=WholeNumber(0, _HIGHEST), default=0, help="How many to skip first.")
@click.option(
    "--before",
    type=WholeNumber(1, _HIGHEST),
    help="Only entries before this one: the position that the last page ended with.",
)
@JSON
def query_entries(api: Api, query: dict[str, Any], limit: int, offset: int, before: int | None, as_json: bool) -> None:
    """Print entries, newest first. If there are more than --limit, standard error says how to get them.

    --id, --session, --user, --subject and --text are not indexed: the whole log is searched for them, a second for a
    million entries, unless --agent, --tool or --from leave less of it.
    """
    lines, older = newest(api, settled(api, query) | {"offset": offset, "cursor": before}, limit)
    if as_json:
        click.echo("[" + ",\n ".join(each.decode() for each in lines) + "]")
    else:
        entries = [*map(json.loads, lines)]
        names = _names(api, entries, {})
        width = max((len(each["toolName"]) for each in entries), default=0)
        for entry in entries:
            click.echo(sentence(entry, names, width))
    if older is not None:
        shown = counted(len(lines), "entry", "entries")
        more = f"{shown} shown; there are older ones: add --before {older} for the next page"
        click.echo(f"{more}, raise --limit (up to 1000), or take all with `remit audit export`", err=True)


def sentence(entry: dict[str, Any], names: dict[str, str], width: int = 0) -> str:
    """The entry on one line, for people; names: agent names by id. The tool name is padded to `width` characters.

    An entry about an approval or an outcome has its code where a decision has its result.
    """
    what = entry["result"] or entry.get("code", "").removeprefix("approval_") or "unreadable"
    called = names.get(entry["agentId"], "")
    agent = f"agent {called} {entry['agentId']}" if called else f"agent {entry['agentId']}"
    return f"{entry['timestamp']}  {in_colour(what, 9)}  {entry['toolName']:{width}}  {agent}  {entry['reason']}"


def _names(api: Api, entries: Iterable[dict[str, Any]], names: dict[str, str]) -> dict[str, str]:
    """The alias, or else the name, of each agent of the entries that still exists; `names` has those known before."""
    for agent_id in {each["agentId"] for each in entries} - names.keys():
        try:
            agent = api.get(f"/v1/agents/{agent_id}")
        except Refused as refused:
            if refused.code not in {"AGENT_NOT_FOUND", "INSUFFICIENT_SCOPE"}:
                raise
            names[agent_id] = ""
        else:
            names[agent_id] = agent["alias"] or agent["name"]
    return names


@audit.command("tail")
@on_api
@FILTERS
@click.option(
    "--lines",
    "-n",
    "newest_lines",
    type=WholeNumber(0, 1000),
    default=10,
    show_default=True,
    help="The newest entries to print first.",
)
@click.option("--follow", "-f", "following", is_flag=True, help="Print new entries as they are appended, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, for scripts.")
def tail_log(api: Api, query: dict[str, Any], newest_lines: int, following: bool, as_json: bool) -> None:
    """Print the newest entries, oldest first."""
    names: dict[str, str] = {}

    def show(lines: list[bytes]) -> None:
        if as_json:
            for line in lines:
                click.echo(line)
            return
        entries = [*map(json.loads, lines)]
        _names(api, entries, names)
        for entry in entries:
            click.echo(sentence(entry, names))

    wanted = settled(api, query)
    # Entries appended between the two reads are in the second, which begins where the log ended before.
    last = api.get("/v1/audit-logs/status")["lastSequence"]
    with suppress(KeyboardInterrupt):
        if newest_lines:
            show(newest(api, wanted | {"cursor": last + 1}, newest_lines)[0][::-1])
        if following:
            for name, line in api.events("/v1/audit-logs/stream", wanted, after=last):
                if name != LISTENING:
                    show([line])
            raise click.ClickException("The service has ended the stream; start this again")


@audit.command("status")
@on_api
@shows
def show_status(api: Api) -> Shown:
    """Print the extent of the log, and how far sealing lags."""
    log = api.get("/v1/audit-logs/status")
    yield log
    click.echo(f"entries   {log['firstSequence']} to {log['lastSequence']}, sealed up to {log['sealedSequence']}")
    click.echo(f"unsealed  {log['unsealed']}, the oldest for {log['lagSeconds']:.1f} s")
    click.echo(f"segments  {log['segments']}")
    _print_verification(log["verification"])
    intact = f"up to entry {log['intactUpTo']} when last verified as a whole, {log['intactAt']}"
    click.echo(f"intact    {'not found so yet' if log['intactAt'] is None else intact}")
    for fork in log["forks"]:
        said = f"{fork['tree']}, not signed since {fork['since']}: {with_hidden_shown(fork['message'])}"
        click.echo(f"forked    {said}; see docs/checkpoints.md", err=True)
    if log["poison"]:
        click.echo(f"poison    {log['poison']} entries could not be sealed unchanged; see docs/audit.md", err=True)


def _print_verification(last: dict[str, Any] | None) -> None:
    """Print the last round of the background verification."""
    if last is not None and last["finding"] is not None:
        finding = last["finding"]
        place = f"segment {finding['segment']}" if finding["part"] == "segments" else f"the {finding['part']}"
        said = with_hidden_shown(finding["message"])
        click.echo(f"verified  {last['beganAt']}: {finding['fault']} at {place}: {said}", err=True)
    elif last is not None:
        up_to = "" if last["upTo"] is None else f", up to entry {last['upTo']}"
        click.echo(f"verified  {last['beganAt']}: intact{up_to}")


@audit.command("counts")
@on_api
@FILTERS
@click.option(
    "--by",
    type=click.Choice([each.value for each in CountBy]),
    default="result",
    show_default=True,
    help="What to count.",
)
@click.option(
    "--step", type=WholeNumber(1, 2_678_400), help="Also count per interval of so many seconds; needs --from."
)
@click.option("--limit", type=WholeNumber(1, 1000), default=10, show_default=True, help="The most values to print.")
@shows
def count_entries(api: Api, query: dict[str, Any], by: str, step: int | None, limit: int) -> Shown:
    """Count entries by result, agent, tool, policy or code, the most frequent first."""
    found = api.get("/v1/audit-logs/counts", **settled(api, query), by=by, step=step, limit=limit)
    yield found
    for each in found["values"]:
        over_time = "  " + " ".join(map(str, each["counts"])) if "counts" in each else ""
        value = each["value"] or ("no decision" if by == CountBy.RESULT else "none")
        click.echo(f"{each['count']:>10}  {value}{over_time}")
    if found["others"]:
        click.echo(f"{found['others']:>10}  others")
    click.echo(f"{found['total']:>10}  in all")


@audit.command("export")
@on_api
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
def export_log(api: Api, query: dict[str, Any], kind: str, output: str) -> None:
    """Export every matching entry, oldest first. The last record marks the end; a file appears only when complete."""
    wanted, end = settled(api, query) | {"format": kind}, b""
    with atomic_output(output) as file:
        for piece in api.pieces("/v1/audit-logs/export", wanted):
            file.write(piece)
            end = (end + piece)[-_END_BYTES:]
        if _END_MARKS[kind] not in end[end.rstrip(b"\r\n").rfind(b"\n") + 1 :]:
            raise click.ClickException("The export ended before its end mark, so it is incomplete; start it again")


@audit.command("archive")
@WORKSPACE
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@shows
def archive_log(workspace: str, folder: Path) -> Shown:
    """Add every sealed segment that is not archived yet to FOLDER/<workspace id>/.

    Files are zstd-compressed JSON lines; manifest.jsonl names each with its hashes. Retention only drops archived
    segments, unless REMIT_AUDIT_DROP_UNARCHIVED is set. This needs the store; over HTTP there is `remit audit export`.
    """

    async def write(services: "Services", workspace_id: str) -> tuple[str, int]:
        with progress_bar("archiving") as progress:
            return workspace_id, await services.log.audit.archive(folder, workspace_id, progress)

    workspace_id, added = in_workspace(workspace, write)
    yield {"folder": str(folder / workspace_id), "segmentsAdded": added}
    click.echo(f"{counted(added, 'segment')} added")


@audit.command("manifest")
@on_api
def print_manifest(api: Api) -> None:
    """Print the manifest's lines of every segment that the store still has, to compare an archive with."""
    after = 0
    while True:
        found = api.get("/v1/audit-logs/archive", after=after)
        for line in found["segments"]:
            click.echo(json.dumps(line, separators=(",", ":")))
            after = line["segment"]
        if not found["segments"] or after >= found["sealedUpTo"]:
            break
    click.echo(f"archived up to segment {found['archivedUpTo']} of {found['sealedUpTo']}", err=True)


def settled(api: Api, query: dict[str, Any]) -> dict[str, Any]:
    """The query with the id of the agent it names."""
    called = query.get("agent_id")
    return query if called is None else query | {"agent_id": find_agent_id(api, called)}


def newest(api: Api, query: dict[str, Any], limit: int) -> tuple[list[bytes], str | None]:
    """The newest matching entries, and the cursor of the older ones; None if there are none.

    The service ends a page early if it had to read many entries for it; then the next page is read, too.
    """
    lines, older = api.page("/v1/audit-logs", query | {"limit": limit})
    while older is not None and len(lines) < limit:
        more, older = api.page("/v1/audit-logs", query | {"limit": limit - len(lines), "offset": 0, "cursor": older})
        lines += more
    return lines, older


audit.add_command(accept_forks)
audit.add_command(explain_decision)
audit.add_command(verify_log)
audit.add_command(key)
audit.add_command(run_witness)
