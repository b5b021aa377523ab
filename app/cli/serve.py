"""`remit serve`."""

import click
from msgspec.structs import replace

from app.cli.numbers import WholeNumber
from app.cli.session import read_settings
from app.logs import configure_logging


@click.command()
@click.option("--workers", type=WholeNumber(1, 64), help="Replicas on this machine; REMIT_WORKERS, or 1.")
def serve(workers: int | None) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Without REMIT_REDIS_URL it starts the embedded store. The very first start creates a workspace "default" and its
    admin key, and prints the key, once.
    """
    from app.serve import supervisor

    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    settings = settings if workers is None else replace(settings, workers=workers)
    try:
        supervisor.serve(settings, lambda line: click.echo(line, err=False))
    except supervisor.StartFailed as error:
        raise click.ClickException(str(error)) from None
