"""The calls to learn from: those of a log that were allowed, in sessions that nobody objected to."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.model.decisions import Result
from app.model.outcomes import CallStatus
from app.model.proposals import ProposalFilter
from app.replay.calls import LoggedCall, decode_object, hidden_places, may_hide

DENIED = "approval_denied"


class ObservedCall(Struct, frozen=True, kw_only=True):
    """A call of the log.

    id: of its entry. unit: whose call it is: the user, else the session, else ""; a proposal counts these.
    session: "" if it names none. hidden: the parameters that the log hides.
    approved: True if people had approved it.
    """

    id: str
    time_ms: int
    tool: str
    parameters: dict[str, Any]
    unit: str
    session: str = ""
    hidden: frozenset[str] = frozenset()
    approved: bool = False
    context: dict[str, Any] = {}


class Observations(Struct, frozen=True, kw_only=True):
    """What a log teaches.

    calls: allowed and not failed, in sessions that nobody objected to; oldest first. refused: what people denied.
    failed: how many calls failed or were not made. sessions_left_out: how many, because somebody denied a call or a
    breaker tripped. calls_left_out: how many calls they had. unreadable: how many entries could not be read.
    called: the tools of all calls in the span, whatever came of them and whoever made them.
    """

    calls: list[ObservedCall]
    refused: list[ObservedCall] = []
    failed: int = 0
    sessions_left_out: int = 0
    calls_left_out: int = 0
    unreadable: int = 0
    called: frozenset[str] = frozenset()


class _Line(LoggedCall, rename="camel"):
    suspended_by: str | UnsetType = UNSET
    tripped_by: str | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Line).decode


class Observer:
    """Reads lines of the log, in any order.

    from_ms, to_ms: when calls to learn from were made, both inclusive; what is said about them may be later.
    """

    def __init__(self, agent_id: str, from_ms: int, to_ms: int, wanted: ProposalFilter) -> None:
        self._agent_id = agent_id
        self._span = from_ms, to_ms
        self._wanted = wanted
        self._allowed: list[ObservedCall] = []
        self._asked: dict[str, ObservedCall] = {}
        self._denied: set[str] = set()
        self._not_done: set[str] = set()
        self._tripped: set[str] = set()
        self._unreadable = 0
        self._called: set[str] = set()

    @property
    def count(self) -> int:
        """How many calls have been found so far."""
        return len(self._allowed)

    def feed(self, lines: Iterable[bytes]) -> None:
        """Read these lines, each without its line feed."""
        for line in lines:
            try:
                entry = _decode(line)
                if entry.agent_id == self._agent_id:
                    self._read(entry, line)
            except (msgspec.MsgspecError, ValueError):
                self._unreadable += 1

    def _read(self, entry: _Line, line: bytes) -> None:
        if entry.type is not UNSET:
            if entry.said_code == DENIED and isinstance(entry.approval_id, str):
                self._denied.add(entry.approval_id)
            elif entry.said_code in (CallStatus.FAILED, CallStatus.NOT_EXECUTED) and isinstance(entry.decision_id, str):
                self._not_done.add(entry.decision_id)
            return
        if entry.result is None:
            raise ValueError("a decision without a result")
        call = _observed(entry, line)
        if entry.suspended_by is not UNSET or entry.tripped_by is not UNSET:
            self._tripped.add(call.session)
        if entry.result == Result.ESCALATED and isinstance(entry.approval_id, str):
            self._asked.setdefault(entry.approval_id, call)
        from_ms, to_ms = self._span
        if from_ms <= call.time_ms <= to_ms:
            self._called.add(call.tool)
        if entry.result == Result.ALLOWED and from_ms <= call.time_ms <= to_ms and self._is_wanted(call, entry.key_id):
            self._allowed.append(call)

    def _is_wanted(self, call: ObservedCall, key_id: str) -> bool:
        wanted = self._wanted
        return (
            (not wanted.key_id or key_id in wanted.key_id)
            and (not wanted.user or call.context.get("user") in wanted.user)
            and (not wanted.session or call.session in wanted.session)
            and call.session not in wanted.exclude_session
        )

    def finish(self) -> Observations:
        """What has been read so far."""
        refused = [self._asked[each] for each in sorted(self._denied & self._asked.keys())]
        bad = {call.session for call in refused} | self._tripped
        done = [call for call in self._allowed if call.id not in self._not_done]
        calls = [call for call in done if not call.session or call.session not in bad]
        return Observations(
            calls=sorted(calls, key=when),
            refused=sorted(refused, key=when),
            failed=len(self._allowed) - len(done),
            sessions_left_out=len({call.session for call in done if call.session} & bad),
            calls_left_out=len(done) - len(calls),
            unreadable=self._unreadable,
            called=frozenset(self._called),
        )


def when(call: ObservedCall) -> tuple[int, str]:
    """Orders calls as they were made."""
    return call.time_ms, call.id


def _observed(entry: _Line, line: bytes) -> ObservedCall:
    parameters = decode_object(entry.parameters)
    context = {} if isinstance(entry.context, UnsetType) else decode_object(entry.context)
    hidden = hidden_places(parameters, context) if may_hide(line) else frozenset()
    session, user = (each if isinstance(each := context.get(name), str) else "" for name in ("session", "user"))
    return ObservedCall(
        id=entry.id,
        time_ms=entry.time_ms,
        tool=entry.tool_name,
        parameters=parameters,
        unit=user or session,
        session=session,
        hidden=frozenset(name for of, name in hidden if of == "parameters"),
        approved=entry.approval_id is not UNSET,
        context=context,
    )


def units_of(calls: Iterable[ObservedCall]) -> set[str]:
    """Whose calls these are."""
    return {call.unit for call in calls}


def by_tool(calls: Iterable[ObservedCall]) -> dict[str, list[ObservedCall]]:
    """The calls of each tool, tools by name."""
    found: dict[str, list[ObservedCall]] = defaultdict(list)
    for call in calls:
        found[call.tool].append(call)
    return dict(sorted(found.items()))


def most_sessions_a_day(calls: Iterable[ObservedCall]) -> int:
    """How many sessions the busiest day had, in UTC."""
    days = Counter(day for day, _ in {(call.time_ms // 86_400_000, call.session) for call in calls if call.session})
    return max(days.values(), default=0)
