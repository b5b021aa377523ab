"""`remit serve`."""

import click
from msgspec.structs import replace

from app.cli.session import read_settings
from app.logs import configure_logging


@click.command()
@click.option("--workers", type=click.IntRange(1, 64), help="Replicas on this machine; REMIT_WORKERS, or 1.")
def serve(workers: int | None) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Starts the embedded store where no REMIT_REDIS_URL is set. On the very first start with it, a workspace
    "default" and its admin key are made, and the key is printed, once.
    """
    from app.serve import supervisor

    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    settings = settings if workers is None else replace(settings, workers=workers)
    try:
        supervisor.serve(settings, lambda line: click.echo(line, err=False))
    except supervisor.StartFailed as error:
        raise click.ClickException(str(error)) from None
