"""Calls judged by proposed policies, in order, with sessions and limits counted as the service counts them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from app.model.decisions import Outcome, Result
from app.model.marks import longest_shared, shared_marks
from app.model.policies import Owner, Policy
from app.model.policy_sets import PolicyEntry, settle
from app.model.proposals import Reads
from app.propose.hostile import variations
from app.propose.observed import ObservedCall
from app.propose.proposer import KnownTool, propose
from app.replay.calls import LoggedCall
from app.replay.ledger import Ledger
from app.replay.replayed_call import ReplayedCall
from app.replay.rulesets import Ruleset
from app.replay.spans import Room, Timeline

_AGENT = "the agent"
_FOLDS = 5
_VARIED = 3
"""Calls of each tool of which variations are made."""
_encode = msgspec.json.encode


def policies_of(proposed: Sequence[Mapping[str, Any]]) -> list[Policy]:
    """The policies as they would be stored, one after the other. Raises ValidationError if one is not valid."""
    entries = [msgspec.convert(each, PolicyEntry) for each in proposed]
    changes = settle([], entries, Owner(_AGENT), prune=False)
    return [
        msgspec.structs.replace(change.policy, id=f"new {index}", created_ms=index)
        for index, change in enumerate(changes)
    ]


class Judge:
    """Judges calls by these policies; what is allowed counts."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        marks = longest_shared(frozenset[str]().union(*map(shared_marks, policies)))
        self._ruleset = Ruleset(policies, marks, lambda _: False)
        self._timeline = Timeline()
        self._ledger = Ledger(self._timeline, remembered=Room.NO)

    def judge(self, call: ObservedCall, *, counts: bool = True) -> Outcome:
        """What the call gets. counts: False = it leaves no trace even if it is allowed."""
        self._timeline.advance(call.time_ms)
        logged = LoggedCall(
            id=call.id,
            agent_id=_AGENT,
            key_id="",
            tool_name=call.tool,
            parameters=Raw(_encode(call.parameters)),
            result=None,
            policy_id=None,
            rule=None,
            reason="",
            timestamp="",
            context=Raw(_encode(call.context)),
        )
        replayed = ReplayedCall(logged, b"", self._ruleset, call.time_ms)
        outcome = self._ledger.outcomes(replayed, _AGENT)[-1]
        if outcome.result is Result.ALLOWED and counts:
            self._ledger.take(replayed, _AGENT)
        return outcome

    def results(self, calls: Iterable[ObservedCall]) -> Iterator[Result]:
        """What each call gets, oldest first."""
        return (self.judge(call).result for call in calls)


def counted(proposed: Sequence[Mapping[str, Any]], calls: Iterable[ObservedCall]) -> Counter[Result]:
    """How many of these calls get each result."""
    return Counter(Judge(policies_of(proposed)).results(calls))


def of_unseen_users(calls: Sequence[ObservedCall], catalog: Mapping[str, KnownTool], reads: Reads) -> Counter[Result]:
    """What the calls of each fifth of the units get under a proposal made of the others."""
    units = sorted({call.unit for call in calls})
    found = Counter[Result]()
    for fold in range(_FOLDS):
        held_out = set(units[fold::_FOLDS])
        learned = [call for call in calls if call.unit not in held_out]
        if learned and len(learned) < len(calls):
            policies = propose(learned, catalog, reads).policies
            found += counted(policies, (call for call in calls if call.unit in held_out))
    return found


class Varied(NamedTuple):
    """A hostile variation of a call: its kind, the call, and what it gets."""

    kind: str
    call: ObservedCall
    result: Result


def of_variations(
    proposed: Sequence[Mapping[str, Any]], calls: Iterable[ObservedCall], tools: Collection[str]
) -> Iterator[Varied]:
    """Yield hostile variations of some calls of these tools that are allowed, each in place of the call itself."""
    judge = Judge(policies_of(proposed))
    taken: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        units = taken[call.tool]
        is_base = call.tool in tools and call.unit not in units and len(units) < _VARIED
        if is_base and judge.judge(call, counts=False).result is Result.ALLOWED:
            units.add(call.unit)
            for kind, parameters in variations(call.parameters):
                varied = msgspec.structs.replace(call, parameters=parameters)
                yield Varied(kind, varied, judge.judge(varied, counts=False).result)
        judge.judge(call)
