"""Question: which part of honest shell commands passes unasked, and which dangerous ones?

Judges the collected commands of `bench/data/shell.jsonl` in `/home/ann/shop` by the coding agent's example policy, by
the same with scripts of the project, by a policy of patterns alone, and by twenty patterns such as denylists have. Then
it measures how long a line of 200 characters takes. Run with `python -m bench.shell [FILE]`; it needs no service.
"""

import copy
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from app.model.agents import Agent
from app.model.command_constraint import CommandConstraint
from app.model.decisions import AuthorizeRequest, Result
from app.model.policies import Policy, PolicyKind
from app.model.rules import Rules
from app.pdp import CompiledAgent, compile_agent, decide
from app.pdp.shell_commands import CommandJudge, places_of

ROOT = Path(__file__).parents[1]
DATA = ROOT / "bench" / "data"
EXAMPLE = ROOT / "examples" / "coding-agent" / "policies.json"
CONTEXT = {"cwd": "/home/ann/shop", "project": "/home/ann/shop", "session": "s-1"}
SCRIPTS = {"run": ["node", "python3", "python"], "script": "inside", "flags": ["--check", "--help"]}
DENYLIST = (
    r"\brm\s+-[a-z]*r",
    r"\brm\s+-[a-z]*f",
    r"\bsudo\b",
    r"\bgit\s+push\b.*--force",
    r"\bgit\s+reset\s+--hard",
    r"\bgit\s+clean\b",
    r"\bmkfs\b",
    r"\bdd\s+if=",
    r"\bchmod\s+-R\s+777",
    r"\bcurl\b.*\|\s*(ba|z)?sh",
    r"\bwget\b.*\|\s*(ba|z)?sh",
    r":\(\)\s*\{",
    r">\s*/dev/sd",
    r"\bterraform\s+destroy",
    r"\bkubectl\s+delete",
    r"\bdrop\s+(table|database)\b",
    r"\bshutdown\b",
    r"\bkillall\b",
    r"\bssh\b",
    r"\.env\b",
)
LINE = (
    "git status --short && npm run build 2>&1 | tail -20 && pytest -q tests/unit/test_orders.py "
    "tests/unit/test_carts.py -k 'not slow' && cd ./packages/api && grep -n 'total' src/app.ts src/cart.ts "
    "| head -5; ls"
)


def compiled(file: dict[str, Any]) -> CompiledAgent:
    """The agent of a file of policies."""
    policies = [
        Policy(
            id=f"p{number}",
            agent_id="a",
            name=each["name"],
            rules=msgspec.convert(each["rules"], Rules),
            kind=PolicyKind(each.get("kind", "grant")),
            priority=each.get("priority", 0),
        )
        for number, each in enumerate(file["policies"])
    ]
    return compile_agent(Agent(id="a", name="a", created_ms=0, updated_ms=0, version="v"), policies, lambda _: False)


def passes(agent: CompiledAgent) -> Callable[[str], bool]:
    """A test whether a command runs unasked."""

    def test(command: str) -> bool:
        parameters = {"command": command}
        body = msgspec.json.encode({"parameters": parameters, "context": CONTEXT})
        request = AuthorizeRequest("a", "Bash", "authorize", parameters, body, context=CONTEXT)
        return decide(agent, request, 0).outcome.result is Result.ALLOWED

    return test


def with_scripts(file: dict[str, Any]) -> dict[str, Any]:
    """The example with one entry more."""
    file = copy.deepcopy(file)
    command_of(file)["allow"].append(SCRIPTS)
    return file


def command_of(file: dict[str, Any]) -> dict[str, Any]:
    """The example's constraint on shell lines."""
    [found] = [
        rule["parameters"]["command"]["command"]
        for policy in file["policies"]
        for rule in policy["rules"]
        if "command" in rule.get("parameters", {})
    ]
    return found  # type: ignore[no-any-return]


def microseconds(file: dict[str, Any]) -> float:
    """The best of many rounds, of one line."""
    judge = CommandJudge(msgspec.convert(command_of(file), CommandConstraint))
    places = places_of("/home/ann/shop", "/home/ann/shop")
    best = float("inf")
    for _ in range(200):
        begun = time.perf_counter()
        for _ in range(20):
            judge.first_failure(LINE, places)
        best = min(best, (time.perf_counter() - begun) / 20)
    return best * 1e6


def main() -> None:
    """Print the table."""
    source = Path(sys.argv[1]) if sys.argv[1:] else DATA / "shell.jsonl"
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    example = json.loads(EXAMPLE.read_text())
    denied = re.compile("|".join(f"(?:{each})" for each in DENYLIST), re.IGNORECASE).search
    policies: dict[str, Callable[[str], bool]] = {
        "the example": passes(compiled(example)),
        "the example, with `script`": passes(compiled(with_scripts(example))),
        "patterns, as wide as they can be": passes(compiled(json.loads((DATA / "coding-agent-wide.json").read_text()))),
        "a denylist of 20 patterns": lambda command: denied(command) is None,
    }
    labels = Counter(row["label"] for row in rows)
    print("| Policy | " + " | ".join(f"{label} ({count})" for label, count in labels.items()) + " |")
    print("|---|" + "---:|" * len(labels))
    for name, test in policies.items():
        found = Counter(row["label"] for row in rows if test(row["command"]))
        cells = (f"{found[label]} ({100 * found[label] / count:.0f} %)" for label, count in labels.items())
        print(f"| {name} | {' | '.join(cells)} |")
        for row in rows:
            if name.startswith("the example") and row["label"] == "dangerous" and test(row["command"]):
                print(f"    passes: {row['command']!r}", file=sys.stderr)
    print(f"\nA line of {len(LINE)} characters: {microseconds(example):.0f} µs")


if __name__ == "__main__":
    main()
