"""Whatever is in a log: the proposal can be stored, and allows no change but within bounds that it names."""

import random

import msgspec
import pytest
from observed_calls import observed

from app.model.catalog import Consequence
from app.model.decisions import Result
from app.model.policy_sets import PolicyEntry
from app.model.proposals import ProposalFilter, ProposeTask, Reads
from app.propose.judged_calls import Judge, policies_of
from app.propose.observed_calls import Observations
from app.propose.proposal import proposal_of
from app.propose.proposed_policies import KnownTool

TASK = ProposeTask(workspace_id="", agent_id="", from_ms=0, to_ms=1, wanted=ProposalFilter(), reads=Reads.SEEN)
NAMES = ("id", "a.b", "x[*]", "*", "", "n" * 300, "é", "a\u200b", "amount", "Amount", "items", "to", "$ref", "type")
SCALARS = (
    *(None, True, False, 0, 1, -7, 20, 21, 608, 1.5, 1e300, -1e-9, 2**63, 10**30),
    *("", " ", "A-100", "mia_li_3668", "two words", "5 km", "2024-05-20", "\u00e9", "\u0410\u0411\u0412"),
    *("a" * 700, "x" * 3000, "line\nfeed", "\x00", "{}", "(.*)", "$", "\\", "[REDACTED]"),
)


def value(chosen, depth=0):
    kind = chosen.random()
    if depth < 4 and kind < 0.12:
        return {chosen.choice(NAMES): value(chosen, depth + 1) for _ in range(chosen.randrange(4))}
    if depth < 4 and kind < 0.24:
        return [value(chosen, depth + 1) for _ in range(chosen.randrange(4))]
    return chosen.choice(SCALARS)


def calls(chosen, count=60):
    """Calls of a few users, whose parameters are alike more often than not."""
    habits = [{chosen.choice(NAMES): value(chosen) for _ in range(chosen.randrange(4))} for _ in range(3)]
    long_name = "t" * 255
    for number in range(count):
        parameters = dict(chosen.choice(habits))
        if chosen.random() < 0.3:
            parameters[chosen.choice(NAMES)] = value(chosen)
        unit = chosen.choice(["", *(f"u{each}" for each in range(8))])
        tool = chosen.choice(["change", "change", "read", "fetch", long_name])
        yield observed(tool, parameters, unit, number=number)


CATALOG = {
    "change": KnownTool(Consequence.REVERSIBLE, False, {"properties": {"id": {"enum": [1, "A-100", {}]}, "to": []}}),
    "t" * 255: KnownTool(Consequence.REVERSIBLE, foreign=False),
    "read": KnownTool(Consequence.NONE, foreign=False),
    "fetch": KnownTool(Consequence.DISCLOSES, foreign=False),
}


@pytest.mark.parametrize("seed", range(40))
def test_any_log_makes_a_proposal_that_can_be_stored(seed):
    made = list(calls(random.Random(seed)))
    proposal = proposal_of(TASK, Observations(calls=made), CATALOG)
    for policy in proposal.policies:
        msgspec.convert(policy, PolicyEntry)
    assert proposal.replay.total == len(made)
    assert msgspec.json.decode(msgspec.json.encode(proposal), type=type(proposal)).policies


@pytest.mark.parametrize("seed", range(40))
def test_no_name_that_nobody_gave_passes_at_any_depth(seed):
    """In place of each call that is allowed, with one more name in any of its objects."""
    made = list(calls(random.Random(seed)))
    proposal = proposal_of(TASK, Observations(calls=made), CATALOG)
    judge = Judge(policies_of(proposal.policies))
    for call in made:
        if call.tool not in ("read", "fetch"):
            for parameters in with_one_more(call.parameters):
                outcome = judge.judge(msgspec.structs.replace(call, parameters=parameters), counts=False)
                assert outcome.result is not Result.ALLOWED, parameters
        judge.judge(call)


def with_one_more(held):
    if isinstance(held, dict):
        yield {**held, "never given": 1}
        for name, inner in held.items():
            yield from ({**held, name: each} for each in with_one_more(inner))
    elif isinstance(held, list):
        for at, inner in enumerate(held):
            yield from ([*held[:at], each, *held[at + 1 :]] for each in with_one_more(inner))
