"""Completion in shells: names of agents, policies and keys, which the service has. click completes the rest."""

import os
from collections.abc import Callable
from typing import Any

import click

_SECONDS = 1.0
"""The longest that completion keeps a person waiting; then there are no names."""

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def names(path: str, *fields: str) -> Complete:
    """Completes with these fields of what the service lists at the path; with nothing if there is no key, or no answer.

    A store is never opened for it.
    """

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        from app.cli.addresses import URL, local_url
        from app.cli.api import over_http
        from app.cli.saved_session import key_for

        url = ctx.params.get("url") or os.environ.get(URL) or local_url()
        if not key_for(url):
            return []
        try:
            listed: list[dict[str, Any]] = over_http(url, "", seconds=_SECONDS).get(path)
        except click.ClickException:
            return []
        known = (each.get(field) for each in listed for field in fields)
        return sorted({name for name in known if name and name.startswith(incomplete)})

    return complete


AGENTS = names("/v1/agents", "alias", "name")
AGENT = click.argument("agent", shell_complete=AGENTS)
POLICY = click.argument("policy", shell_complete=names("/v1/policies", "key", "name"))
KEY = click.argument("key", shell_complete=names("/v1/api-keys", "name"))
