"""Keys that can ask for decisions about every agent: a finding of `remit doctor`."""

from app.model.api_keys import ASKING
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import StoreAway
from app.serve.doctor import Finding, Severity
from app.store.keyspace import Keyspace
from app.store.workspaces import workspace_ids

_NAMED = 10
_FIELDS = ("name", "prefix", "scopes", "agents", "expires_ms")


async def deciding_keys(client: Client) -> Finding:
    """The valid keys that no agent binds and that may decide, except those of admins, who may do everything.

    Of a cluster, those of the masters that answer.
    """
    now_ms, found = await store_time_ms(client), list[str]()
    for workspace_id in await workspace_ids(client):
        keyspace = Keyspace(workspace_id)
        try:
            ids = await client.call("ZRANGE", keyspace.keys, 0, -1)
            records = await client.read_pipelined([("HMGET", keyspace.key(each), *_FIELDS) for each in ids])
        except StoreAway:
            if not client.is_cluster:
                raise
            continue  # its master is away, which the finding about shards says
        for name, prefix, scopes, agents, expires_ms in records:
            granted = set((scopes or "").split(","))
            decides = not ASKING.isdisjoint(granted) and "admin" not in granted and not agents
            if decides and not (expires_ms and int(expires_ms) <= now_ms):
                found.append(f'"{name}" ({prefix}…, {scopes})')
    if not found:
        return Finding("keys", Severity.OK, "every key that can ask for decisions is bound to agents, or an admin's")
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    sentence = (
        f"{', '.join(found[:_NAMED])}{more} can ask for decisions about every agent, and so use up limits and "
        "approvals; give keys that only look the scope view, and bind those of runtimes (--agent)"
    )
    return Finding("keys", Severity.RISK, sentence)
