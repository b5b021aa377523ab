"""The trail of changes: what the scripts write into it, and what a query finds there."""

import asyncio
import json

import pytest
from commit_scene import everything

from app.errors import Unauthorized
from app.model.api_keys import Scope, digest_of, new_raw_key
from app.model.changes import ChangeKind, ChangeQuery, ResourceType
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.policy_sets import PolicyEntry
from app.model.quotas import RateLimit
from app.model.rules import RateLimited, ToolAllowlist
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record
from app.store.changes import Changes
from app.store.keyspace import Keyspace
from app.store.workspaces import Workspaces
from tests.support import parts
from tests.support.actors import BY, by_key

RULES = (ToolAllowlist(tools=["file.read"]),)
LIMITED = (RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=1, window_seconds=60)),)
CREATED, UPDATED, DELETED = ChangeKind
ALL = ChangeQuery(limit=1000)


class Admin:
    """A workspace as one admin key sees it."""

    def __init__(self, client, ids, workspace_id):
        self.client, self.ids, self.workspace_id = client, ids, workspace_id
        self.agents, self.policies = parts.agents(client, ids), parts.policies(client, ids)
        self.keys, self.trail = parts.api_keys(client, ids), Changes(client)

    async def enter(self):
        self.key, self.raw_key = await self.keys.create(self.workspace_id, "the admin", (Scope.ADMIN,), by=BY)
        self.by = by_key(self.key.id)
        return self

    async def changes(self, query=ALL):
        """The result of a query, newest first."""
        return (await self.trail.query(self.workspace_id, query)).changes

    async def newest(self, count=1):
        """The newest changes, oldest of them first, as (kind, type, id, before, after)."""
        return [
            (
                each.kind,
                each.resource_type,
                each.resource_id,
                json.loads(bytes(each.before)),
                json.loads(bytes(each.after)),
            )
            for each in reversed((await self.changes())[:count])
        ]


@pytest.fixture
async def admin(client, ids, workspace_id):
    return await Admin(client, ids, workspace_id).enter()


async def test_a_key_is_recorded_by_its_prefix_and_neither_raw_nor_as_a_digest(admin):
    """I10: a reader of the trail cannot authenticate as anyone."""
    key, raw_key = await admin.keys.create(admin.workspace_id, "k", (Scope.READ,), 4_000_000_000_000, by=admin.by)
    await admin.keys.revoke(admin.workspace_id, key.id, by=admin.by)

    fields = {"name": "k", "prefix": raw_key[:12], "scopes": ["read"], "expiresAt": "2096-10-02T07:06:40.000Z"}
    assert await admin.newest(2) == [
        (CREATED, ResourceType.API_KEY, key.id, None, fields),
        (DELETED, ResourceType.API_KEY, key.id, fields, None),
    ]
    stored = await admin.client.call("XRANGE", Keyspace(admin.workspace_id).changes, "-", "+")
    for secret in (raw_key, digest_of(raw_key), admin.raw_key, digest_of(admin.raw_key)):
        assert secret not in str(stored)


async def test_a_reason_is_shown_only_if_one_was_given(admin, client):
    """For every kind of change; those of one kind have the same fields, which the store keeps only once."""
    why = by_key(admin.key.id, "because")
    agent = await admin.agents.create(admin.workspace_id, "a", None, by=why)
    await admin.agents.update(admin.workspace_id, agent.id, name="b", by=why)
    policy = await admin.policies.create(
        admin.workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=why
    )
    await admin.policies.update(admin.workspace_id, policy.id, PolicyChanges(name="q"), by=why)
    await admin.policies.delete(admin.workspace_id, policy.id, by=why)
    await admin.policies.create(admin.workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=why)
    await admin.agents.delete(admin.workspace_id, agent.id, by=why)
    entry = PolicyEntry(name="p", rules=RULES)
    await parts.policy_sets(client, admin.ids).put(admin.workspace_id, Owner(group="crew"), [entry], by=why)
    key, _ = await admin.keys.create(admin.workspace_id, "k", (Scope.READ,), by=why)
    await admin.keys.rotate(admin.workspace_id, key.id, 1_000, by=why)
    await admin.keys.revoke(admin.workspace_id, key.id, by=why)
    await admin.keys.create(admin.workspace_id, "k", (Scope.READ,), by=admin.by)

    changes = await admin.changes()
    assert [each.reason or None for each in reversed(changes)] == [None, *["because"] * 13, None]
    stored = await client.call("XRANGE", Keyspace(admin.workspace_id).changes, "-", "+")
    fields = ["actorId", "actorName", "kind", "resourceType", "resourceId", "before", "after"]
    said = ["reason", "via", "person"]
    assert [list(as_record(each)) for _, each in stored] == [
        [*fields, *said],
        *[[*fields, "sequence", *said]] * 9,
        *[[*fields, *said]] * 5,
    ]


async def test_a_key_that_was_revoked_meanwhile_changes_nothing(admin, client):
    """It was revoked after authentication, before its change reached the store: the script refuses it."""
    agent = await admin.agents.create(admin.workspace_id, "a", None, by=BY)
    policy = await admin.policies.create(
        admin.workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=BY
    )
    other, _ = await admin.keys.create(admin.workspace_id, "other", (Scope.READ,), by=BY)
    await admin.keys.revoke(admin.workspace_id, admin.key.id, force=True, by=BY)
    pattern = f"remit:{{{admin.workspace_id}}}:*"
    held = await everything(client, pattern)

    for change in (
        admin.agents.create(admin.workspace_id, "b", None, by=admin.by),
        admin.agents.update(admin.workspace_id, agent.id, name="b", by=admin.by),
        admin.agents.delete(admin.workspace_id, agent.id, by=admin.by),
        admin.policies.create(admin.workspace_id, Owner(agent.id), PolicyFields(name="q", rules=RULES), by=admin.by),
        admin.policies.update(admin.workspace_id, policy.id, PolicyChanges(name="q"), by=admin.by),
        admin.policies.delete(admin.workspace_id, policy.id, by=admin.by),
        admin.keys.create(admin.workspace_id, "k", (Scope.ADMIN,), by=admin.by),
        admin.keys.revoke(admin.workspace_id, other.id, by=admin.by),
    ):
        with pytest.raises(Unauthorized):
            await change
    assert await everything(client, pattern) == held


async def test_a_bootstrap_key_that_exists_is_not_recorded_again(client, ids):
    """However many replicas start with the setting."""
    keys, raw_key = parts.api_keys(client, ids), new_raw_key()
    workspaces = Workspaces(client, ids, keys)
    await asyncio.gather(*(workspaces.ensure_default(raw_key) for _ in range(4)))
    workspace_id = await workspaces.find("default")

    page = await Changes(client).query(workspace_id, ALL)
    mine = [each for each in page.changes if raw_key[:12] in str(bytes(each.after))]
    assert [(each.kind, each.actor_id) for each in mine] == [(CREATED, "console")]


async def test_filters_agree_with_a_scan_of_all_changes(admin, client):
    """Every combination of actor, type and id, and both bounds of time, which are inclusive."""
    agent = await admin.agents.create(admin.workspace_id, "a", None, by=BY)
    await _a_later_millisecond(client)
    policy = await admin.policies.create(
        admin.workspace_id, Owner(agent.id), PolicyFields(name="p", rules=RULES), by=admin.by
    )
    await admin.policies.update(admin.workspace_id, policy.id, PolicyChanges(priority=1), by=BY)
    await _a_later_millisecond(client)
    await admin.agents.update(admin.workspace_id, agent.id, name="b", by=admin.by)
    everything_there = await admin.changes()
    times = sorted({int(each.id.partition("-")[0]) for each in everything_there})

    found = 0
    for actor_id in (None, "console", admin.key.id):
        for resource_type in (None, *ResourceType):
            for resource_id in (None, agent.id, policy.id):
                for from_ms, to_ms in ((None, None), (times[1], None), (None, times[-2]), (times[1], times[-2])):
                    query = ChangeQuery(
                        actor_id=actor_id,
                        resource_type=resource_type and (resource_type,),
                        resource_id=resource_id,
                        from_ms=from_ms,
                        to_ms=to_ms,
                    )
                    wanted = [each for each in everything_there if _matches(each, query)]
                    assert await admin.changes(query) == wanted
                    found += len(wanted)
    assert found > 100


async def _a_later_millisecond(client):
    now_ms = await store_time_ms(client)
    while await store_time_ms(client) == now_ms:
        pass


def _matches(change, query):
    time_ms = int(change.id.partition("-")[0])
    return (
        query.actor_id in (None, change.actor_id)
        and (query.resource_type is None or change.resource_type in query.resource_type)
        and query.resource_id in (None, change.resource_id)
        and (query.from_ms is None or time_ms >= query.from_ms)
        and (query.to_ms is None or time_ms <= query.to_ms)
    )


@pytest.mark.parametrize("limit", [1, 7, 60, 120, 121, 1000])
async def test_pages_chained_by_the_cursor_are_the_whole_trail(admin, limit):
    """Nothing is repeated or skipped, and the last page says that it is the last."""
    for number in range(120):
        await admin.agents.create(admin.workspace_id, str(number), None, by=BY)
    whole = await admin.changes()
    assert len(whole) == 121

    pages, older_than = [], None
    while not pages or older_than is not None:
        page = await admin.trail.query(admin.workspace_id, ChangeQuery(limit=limit, older_than=older_than))
        assert len(page.changes) <= limit
        pages += page.changes
        older_than = page.older_than
    assert pages == whole


async def test_a_query_that_reaches_its_bound_says_where_to_continue(admin):
    """A filter that matches nothing must not read a long trail in one request."""
    for number in range(120):
        await admin.agents.create(admin.workspace_id, str(number), None, by=admin.by)
    trail = Changes(admin.client, read_max_bytes=20_000)
    rare = ChangeQuery(resource_type=ResourceType.API_KEY)

    requests, found, older_than = 0, [], None
    while not requests or older_than is not None:
        page = await trail.query(
            admin.workspace_id, ChangeQuery(resource_type=rare.resource_type, older_than=older_than)
        )
        found += page.changes
        older_than, requests = page.older_than, requests + 1
    assert [each.resource_id for each in found] == [admin.key.id]
    assert 2 <= requests <= 10


async def test_a_change_that_fails_halfway_has_its_entry(admin, client):
    """I13: scripts do not roll back, so the entry is written first; one too many is better than one too few."""
    agent = await admin.agents.create(admin.workspace_id, "a", None, by=BY)
    keyspace = Keyspace(admin.workspace_id)
    await client.call("DEL", keyspace.changes)
    await client.call("SET", keyspace.changes, "of another type")
    held = await everything(client, f"remit:{{{admin.workspace_id}}}:agent*")

    with pytest.raises(Exception, match="WRONGTYPE"):
        await admin.agents.update(admin.workspace_id, agent.id, name="b", by=admin.by)
    assert await everything(client, f"remit:{{{admin.workspace_id}}}:agent*") == held
