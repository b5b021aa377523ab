"""`remit agents quotas`."""

import json
from collections.abc import Iterator
from typing import Any

import click

from app.cli.api import Api, on_api
from app.cli.completion import AGENT
from app.cli.find import agent_path
from app.cli.output import print_table
from app.cli.session import Shown, shows
from app.model.text import with_hidden_shown


@click.command("quotas")
@on_api
@AGENT
@shows
def list_quotas(api: Api, agent: str) -> Shown:
    """Print how full an agent's limits, budgets and denial breakers are, and for which values most."""
    found = api.get(f"{agent_path(api, agent)}/quotas")
    yield found
    rows = [row for each in found["quotas"] for row in _rows(each)]
    print_table(("POLICY", "RULE", "LIMIT", "TAKEN", "LEFT", "FREES IN"), rows, "Nothing limits this agent's calls")


def _rows(limit: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The limit, and below it a row for each of its fullest values."""
    rule = f"{limit['rule']['index']} {limit['rule']['type']}"
    level = ("-", "-", "-") if "values" in limit else _level(limit["quota"])
    yield limit["policyName"], rule, limit["text"], *level
    if "values" not in limit:
        return
    shown = limit["values"]["fullest"]
    for each in shown:
        values = each["values"]
        text = "a value that is not shown" if values is None else ", ".join(map(_value, values))
        yield "", "", f"  {text}", *_level(each["quota"])
    if (others := limit["values"]["total"] - len(shown)) > 0:
        yield "", "", f"  and {others} more", "-", "-", "-"


def _value(seen: dict[str, Any]) -> str:
    """The value with its name; characters that nobody would see are escaped."""
    return with_hidden_shown(f"{seen['name']} = {json.dumps(seen['value'], ensure_ascii=False)}")


def _level(quota: dict[str, Any]) -> tuple[str, str, str]:
    frees = quota["freesInSeconds"]
    return f"{quota['taken']:g} of {quota['most']:g}", f"{quota['left']:g}", "-" if frees is None else f"{frees:.0f} s"
