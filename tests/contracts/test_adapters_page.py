"""docs/clients/README.md lists what the tests of a framework cannot play of clients/adapters.json, and why."""

import json
import re
from pathlib import Path

CLIENTS = Path(__file__).parents[2] / "clients"
PAGE = (CLIENTS.parent / "docs/clients/README.md").read_text()
ROWS = {row["name"] for row in json.loads((CLIENTS / "adapters.json").read_text())["rows"]}


def of_python():
    """The rows that the drivers leave out, with the reason."""
    text = "".join(path.read_text() for path in (CLIENTS / "python/tests/frameworks").glob("drivers*.py"))
    return {pair for pair in re.findall(r'"([^"]+)"\]?(?::| =) "([^"]+)"', text) if pair[0] in ROWS}


def of_typescript():
    """The rows that drivers.ts leaves out, with the reason."""
    text = (CLIENTS / "typescript/tests/frameworks/drivers.ts").read_text()
    named = dict(re.findall(r'^const (\w+) = "(.+)";$', text, re.MULTILINE))
    found = re.findall(r"\[(\w+)\]: (\w+)", text)
    return {(named[row], named[why]) for row, why in found if row in named and why in named}


def test_the_page_lists_what_a_framework_cannot_play():
    _, table = PAGE.split("| Not played | Because |", 1)
    lines = [line for line in table.split("\n\n", 1)[0].splitlines()[2:] if line]
    listed = {tuple(line.strip("| ").split(" | "))[1:] for line in lines}
    assert len(of_python()) > 3
    assert len(of_typescript()) > 1
    assert listed == of_python() | of_typescript()
    assert {row for row, _ in listed} <= ROWS
