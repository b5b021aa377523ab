"""The owner of a policy: the record that counts its policies, the list of their ids, and its version token."""

from msgspec import Struct

from app.errors import AgentNotFound, LimitReached
from app.model.agents import group_digest
from app.model.marks import MAX_SHARED_MARKS
from app.model.policies import Owner
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.optimistic import require_room

WORKSPACE_TOKEN = "workspace"  # noqa: S105 - a field of `commits`: the version token of the workspace's policies


def group_token(group_digest: str) -> str:
    """The field of `commits` with the version token of a group's policies."""
    return f"group:{group_digest}"


class StoredOwner(Struct, frozen=True):
    """Where an owner's policies are stored, and the limits on all of them together.

    record: has the counts. tokens, token_field: the hash and its field with the version token.
    policies: the sorted set of their ids. name: for messages.
    """

    name: str
    record: str
    tokens: str
    token_field: str
    policies: str
    policies_max: int
    rate_limits_max: int
    rules_bytes_max: int

    def require_room(self, status: str) -> None:
        """Raise the error that `put_policies` reports if the owner is at a limit or does not exist."""
        require_room(status.removeprefix("owner_"), self.name, "policies", self.policies_max)
        if status == "rate_full":
            raise LimitReached(
                f"The policies of one {self.name} may have {self.rate_limits_max} rate limits in total; "
                "this change would exceed that"
            )
        if status == "rules_full":
            raise LimitReached(
                f"The rules of one {self.name}'s policies may have {self.rules_bytes_max} bytes in total; "
                "this change would exceed that"
            )
        if status == "marks_full":
            message = f"The workspace's policies may name {MAX_SHARED_MARKS} patterns in forbiddenAfter"
            raise LimitReached(f"{message}, each with its withinSeconds; this change would exceed that")
        if status == "no_agent":
            raise AgentNotFound("No agent has this id or alias")


def stored_owner(owner: Owner, keyspace: Keyspace, limits: WorkspaceLimits) -> StoredOwner:
    """Where the owner's policies are stored, and the limits on them."""
    if owner.agent_id is not None:
        record = keyspace.agent(owner.agent_id)
        return StoredOwner(
            "agent",
            record,
            record,
            "version",
            policies=keyspace.agent_policies(owner.agent_id),
            policies_max=limits.policies_per_agent,
            rate_limits_max=limits.rate_limits_per_agent,
            rules_bytes_max=limits.rules_bytes_per_agent,
        )
    bounds = (limits.policies_per_group, limits.rate_limits_per_group, limits.rules_bytes_per_group)
    if owner.group is not None:
        digest = group_digest(owner.group)
        record, index = keyspace.group(digest), keyspace.group_policies(digest)
        return StoredOwner("group", record, keyspace.commits, group_token(digest), index, *bounds)
    index = keyspace.workspace_policies
    return StoredOwner("workspace", keyspace.workspace, keyspace.commits, WORKSPACE_TOKEN, index, *bounds)
