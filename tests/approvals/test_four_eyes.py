"""Nobody is two people: not with a rotated key, nor with one that they made, in either order."""

import pytest
from approvals_world import TOOL, InProcess

from app.errors import ApprovalDecided, OwnApproval
from app.model.actors import Via
from app.model.api_keys import Scope
from app.model.approvals import ApprovalStatus, ApprovalTerms
from app.model.ids import Ids
from app.model.policies import Owner, PolicyFields
from app.model.rules import ApprovalRequired, ToolAllowlist
from app.model.sign_ins import Identity
from app.redis_client.clients import open_client
from app.store.keyspace import Keyspace
from app.store.sign_ins import SignIns
from tests.support import parts
from tests.support.actors import BY, by_key, the_key


class Office:
    """A workspace in which a refund needs two people, and the keys that people have there."""

    def __init__(self, client):
        self.client, self.workspace_id = client, Ids().new(1)
        self.replica, self.keys = InProcess(client), parts.api_keys(client, Ids())

    async def enter(self):
        self.asker, self.ann, self.bob = [await self.key() for _ in range(3)]
        self.agent = (await parts.agents(self.client, Ids()).create(self.workspace_id, "one", None, by=BY)).id
        rules = (ToolAllowlist(tools=[TOOL]), ApprovalRequired(tools=[TOOL], approval=ApprovalTerms(approvals=2)))
        policies = parts.policies(self.client, Ids())
        await policies.create(self.workspace_id, Owner(self.agent), PolicyFields(name="asks", rules=rules), by=BY)
        return self

    async def key(self, maker=None):
        """A new key, made by the operator or with another key."""
        by = BY if maker is None else by_key(maker)
        return (await self.keys.create(self.workspace_id, "k", (Scope.ADMIN,), by=by))[0].id

    async def rotated(self, key, by=None):
        """The key's successor."""
        by = BY if by is None else by_key(by)
        return (await self.keys.rotate(self.workspace_id, key, 60_000, by=by))[0].id

    async def asked(self, key):
        """The id of a new approval that this key asks for."""
        said, approval_id = await self.replica.asked(self.workspace_id, self.agent, key, Ids().new(1))
        assert said == "escalated"
        return approval_id

    async def decides(self, key, approval_id, verdict="approved"):
        """What becomes of the approval, or the error."""
        try:
            made = await self.replica.approvals.decide(
                self.workspace_id, approval_id, ApprovalStatus(verdict), by=the_key(key)
            )
        except (OwnApproval, ApprovalDecided) as error:
            return type(error).__name__
        return made.status.value


async def successor(office, key):
    return await office.rotated(key)


async def successor_of_successor(office, key):
    return await office.rotated(await office.rotated(key))


async def child(office, key):
    return await office.key(key)


async def rotated_child(office, key):
    return await office.rotated(await office.key(key))


async def child_of_successor(office, key):
    return await office.key(await office.rotated(key))


async def grandchild(office, key):
    return await office.key(await office.key(key))


async def child_of_rotated_child(office, key):
    return await office.key(await office.rotated(await office.key(key)))


async def someone_elses_key_that_it_rotated(office, key):
    """Whoever rotates a key has seen its successor."""
    return await office.rotated(await office.key(), by=key)


SECOND_KEYS = [
    successor, successor_of_successor, child, rotated_child, child_of_successor, grandchild, child_of_rotated_child,
    someone_elses_key_that_it_rotated,
]  # fmt: skip


@pytest.fixture
async def office(valkey_store):
    client = open_client(valkey_store.url, 5_000)
    yield await Office(client).enter()
    await client.close()


@pytest.mark.parametrize("second", SECOND_KEYS)
async def test_a_second_key_of_an_approver_is_not_a_second_person(office, second):
    """In either order, whether it was made before or after the first word; another person completes the approval."""
    early = await second(office, office.ann)
    for keys in ((office.ann, early), (early, office.ann), (office.ann, None)):
        approval_id = await office.asked(office.asker)
        assert await office.decides(keys[0], approval_id) == "pending"
        assert await office.decides(keys[1] or await second(office, office.ann), approval_id) == "ApprovalDecided"
        assert await office.decides(office.bob, approval_id) == "approved"


@pytest.mark.parametrize("second", SECOND_KEYS)
async def test_a_second_key_of_the_asker_decides_nothing(office, second):
    """Made before or after asking; by whichever key of its line was used to ask."""
    early = await second(office, office.asker)
    approval_id = await office.asked(office.asker)
    for key in (office.asker, early, await second(office, office.asker)):
        assert await office.decides(key, approval_id) == "OwnApproval"
        assert await office.decides(key, approval_id, "denied") == "OwnApproval"


@pytest.mark.parametrize("second", [successor, successor_of_successor])
async def test_the_predecessor_of_the_asker_decides_nothing_either(office, second):
    """While both keys are valid; and either may cancel."""
    approval_id = await office.asked(await second(office, office.asker))
    assert await office.decides(office.asker, approval_id) == "OwnApproval"
    assert await office.decides(office.asker, approval_id, "cancelled") == "cancelled"


async def test_revoking_an_approvers_key_does_not_make_room_for_its_child(office):
    """What the approval needs to know of its approvers is in its own record."""
    made, makes = await office.key(office.ann), await office.key()
    made_by_it = await office.key(makes)
    for first, then in ((office.ann, made), (made_by_it, makes)):
        approval_id = await office.asked(office.asker)
        assert await office.decides(first, approval_id) == "pending"
        await office.keys.revoke(office.workspace_id, first, force=True, by=BY)
        assert await office.decides(then, approval_id) == "ApprovalDecided"


async def test_whoever_made_the_askers_key_may_decide(office):
    """An admin who set up an agent's runtime decides what the runtime asks for, as docs/approvals.md says."""
    approval_id = await office.asked(await office.key(office.ann))
    assert await office.decides(office.ann, approval_id) == "pending"
    assert await office.decides(office.bob, approval_id) == "approved"


async def test_an_approval_begun_by_an_older_release_still_knows_its_approvers(office):
    """That release noted ids of keys, which are the roots of keys that were not rotated; it wrote no roots."""
    approval_id = await office.asked(office.asker)
    assert await office.decides(office.ann, approval_id) == "pending"
    keyspace = Keyspace(office.workspace_id)
    assert await office.client.call("HGET", keyspace.approval(approval_id), "approvers") == f" {office.ann}"
    assert await office.client.call("HEXISTS", keyspace.key(office.ann), "root") == 0
    assert await office.decides(await office.rotated(office.ann), approval_id) == "ApprovalDecided"


async def test_links_of_one_name_sign_in_one_person(office):
    """Whoever uses a second link of `remit console` is still the same person, and so are their keys."""

    async def by_link(name):
        identity = Identity(name=name, scopes=(Scope.ADMIN,))
        return (await SignIns(office.client, Ids()).create(office.workspace_id, identity, Via.CONSOLE))[0].id

    ann, ann_again, bob = await by_link("ann"), await by_link("ann"), await by_link("bob")
    approval_id = await office.asked(office.asker)
    assert await office.decides(ann, approval_id) == "pending"
    assert await office.decides(ann_again, approval_id) == "ApprovalDecided"
    assert await office.decides(await office.key(ann_again), approval_id) == "ApprovalDecided"
    assert await office.decides(bob, approval_id) == "approved"
    approval_id = await office.asked(ann)
    assert await office.decides(ann_again, approval_id) == "OwnApproval"
    assert await office.decides(bob, approval_id) == "pending"


async def test_links_of_one_name_in_two_workspaces_share_no_limit(office):
    """A replica counts the requests and streams of a key by its root, whichever workspace it is of."""
    roots = set()
    for workspace_id in (office.workspace_id, Ids().new(1)):
        identity = Identity(name="ann", scopes=(Scope.ADMIN,))
        session, _ = await SignIns(office.client, Ids()).create(workspace_id, identity, Via.CONSOLE)
        roots.add(await office.client.call("HGET", Keyspace(workspace_id).key(session.id), "root"))
    assert len(roots) == 2
