"""The assistants' policies in Cedar: `assistants/*.cedar`, evaluated in process by cedarpy.

Each tool is an action, as in AWS's AgentCore, and the context has
    input      the call's parameters; a number is a `decimal`, since Cedar has no floating point
    approved   whether a person has said yes to this very call
    named      whether the call's `url` or `user` stands in the user's request
    known      whether a person has approved an earlier call of the tool with these values
Cedar keeps nothing between two requests, and its answer is allow or deny. Who has said yes to what, and what the user
has asked for, is therefore kept, compared, and bound to the call, by the program that asks. `Around` is that program.

What the policies of Remit say and Cedar cannot, and what stands there instead, always in Cedar's favour:
- a person is asked: `when { context.approved }`; the program asks again with it to learn whether a yes would help
- `fromRequest`, and the patterns of a request to invite: `context.named`; `approvedBefore`: `context.known`
- how often a page may be opened in a session: nothing counts
- `*` in a tool's name: the names are written out; a scope has no patterns
- null: the parameter is left out
- numbers: four decimals and 15 digits before them; what does not fit is no value, so the call is denied
- a bound that restricts whatever grants (a guardrail): stands in the permits, since a `forbid` that cannot be
  evaluated is left out
"""

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import cedarpy  # type: ignore[import-not-found, unused-ignore]

from app.language.ambiguous import Ambiguous
from app.language.whole_words import Words

POLICIES = Path(__file__).parent / "assistants"
DECIMALS, DIGITS = 4, 15
REMEMBERED = {"invite_user_to_slack": ("user", "user_email")}
NAMED = {"get_webpage": "url", "invite_user_to_slack": "user"}
"""The parameters that are remembered, and those that may stand in the request."""
_invites = re.compile(r"\b(invite|add)\b", re.IGNORECASE).search
_refuses = re.compile(
    r"\b(never|not|cannot|no|none|nobody|without|except|unless|stop|cancel|remove|revoke|instead)\b|n['\u2019]t\b",
    re.IGNORECASE,
).search


class Inexpressible(Exception):
    """A value that Cedar has no type for."""


class Cedar:
    """The policies of one assistant."""

    def __init__(self, assistant: str) -> None:
        self._assistant = assistant
        self._policies = cedarpy.PolicySet.from_str((POLICIES / f"{assistant}.cedar").read_text())
        self._entities = cedarpy.Entities.from_json_str("[]")

    def allows(self, tool: str, parameters: dict[str, Any], *, approved: bool, facts: dict[str, bool]) -> bool:
        """The engine's answer. A policy that cannot be evaluated permits nothing."""
        try:
            given = {name: value_of(value) for name, value in parameters.items() if value is not None}
        except Inexpressible:
            return False
        request = {
            "principal": {"type": "Agent", "id": self._assistant},
            "action": {"type": "Action", "id": tool},
            "resource": {"type": "Assistant", "id": self._assistant},
            "context": json.dumps({"input": given, "approved": approved} | facts),
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

    asks: whether there is a person to ask. Without one, `approved` is what is said of every call.
    """

    cedar: Cedar
    asks: bool = False
    approved: bool = False
    _known: set[tuple[Any, ...]] = field(default_factory=set)

    def decide(self, tool: str, parameters: dict[str, Any], request: str) -> str:
        """`allowed`, `denied`, or `escalated` where a person's yes would make it allowed."""
        facts = self._facts(tool, parameters, request)
        if self.cedar.allows(tool, parameters, approved=self.approved, facts=facts):
            return "allowed"
        if self.asks and self.cedar.allows(tool, parameters, approved=True, facts=facts):
            return "escalated"
        return "denied"

    def after_a_yes(self, tool: str, parameters: dict[str, Any], request: str) -> str:
        """The same question with the person's yes, which this program binds to the call by asking at once."""
        facts = self._facts(tool, parameters, request)
        if not self.cedar.allows(tool, parameters, approved=True, facts=facts):
            return "denied"
        self._known.add(_targets(tool, parameters))
        return "allowed"

    def _facts(self, tool: str, parameters: dict[str, Any], request: str) -> dict[str, bool]:
        return {
            "named": _stands_in(request, parameters.get(NAMED.get(tool, "")))
            and (tool != "invite_user_to_slack" or bool(_invites(request) and not _refuses(request))),
            "known": tool in REMEMBERED and _targets(tool, parameters) in self._known,
        }


def _targets(tool: str, parameters: dict[str, Any]) -> tuple[Any, ...]:
    """What is remembered of a call: as one, because a rule of Remit remembers what was approved together."""
    return tool, *map(parameters.get, REMEMBERED.get(tool, ()))


def _stands_in(request: str, value: Any) -> bool:
    """As `fromRequest` compares them; a program without that must bring its own."""
    try:
        return isinstance(value, str) and len(value) > 2 and Words(request, fold=False).contain(value)
    except Ambiguous:
        return False
