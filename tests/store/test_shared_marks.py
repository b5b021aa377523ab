"""Every agent's commits leave the marks that rules need, as long as any policy names them."""

import pytest
from commit_scene import Scene

from app.authorize.commit import Stale
from app.errors import LimitReached
from app.model.decisions import Decision
from app.model.ids import Ids
from app.model.marks import MAX_SHARED_MARKS
from app.model.plans import Tokens
from app.model.policies import WORKSPACE, Owner, PolicyChanges, PolicyFields, PolicyKind
from app.model.policy_sets import NO_VERSION, PolicyEntry
from app.model.rules import Sequenced, ToolDenylist
from app.model.sequences import CallSequence
from app.store.keyspace import Keyspace
from tests.support import parts
from tests.support.actors import BY

NEVER = ToolDenylist(tools=["rm"])
MAIL = Sequenced(tools=["pay"], sequence=CallSequence(forbidden_after=["mail.*"]))
MAIL_FOR_A_MINUTE = Sequenced(tools=["*"], sequence=CallSequence(forbidden_after=["mail.*"], within_seconds=60))
CHECK = Sequenced(tools=["pay"], sequence=CallSequence(requires_before=["check"]))
DAYS = 2_678_400


class Watched:
    """An agent that none of these tests' policies governs, and the tokens and marks that its commits need."""

    def __init__(self, client, ids, workspace_id) -> None:
        self.client, self.workspace_id = client, workspace_id
        self.agents, self.policies = parts.agents(client, ids), parts.policies(client, ids)

    async def enter(self):
        self.mine = await self.agents.create(self.workspace_id, "mine", None, by=BY)
        self.other = await self.agents.create(self.workspace_id, "other", None, by=BY)
        return self

    async def known(self):
        governed = await self.agents.load(self.workspace_id, self.mine.id)
        return governed.tokens.workspace, governed.shared_marks

    async def after(self, change):
        """Whether the change replaced the token; the marks; and its result."""
        before, _ = await self.known()
        given = await change
        token, marks = await self.known()
        return token != before, marks, given


@pytest.fixture
async def watched(client, ids, workspace_id):
    return await Watched(client, ids, workspace_id).enter()


async def test_the_first_and_the_last_that_names_a_pattern_move_the_token_of_all(watched):
    """Those in between change nothing for others; `requiresBefore` concerns only the agent."""
    of, w = watched.policies, watched.workspace_id
    moved, marks, first = await watched.after(
        of.create(w, Owner(watched.other.id), PolicyFields(name="p", rules=(MAIL, CHECK)), by=BY)
    )
    assert (moved, marks) == (True, {"mail.*": DAYS})
    moved, marks, second = await watched.after(
        of.create(w, Owner(group="crew"), PolicyFields(name="q", rules=(MAIL,)), by=BY)
    )
    assert (moved, marks) == (False, {"mail.*": DAYS})
    moved, marks, _ = await watched.after(of.update(w, first.id, PolicyChanges(rules=(CHECK,)), by=BY))
    assert (moved, marks) == (False, {"mail.*": DAYS})
    moved, marks, _ = await watched.after(
        of.update(w, second.id, PolicyChanges(rules=(MAIL_FOR_A_MINUTE, MAIL, MAIL)), by=BY)
    )
    assert (moved, marks) == (True, {"mail.*": DAYS})
    moved, marks, _ = await watched.after(of.update(w, second.id, PolicyChanges(rules=(MAIL_FOR_A_MINUTE,)), by=BY))
    assert (moved, marks) == (True, {"mail.*": 60})
    moved, marks, _ = await watched.after(of.update(w, second.id, PolicyChanges(enabled=False), by=BY))
    assert (moved, marks) == (True, {})
    moved, marks, _ = await watched.after(of.update(w, second.id, PolicyChanges(enabled=True), by=BY))
    assert (moved, marks) == (True, {"mail.*": 60})
    moved, marks, _ = await watched.after(of.delete(w, second.id, by=BY))
    assert (moved, marks) == (True, {})
    assert await watched.client.call("EXISTS", Keyspace(w).marks) == 0


async def test_a_deleted_agent_leaves_no_mark_behind(watched):
    """Its policies are deleted with it, and with them marks that only they named."""
    of, w = watched.policies, watched.workspace_id
    await of.create(w, Owner(watched.other.id), PolicyFields(name="p", rules=(MAIL,)), by=BY)
    await of.create(w, Owner(watched.other.id), PolicyFields(name="q", rules=(MAIL, MAIL_FOR_A_MINUTE)), by=BY)
    await of.create(w, Owner(watched.other.id), PolicyFields(name="off", rules=(MAIL,), enabled=False), by=BY)
    kept = await of.create(w, Owner(group="crew"), PolicyFields(name="kept", rules=(MAIL_FOR_A_MINUTE,)), by=BY)

    moved, marks, _ = await watched.after(watched.agents.delete(w, watched.other.id, by=BY))

    assert (moved, marks) == (True, {"mail.*": 60})
    assert (await watched.after(of.delete(w, kept.id, by=BY)))[:2] == (True, {})


async def test_a_missing_token_means_neither_policies_nor_marks(watched):
    """A plan older than the marks cannot be committed while marks exist, even without policies for all."""
    of, w = watched.policies, watched.workspace_id
    empty, _ = await watched.known()
    assert empty == ""
    own = await of.create(w, Owner(watched.other.id), PolicyFields(name="p", rules=(MAIL,)), by=BY)
    guardrail = await of.create(w, WORKSPACE, PolicyFields(kind=PolicyKind.GUARDRAIL, name="g", rules=(NEVER,)), by=BY)
    await of.delete(w, guardrail.id, by=BY)
    token, marks = await watched.known()
    assert token != ""
    assert marks == {"mail.*": DAYS}

    await of.delete(w, own.id, by=BY)
    guardrail = await of.create(w, WORKSPACE, PolicyFields(kind=PolicyKind.GUARDRAIL, name="g", rules=(MAIL,)), by=BY)
    await of.delete(w, guardrail.id, by=BY)

    assert await watched.known() == ("", {})
    assert await watched.client.call("EXISTS", Keyspace(w).commits) == 0


async def test_a_commit_unaware_of_a_new_mark_is_stale(client, workspace_id):
    """I8: nothing is written, though the agent itself has not changed."""
    scene = await Scene(client, client, workspace_id).enter()
    other = await scene.agents.create(workspace_id, "other", None, by=BY)
    tokens = Tokens(scene.agent.version)
    assert isinstance(await scene.commit(tokens=tokens), Decision)

    await parts.policies(client, scene.ids).create(
        workspace_id, Owner(other.id), PolicyFields(name="p", rules=(MAIL,)), by=BY
    )

    before = await scene.everything()
    assert isinstance(await scene.commit(tokens=tokens), Stale)
    assert await scene.everything() == before


async def test_a_workspace_has_a_limited_number_of_patterns(watched):
    """They are checked against every agent's calls. Existing ones can be changed, and removing is always possible."""
    of, w = watched.policies, watched.workspace_id

    def naming(first, count):
        return [
            Sequenced(
                tools=["pay"],
                sequence=CallSequence(forbidden_after=[f"t{n}" for n in range(at, min(at + 100, first + count))]),
            )
            for at in range(first, first + count, 100)
        ]

    full = await of.create(w, Owner(watched.other.id), PolicyFields(name="p", rules=naming(0, MAX_SHARED_MARKS)), by=BY)
    with pytest.raises(LimitReached, match=f"{MAX_SHARED_MARKS}"):
        await of.create(w, Owner(watched.other.id), PolicyFields(name="q", rules=naming(MAX_SHARED_MARKS, 1)), by=BY)
    await of.create(w, Owner(watched.other.id), PolicyFields(name="r", rules=naming(0, 5)), by=BY)
    await of.update(w, full.id, PolicyChanges(rules=naming(0, MAX_SHARED_MARKS - 1)), by=BY)
    await of.create(w, Owner(watched.other.id), PolicyFields(name="q", rules=naming(MAX_SHARED_MARKS, 1)), by=BY)
    assert len((await watched.known())[1]) == MAX_SHARED_MARKS


async def test_a_set_counts_its_patterns_as_single_changes_would(watched):
    """A pattern that one policy drops and another takes up changes no token; the workspace's version is separate."""
    w, sets = watched.workspace_id, parts.policy_sets(watched.client, Ids())

    def entry(name, *rules, **fields):
        return PolicyEntry(name=name, rules=list(rules), **fields)

    async def put(*entries):
        change = sets.put(w, Owner(watched.other.id), entries, prune=True, by=BY)
        return (await watched.after(change))[:2]

    assert await put(entry("p", MAIL), entry("q", MAIL)) == (True, {"mail.*": DAYS})
    assert await put(entry("p", CHECK), entry("q", MAIL)) == (False, {"mail.*": DAYS})
    assert await put(entry("p", MAIL), entry("q", CHECK)) == (False, {"mail.*": DAYS})
    assert (await sets.get(w)).version == NO_VERSION
    assert await put(entry("p", MAIL, enabled=False), entry("q", MAIL_FOR_A_MINUTE)) == (True, {"mail.*": 60})
    guardrail = PolicyEntry(name="g", rules=(NEVER,), kind=PolicyKind.GUARDRAIL)
    assert (await sets.put(w, WORKSPACE, [guardrail], by=BY)).applied.version == (await sets.get(w)).version
    assert (await sets.put(w, WORKSPACE, [], prune=True, by=BY)).applied.version == NO_VERSION
    token, marks = await watched.known()
    assert token != ""
    assert marks == {"mail.*": 60}
    assert await put() == (True, {})
    await sets.put(w, WORKSPACE, [guardrail], by=BY)
    await sets.put(w, WORKSPACE, [], prune=True, by=BY)
    assert await watched.known() == ("", {})


async def test_a_set_that_names_too_many_patterns_is_refused_whole(watched):
    """Whether one by one or all at once."""
    many = [CallSequence(forbidden_after=[f"t{at + n}" for n in range(100)]) for at in range(0, 1_100, 100)]
    rules = [Sequenced(tools=["pay"], sequence=each) for each in many]
    with pytest.raises(LimitReached, match=f"{MAX_SHARED_MARKS}"):
        await parts.policy_sets(watched.client, Ids()).put(
            watched.workspace_id, Owner(watched.other.id), [PolicyEntry(name="p", rules=rules)], by=BY
        )
    assert (await watched.known())[1] == {}
