"""The assistants' policies in Cedar: `assistants/*.cedar`, evaluated in process by cedarpy.

Each tool is an action, as in AWS's AgentCore, and the context has
    input      the call's parameters; a number is a `decimal`, since Cedar has no floating point
    approved   whether a person has said yes to this very call
    hasRead    whether this session was allowed to read anything (`read_*`, `get_*`) before
Cedar keeps nothing between two requests, and its answer is allow or deny. Who has said yes to what and what a session
has done is therefore kept, and bound to the call and the session, by the program that asks. `Around` is that program.

What the policies of Remit say and Cedar cannot, and what stands there instead, always in Cedar's favour:
- a person is asked: `when { context.approved }`; the program asks again with it to learn whether a yes would help
- `forbiddenAfter` of a sequence: `context.hasRead`
- `*` in a tool's name: the names are written out; a scope has no patterns
- null: the parameter is left out
- numbers: four decimals and 15 digits before them; what does not fit is no value, so the call is denied
- a bound that restricts whatever grants (a guardrail): stands in the permits, since a `forbid` that cannot be
  evaluated is left out
"""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import cedarpy  # type: ignore[import-not-found, unused-ignore]

POLICIES = Path(__file__).parent / "assistants"
DECIMALS, DIGITS = 4, 15
READS = ("read_", "get_")


class Inexpressible(Exception):
    """A value that Cedar has no type for."""


class Cedar:
    """The policies of one assistant."""

    def __init__(self, assistant: str) -> None:
        self._assistant = assistant
        self._policies = cedarpy.PolicySet.from_str((POLICIES / f"{assistant}.cedar").read_text())
        self._entities = cedarpy.Entities.from_json_str("[]")

    def allows(self, tool: str, parameters: dict[str, Any], *, approved: bool, has_read: bool) -> bool:
        """The engine's answer. A policy that cannot be evaluated permits nothing."""
        try:
            given = {name: value_of(value) for name, value in parameters.items() if value is not None}
        except Inexpressible:
            return False
        request = {
            "principal": {"type": "Agent", "id": self._assistant},
            "action": {"type": "Action", "id": tool},
            "resource": {"type": "Assistant", "id": self._assistant},
            "context": json.dumps({"input": given, "approved": approved, "hasRead": has_read}),
        }
        return bool(cedarpy.is_authorized(request, self._policies, self._entities).allowed)


def value_of(value: Any) -> Any:
    """A parameter as Cedar's JSON has it. Raises Inexpressible."""
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        number = Decimal(str(value))
        whole, _, fraction = f"{number:f}".partition(".")
        if len(fraction.rstrip("0")) > DECIMALS or len(whole) > DIGITS:
            raise Inexpressible
        return {"__extn": {"fn": "decimal", "arg": f"{whole}.{fraction.rstrip('0') or '0'}"}}
    if isinstance(value, list):
        return [value_of(one) for one in value]
    if isinstance(value, dict):
        return {name: value_of(one) for name, one in value.items()}
    raise Inexpressible


@dataclass
class Around:
    """The program around Cedar: the state it must keep for the same calls to be allowed.

    asks: whether there is a person to ask. Without one, `approved` is what is said of every call, and of reading the
    worst is said.
    """

    cedar: Cedar
    asks: bool = False
    approved: bool = False
    _has_read: set[str] = field(default_factory=set)

    def decide(self, tool: str, parameters: dict[str, Any], session: str) -> str:
        """`allowed`, `denied`, or `escalated` where a person's yes would make it allowed."""
        has_read = session in self._has_read or not self.asks
        if self.cedar.allows(tool, parameters, approved=self.approved, has_read=has_read):
            return self._allowed(tool, session)
        if self.asks and self.cedar.allows(tool, parameters, approved=True, has_read=has_read):
            return "escalated"
        return "denied"

    def after_a_yes(self, tool: str, parameters: dict[str, Any], session: str) -> str:
        """The same question with the person's yes, which this program binds to the call by asking at once."""
        if self.cedar.allows(tool, parameters, approved=True, has_read=session in self._has_read):
            return self._allowed(tool, session)
        return "denied"

    def _allowed(self, tool: str, session: str) -> str:
        if tool.startswith(READS):
            self._has_read.add(session)
        return "allowed"
