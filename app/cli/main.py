"""`remit`: the command line. Results go to stdout, the rest to stderr. Exit codes: 0 done, 1 failed, 2 misuse, 3 no."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import click

from app.cli.groups import LazyGroup
from app.cli.option_types import shortened
from app.cli.store_access import read_settings
from app.errors import AppError, StoreUnavailable
from app.settings import SettingsError

COMMANDS = {
    "agents": "app.cli.agents:agents",
    "approvals": "app.cli.approvals:approvals",
    "audit": "app.cli.audit:audit",
    "authorize": "app.cli.authorize:authorize",
    "catalog": "app.cli.catalog:catalog",
    "changes": "app.cli.changes:changes",
    "compact": "app.cli.serve:compact",
    "console": "app.cli.sessions:sign_in_link",
    "decisions": "app.cli.authorize:decisions",
    "doctor": "app.cli.serve:doctor",
    "explain": "app.cli.explain:explain",
    "keys": "app.cli.api_keys:keys",
    "login": "app.cli.login:log_in",
    "logout": "app.cli.login:log_out",
    "policies": "app.cli.policies:policies",
    "serve": "app.cli.serve:serve",
    "sessions": "app.cli.sessions:sessions",
    "issuers": "app.cli.issuers:issuers",
    "webhooks": "app.cli.webhooks:webhooks",
    "whoami": "app.cli.login:who_am_i",
    "workspaces": "app.cli.workspaces:workspaces",
}
SINGULAR = {
    "agent": "agents",
    "key": "keys",
    "policy": "policies",
    "issuer": "issuers",
    "webhook": "webhooks",
    "workspace": "workspaces",
}
"""Singular names that also work, such as `remit key create`; the help lists only the plural."""


_APP = Path(__file__).parents[1]
_LONGEST = 2_000
"""Characters of an error; of a longer one, the middle is left out."""


class CommandLine(LazyGroup):
    """Turns an error in a setting, the store or the request into one sentence on stderr."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command; an error in writing its help is one sentence, too."""
        _open_what_is_closed()
        try:
            return super().main(*args, **extra)
        except OSError as error:
            click.echo(f"Error: {_failed(error)}", err=True)
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - the rest is not written at the exit
            sys.exit(1)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """The command's context; without colours if NO_COLOR says so."""
        return super().make_context(*args, **extra | ({"color": False} if os.environ.get("NO_COLOR") else {}))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for each in args:
            try:
                each.encode()
            except UnicodeEncodeError:
                raise click.UsageError(f"The argument {shortened(each)} is not UTF-8", ctx) from None
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            # It may quote an argument, and a terminal has room for a sentence.
            said = error.format_message()
            if len(said) <= _LONGEST:
                raise
            shorter = f"{said[: _LONGEST // 2]} … {said[-_LONGEST // 2 :]}"
            if isinstance(error, click.UsageError):
                raise click.UsageError(shorter, error.ctx) from None
            raise click.ClickException(shorter) from None
        except StoreUnavailable as error:
            from app.serve.data_folder import store_in_words  # most commands need no store

            raise click.ClickException(f"{error} (the store is {store_in_words(read_settings())})") from None
        except (SettingsError, AppError) as error:
            raise click.ClickException(str(error)) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has closed the pipe, which is not a failure
                raise
            raise click.ClickException(_failed(error)) from None


def _failed(error: OSError) -> str:
    where = "the output" if error.filename is None else error.filename
    return f"{where}: {error.strerror or error}"


def _open_what_is_closed() -> None:
    """Open /dev/null for each closed one of standard input, output and error."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version  # with all that it needs, a tenth of what a command takes to start

        commit = _commit()
        click.echo(f"remit {version('remit')}{f' ({commit[:12]})' if commit else ''}")
        ctx.exit()


def _commit() -> str:
    """The commit that this was built from, or that its working tree has checked out; "" if nothing says so."""
    recorded = _APP / "commit.txt"
    if recorded.is_file():
        return recorded.read_text(encoding="ascii").strip()
    if not (_APP.parent / ".git").exists():
        return ""
    import subprocess  # only for a checkout

    try:
        told = subprocess.run(  # noqa: S603 - nothing in it is anybody's input
            ["git", "-C", str(_APP.parent), "rev-parse", "HEAD"],  # noqa: S607 - whichever git the user has
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:  # git is not installed
        return ""
    return told.stdout.strip()


@click.group(cls=CommandLine, lazily=COMMANDS, also=SINGULAR, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and the commit, and exit.",
)
def main() -> None:
    """Remit decides whether an AI agent may call a tool, and records every answer it gives.

    Settings are environment variables that begin with REMIT_; docs/operations.md lists them. Without REMIT_REDIS_URL
    the store is embedded and keeps its files in REMIT_DATA_DIR, by default in ~/.local/share/remit.

    Exit codes: 0 = done, 1 = it failed and stderr says why, 2 = the command was misused, 3 = the answer is no.
    """


if __name__ == "__main__":
    main()
