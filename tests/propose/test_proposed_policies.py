"""What a proposal allows, what it asks about, and what no log can teach it."""

import random

import msgspec
import pytest
from observed_calls import CHANGES, FINAL, airline, airline_catalog, observed

from app.model.catalog import Consequence
from app.model.decisions import Result
from app.model.policy_sets import PolicyEntry
from app.model.proposals import ProposedTool, Reads, ToolUse, need
from app.policy_tools.files.rendering import as_yaml
from app.propose.hostile_variations import KINDS, variations
from app.propose.judged_calls import Judge, of_unseen_users, policies_of, tried
from app.propose.proposed_file import as_commented_yaml
from app.propose.proposed_policies import KnownTool, propose

AIRLINE = airline()
CATALOG = airline_catalog()
PROPOSED = propose(AIRLINE, CATALOG)
MARKED = {
    "read": KnownTool(Consequence.NONE, foreign=False),
    "change": KnownTool(Consequence.REVERSIBLE, foreign=False),
    "final": KnownTool(Consequence.IRREVERSIBLE, foreign=False),
    "fetch": KnownTool(Consequence.DISCLOSES, foreign=False),
    "unmarked": KnownTool(),
    "unseen": KnownTool(Consequence.REVERSIBLE, foreign=False),
}


def by_users(tool, parameters, users=4):
    """The same call by some users."""
    return [observed(tool, parameters, f"u{number}", number=number) for number in range(users)]


def judged(proposed, *calls):
    judge = Judge(policies_of(proposed.policies))
    return [judge.judge(call).result for call in calls]


@pytest.mark.parametrize(("units", "needed"), [(0, 3), (3, 3), (60, 3), (61, 4), (100, 5), (1000, 50)])
def test_three_users_are_needed_or_one_in_twenty(units, needed):
    assert need(units) == needed


@pytest.mark.parametrize(
    ("tool", "result"),
    [("read", "allowed"), ("change", "allowed"), ("final", "escalated"), ("fetch", "escalated"),
     ("unmarked", "escalated"), ("unseen", "escalated"), ("not in the catalogue", "denied")],
)  # fmt: skip
def test_a_mark_decides_what_a_call_may_do_without_a_person(tool, result):
    """All of them were called by four users, but `unseen`."""
    calls = [
        call for each in (*MARKED, "not in the catalogue") if each != "unseen" for call in by_users(each, {"a": "b"})
    ]
    proposed = propose(calls, MARKED)
    assert judged(proposed, observed(tool, {"a": "b"}, "new")) == [result]


def test_one_rule_asks_about_all_that_is_never_allowed():
    """Its comment in a file says which of these tools nobody called."""
    catalog = {tool: MARKED[tool] for tool in ("final", "unseen")}
    proposed = propose(by_users("final", {"a": "b"}), catalog)
    assert proposed.policies == [
        {"name": "A person is asked", "rules": [{"type": "approval_required", "tools": ["final", "unseen"]}]}
    ]
    tools = [ProposedTool(name="unseen", use=ToolUse.UNSEEN, calls=0, units=0, why=None)]
    text = as_commented_yaml(as_yaml({"policies": proposed.policies}), proposed.evidence, tools)
    [comment] = [line for line in text.split("\n") if "#" in line]
    assert comment.endswith("# 4 calls, 4 users, e.g. entry 019300000000; never called: unseen")


def test_a_fetch_is_allowed_with_what_the_user_named():
    proposed = propose(by_users("fetch", {"url": "www.example.org", "depth": 1}), MARKED)
    context = {"session": "s", "request": "Read www.example.org please"}
    named, other = (
        msgspec.structs.replace(observed("fetch", {"url": url, "depth": 1}), context=context)
        for url in ("www.example.org", "attacker.example")
    )
    further = msgspec.structs.replace(named, parameters={**named.parameters, "cookie": 463820})
    assert judged(proposed, named, other, further) == [Result.ALLOWED, Result.ESCALATED, Result.ESCALATED]


@pytest.mark.parametrize("foreign", [True, None])
@pytest.mark.parametrize("reader", ["read", "fetch", "change"])
def test_where_strangers_text_is_read_every_change_asks(reader, foreign):
    """Also if nobody has said that there is none."""
    marked = MARKED | {reader: KnownTool(MARKED[reader].consequence, foreign)}
    calls = [call for tool in ("read", "fetch", "change") for call in by_users(tool, {"a": "b"})]
    proposed = propose(calls, marked)
    assert judged(proposed, observed("change", {"a": "b"}, "u1")) == [Result.ESCALATED]
    assert "strangers" in proposed.asking["change"]


def test_two_users_are_too_few_for_a_change_and_enough_for_a_read():
    calls = [*by_users("change", {}, 2), *by_users("read", {}, 1)]
    proposed = propose(calls, MARKED)
    assert judged(proposed, observed("change", {}), observed("read", {})) == [Result.ESCALATED, Result.ALLOWED]
    assert proposed.asking["change"] == "few: 2 users, and 3 are needed"


@pytest.mark.parametrize("name", ["*", "read*", "re*d"])
@pytest.mark.parametrize("kind", [Consequence.NONE, Consequence.REVERSIBLE, Consequence.DISCLOSES])
def test_a_tool_that_is_named_like_a_pattern_opens_no_other(name, kind):
    """A server chooses the names of its tools; a rule with this one would cover all that it matches."""
    tools = MARKED | {name: KnownTool(kind, foreign=False)}
    proposed = propose([*by_users(name, {}), *by_users("read", {})], tools, Reads.ALL)
    assert proposed.unknown == [name]
    assert all(tool in MARKED for policy in proposed.policies for rule in policy["rules"] for tool in rule["tools"])


def test_reads_that_nobody_made_are_granted_if_all_are():
    tools = MARKED | {"rare": MARKED["read"]}
    assert propose(by_users("read", {}), tools).free == ["read"]
    assert propose(by_users("read", {}), tools, Reads.ALL).free == ["rare", "read"]


def test_the_airlines_proposal_asks_less_than_the_one_written_by_hand_and_denies_nothing():
    """The example by hand asks about 41 of these calls and denies 4; examples/README.md counts them."""
    assert tried(PROPOSED.policies, AIRLINE, ()).counts == {Result.ALLOWED: 544, Result.ESCALATED: 28}
    assert of_unseen_users(AIRLINE, CATALOG, Reads.SEEN) == {Result.ALLOWED: 527, Result.ESCALATED: 45}
    assert sum(len(policy["rules"]) for policy in PROPOSED.policies) == 18


def test_no_hostile_variation_of_the_airlines_calls_passes():
    varied = tried(PROPOSED.policies, AIRLINE, CHANGES).varied
    assert {each.kind for each in varied} == set(KINDS)
    assert [each for each in varied if each.result is Result.ALLOWED] == []


def test_every_rule_and_constraint_says_what_it_was_made_from():
    """And nothing else does."""
    paths = set()
    for at, policy in enumerate(PROPOSED.policies):
        for index, rule in enumerate(policy["rules"]):
            path = f"policies[{at}].rules[{index}]"
            paths |= {path, *(f"{path}.parameters.{name}" for name in rule.get("parameters", ()))}
    assert {each.path for each in PROPOSED.evidence} == paths
    assert len(PROPOSED.evidence) == len(paths)
    ids = {call.id for call in AIRLINE}
    assert all(each.calls and each.examples for each in PROPOSED.evidence)
    assert all(value.entry in ids for each in PROPOSED.evidence for value in (*each.examples, *each.left_out))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_calls_does_not_matter(seed):
    """Same log, same bytes: what came first is said by times, not by places in a list."""
    shuffled = random.Random(seed).sample(AIRLINE, len(AIRLINE))
    again = propose(shuffled, dict(reversed(CATALOG.items())))
    assert msgspec.json.encode(again) == msgspec.json.encode(PROPOSED)


def test_every_policy_can_be_stored():
    assert [msgspec.convert(each, PolicyEntry).name for each in PROPOSED.policies] == [
        each["name"] for each in PROPOSED.policies
    ]


def hostile_calls(count, seed):
    """Hostile variations of the airline's changes, and mixtures of several."""
    chosen = random.Random(seed)
    bases = [call for call in AIRLINE if call.tool in CHANGES]
    made = [(call, kind, varied) for call in bases for kind, varied in variations(call.parameters)]
    for _ in range(count - len(made)):
        call, kind, parameters = chosen.choice(made)
        _, _, parameters = (call, *chosen.choice(list(variations(parameters))))
        made.append((call, kind, parameters))
    return [
        msgspec.structs.replace(call, parameters=parameters, id=f"f{number:08x}")
        for number, (call, _, parameters) in enumerate(made[:count])
    ]


@pytest.mark.parametrize("users", [1, 2])
def test_fewer_attackers_than_are_needed_open_nothing(users):
    """Their calls are in the log, all 10,000 of them, between those of users; none passes afterwards."""
    attacks = hostile_calls(10_000, seed=users)
    log = [
        *AIRLINE,
        *(
            msgspec.structs.replace(
                call, unit=f"attacker {number % users}", session=f"attack {number}", time_ms=call.time_ms + 1,
                context={"user": f"attacker {number % users}", "session": f"attack {number}"},
            )
            for number, call in enumerate(attacks)
        ),
    ]  # fmt: skip
    poisoned = propose(log, CATALOG)
    judge = Judge(policies_of(poisoned.policies))
    for call in AIRLINE:
        if call.tool == "get_user_details":
            judge.judge(call)
    passed = [call for call in attacks if judge.judge(call, counts=False).result is Result.ALLOWED]
    assert [(call.tool, call.parameters) for call in passed] == []


def test_names_that_too_few_users_gave_ask_at_every_depth():
    """Also in objects of arrays, and in an object that was always empty."""
    given = {"items": [{"id": 1, "more": {"to": {}}}], "note": {}}
    proposed = propose(by_users("change", given), MARKED)
    further = [
        {**given, "x": 1},
        {**given, "note": {"x": 1}},
        {**given, "items": [{"id": 1, "more": {"to": {}}, "x": 1}]},
        {**given, "items": [{"id": 1, "more": {"to": {}, "x": 1}}]},
        {**given, "items": [{"id": 1, "more": {"to": {"x": 1}}}]},
    ]
    calls = [observed("change", each, "u1") for each in (given, *further)]
    judge = Judge(policies_of(proposed.policies))
    results = [judge.judge(call, counts=False).result for call in calls]
    assert results == [Result.ALLOWED, *[Result.ESCALATED] * len(further)]


def test_a_parameter_that_too_few_users_left_out_must_be_given():
    """Two attackers who leave it out do not make it optional."""
    attacks = [observed("change", {}, f"attacker {number}", number=100 + number) for number in range(2)]
    honest = by_users("change", {"order": "A-1"}, 6)
    proposed = propose([*honest, *attacks], MARKED)
    assert judged(proposed, observed("change", {}, "u1"), honest[1]) == [Result.ESCALATED, Result.ALLOWED]
    assert judged(propose([*honest, *attacks, observed("change", {}, "u9", number=200)], MARKED), attacks[0]) == [
        Result.ALLOWED
    ]


def test_what_nearly_all_looked_up_first_must_come_first():
    """Two attackers who do not look it up change nothing; three users who do not make it needless."""
    honest = [
        observed(tool, {}, f"u{number}", number=10 * number + at)
        for number in range(6)
        for at, tool in enumerate(["read", "change"])
    ]
    attacks = [observed("change", {}, f"attacker {number}", number=100 + number) for number in range(3)]
    hasty, lookup, patient = (
        observed(tool, {}, "new", number=200 + at) for at, tool in enumerate(["change", "read", "change"])
    )
    two, three = (propose([*honest, *attacks[:count]], MARKED) for count in (2, 3))
    assert judged(two, hasty, lookup, patient) == [Result.ESCALATED, Result.ALLOWED, Result.ALLOWED]
    assert judged(three, hasty) == [Result.ALLOWED]


def test_as_many_attackers_as_are_needed_are_shown_with_their_entries():
    """Support is no proof. What they widened names their entries, so that who reviews it sees them."""
    attacks = [
        observed("cancel_reservation", {"reservation_id": f"{word}-{number}"}, f"attacker {number}", number=number)
        for number, word in enumerate(["alpha", "bravo", "delta"], 10_000)
    ]
    wider = propose([*AIRLINE, *attacks], CATALOG)
    looked = observed("get_user_details", {}, "new", number=20_000)
    hostile = observed("cancel_reservation", {"reservation_id": "other-99999"}, "new", number=20_001)
    assert judged(wider, looked, hostile) == [Result.ALLOWED, Result.ALLOWED]
    [place] = [number for number, each in enumerate(wider.policies) if each["name"].startswith("cancel_reservation")]
    path = f"policies[{place}].rules[0].parameters.reservation_id"
    [constraint] = [each for each in wider.evidence if each.path == path]
    assert {call.id for call in attacks} <= {value.entry for value in constraint.examples}


@pytest.mark.parametrize("tool", FINAL)
def test_what_cannot_be_undone_cannot_be_taught(tool):
    """However many users do it."""
    calls = [observed(tool, {"user_id": "a", "amount": 1}, f"u{number}", number=number) for number in range(200)]
    proposed = propose(calls, CATALOG)
    assert judged(proposed, calls[0]) == [Result.ESCALATED]
