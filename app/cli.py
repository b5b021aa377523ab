"""`remit`: the console."""

import os

import click
import uvicorn

from app.main import create_app
from app.settings import Settings


@click.group()
def main() -> None:
    """Remit decides whether an AI agent may call a tool, and keeps the record of every answer."""


@main.command()
def serve() -> None:
    """Run the service."""
    settings = Settings.from_env(os.environ)
    uvicorn.run(
        create_app(settings), host=settings.host, port=settings.port, loop="uvloop", http="httptools", access_log=False, log_level=settings.log_level
    )


if __name__ == "__main__":
    main()
