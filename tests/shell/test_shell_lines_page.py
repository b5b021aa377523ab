"""docs/shell-lines.md: its policy judges its lines as the page says."""

import json
import re
from pathlib import Path

import msgspec

from app.language.ambiguous import Ambiguous
from app.model.command_constraint import CommandConstraint
from app.pdp.shell_commands import CommandJudge, places_of

PAGE = (Path(__file__).parents[2] / "docs" / "shell-lines.md").read_text()


def test_the_lines_of_the_page_pass_or_ask_as_it_says():
    """By the page's own rule."""
    rule = json.loads(re.search(r"```json\n(.*?)\n```", PAGE, re.DOTALL)[1])
    judge = CommandJudge(msgspec.convert(rule["parameters"]["command"]["command"], CommandConstraint))
    places = places_of("/home/ann/shop", "/home/ann/shop")
    lines = re.findall(r"^(passes|asks) +(.*)$", PAGE, re.MULTILINE)
    assert len(lines) > 8
    for wanted, line in lines:
        try:
            passes = judge.first_failure(line, places) is None
        except Ambiguous:
            passes = False
        assert passes is (wanted == "passes"), line
