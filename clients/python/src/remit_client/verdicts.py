"""What an adapter does with a call that was judged, and the name under which it is judged once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from remit_client.models import Decision, Json

M = TypeVar("M")

Place = Sequence[Any] | None
"""Where the framework stands: values that are the same whenever it comes back to a call, and different for every other
call. None: it never comes back, or there are no such values."""


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, as a framework makes it.

    context: what the framework vouches for, such as its session; what is None or "" is left out. turns: the contents of
    the user's own messages, of which `context.request` is made if `user_request` is on; they are not read otherwise.
    resumable: asked once the tool has ended: whether the framework saves where it stands before that, and could come
    back to the call once more. Then the outcome is reported in any case, which ends the call's name: the same leg, sent
    again, is another call.
    """

    tool: str
    arguments: Mapping[str, Any]
    context: Mapping[str, Any] = field(default_factory=dict)
    turns: Iterable[Any] = ()
    place: Place = None
    resumable: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Framework:
    """What a gate must know of the framework that it stands in.

    pauses: what a tool raises if it has not ended. has_failed: of a tool's answer. goes_on: a run does not end with an
    error of a gate, so the model reads that there is no decision, and the tool does not run.
    """

    pauses: tuple[type[BaseException], ...] = ()
    has_failed: Callable[[Any], bool] = lambda _: False
    goes_on: bool = False


@dataclass(frozen=True)
class Run:
    """The tool may run, with these arguments, which are copies of those that were judged.

    tool: the framework's name of it. resumable: see `ToolCall`.
    """

    arguments: dict[str, Any]
    decision: Decision
    tool: str
    resumable: Callable[[], bool]


@dataclass(frozen=True)
class Refused:
    """The tool does not run, and the model reads `text`. decision: None if there is none, because of `cause`."""

    text: str
    decision: Decision | None
    cause: Exception


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
    cause: Exception


Verdict = Run | Refused | Waits


def name_of(agent: str, tool: str, parameters: Json, place: Sequence[Any]) -> str:
    """The Idempotency-Key of the call at this place.

    Ids of calls alone name nothing: some models give every call the same one. Edited arguments are another call.
    """
    named = json.dumps([agent, tool, parameters, *place], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(named.encode()).hexdigest()


def message_of(call_id: object, messages: Iterable[tuple[M, Sequence[object]]]) -> M | None:
    """The first of these messages that has the call, unless it has the id twice, which then names nothing.

    messages: the newest first, each with the ids of its calls.
    """
    return next((one if ids.count(call_id) == 1 else None for one, ids in messages if call_id in ids), None)
