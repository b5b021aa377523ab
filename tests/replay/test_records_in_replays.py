"""Replays judge rules about records with what each entry says was read."""

from fake_store import FakeClient
from replayed import START_MS, Logged

from app.model.outcomes import CallStatus, decode_call
from app.store.outcomes import Outcomes

FREE = {"name": "all", "rules": [{"type": "tool_allowlist", "tools": ["*"]}]}
RECORD = {"of": "r:{parameters.id}", "from": ["get"], "fields": {"cabin": {"notEnum": ["basic"]}}}
AT_US = START_MS * 1000


def guard(**record):
    rule = {"type": "parameter_constraint", "tools": ["update"], "record": RECORD | record}
    return {"name": "guard", "kind": "guardrail", "rules": [rule]}


async def history(*bodies):
    """Calls of `update` before anything is reported, of basic, of economy, and of what nobody has read."""
    workspace, session = await Logged(FakeClient()).enter(FREE, *bodies), {"session": "s"}
    outcomes = Outcomes(workspace.client, workspace.made, 1_000)
    await workspace.call("update", AT_US, {"id": "A"}, context=session)
    for cabin in ("basic", "economy"):
        await workspace.call("get", AT_US, {"id": "A"}, context=session)
        *_, last = (await workspace.lines()).splitlines()
        records = {"r:A": {"cabin": cabin}}
        await outcomes.record(workspace.id, decode_call(last), CallStatus.EXECUTED, records, now_us=AT_US)
        await workspace.call("update", AT_US, {"id": "A"}, context=session)
    await workspace.call("update", AT_US, {"id": "B"}, context=session)
    return workspace


async def test_the_policies_of_the_time_flip_nothing():
    """All is known: what was found, and that nothing was."""
    workspace = await history(guard())
    assert workspace.results == ["denied", "allowed", "denied", "allowed", "allowed", "denied"]
    report = await workspace.replay()
    assert (report.flipped, report.unjudged.total, report.judged) == (0, 0, 6)


async def test_a_draft_that_asks_otherwise_of_the_same_field_is_judged_with_what_was_read():
    """A field and its bounds, not the answer, are in the entry."""
    workspace = await history(guard())
    report = await workspace.replay([FREE, guard(fields={"cabin": {"enum": ["basic"]}})])
    assert (report.flipped, report.unjudged.total) == (2, 0)
    assert {(each.was.value, each.becomes.value) for each in report.flips} == {
        ("denied", "allowed"),
        ("allowed", "denied"),
    }


async def test_a_draft_that_reads_what_nobody_read_is_uncertain():
    """Another field, another record, or a rule where there was none; where no record was found, that is known."""
    workspace = await history(guard())
    report = await workspace.replay([FREE, guard(fields={"seats": {"min": 1}})])
    assert (report.flipped, report.unjudged.total) == (0, 2)
    report = await workspace.replay([FREE, guard(of="other:{parameters.id}")])
    assert (report.flipped, report.unjudged.total) == (0, 4)
    report = await (await history()).replay([FREE, guard()])
    assert (report.flipped, report.unjudged.total) == (0, 4)
