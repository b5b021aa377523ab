"""Calls as a proposal learns from them, made by hand or from the examples."""

import json
from pathlib import Path

from app.model.catalog import Consequence
from app.propose.observed_calls import ObservedCall
from app.propose.proposed_policies import KnownTool

DATA = Path(__file__).parents[2] / "examples/data"
START_MS = 1_800_000_000_000
CHANGES = ("book_reservation", "cancel_reservation", "update_reservation_baggages", "update_reservation_flights")
FINAL = ("update_reservation_passengers", "send_certificate")
SCHEMA = {
    "type": "object",
    "properties": {
        "cabin": {"type": "string", "enum": ["basic_economy", "economy", "business"]},
        "flight_type": {"type": "string", "enum": ["one_way", "round_trip"]},
        "insurance": {"type": "string", "enum": ["yes", "no"]},
    },
}
"""What the airline's tools say of these parameters; the others have no list."""


def observed(tool, parameters, unit="u", session=None, *, number=0, **fields):
    """A call: the later, the higher its number. The session is the unit's own if left out."""
    session = unit if session is None else session
    return ObservedCall(
        id=f"0193{number:08x}",
        time_ms=START_MS + number * 1_000,
        tool=tool,
        parameters=parameters,
        unit=unit,
        session=session,
        context={"user": unit, "session": session},
        **fields,
    )


def airline():
    """The 572 calls of the airline's agent. A user has two conversations: those of one task."""
    lines = [json.loads(line) for line in (DATA / "airline.jsonl").read_text().splitlines()]
    return [
        observed(
            each["tool"], each["arguments"], each["conversation"].split("-")[0], each["conversation"], number=number
        )
        for number, each in enumerate(lines)
    ]


def airline_catalog():
    """The airline's tools as a person marked them."""
    tools = json.loads((DATA / "tools.json").read_text())["airline"]
    kinds = dict.fromkeys(tools, "none") | dict.fromkeys(CHANGES, "reversible") | dict.fromkeys(FINAL, "irreversible")
    return {tool: KnownTool(Consequence(kind), foreign=False, schema=SCHEMA) for tool, kind in kinds.items()}
