"""Create, rotate and revoke API keys."""

from app.model.requests import NewKey
from app.approvals.reaper import ApprovalReaper
from app.model.actors import ChangedBy
from app.model.agents import agent_reference
from app.model.api_keys import ApiKey
from app.model.times import parse_time_ms
from app.store.agents import Agents
from app.store.api_keys import ApiKeys


class KeyAdmin:
    """Changes the keys of workspaces, and ends the approvals that lose the key that asked."""

    def __init__(self, keys: ApiKeys, agents: Agents, reaper: ApprovalReaper) -> None:
        self._keys = keys
        self._agents = agents
        self._reaper = reaper

    async def create(self, workspace_id: str, new: NewKey, by: ChangedBy) -> tuple[ApiKey, str]:
        """Create a key; return it and its raw form, which is stored nowhere. Raises LimitReached, AgentNotFound."""
        called = [agent_reference(given) or given for given in new.agents or ()]
        bound = dict.fromkeys([await self._agents.id_of(workspace_id, each) for each in called])
        return await self._keys.create(
            workspace_id,
            new.name,
            tuple(dict.fromkeys(new.scopes)),
            None if new.expires_at is None else parse_time_ms(new.expires_at),
            agents=tuple(bound),
            session_from=new.session_from,
            by=by,
        )

    async def rotate(
        self, workspace_id: str, key_id: str, overlap_ms: int, expires_ms: int | None, by: ChangedBy
    ) -> tuple[ApiKey, str, ApiKey]:
        """The key's successor, its raw form, and the key, which expires after the overlap.

        expires_ms: of the successor; None = it keeps the key's original lifetime. Raises ApiKeyNotFound, LimitReached.
        """
        return await self._keys.rotate(workspace_id, key_id, overlap_ms, expires_ms, by=by)

    async def revoke(self, workspace_id: str, key_id: str, by: ChangedBy, *, force: bool = False) -> None:
        """Revoke the key: on every replica, every later request with it is 401.

        force: revoke even the last valid admin key. Raises ApiKeyNotFound, LastAdminKey.
        """
        await self._keys.revoke(workspace_id, key_id, force=force, by=by)
        await self._reaper.end_soon(workspace_id)
