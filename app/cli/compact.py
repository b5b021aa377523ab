"""`remit compact`."""

import click

from app.cli.session import read_settings
from app.logs import configure_logging


@click.command()
def compact() -> None:
    """Seal audit streams into segments until Ctrl-C or SIGTERM.

    `remit serve` already runs one. Further compactors, here or on other machines, do no harm and take over if it dies.
    """
    from app.serve import compactor

    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    compactor.compact(settings)
