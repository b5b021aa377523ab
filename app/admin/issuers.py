"""Create, change and delete issuers of workload tokens."""

from msgspec import UNSET
from msgspec.structs import replace

from app.approvals.reaper import ApprovalReaper
from app.errors import Invalid
from app.model.actors import ChangedBy
from app.model.agents import agent_reference
from app.model.issuers import Issuer, IssuerFields, IssuerRule
from app.store.agents import Agents
from app.store.issuers import Issuers
from app.webhooks.delivery import Delivery
from app.webhooks.destinations import Refused


class IssuerAdmin:
    """Changes issuers, whose keys are never read from where webhooks may not go."""

    def __init__(self, issuers: Issuers, agents: Agents, reaper: ApprovalReaper, delivery: Delivery) -> None:
        self._issuers = issuers
        self._agents = agents
        self._reaper = reaper
        self._delivery = delivery

    async def put(self, workspace_id: str, name: str, fields: IssuerFields, by: ChangedBy) -> tuple[Issuer, bool]:
        """Create or replace the issuer; return it, and True if it is new. Tokens are judged anew from now on.

        Raises Invalid, AgentNotFound, IssuerTaken, LimitReached.
        """
        if fields.jwks_uri is not UNSET:
            try:
                self._delivery.check(fields.jwks_uri)
            except Refused as refused:
                raise Invalid.at("$.jwksUri", str(refused)) from None
        rules = [await self._with_ids(workspace_id, rule) for rule in fields.rules]
        return await self._issuers.put(workspace_id, name, replace(fields, rules=rules), by)

    async def delete(self, workspace_id: str, name: str, by: ChangedBy) -> None:
        """Delete the issuer: on every replica, every later request with one of its tokens is 401.

        Raises IssuerNotFound.
        """
        await self._issuers.delete(workspace_id, name, by)
        await self._reaper.end_soon(workspace_id)

    async def _with_ids(self, workspace_id: str, rule: IssuerRule) -> IssuerRule:
        """The rule with ids of agents in place of aliases."""
        if rule.agents is UNSET:
            return rule
        called = [agent_reference(given) or given for given in rule.agents]
        return replace(
            rule, agents=list(dict.fromkeys([await self._agents.id_of(workspace_id, each) for each in called]))
        )
