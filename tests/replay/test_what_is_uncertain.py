"""Calls that depend on hidden values are counted, never guessed."""

import pytest
from fake_store import FakeClient
from msgspec import UNSET, Raw
from msgspec.structs import replace
from replayed import START_MS, Logged

from app.model.times import rfc3339
from app.replay.calls import hidden_places

US = 1000
START = START_MS * US
FREE = {"type": "tool_allowlist", "tools": ["*"]}


PINS = {"type": "budget", "tools": ["*"], "budget": {"parameter": "pin", "max": 9, "windowSeconds": 9}}


def limit(most, seconds=60, **more):
    return {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": most, "windowSeconds": seconds, **more}}


def asks(**parameters):
    return {"type": "parameter_constraint", "tools": ["*"], "parameters": parameters}


@pytest.fixture
async def log():
    """An agent that may do everything."""
    return await Logged(FakeClient()).enter({"name": "p", "rules": [FREE]})


async def send(log, second, **values):
    """A call for which the log keeps `values`, whatever was sent."""
    return await log.call("send", START + second * 1_000_000, {"to": "ann", "token": "t", "long": "x"}, values)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (asks(token={"regex": "^t$"}), {"token": "[REDACTED]"}),
        (asks(to={"equals": {"parameter": "token"}}), {"to": "ann", "token": "[REDACTED]"}),
        (asks(**{"auth.token": {"regex": "^t$"}}), {"auth": "[REDACTED]"}),
        (asks(**{"all[*].token": {"regex": "^t$"}}), {"all": [{"token": "[REDACTED]"}]}),
        (asks(long={"maxLength": 9000}), {"long": {"beginning": "x", "length": 9000}}),
        (asks(to={"enum": ["ann"]}), {"to": "svc_0123abcd..."}),
        (asks(to={"enum": ["ann"]}), {"to": "ses_0123abcd..."}),
        (asks(to={"regex": "^Bearer"}), {"to": "Bearer [REDACTED]"}),
        ({"type": "parameter_schema", "tools": ["*"], "schema": {"required": ["to"]}}, {"token": "[REDACTED]"}),
        ({"type": "parameter_schema", "tools": ["*"], "schema": {"required": ["to"]}}, {"svc_0123abcd...": 1}),
        (asks(to={"regex": "^ann$"}) | {"when": {"parameters": {"token": {"regex": "t"}}}}, {"token": "[REDACTED]"}),
        (limit(1, per=["parameters.token"]), {"token": "[REDACTED]"}),
        (PINS, {"pin": "[REDACTED]"}),
    ],
)  # fmt: skip
async def test_a_rule_that_reads_what_the_log_hides_makes_the_call_unjudged(log, rule, kept):
    """Whether redacted or shortened, within or around the value it reads, and in `when`, too."""
    await send(log, 0, **kept)
    report = await log.replay([{"name": "new", "rules": [FREE, rule]}])
    assert (report.judged, report.unjudged.hidden, report.flipped) == (0, 1, 0)


async def test_a_rule_that_reads_what_the_user_asked_for_makes_the_call_unjudged(log):
    """The log keeps only its length and a MAC; a call without a request is judged."""
    rule = asks(to={"fromRequest": "exact"})
    await log.call("send", START, {"to": "ann"}, context={"request": {"length": 9}})
    report = await log.replay([{"name": "new", "rules": [FREE, rule]}])
    assert (report.judged, report.unjudged.hidden, report.flipped) == (0, 1, 0)
    await send(log, 1, to="ann")
    report = await log.replay([{"name": "new", "rules": [FREE, rule]}])
    assert (report.judged, report.unjudged.hidden, report.flipped) == (1, 1, 1)


async def test_a_request_that_the_log_kept_is_judged(log):
    """By `fromRequest`; whether it was pinned is unknown all the same."""
    for to in ("ann", "eve"):
        await log.call("send", START, {"to": to}, context={"request": "Write to ann!"})
    report = await log.replay([{"name": "new", "rules": [FREE, asks(to={"fromRequest": "exact"})]}])
    assert (report.judged, [flip.becomes.value for flip in report.flips]) == (2, ["denied"])
    report = await log.replay([{"name": "new", "rules": [FREE, {"type": "pinned_request", "tools": ["*"]}]}])
    assert (report.judged, report.flipped) == (0, 0)


async def test_a_call_that_does_not_depend_on_hidden_values_is_judged(log):
    """Such as a denial by another rule, a rule on another value, or a rule that only tests presence."""
    await send(log, 0, to="ann", token="[REDACTED]")
    for rules, flipped in (
        ([FREE, asks(token={"regex": "^t$"}), {"type": "tool_denylist", "tools": ["send"]}], 1),
        ([FREE, asks(token={"regex": "^t$"}), asks(to={"enum": ["ben"]})], 1),
        ([FREE, asks(to={"enum": ["ann"]})], 0),
        ([FREE, asks(token={"required": True})], 0),
        ([FREE, asks(**{"token.x": {"required": True}})], None),
    ):
        report = await log.replay([{"name": "new", "rules": rules}])
        assert (report.judged, report.flipped) == ((0, 0) if flipped is None else (1, flipped)), rules


async def test_a_limit_that_may_have_counted_an_unjudged_call_is_uncertain(log):
    """Until certain calls alone fill it, or the window has passed."""
    await send(log, 0, token="[REDACTED]")
    for second in (1, 2, 3):
        await send(log, second)
    await send(log, 70)
    rules = [FREE, limit(2), asks(token={"regex": "^t$", "required": False})]
    report = await log.replay([{"name": "new", "rules": rules}])
    # 1 has room either way. 2 has it if the first did not take; then 3 has none, and if it did neither: full.
    assert (report.judged, report.unjudged.hidden, report.unjudged.limits) == (2, 1, 2)
    assert report.flipped == 0


async def test_an_order_within_a_millisecond_is_not_guessed(log):
    """If the second call comes exactly one window after the first, the first may or may not still count."""
    await log.call("send", START + 999)
    await log.call("send", START + 60_000_000)
    report = await log.replay([{"name": "new", "rules": [FREE, limit(1)]}])
    assert (report.judged, report.unjudged.limits) == (1, 1)


async def test_an_edit_is_ordered_among_the_calls_of_its_millisecond(log):
    """The change names the entry that preceded it; changes of older releases do not."""
    assert await log.call("send", START) == "allowed"
    await log.edit(0, rules=[{"type": "tool_denylist", "tools": ["send"]}])
    assert await log.call("send", START + 1) == "denied"
    report = await log.replay()
    assert (report.judged, report.flipped) == (2, 0)

    query = log.changes.query

    async def without_sequences(workspace_id, asked):
        page = await query(workspace_id, asked)
        made = rfc3339(START_MS)
        return replace(
            page,
            changes=[
                replace(each, sequence=UNSET, timestamp=made if each.kind == "updated" else each.timestamp)
                for each in page.changes
            ],
        )

    log.changes.query = without_sequences
    report = await log.replay()
    assert (report.judged, report.unjudged.edited) == (0, 2)
    # A draft that replaces what was edited does not mind.
    report = await log.replay([{"name": "p", "rules": [FREE]}])
    assert (report.judged, report.flipped, report.unjudged.edited) == (2, 1, 0)


async def test_dropped_entries_make_every_limit_uncertain(log):
    """Until a window has passed since the newest dropped entry."""
    await log.call("send", START + 30_000_000)
    await log.call("send", START + 61_000_000)
    await log.call("send", START + 91_000_000)
    report = await log.replay([{"name": "new", "rules": [FREE, limit(1)]}], gone_ms=START_MS)
    # 30 s: nobody knows. 61 s: it depends on that. 91 s: that is over; the second may have been allowed, or not.
    assert (report.judged, report.unjudged.limits) == (0, 3)
    report = await log.replay([{"name": "new", "rules": [FREE, limit(2)]}], gone_ms=START_MS)
    assert (report.judged, report.unjudged.limits, report.flipped) == (2, 1, 0)


async def test_approvals_given_are_assumed_to_be_given_again(log):
    """The call counts as allowed, and in the limits; the draft's denials still apply."""
    await log.call("pay", START)
    lines = await log.lines()
    approved = lines.replace(b'"reason":"', b'"reason":"Approved by \\"ann\\", ').replace(
        b'Z"}', b'Z","approvalId":"a"}'
    )
    assert approved.count(b"approvalId") == 1
    ask = {"type": "approval_required", "tools": ["pay"]}
    for rules, approvals, flips in (
        ([ask, FREE], 1, []),
        ([FREE], 0, []),
        ([{"type": "tool_denylist", "tools": ["pay"]}], 0, ["denied"]),
        ([FREE, limit(1) | {"effect": "escalate"}], 0, []),
    ):
        report = await log.replay([{"name": "new", "rules": rules}], lines=approved)
        assert (report.approved, [flip.becomes.value for flip in report.flips]) == (approvals, flips), rules
    # A full limit that asks people: their yes goes past it, and the call is counted.
    both = approved + lines + approved
    report = await log.replay([{"name": "new", "rules": [FREE, limit(1) | {"effect": "escalate"}]}], lines=both)
    assert (report.approved, [flip.becomes.value for flip in report.flips]) == (1, ["escalated"])


async def test_a_call_without_room_for_its_approval_was_escalated(log):
    """It was denied only because too many approvals were open, which is not a flip."""
    await log.call("pay", START)
    lines = (await log.lines()).replace(b'"result":"allowed"', b'"result":"denied"')
    lines = lines.replace(b'Z"}', b'Z","code":"approvals_full"}')
    report = await log.replay([{"name": "n", "rules": [{"type": "approval_required", "tools": ["*"]}]}], lines=lines)
    assert (report.judged, report.flipped) == (1, 0)


async def test_entries_other_than_decisions_and_unreadable_ones_are_skipped(log):
    """Entries with a type, entries that no commit wrote, lines that are not JSON, and inactive agents."""
    await log.call("pay", START)
    line = await log.lines()
    lines = line.replace(b'Z"}', b'Z","type":"outcome"}')
    lines += line.replace(b'"result":"allowed"', b'"result":null') + b"{]\n"
    inactive = line.replace(b'"result":"allowed"', b'"result":"denied"')
    start = inactive.index(b'"policyId":')
    end = inactive.index(b'"reason":')
    lines += (
        inactive[:start]
        + b'"policyId":null,"rule":null,"reason":"Its agent","latencyMs":1.0,"code":"agent_suspended",'
        + (inactive[inactive.index(b'"timestamp"', end) :])
    )
    report = await log.replay([{"name": "n", "rules": [FREE]}], lines=lines)
    assert (report.judged, report.unjudged.unreadable, report.inactive) == (0, 2, 1)


async def test_policies_that_the_trail_does_not_show_are_not_guessed(log):
    """Before a change that can no longer be read, the policies are unknown, and after it the limits' contents."""
    await log.call("pay", START)
    await log.edit(0, rules=[FREE, limit(1)])
    await log.call("pay", START + 20 * US)
    await log.call("pay", START + 30 * US)
    query = log.changes.query

    async def of_the_future(workspace_id, asked):
        page = await query(workspace_id, asked)
        edited = Raw(b'{"rules":[{"type":"of_the_future"}]}')
        return replace(
            page, changes=[replace(each, before=edited) if each.kind == "updated" else each for each in page.changes]
        )

    log.changes.query = of_the_future
    report = await log.replay()
    assert (report.unjudged.unknown, report.unjudged.limits, report.judged) == (1, 2, 0)


def test_hidden_values_are_found_at_any_depth():
    """In objects and arrays, in parameters and context."""
    found = hidden_places({"a": [{"b": "[REDACTED]"}], "c.d": {"beginning": "x", "length": 9}}, {"e": "[REDACTED]"})
    assert found == {("parameters", "a[*].b"), ("parameters", "c.d"), ("context", "e")}
