"""Question: how long does it take to say what a change of policies means, and how often is that complete?

Edits each example file at random, one value at a time, and a set of 500 rules of 100 tools, of which one bound changes.
Prints CPU seconds, which the machine's other work does not change. Run with `python -m bench.meaning`; it needs no
service.
"""

import copy
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.model.policies import Policy, PolicyKind
from app.model.rules import Rules
from app.policy_tools.compare.bounds import bounds_of
from app.policy_tools.compare.meaning import compare_meaning

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*/*.json"))
EDITS = 25
TOOLS = 100


def policies_of(bodies: Sequence[dict[str, Any]]) -> list[Policy]:
    """The policies of a file."""
    return [
        Policy(
            id=f"p{number}",
            name=each["name"],
            rules=msgspec.convert(each["rules"], Rules),
            kind=PolicyKind(each.get("kind", "grant")),
            priority=each.get("priority", 0),
            enabled=each.get("enabled", True),
        )
        for number, each in enumerate(bodies)
    ]


def edited(draw: random.Random, bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with one value below the rules changed, or gone."""
    after = copy.deepcopy(list(bodies))
    holder, key = draw.choice([place for body in after for place in _places(body["rules"])])
    value = holder[key]
    if isinstance(value, str):
        holder[key] = draw.choice([value[1:], value[:-1], f"{value}x", value.swapcase(), value.strip("^$")])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = value + draw.choice([-1, 1, 10])
    else:
        del holder[key]
    return after


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        yield holder, key
        if isinstance(value, dict | list):
            yield from _places(value)


def many_rules(most: int) -> list[dict[str, Any]]:
    """500 rules of 100 tools; most: the bound of one of them."""
    return [
        {
            "name": f"tool {n}",
            "priority": n % 5,
            "rules": [
                {"type": "tool_grant", "tools": [f"t{n}.read"]},
                {
                    "type": "parameter_constraint",
                    "tools": [f"t{n}.create"],
                    "parameters": {"amount": {"min": 0, "max": most if n == 7 else 500}, "id": {"regex": "^[A-Z]{6}$"}},
                },
                {"type": "approval_required", "tools": [f"t{n}.*"], "when": {"parameters": {"amount": {"above": 50}}}},
                {"type": "rate_limit", "tools": [f"t{n}.*"], "rateLimit": {"maxCalls": 5, "windowSeconds": 60}},
                {
                    "type": "time_based",
                    "tools": ["*"],
                    "effect": "escalate",
                    "timeWindow": {"allowedHours": [n % 24, 12]},
                },
            ],
        }
        for n in range(TOOLS)
    ]


def main() -> None:
    """Measure, and print."""
    draw = random.Random(1)
    print(f"{'file':32} {'edits':>5} {'complete':>8} {'worst s':>8} {'bounds s':>9}")
    for path in EXAMPLES:
        file = json.loads(path.read_text())
        if "policies" not in file:
            continue
        before = policies_of(file["policies"])
        seconds: list[float] = []
        complete = 0
        while len(seconds) < EDITS:
            try:
                after = policies_of(edited(draw, file["policies"]))
            except ValueError:
                continue
            start = time.process_time()
            complete += compare_meaning(before, after).complete
            seconds.append(time.process_time() - start)
        start = time.process_time()
        bounds_of(before, lambda _: False)
        bounds = time.process_time() - start
        print(f"{path.parent.name}/{path.name:20} {EDITS:>5} {complete:>8} {max(seconds):>8.2f} {bounds:>9.2f}")
    start = time.process_time()
    meaning = compare_meaning(policies_of(many_rules(500)), policies_of(many_rules(501)))
    print(f"500 rules, one bound: {time.process_time() - start:.2f} s, complete: {meaning.complete}")


if __name__ == "__main__":
    main()
