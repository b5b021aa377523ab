"""`remit audit archive` and `manifest`: sealed segments as files, and what these files must be."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.api import Api, on_api
from app.cli.options import WORKSPACE
from app.cli.output import Shown, counted, progress_bar, shows
from app.cli.store_access import in_workspace

if TYPE_CHECKING:
    from app.replica import Services


@click.command("archive")
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


@click.command("manifest")
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
