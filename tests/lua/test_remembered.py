"""What the commit remembers of approved calls, and looks up."""

from commit_scene import ALLOWED, ESCALATED, MINUTE, POLICY, SECOND, START
from msgspec.structs import replace

from app.authorize.commit import ApprovalStep, Escalates
from app.model.decisions import Decision, RuleRef
from app.model.plans import Plan, RememberedCheck, Target
from app.store.keyspace import Keyspace

CHECK = RememberedCheck(POLICY, "m", RuleRef(1, "parameter_constraint"), MINUTE, ESCALATED)


def looking_for(*macs, within_ms=60_000):
    """The check of values, each with the MACs under two secrets."""
    targets = tuple(Target("to", within_ms, (mac, f"{mac}0")) for mac in macs)
    return Plan(ALLOWED, (replace(CHECK, targets=targets),), may_escalate=True)


def remembering(*macs):
    targets = tuple(Target("to", 60_000, (mac,)) for mac in macs)
    return Plan(ALLOWED, (replace(CHECK, targets=targets, asks=False, renews=True),))


async def approve(scene, approved_us, approval_id="a"):
    """The record of an approval that a person has given, and the step that uses it."""
    keyspace = Keyspace(scene.workspace_id)
    record = {"status": "approved", "version": "2", "uses_left": "9", "granted_ms": "900000", "asked_sequence": "9"}
    record |= {"usable_until_ms": str(approved_us // 1000 + 900_000), "expires_ms": "0", "decisions": "d"}
    await scene.client.call(
        "HSET", keyspace.approval(approval_id), *(part for field in record.items() for part in field)
    )
    await scene.client.call("SET", keyspace.approval_call("d"), approval_id)
    version = (await scene.client.call("HGET", keyspace.approval(approval_id), "version")) or "1"
    return ApprovalStep(
        step="use", approval_id=approval_id, digest="d", current_id=approval_id, current_version=version,
        asker_id=scene.key.id,
    )  # fmt: skip


async def looks_up(scene, plan, now_us):
    """Whether every value is remembered; a probe writes nothing if not."""
    probe = ApprovalStep(step="probe", approval_id="p", digest="d", asker_id=scene.key.id)
    answer = await scene.commit(plan=plan, approval=probe, at=now_us)
    assert isinstance(answer, Decision | Escalates)
    return isinstance(answer, Decision)


async def test_a_value_counts_from_its_approval_on(scene):
    """To the millisecond before its time is over; under any secret in use; only with all others; not before it.

    A clock that has been set back does not prolong what was approved while it was ahead.
    """
    step = await approve(scene, START)
    assert not await looks_up(scene, looking_for("aa"), START)
    await scene.commit(plan=remembering("aa", "bb0"), approval=step, at=START + 5 * SECOND)
    assert await looks_up(scene, looking_for("aa", "bb"), START + 59_999_000)
    assert not await looks_up(scene, looking_for("aa", "cc"), START + 59_999_000)
    assert not await looks_up(scene, looking_for("aa"), START + 60_000_000)
    assert not await looks_up(scene, looking_for("aa"), START - 1000)
    assert not await looks_up(scene, looking_for("aa", within_ms=1000), START + 5 * SECOND)


async def test_only_a_call_that_uses_its_approval_is_remembered(scene):
    """Not one that is allowed without."""
    await scene.commit(plan=remembering("aa"), at=START)
    probe = ApprovalStep(step="probe", approval_id="p", digest="d", asker_id=scene.key.id)
    await scene.commit(plan=remembering("aa"), approval=probe, at=START)
    assert await scene.client.call("EXISTS", Keyspace(scene.workspace_id).remembered(scene.agent.id, "m")) == 0


async def test_the_oldest_of_a_thousand_values_go(scene):
    """Oldest by when people approved them."""
    name = Keyspace(scene.workspace_id).remembered(scene.agent.id, "m")
    for number in range(999):
        await scene.client.call("HSET", name, f"{number:04x}", f"{START // 1000 - number - 1} a to")
    step = await approve(scene, START)
    await scene.commit(plan=remembering("aaaaa", "bbbbb", "ccccc"), approval=step, at=START)
    kept = await scene.client.call("HKEYS", name)
    assert len(kept) == 1000
    assert {"aaaaa", "bbbbb", "ccccc"} <= {*kept}
    assert {f"{998:04x}", f"{997:04x}"}.isdisjoint(kept)
    assert 0 < await scene.client.call("PTTL", name) <= 60_000
