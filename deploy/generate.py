"""Writes what is derived: alert rules, dashboard, the chart's settings and its table of values (`make deploy-files`).

The sources are docs/operations.md (alerts, sentences of settings), app/settings.py (types and bounds of settings) and
the chart's own schema of values. A test compares the files with what this module makes.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "deploy")]

from dashboard import dashboard  # noqa: E402 - beside this file

from app.settings import Settings  # noqa: E402

CHART = ROOT / "deploy/helm/remit"
OF_THE_CHART = frozenset(
    {"host", "port", "workers", "compact", "redis_url", "data_dir", "secret", "bootstrap_key", "oidc_client_secret"}
    | {"checkpoint_key_file", "slack_bot_token", "slack_signing_secret"}
)
"""Settings that the chart gives itself, or that belong into the Secret."""

_SECONDS = {"s": 1, "min": 60, "h": 3600}


def table(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading of docs/operations.md, cell by cell."""
    below = page.split(f"\n{heading}\n", 1)[1]
    found = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    lines = found[0].splitlines()[2:] if found else []
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def rules(page: str) -> dict[str, Any]:
    """The alert rules of the table "Alerts", as Prometheus reads them."""
    group = [
        {
            "alert": name.strip("`"),
            "expr": expression.strip("`"),
            "for": _duration(lasting),
            "labels": {"severity": severity},
            "annotations": {
                "summary": _plain(meaning),
                "description": _plain(cure),
                "runbook_url": "docs/operations.md#alerts",
            },
        }
        for name, severity, expression, lasting, meaning, cure in table(page, "### Alerts")
    ]
    return {"groups": [{"name": "remit", "rules": group}]}


def _duration(words: str) -> str:
    if words == "at once":
        return "0s"
    number, unit = words.split()
    return f"{int(number) * _SECONDS[unit]}s"


def _plain(text: str) -> str:
    """Without Markdown."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text).replace("`", "")


def values_schema(page: str) -> dict[str, Any]:
    """The chart's schema of values, with the settings as `Settings` has them."""
    sentences = {row[0].strip("`").removeprefix("REMIT_").lower(): row[2] for row in table(page, "## Settings")}
    (_, components) = msgspec.json.schema_components([Settings])
    schema: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    schema["properties"]["settings"]["properties"] = {
        name: {**_without_default(described), "description": _plain(sentences[name])}
        for name, described in components["Settings"]["properties"].items()
        if name not in OF_THE_CHART
    }
    return schema


def _without_default(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a setting that is given: not null."""
    options = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    return {name: value for name, value in options[0].items() if name != "default"}


def value_rows(schema: dict[str, Any], defaults: Any, path: str = "") -> Iterator[str]:
    """A row for each value: name, default, meaning."""
    for name, part in schema["properties"].items():
        default = defaults.get(name) if isinstance(defaults, dict) else None
        if part.get("properties") and name != "settings":
            yield from value_rows(part, default, f"{path}{name}.")
        elif name != "global":
            yield f"| `{path}{name}` | `{json.dumps(default)}` | {part['description']} |"


def files() -> dict[Path, str]:
    """Every derived file with its text."""
    page = (ROOT / "docs/operations.md").read_text()
    schema = values_schema(page)
    readme = (CHART / "README.md").read_text()
    rows = "\n".join(value_rows(schema, yaml.safe_load((CHART / "values.yaml").read_text())))
    marks = "<!-- values -->\n", "\n<!-- end of values -->"
    before, after = readme.split(marks[0])[0], readme.split(marks[1])[1]
    head = "| Value | Default | Meaning |\n|---|---|---|\n"
    return {
        ROOT / "deploy/prometheus/rules.yaml": "# Made by `make deploy-files` from the table in docs/operations.md.\n"
        + yaml.safe_dump(rules(page), sort_keys=False, width=1000),
        ROOT / "deploy/grafana/dashboard.json": json.dumps(dashboard(), indent=1) + "\n",
        CHART / "values.schema.json": json.dumps(schema, indent=1, ensure_ascii=False) + "\n",
        CHART / "README.md": f"{before}{marks[0]}{head}{rows}{marks[1]}{after}",
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
