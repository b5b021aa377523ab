"""The changes that concerned one agent: of itself, of what governed it at that time, and of the keys bound to it.

The trail is read from its newest change to the oldest that is asked for, with the agent's groups and its policies'
owners as they were at each, which changes and deletions tell.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from app.errors import AgentNotFound
from app.explain.agent_history import read_present
from app.model.changes import Change, ChangeKind, HistoryQuery, ResourceType
from app.model.policies import Owner
from app.redis_client.client import Client
from app.store.changes import change_of, change_time_ms, read_back
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, contended

_READ_MAX_BYTES = 64 * 1024 * 1024
_ENTRY_BYTES = 300
_ACCESS = frozenset({ResourceType.API_KEY.value, ResourceType.ISSUER.value})
_owner_in = msgspec.json.Decoder(Owner).decode


class Concerning(Struct, frozen=True):
    """Changes, newest first. older_than: as in `ChangePage`. complete: False if the trail is too long for one query."""

    changes: list[Change]
    older_than: str | None
    complete: bool


class _Groups(Struct):
    """The groups in an agent's side of a change; None if they did not change."""

    groups: tuple[str, ...] | None = None


_groups_in = msgspec.json.Decoder(_Groups).decode


class AgentTrail:
    """What the trails of changes say of agents.

    read_max_bytes: how much of a trail one query reads.
    """

    def __init__(self, client: Client, read_max_bytes: int = _READ_MAX_BYTES) -> None:
        self._client = client
        self._read_max_bytes = read_max_bytes

    async def query(self, workspace_id: str, agent_id: str, query: HistoryQuery) -> Concerning:
        """The changes that concerned the agent, which may have been deleted. Raises AgentNotFound."""
        keyspace = Keyspace(workspace_id)
        groups: frozenset[str] = frozenset()
        for _ in range(ATTEMPTS):
            agents, records, newest = await read_present(self._client, keyspace, agent_id, groups)
            walk = _Walk(agent_id, agents[0].groups if agents else None)
            for record in records:
                walk.owners[record["id"]] = Owner(record["agent_id"] or None, record["group"] or None)
            found = await self._read(keyspace, walk, newest, query)
            if not walk.existed:
                raise AgentNotFound("No agent has this id or alias")
            missing = walk.groups_ever - groups - (set(agents[0].groups) if agents else set())
            if not missing:
                return found
            groups |= missing  # the policies of these groups are needed, too
        return contended()

    async def _read(self, keyspace: Keyspace, walk: "_Walk", newest: str | None, query: HistoryQuery) -> Concerning:
        matches: list[Change] = []
        read_bytes = 0
        if newest is None:
            return Concerning(matches, None, complete=True)
        async for change_id, record in read_back(self._client, keyspace, newest):
            # A deleted agent is known only once its deletion was read, however old that is.
            if walk.existed and query.from_ms is not None and change_time_ms(change_id) < query.from_ms:
                break
            read_bytes += _ENTRY_BYTES
            if record is not None:
                read_bytes += len(record["before"]) + len(record["after"])
                if await self._concerns(keyspace, walk, record) and query.takes(change_id):
                    if len(matches) == query.limit:
                        return Concerning(matches, matches[-1].id, complete=True)
                    matches.append(change_of(change_id, record))
            if walk.began:
                break
            if read_bytes > self._read_max_bytes:
                return Concerning(matches, None, complete=False)
        return Concerning(matches, None, complete=True)

    async def _concerns(self, keyspace: Keyspace, walk: "_Walk", record: Mapping[str, str]) -> bool:
        if record["resourceType"] not in _ACCESS:
            return walk.undo(record)
        if not walk.exists:
            return False
        named = f'"{walk.agent_id}"'
        if named in record["before"] or named in record["after"]:
            walk.keys.add(record["resourceId"])
            return True
        # A change of a key that does not say for which agents it is leaves them as they are.
        if record["resourceType"] != ResourceType.API_KEY or record["kind"] != ChangeKind.UPDATED:
            return False
        if record["resourceId"] in walk.keys:
            return True
        agents = await self._client.call("HGET", keyspace.key(record["resourceId"]), "agents")
        return walk.agent_id in (agents or "").split(",")


class _Walk:
    """The agent's groups and the owners of policies before each change that is undone, newest first.

    groups: None while the agent does not exist. owners: of the policies that may govern it. keys: ids of keys that a
    later change showed to name it.
    existed: whether it exists now or at any step so far. began: whether its creation has been undone.
    """

    def __init__(self, agent_id: str, groups: tuple[str, ...] | None) -> None:
        self.agent_id = agent_id
        self.owners: dict[str, Owner] = {}
        self.keys: set[str] = set()
        self.groups_ever = set(groups or ())
        self.existed = groups is not None
        self.began = False
        self._groups = groups

    @property
    def exists(self) -> bool:
        """True if the agent existed after the change that is undone next."""
        return self._groups is not None

    def undo(self, record: Mapping[str, str]) -> bool:
        """Undo a change; return True if it is of the agent, or of a policy that governed it before or after."""
        if record["resourceType"] == ResourceType.AGENT:
            if record["resourceId"] != self.agent_id:
                return False
            self._undo_agent(record)
            return True
        return record["resourceType"] == ResourceType.POLICY and self._governed(record)

    def _undo_agent(self, record: Mapping[str, str]) -> None:
        self.existed = True
        if record["kind"] == ChangeKind.CREATED:
            self._groups, self.began = None, True
            return
        before = _groups_in(record["before"]).groups
        if before is not None or record["kind"] == ChangeKind.DELETED:
            self._groups = before or ()
        self.groups_ever.update(self._groups or ())

    def _governed(self, record: Mapping[str, str]) -> bool:
        policy_id, kind = record["resourceId"], record["kind"]
        owner = self.owners.get(policy_id)
        if kind != ChangeKind.UPDATED:
            owner = _owner_in(record["after" if kind == ChangeKind.CREATED else "before"])
            self.owners[policy_id] = owner
        if owner is None:
            return False
        # The policies of a deleted agent are deleted with it, just before it.
        return owner.agent_id == self.agent_id or (self.exists and owner.governs(self.agent_id, self._groups or ()))
