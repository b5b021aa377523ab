"""`remit serve`."""

import os
import sys
from pathlib import Path

import click
from msgspec.structs import replace

from app.cli.numbers import WholeNumber
from app.cli.session import read_settings
from app.logs import configure_logging


@click.command()
@click.option("--workers", type=WholeNumber(1, 64), help="Replicas on this machine; REMIT_WORKERS, or 1.")
def serve(workers: int | None) -> None:
    """Run the service until Ctrl-C, SIGTERM, or the end of its terminal.

    Without REMIT_REDIS_URL it starts the embedded store. The very first start creates a workspace "default" and its
    admin key, and prints the key, once.
    """
    from app.serve.signals import Signals

    signals = Signals()  # before the imports, which take most of a second
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
