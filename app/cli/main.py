"""`remit`: the console. Results go to stdout, everything else to stderr; 0 = done, 1 = failed, 2 = misused."""

from typing import Any

import click
from msgspec.structs import replace

from app.cli.api_keys import key
from app.cli.audit import audit
from app.cli.compact import compact
from app.cli.options import JSON
from app.cli.session import print_json, read_settings, with_services
from app.cli.workspaces import workspace
from app.errors import AppError, StoreUnavailable
from app.logs import configure_logging
from app.serve.supervisor import StartFailed
from app.serve.supervisor import serve as serve_machine
from app.settings import SettingsError
from app.store.doctor import Severity, check_up


class Console(click.Group):
    """Ends with one sentence where a setting, the store or the request is at fault."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except StoreUnavailable as error:
            raise click.ClickException(f"{error} (the store is {read_settings().store})") from None
        except (SettingsError, AppError, StartFailed) as error:
            raise click.ClickException(str(error)) from None


@click.group(cls=Console, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="remit")
def main() -> None:
    """Remit decides whether an AI agent may call a tool, and keeps the record of every answer.

    Settings are environment variables that begin with REMIT_; docs/operations.md lists them. Without
    REMIT_REDIS_URL the store is embedded and keeps its files in REMIT_DATA_DIR (var).

    Exit codes: 0 = done, 1 = it failed and stderr says why, 2 = the command was misused.
    """


@main.command()
@click.option("--workers", type=click.IntRange(1, 64), help="Replicas on this machine; REMIT_WORKERS, or 1.")
def serve(workers: int | None) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Starts the embedded store where no REMIT_REDIS_URL is set. On the very first start with it, a workspace
    "default" and its admin key are made, and the key is printed, once.
    """
    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    settings = settings if workers is None else replace(settings, workers=workers)
    serve_machine(settings, lambda line: click.echo(line, err=False))


@main.command()
@JSON
def doctor(as_json: bool) -> None:
    """Look at the store and say what is at risk. Exit code 1 if it should not be run so."""
    private = read_settings().redis_url is None
    findings = with_services(lambda services: check_up(services.client, private=private))
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            click.echo(f"{finding.severity.upper():7} {finding.subject:11} {finding.sentence}")
    if any(finding.severity is Severity.BROKEN for finding in findings):
        raise SystemExit(1)


for _each in (audit, compact, key, workspace):
    main.add_command(_each)


if __name__ == "__main__":
    main()
