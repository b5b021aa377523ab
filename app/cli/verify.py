"""`remit audit verify`."""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from app.cli.atomic_output import atomic_output
from app.cli.options import JSON, WORKSPACE, Duration
from app.cli.session import in_workspace, print_json, progress_bar
from app.errors import StoreUnavailable
from app.model.checkpoints import Checkpoint, Finding, Verification

if TYPE_CHECKING:
    from app.replica import Services

_FULL_S = 24 * 3600
"""The interval at which a watch reads the whole log again instead of only the new part."""


@click.command("verify")
@WORKSPACE
@click.option(
    "--archive",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Verify this archive first, and that the log continues it.",
)
@click.option(
    "--since-checkpoint", metavar="LINE", help="Compare with this checkpoint line; - reads it from standard input."
)
@click.option(
    "--checkpoint-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Compare with the checkpoint in this file, if it exists; if all is well, replace it with the new one.",
)
@click.option(
    "--watch",
    type=Duration(),
    metavar="INTERVAL",
    help="Verify again at this interval, such as 5m, until something is found.",
)
@JSON
def verify_log(
    workspace: str,
    folder: Path | None,
    since_checkpoint: str | None,
    checkpoint_file: Path | None,
    watch: int | None,
    as_json: bool,
) -> None:
    """Recompute the log's chains from the entries and changes themselves, and print a checkpoint line.

    Keep the line out of reach of anyone who can write to the store, and pass it next time: only that detects a log
    that was rewritten as a whole. If anything is wrong, the exit code is 1 and a checkpoint file stays as it is.
    """
    if sum(each is not None for each in (folder, since_checkpoint, checkpoint_file)) > 1:
        raise click.UsageError(
            "Give only one of --archive, --since-checkpoint and --checkpoint-file: the log is compared with one of them"
        )
    since = _checkpoint_of(since_checkpoint, checkpoint_file)

    import asyncio

    async def verify(services: "Services", workspace_id: str) -> Verification:
        from app.audit.archive import Archive, ArchiveAltered
        from app.webhooks.records import note_finding

        try:
            start = since if folder is None else Archive(folder, workspace_id).verify()
        except ArchiveAltered as altered:
            _report(broken := _of_archive(altered.finding), as_json=as_json)
            return broken
        archived = () if folder is None or start is None else (_archived(start),)
        full_at = time.monotonic()
        while True:
            found = await _verify_once(services, workspace_id, start, lasting=watch is not None)
            if found is not None:
                found = replace(found, checked=(*archived, *found.checked))
                _report(found, as_json=as_json)
                if found.finding is None and checkpoint_file is not None:
                    _keep(found, checkpoint_file)
                if found.finding is not None:
                    await note_finding(services.client, workspace_id, found.finding)
                if found.finding is not None or watch is None:
                    return found
                is_full = time.monotonic() - full_at >= _FULL_S
                start, full_at = (None, time.monotonic()) if is_full else (found.checkpoint, full_at)
            await asyncio.sleep((watch or 0) / 1000)

    with suppress(KeyboardInterrupt):
        if in_workspace(workspace, verify).finding is not None:
            raise SystemExit(1)


def _of_archive(finding: Finding) -> Verification:
    """The result if the archive differs from what was sealed, or None."""
    return Verification(
        finding=finding,
        complete=False,
        checkpoint=None,
        first_segment=1,
        segments=0,
        entries=0,
        unsealed=0,
        unchecked=("the log in the store; verify it without --archive",),
    )


def _archived(last: Checkpoint) -> str:
    """The extent of the archive, in words."""
    if last.segment == 0:
        return "archive: no segments; its manifest is empty, or there is none"
    return f"archive: files up to segment {last.segment} and entry {last.sequence}, and that the log continues them"


async def _verify_once(
    services: "Services", workspace_id: str, since: Checkpoint | None, *, lasting: bool
) -> Verification | None:
    """The result, or None if the store was unavailable and another round follows."""
    try:
        with progress_bar("verifying") as progress:
            return await services.log.audit.verify(workspace_id, since, progress=progress)
    except StoreUnavailable as error:
        if not lasting:
            raise
        click.echo(f"not verified: {error}", err=True)
        return None


def _keep(found: Verification, file: Path) -> None:
    """Write the checkpoint to its file; the file has the whole new line, or is unchanged."""
    if found.checkpoint is not None:
        with atomic_output(str(file)) as out:
            out.write(f"{found.checkpoint.line}\n".encode())


def _checkpoint_of(line: str | None, file: Path | None) -> Checkpoint | None:
    """The checkpoint to compare with. Raises BadParameter if what is given is not a checkpoint."""
    name = "--since-checkpoint" if file is None else f"--checkpoint-file {file}"
    try:
        if file is not None:
            line = file.read_text("utf-8", errors="replace") if file.exists() else None
        elif line == "-":
            line = sys.stdin.readline()
        return None if line is None else Checkpoint.parse(line)
    except (ValueError, OSError) as error:
        raise click.BadParameter(str(error), param_hint=name) from None


def _report(found: Verification, *, as_json: bool) -> None:
    """Print finding and coverage to standard error, and the checkpoint (or everything, as JSON) to standard output."""
    from app.views.audit_log import VerificationView

    if as_json:
        print_json(VerificationView.of(found))
        return
    if found.finding is not None:
        click.echo(f"{found.finding.fault} at {found.finding.place}: {found.finding.message}", err=True)
    for each in found.checked:
        click.echo(f"{'intact' if found.finding is None else 'checked'}: {each}", err=True)
    for each in found.unchecked:
        click.echo(f"not checked: {each}", err=True)
    if found.checkpoint is not None:
        click.echo(found.checkpoint.line)
