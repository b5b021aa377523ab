"""A decision's code stays what it was, whatever sentence stands beside it: no reader makes it of the reason."""

import csv
import io

import msgspec
import pytest
from audit_entries import Writer
from commit_scene import ALLOWED, ESCALATED, MINUTE, POLICY, SECOND, START, quota
from msgspec.structs import replace

from app.audit.entry_format import line_of
from app.audit.log import AuditLog
from app.audit.read.export import export
from app.audit.seal.sealer import Sealer
from app.authorize.commit import ApprovalStep
from app.http.views.audit_log import with_code
from app.model.audit import AuditQuery, Format
from app.model.counts import CountBy, CountQuery
from app.model.decision_codes import DecisionCode
from app.model.decisions import Idempotency, Outcome, Result, RuleRef
from app.model.marks import MAX_SESSIONS
from app.model.plans import Mark, Plan
from app.model.rules import TYPES, usual_code
from app.replay.calls import decode_call

ONCE = Idempotency("a" * 64, "b" * 64)
ELSE = "Another sentence, of which no program could make anything"
MARK = Mark("ad" * 16, MINUTE, MINUTE)
BY_RULES = {kind.code: kind.tag() for kind in TYPES} | {DecisionCode.RULE_FAILED: "a_type_of_tomorrow"}
LIMITS = ("rate_limit", "budget", "denial_breaker")
WITHOUT_RULE = (
    DecisionCode.DEFAULT_DENY,
    DecisionCode.BATCH_REFUSED,
    DecisionCode.AGENT_SUSPENDED,
    DecisionCode.AGENT_REVOKED,
)


def denied(code, rule_type=None):
    rule = None if rule_type is None else RuleRef(3, rule_type)
    return Outcome(Result.DENIED, rule and POLICY, rule, "As its rule words it", code)


async def crowded(scene):
    """A call that leaves a mark in one session more than the agent may have."""
    live = scene.keyspace.live_sessions(scene.agent.id, MARK.name)
    full = (word for n in range(MAX_SESSIONS) for word in (START + MINUTE, f"{n:x}"))
    await scene.client.call("ZADD", live, *full)
    return {"plan": Plan(ALLOWED, session="abcdef", marks=(MARK,))}


async def nobody_to_ask(scene):
    """A call that asks people, of an agent that may have no approval open."""
    step = ApprovalStep(step="ask", approval_id=scene.ids.new(0), digest="d", asker_id=scene.key.id, agent_max=0)
    return {"plan": Plan(ESCALATED), "approval": step}


USUAL = [
    pytest.param(DecisionCode.ALLOWED, {"outcome": ALLOWED}, id="allowed"),
    pytest.param(DecisionCode.APPROVAL_REQUIRED, {"outcome": ESCALATED}, id="approval_required"),
    *(
        pytest.param(code, {"outcome": denied(code, kind)}, id=kind)
        for code, kind in BY_RULES.items()
        if code not in (DecisionCode.APPROVAL_REQUIRED, DecisionCode.DEFAULT_DENY)
    ),
    pytest.param(DecisionCode.DEFAULT_DENY, {"outcome": denied(DecisionCode.DEFAULT_DENY)}, id="default_deny"),
]
SAID = [
    *(
        pytest.param(code, {"outcome": denied(code, kind)}, id=f"{code} by {kind}")
        for code in (DecisionCode.PARAMETER_INVALID,)
        for kind in (*LIMITS, "tool_denylist")
    ),
    *(pytest.param(code, {"outcome": denied(code)}, id=code) for code in WITHOUT_RULE[1:]),
    pytest.param(DecisionCode.SEQUENCE_FORBIDDEN, crowded, id="too many sessions"),
    pytest.param(DecisionCode.APPROVALS_FULL, nobody_to_ask, id="approvals_full"),
]


def test_every_code_is_tried():
    assert {case.values[0] for case in (*USUAL, *SAID)} == set(DecisionCode)


async def committed(scene, asked, *, at=START):
    asked = asked if isinstance(asked, dict) else await asked(scene)
    return await scene.commit(**asked, at=at, idempotency=ONCE)


@pytest.mark.parametrize(("code", "asked"), USUAL)
async def test_an_entry_whose_rule_gives_its_code_does_not_say_it(scene, code, asked):
    """Nor does its first answer: most entries are no byte longer than their result, rule and reason."""
    decision = await committed(scene, asked)
    [entry] = await scene.entries()
    held = await scene.client.call("HGETALL", scene.keyspace.first_answer(scene.caller.key_id, ONCE.key_digest))
    assert decision.outcome.code is code
    assert "code" not in entry
    assert "code" not in held


@pytest.mark.parametrize(("code", "asked"), SAID)
async def test_an_entry_whose_rule_gives_another_code_says_it_once(scene, code, asked):
    """In the stream and in the line, which is what is sealed; that of a quota that was full instead is its rule's."""
    decision = await committed(scene, asked)
    [entry] = await scene.entries()
    said = msgspec.json.decode(line_of({name.encode(): each.encode() for name, each in entry.items()}))
    assert decision.outcome.code is code
    assert entry["code"] == said["code"] == code
    assert with_code(msgspec.json.encode(said)) == msgspec.json.encode(said)


@pytest.mark.parametrize(("code", "asked"), [*USUAL, *SAID])
async def test_a_code_does_not_depend_on_the_reason(scene, code, asked):
    """In what is shown, replayed, exported, counted and verified, unsealed and sealed, and in the answer to a retry."""
    await committed(scene, asked)
    [entry] = await scene.entries()
    del entry["stream_id"]
    log, workspace_id = AuditLog(scene.client), scene.ids.new(0)
    await Writer(scene.client, workspace_id).append_fields(entry | {"reason": ELSE})

    for sealing in (False, True):
        if sealing:
            await Sealer(scene.client, 16, 100).seal_next(workspace_id)
        [line] = (await log.query(workspace_id, AuditQuery())).lines
        shown = msgspec.json.decode(with_code(line))
        assert (shown["code"], shown["reason"]) == (code, ELSE)
        assert decode_call(line).code is code
        written = b"".join([each async for each in export(scene.client, workspace_id, AuditQuery(), Format.CSV)])
        columns, row, _ = csv.reader(io.StringIO(written.decode(), newline=""))
        assert row[columns.index("code")] == code
        counted = (await log.counts(workspace_id, CountQuery(by=CountBy.CODE))).counts
        assert [(each.value, each.count) for each in counted.values] == [(code, 1)]
        assert (await log.verify(workspace_id)).finding is None

    first = scene.keyspace.first_answer(scene.caller.key_id, ONCE.key_digest)
    await scene.client.call("HSET", first, "reason", ELSE)
    # What was allowed, and is not any more, gets no answer again.
    now = ALLOWED if code is DecisionCode.ALLOWED else denied(DecisionCode.DEFAULT_DENY)
    again = await scene.commit(idempotency=ONCE, outcome=now, at=START + SECOND)
    assert (again.repeated, again.outcome.code, again.outcome.reason) == (True, code, ELSE)


async def test_an_answer_that_replaces_another_has_a_code_of_its_own(scene):
    """The agent has changed in between, so what allowed nothing was decided anew."""
    await committed(scene, {"outcome": denied(DecisionCode.AGENT_SUSPENDED)})
    scene.agent = replace(scene.agent, version="moved")
    await scene.client.call("HSET", scene.keyspace.agent(scene.agent.id), "version", "moved")
    default = denied(DecisionCode.DEFAULT_DENY)
    answers = [await committed(scene, {"outcome": default}, at=START + turn) for turn in range(2)]
    assert [(each.repeated, each.outcome) for each in answers] == [(False, default), (True, default)]


async def test_a_full_quota_that_decides_gives_its_own_code(scene):
    """The plan's outcome, whose code was another, is not what was decided."""
    unread = denied(DecisionCode.PARAMETER_INVALID, "budget")
    limit = quota("narrow", 1, MINUTE)
    await scene.commit(limit)
    full = await scene.commit(limit, outcome=unread)
    assert full.outcome.code is usual_code(Result.DENIED, "rate_limit")
    assert "code" not in (await scene.entries())[-1]
