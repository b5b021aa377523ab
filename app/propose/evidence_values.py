"""Values of the log as people read them beside a rule."""

import re
from collections import Counter
from collections.abc import Mapping

import msgspec

from app.model.proposals import ProposedValue
from app.propose.parameter_values import Key

_SHOWN = 20
"""Values shown beside a constraint."""
_ALIKE = 3
_LONGEST = 80
_punctuation = re.compile(r"[A-Za-z0-9]+")


def shown_values(values: Mapping[Key, Mapping[str, str]]) -> list[ProposedValue]:
    """The values that show most of what was made of them: the largest; of texts, three of each punctuation, and then
    those that most units had. values: for each, its units and entries.
    """
    rows = sorted(
        ((key, len(by_unit), min(by_unit.values())) for key, by_unit in values.items()),
        key=lambda row: (-_size(row[0]), -row[1], row[2], _text(row[0])),
    )
    alike = Counter[str]()
    ranked = []
    for at, (key, units, entry) in enumerate(rows):
        shape = _punctuation.sub("", key[1]) if key[0] == "string" else ""
        alike[shape] += 1
        is_further = key[0] == "string" and alike[shape] > _ALIKE
        ranked.append((is_further, at, ProposedValue(value=_text(key), units=units, entry=entry)))
    return [value for _, _, value in sorted(ranked, key=lambda each: each[:2])[:_SHOWN]]


def _size(key: Key) -> float:
    kind, value = key
    return value if kind in ("number", "array") else 0


def _text(key: Key) -> str:
    kind, value = key
    match kind:
        case "array":
            return f"{value} {'item' if value == 1 else 'items'}"
        case "object" | "hidden":
            return f"an {kind}" if kind == "object" else "hidden"
        case "name":
            return str(value)
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
