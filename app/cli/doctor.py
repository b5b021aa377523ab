"""`remit doctor`."""

import click

from app.cli.options import JSON
from app.cli.session import print_json, read_settings, with_services


@click.command()
@JSON
def doctor(as_json: bool) -> None:
    """Check the store and print the risks. Exit code 1 if it must not be used as it is."""
    from app.store.doctor import Severity, check_up

    settings = read_settings()
    private = settings.redis_url is None
    has_secret = private or settings.secret is not None
    findings = with_services(lambda services: check_up(services.client, private=private, has_secret=has_secret))
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            click.echo(f"{finding.severity.upper():7} {finding.subject:11} {finding.sentence}")
    if any(finding.severity is Severity.BROKEN for finding in findings):
        raise SystemExit(1)
