"""`remit audit verify`."""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from app.cli.api import Api, Refused, on_api
from app.cli.atomic_output import atomic_output
from app.cli.checkpoints import VKEYS, read_signed
from app.cli.option_types import Duration
from app.cli.options import JSON
from app.cli.output import print_json
from app.errors import StoreUnavailable
from app.model.checkpoints import Checkpoint, Finding
from app.model.notes import VerifierKey
from app.model.text import counted

_FULL_S = 24 * 3600
"""The interval at which a watch reads the whole log again instead of only the new part."""


@click.command("verify")
@on_api
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
    "--checkpoint",
    "note_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Require the log to continue the signed checkpoint in this file.",
)
@click.option("--key", "keys", help="The verifier key of the log, with which it must be signed.", **VKEYS)  # type: ignore[arg-type]
@click.option("--witness", "witnesses", help="The verifier key of a witness; repeat it for several.", **VKEYS)  # type: ignore[arg-type]
@click.option(
    "--quorum", type=click.IntRange(0), help="How many of the witnesses must have cosigned it; all by default."
)
@click.option(
    "--watch",
    type=Duration(),
    metavar="INTERVAL",
    help="Verify again at this interval, such as 5m, until something is found.",
)
@JSON
def verify_log(
    api: Api,
    folder: Path | None,
    since_checkpoint: str | None,
    checkpoint_file: Path | None,
    note_file: Path | None,
    keys: list[VerifierKey],
    witnesses: list[VerifierKey],
    quorum: int | None,
    watch: int | None,
    as_json: bool,
) -> None:
    """Recompute the log's chains from the entries and changes themselves, and print a checkpoint line.

    Keep the line out of reach of anyone who can write to the store, and pass it next time: only that detects a log
    that was rewritten as a whole. If anything is wrong, the exit code is 1 and a checkpoint file stays as it is.
    Over HTTP, the service does all this but --archive and the signatures, and you take its word.
    """
    if sum(each is not None for each in (folder, since_checkpoint, checkpoint_file)) > 1:
        raise click.UsageError(
            "Give only one of --archive, --since-checkpoint and --checkpoint-file: the log is compared with one of them"
        )
    since = _checkpoint_of(since_checkpoint, checkpoint_file)
    if note_file is None and (keys or witnesses or quorum is not None):
        raise click.UsageError("--key, --witness and --quorum are about --checkpoint, which is missing")
    note = None if note_file is None else read_signed(note_file, keys, witnesses, quorum).text

    found = _of_archive(folder, api.workspace_id()) if folder is not None else None
    with suppress(KeyboardInterrupt):
        if found is None or found["finding"] is None:
            start = None if since is None else since.line
            start = start if found is None else found["checkpoint"]
            found = _verified(api, start, note, found, checkpoint_file, watch, as_json=as_json)
        else:
            _report(found, as_json=as_json)
        if found["finding"] is not None:
            raise SystemExit(1)


def _verified(
    api: Api,
    start: str | None,
    note: str | None,
    archived: dict[str, Any] | None,
    file: Path | None,
    watch: int | None,
    *,
    as_json: bool,
) -> dict[str, Any]:
    """The result, printed; with `watch` that of the last round, which found something."""
    full_at = time.monotonic()
    while True:
        found = _verify_once(api, start, note, lasting=watch is not None)
        if found is not None:
            found["checked"] = [*(archived["checked"] if archived else ()), *found["checked"]]
            _report(found, as_json=as_json)
            if found["finding"] is None and file is not None:
                _keep(found, file)
            if found["finding"] is not None or watch is None:
                return found
            is_full = time.monotonic() - full_at >= _FULL_S
            start, full_at = (None, time.monotonic()) if is_full else (found["checkpoint"], full_at)
        time.sleep((watch or 0) / 1000)


def _of_archive(folder: Path, workspace_id: str) -> dict[str, Any]:
    """The result for the archive; its checkpoint is the start of what the log has to continue."""
    from app.audit.archive import Archive, ArchiveAltered

    none: dict[str, Any] = {
        "intact": True,
        "complete": False,
        "finding": None,
        "checkpoint": None,
        "firstSegment": 1,
        "segments": 0,
        "entries": 0,
        "unsealed": 0,
        "changes": 0,
        "checked": [],
        "unchecked": [],
    }
    try:
        last = Archive(folder, workspace_id).verify()
    except ArchiveAltered as altered:
        finding: Finding = altered.finding
        unchecked = ["the log in the store; verify it without --archive"]
        return none | {"intact": False, "finding": _plain(finding), "unchecked": unchecked}
    archived = "archive: no segments; its manifest is empty, or there is none"
    if last.segment:
        archived = f"archive: files up to segment {last.segment} and entry {last.sequence}, "
        archived += "and that the log continues them"
    return none | {"checkpoint": last.line, "checked": [archived]}


def _plain(finding: Finding) -> dict[str, Any]:
    return {"fault": finding.fault, "segment": finding.segment, "message": finding.message, "part": finding.part}


def _verify_once(api: Api, since: str | None, note: str | None, *, lasting: bool) -> dict[str, Any] | None:
    """The result of one pass, a request for each stretch; None if there was no answer and another round follows."""
    counts, first, checked = {"segments": 0, "entries": 0}, None, list[str]()
    try:
        while True:
            found: dict[str, Any] = api.get(
                "/v1/audit-logs/verify", checkpoint=since, continues=first is not None, note=note
            )
            first = first or found["firstSegment"]
            counts = {name: number + found[name] for name, number in counts.items()}
            checked += found["checked"]
            if found["complete"] or found["finding"] is not None:
                return found | counts | {"firstSegment": first, "checked": checked}
            since = found["checkpoint"]
            click.echo(f"{counted(counts['segments'], 'segment')} verified so far", err=True)
    except (click.ClickException, StoreUnavailable) as error:
        if not lasting or (isinstance(error, Refused) and error.code != "STORE_UNAVAILABLE"):
            raise
        click.echo(f"not verified: {error}", err=True)
        return None


def _keep(found: dict[str, Any], file: Path) -> None:
    """Write the checkpoint to its file; the file has the whole new line, or is unchanged."""
    if found["checkpoint"] is not None:
        with atomic_output(str(file)) as out:
            out.write(f"{found['checkpoint']}\n".encode())


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


def _report(found: dict[str, Any], *, as_json: bool) -> None:
    """Print finding and coverage to standard error, and the checkpoint (or everything, as JSON) to standard output."""
    if as_json:
        print_json(found)
        return
    finding = found["finding"]
    if finding is not None:
        part = finding["part"]
        place = f"segment {finding['segment']}" if part == "segments" else f"the {part}"
        click.echo(f"{finding['fault']} at {place}: {finding['message']}", err=True)
    for each in found["checked"]:
        click.echo(f"{'intact' if finding is None else 'checked'}: {each}", err=True)
    for each in found["unchecked"]:
        click.echo(f"not checked: {each}", err=True)
    if found["checkpoint"] is not None:
        click.echo(found["checkpoint"])
