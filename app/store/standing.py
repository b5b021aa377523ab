"""What the store says about a caller, and the totals of what it may read."""

from collections.abc import Iterable

from app.model.api_keys import Caller, Scope
from app.model.approvals import ApprovalStatus
from app.model.sign_ins import Standing
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, number_or_none
from app.store.keyspace import Keyspace
from app.store.sign_ins import session_of

_READS_APPROVALS = (Scope.READ, Scope.VIEW, Scope.APPROVE)
_READS_AGENTS = (Scope.READ, Scope.VIEW, Scope.POLICIES)


async def standing_of(client: Client, caller: Caller) -> Standing:
    """The caller's workspace, session and expiry, and the totals that its scopes open."""
    keyspace = Keyspace(caller.workspace_id)
    name, key, agents, policies = await client.read_pipelined(
        [
            ("HGET", keyspace.workspace, "name"),
            ("HGETALL", keyspace.key(caller.record)),
            ("ZCARD", keyspace.agents),
            ("ZCARD", keyspace.policies),
        ]
    )
    record = as_record(key)
    reads_agents = caller.has_any(_READS_AGENTS)
    return Standing(
        workspace_name=name or "",
        expires_ms=number_or_none(record.get("expires_ms")),
        session=session_of(record) if "ends_ms" in record else None,
        pending_approvals=await _pending(client, keyspace) if caller.has_any(_READS_APPROVALS) else None,
        agents=agents if reads_agents else None,
        policies=policies if reads_agents else None,
    )


async def _pending(client: Client, keyspace: Keyspace) -> int:
    """How many approvals wait for a person. Those that were approved and not used yet are open, too."""
    now_ms = await store_time_ms(client)
    ids: Iterable[str] = await client.call("ZRANGE", keyspace.approvals_open, f"({now_ms}", "+inf", "BYSCORE")
    statuses = await client.read_pipelined([("HGET", keyspace.approval(each), "status") for each in ids])
    return statuses.count(ApprovalStatus.PENDING)
