"""What a replay has shown: the numbers, and the numbers for people."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

RESULTS = ("allowed", "denied", "escalated")
UNANSWERED = "unanswered"


@dataclass(frozen=True)
class Answer:
    """What became of one call.

    result: one of RESULTS, or UNANSWERED, and then `reason` is the error.
    decided_by: the policy and rule that the answer names.
    caller_ms: from sending the call to having its answer. latency_ms: `latencyMs` of the answer.
    """

    call: dict[str, Any]
    result: str
    decided_by: str
    reason: str
    caller_ms: float = 0
    latency_ms: float = 0


def summarise(answers: Sequence[Answer], by: Sequence[str]) -> dict[str, Any]:
    """How many calls had each result, in all and for each value of the fields `by`; by what and why; latencies."""
    rows: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    reasons: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for answer in answers:
        rows[tuple(str(answer.call.get(field, "")) for field in by)][answer.result] += 1
        reasons[answer.result, answer.decided_by].append(answer.reason)
    counts = Counter(answer.result for answer in answers)
    seen = [*RESULTS, *([UNANSWERED] if counts[UNANSWERED] else [])]
    decided = [answer for answer in answers if answer.result != UNANSWERED]
    return {
        "calls": len(answers),
        "results": {result: counts[result] for result in seen},
        "rows": [
            dict(zip(by, row, strict=True)) | {result: rows[row][result] for result in seen} for row in sorted(rows)
        ],
        "reasons": [
            {"result": result, "decidedBy": decided_by, "calls": len(texts), "first": texts[0]}
            for (result, decided_by), texts in sorted(
                reasons.items(), key=lambda item: (seen.index(item[0][0]), -len(item[1]), item[0][1])
            )
        ],
        "latency": {
            "caller": percentiles([answer.caller_ms for answer in decided]),
            "latencyMs": percentiles([answer.latency_ms for answer in decided]),
        },
    }


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50, p99 and the largest, each of them one of the values (nearest rank); nothing of nothing."""
    ordered = sorted(values)
    places = {"p50": math.ceil(0.5 * len(ordered)), "p99": math.ceil(0.99 * len(ordered)), "max": len(ordered)}
    return {name: round(ordered[place - 1], 3) for name, place in places.items()} if ordered else {}


def print_report(summary: dict[str, Any], by: Sequence[str]) -> None:
    """The summary for people, on stdout. Everything above the last block is the same in every run."""
    print(f"{summary['calls']} calls of {summary['file']}")
    windows = "open at all hours (--any-hour)" if summary["anyHour"] else "as written; the service's clock decides"
    print(f"time windows: {windows}")
    results: dict[str, int] = summary["results"]
    _print_table(
        [*by, "calls", *results],
        [
            *(
                [*(row[field] for field in by), sum(row[r] for r in results), *(row[r] for r in results)]
                for row in summary["rows"]
            ),
            ["together", *[""] * (len(by) - 1), summary["calls"], *results.values()],
        ],
        texts=len(by),
    )
    for result in results:
        blocks = [reason for reason in summary["reasons"] if reason["result"] == result]
        if blocks:
            print(f"\n{result}")
        for block in blocks:
            print(f"{block['calls']:>6}  {block['decidedBy']}")
            print(f"        {'e.g. ' if block['calls'] > 1 else ''}{block['first']}")

    print("\nlatency in ms             p50     p99     max")
    for name, label in (("caller", "seen by this command"), ("latencyMs", "latencyMs")):
        print(f"{label:21}" + "".join(f"{value:>8.2f}" for value in summary["latency"][name].values()))


def _print_table(heads: list[Any], rows: list[list[Any]], *, texts: int) -> None:
    """Rows under their heads; the first `texts` columns are text, the others numbers."""
    widths = [max(len(str(row[column])) for row in (heads, *rows)) for column in range(len(heads))]
    print()
    for row in (heads, *rows):
        cells = [str(cell) for cell in row]
        aligned = [cell.ljust(width) for cell, width in zip(cells[:texts], widths, strict=False)]
        aligned += [cell.rjust(width) for cell, width in zip(cells[texts:], widths[texts:], strict=True)]
        print("  ".join(aligned).rstrip())
