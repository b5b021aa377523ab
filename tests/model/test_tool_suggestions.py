"""What a tool's annotations and name suggest of its calls."""

import pytest

from app.model.catalog import ToolAnnotations, ToolEntry, written
from app.model.tool_suggestions import suggested

HINTS = {
    "R": {"read_only_hint": True},
    "D": {"destructive_hint": True},
    "d": {"destructive_hint": False},
    "O": {"open_world_hint": True},
    "o": {"open_world_hint": False},
}
SUGGESTED = [
    ("get_order", "", "none", None),
    ("listOrders", "", "none", None),
    ("get_webpage", "", "discloses", True),
    ("read_inbox", "", "none", True),
    ("update_reservation", "", "reversible", None),
    ("send_money", "", "irreversible", None),
    ("get_and_delete", "", "irreversible", None),
    ("get_password", "", "irreversible", None),
    ("frobnicate", "", None, None),
    ("frobnicate", "R", "none", None),
    ("frobnicate", "RO", "discloses", True),
    ("frobnicate", "Ro", "none", False),
    ("frobnicate", "D", "irreversible", None),
    ("frobnicate", "d", "reversible", None),
    ("frobnicate", "O", None, True),
    ("send_money", "R", "irreversible", None),
    ("get_order", "D", "irreversible", None),
    ("read_inbox", "o", "none", True),
]


@pytest.mark.parametrize(("name", "hints", "consequence", "foreign"), SUGGESTED)
def test_the_graver_of_annotations_and_name_is_suggested(name, hints, consequence, foreign):
    """A server that calls a payment read-only does not hide it from the person who confirms."""
    hinted = {field: value for each in hints for field, value in HINTS[each].items()}
    annotations = ToolAnnotations(**hinted) if hints else None
    entry = ToolEntry(name=name, annotations=annotations)
    tool = written({}, [entry], 1, prune=False).tools[name]
    found = suggested(tool)
    assert (found.consequence, found.foreign) == (consequence, foreign)
    assert (tool.consequence, tool.foreign) == (None, None)
