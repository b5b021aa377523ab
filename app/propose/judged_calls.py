"""Calls judged by proposed policies, in order, with sessions and limits counted as the service counts them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.model.decisions import AuthorizeRequest, Outcome, Result
from app.model.marks import longest_shared, shared_marks
from app.model.policies import Owner, Policy
from app.model.policy_sets import PolicyEntry, settle
from app.model.proposals import Reads
from app.pdp import decide
from app.propose.hostile_variations import variations
from app.propose.observed_calls import ObservedCall
from app.propose.proposed_policies import KnownTool, propose
from app.replay.calls import LoggedCall
from app.replay.ledger import Ledger
from app.replay.replayed_call import ReplayedCall
from app.replay.rulesets import Ruleset
from app.replay.spans import Room, Timeline

_AGENT = "the agent"
_FOLDS = 5
_VARIED = 3
"""Calls of each tool of which variations are made."""


def policies_of(proposed: Sequence[Mapping[str, Any]]) -> list[Policy]:
    """The policies as they would be stored, one after the other. Raises ValidationError if one is not valid."""
    entries = [msgspec.convert(each, PolicyEntry) for each in proposed]
    changes = settle([], entries, Owner(_AGENT), prune=False)
    return [replace(change.policy, id=f"new {index}", created_ms=index) for index, change in enumerate(changes)]


class Judge:
    """Judges calls by these policies; what is allowed counts."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        marks = longest_shared(frozenset[str]().union(*map(shared_marks, policies)))
        self._ruleset = Ruleset(policies, marks, lambda _: False)
        self._timeline = Timeline()
        self._ledger = Ledger(self._timeline, remembered=Room.NO)

    def judge(self, call: ObservedCall, *, counts: bool = True) -> Outcome:
        """What the call gets. counts: False = it leaves no trace even if it is allowed."""
        settled = self._ruleset.settled(call.tool)
        if settled is not None and not settled.quotas:
            return settled.outcome
        self._timeline.advance(call.time_ms)
        logged = LoggedCall.without_entry(_AGENT, call.tool, call.parameters, call.context, call_id=call.id)
        replayed = ReplayedCall(logged, b"", self._ruleset, call.time_ms)
        outcome = self._ledger.outcomes(replayed, _AGENT)[-1]
        if outcome.result is Result.ALLOWED and counts:
            self._ledger.take(replayed, _AGENT)
        return outcome

    def may_allow(self, call: ObservedCall) -> bool:
        """True if the call is allowed with room in every limit, and after anything."""
        request = AuthorizeRequest(_AGENT, call.tool, "", call.parameters, b"", context=call.context)
        return decide(self._ruleset.compiled, request, call.time_ms * 1000).outcome.result is Result.ALLOWED


def of_unseen_users(calls: Sequence[ObservedCall], catalog: Mapping[str, KnownTool], reads: Reads) -> Counter[Result]:
    """What the calls of each fifth of the units get under a proposal made of the others."""
    units = sorted({call.unit for call in calls})
    found = Counter[Result]()
    for fold in range(_FOLDS):
        held_out = set(units[fold::_FOLDS])
        learned = [call for call in calls if call.unit not in held_out]
        if learned and len(learned) < len(calls):
            policies = propose(learned, catalog, reads).policies
            found += tried(policies, (call for call in calls if call.unit in held_out), ()).counts
    return found


class Varied(NamedTuple):
    """A hostile variation of a call: its kind, the call, and what it gets."""

    kind: str
    call: ObservedCall
    result: Result


class Tried(Struct, frozen=True):
    """How policies judge the calls that they were made from.

    counts: how many calls get each result. varied: hostile variations of some calls, each in place of the call itself.
    first: by tool and result, the oldest call that gets it.
    """

    counts: Counter[Result]
    varied: list[Varied]
    first: dict[tuple[str, Result], ObservedCall]


def tried(proposed: Sequence[Mapping[str, Any]], calls: Iterable[ObservedCall], varied: Collection[str]) -> Tried:
    """Try the policies on these calls, oldest first, and on variations of calls of the tools `varied`."""
    judge = Judge(policies_of(proposed))
    found = Tried(Counter(), [], {})
    bases: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        units = bases[call.tool]
        is_base = call.tool in varied and call.unit not in units and len(units) < _VARIED
        if is_base and judge.judge(call, counts=False).result is Result.ALLOWED:
            units.add(call.unit)
            for kind, parameters in variations(call.parameters):
                other = replace(call, parameters=parameters)
                found.varied.append(Varied(kind, other, judge.judge(other, counts=False).result))
        result = judge.judge(call).result
        found.counts[result] += 1
        found.first.setdefault((call.tool, result), call)
    return found
