"""`remit serve`, `remit compact`, `remit doctor`: run the service on this machine, and check its store."""

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from app.cli.option_types import WholeNumber
from app.cli.options import JSON
from app.cli.output import print_json
from app.cli.store_access import read_settings, with_services
from app.runtime.logs import configure_logging

if TYPE_CHECKING:
    from app.replica import Services
    from app.serve.doctor import Finding


@click.command()
@click.option("--workers", type=WholeNumber(1, 64), help="Replicas on this machine; REMIT_WORKERS, or 1.")
def serve(workers: int | None) -> None:
    """Run the service until Ctrl-C, SIGTERM, or the end of its terminal.

    Without REMIT_REDIS_URL it starts the embedded store. The very first start creates a workspace "default" and its
    admin key, and prints the key, once.
    """
    from app.serve.signals import Signals

    signals = Signals()  # before the imports, which take most of a second
    gc.disable()  # until the children are forked: all that is loaded stays, and to walk it takes a fifth of the start
    from app.serve import supervisor

    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    settings = settings if workers is None else replace(settings, workers=workers)

    def say(line: str) -> None:
        try:
            click.echo(line)
        except OSError:
            if not signals.told:
                raise
            # The terminal is closed; what is running must be ended in order all the same.
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process

    try:
        supervisor.serve(settings, say, signals)
    except supervisor.StartFailed as error:
        raise click.ClickException(str(error)) from None


@click.command()
def compact() -> None:
    """Seal audit streams into segments until Ctrl-C or SIGTERM.

    `remit serve` already runs one. Further compactors, here or on other machines, do no harm and take over if it dies.
    """
    from app.serve.jobs import run_background

    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    run_background(settings)


@click.command()
@click.option(
    "--mend",
    "folder",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Mend the append-only files in FOLDER, which no server may use: see docs/lost-at-restart.md. Asks no store.",
)
@click.option(
    "--left-out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --mend: where entries go that the log cannot have; left-out.jsonl.",
)
@JSON
def doctor(folder: Path | None, left_out: Path | None, as_json: bool) -> None:
    """Check the store and print the risks. Exit code 1 if it must not be used as it is."""
    if folder is not None:
        _mend(folder, left_out or Path("left-out.jsonl"), as_json=as_json)
        return
    if left_out is not None:
        raise click.UsageError("--left-out goes with --mend")
    from app.serve.deciding_keys import deciding_keys
    from app.serve.doctor import Severity, check_up

    settings = read_settings()
    private = settings.redis_url is None
    has_secret = private or settings.secret is not None

    async def examine(services: "Services") -> "list[Finding]":
        found = await check_up(services.client, private=private, has_secret=has_secret)
        return [*found, await deciding_keys(services.client)]

    findings = with_services(examine)
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            click.echo(f"{finding.severity.upper():7} {finding.subject:11} {finding.sentence}")
    if any(finding.severity is Severity.BROKEN for finding in findings):
        raise SystemExit(1)


def _mend(folder: Path, left_out: Path, *, as_json: bool) -> None:
    """Mend the files, and say what was kept and what was left out."""
    from app.errors import Invalid
    from app.serve.lost_at_restart import mend

    try:
        mended = mend(folder, left_out)
    except (Invalid, OSError) as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        print_json(mended)
        return
    for each in mended:
        click.echo(
            f"workspace {each.workspace_id}: its numbers began {each.lives} times; {each.kept} entries are kept, "
            f"{each.left_out} are in {left_out}"
        )
    if not mended:
        click.echo("nothing to mend: no log has begun anew")
