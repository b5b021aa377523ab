"""What an adapter does with a call that was judged, and the name under which it is judged once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remit_client.models import Decision, Json

Place = Sequence[Any] | None
"""Where the framework stands: values that are the same whenever it comes back to a call, and different for every other
call. None: it never comes back, or there are no such values."""


@dataclass(frozen=True)
class Run:
    """The tool may run, with these arguments, which are copies of those that were judged."""

    arguments: dict[str, Any]
    decision: Decision
    tool: str


@dataclass(frozen=True)
class Refused:
    """The tool does not run, and the model reads `text`."""

    text: str
    decision: Decision


@dataclass(frozen=True)
class Waits:
    """A person must approve the call. If the framework cannot pause, the model reads `text`.

    tool: the name that policies have for it. message: for the people who resume the run.
    """

    tool: str
    text: str
    message: str
    approval_id: str | None
    decision: Decision


Verdict = Run | Refused | Waits


def name_of(agent: str, tool: str, parameters: Json, place: Sequence[Any]) -> str:
    """The Idempotency-Key of the call at this place.

    Ids of calls alone name nothing: some models give every call the same one. Edited arguments are another call.
    """
    named = json.dumps([agent, tool, parameters, *place], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(named.encode()).hexdigest()
