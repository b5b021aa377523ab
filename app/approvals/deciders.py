"""Who may decide an approval, as the script that decides it will say."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, Struct

from app.model.approvals import Approval, ApprovalStatus
from app.redis_client.client import Client
from app.store.keyspace import Keyspace


class Decider(Struct, frozen=True):
    """Somebody who has the scope to decide. root, made_by: of their key (`ApiKey`). is_person: they have signed in with
    the identity provider, with these groups.
    """

    root: str
    made_by: frozenset[str]
    is_person: bool
    groups: frozenset[str]

    def may_decide(self, approval: Approval, record: Mapping[str, str], asked_by: str) -> bool:
        """True unless they asked, have approved it already, or are nobody whom its rules name.

        record: the approval's. asked_by: the root of the key that asked. How fresh a sign-in is does not matter: they
        can sign in again.
        """
        if approval.status is not ApprovalStatus.PENDING or asked_by in {self.root, *self.made_by}:
            return False
        approved = set(record.get("approvers", "").split())
        if self.root in approved | set(record.get("approvers_made_by", "").split()) or self.made_by & approved:
            return False
        if not self.is_person:
            return approval.approvers is UNSET and approval.fresh is UNSET
        return all(not self.groups.isdisjoint(each.groups) for each in approval.approvers or ())


async def decider_of(client: Client, keyspace: Keyspace, record_id: str) -> Decider:
    """Who uses the key with this record."""
    found = await client.call("HMGET", keyspace.key(record_id), "root", "made_by", "person", "groups")
    root, made_by, person, groups = (value or "" for value in found)
    return Decider(
        root or record_id, frozenset(made_by.split()), bool(person), frozenset(filter(None, groups.split("\n")))
    )


async def roots_of(client: Client, keyspace: Keyspace, key_ids: Iterable[str]) -> dict[str, str]:
    """By id, whose keys these are; a key that is gone is its own."""
    ids: Sequence[str] = list(dict.fromkeys(key_ids))
    roots = await client.read_pipelined([("HGET", keyspace.key(each), "root") for each in ids])
    return {key_id: root or key_id for key_id, root in zip(ids, roots, strict=True)}
