"""The decisions that shadow policies would have changed, as counted by the commits."""

from collections.abc import Mapping

from app.errors import PolicyNotFound
from app.model.decisions import Result
from app.model.policy_sets import DivergenceCount, PolicyDivergence
from app.redis_client.client import Client
from app.redis_client.replies import as_record, decoding_record, number_of
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.keyspace import Keyspace
from app.store.policy_records import policies_of


class Divergences:
    """Counted by the same commit that writes the entry, so the two always agree."""

    def __init__(self, client: Client, pool: FairThreadPool) -> None:
        self._client = client
        self._pool = pool

    async def get(self, workspace_id: str, policy_id: str) -> PolicyDivergence:
        """The policy and its counts since its last change, as one snapshot. Raises PolicyNotFound."""
        keyspace = Keyspace(workspace_id)
        policy_fields, counted = await self._client.read_snapshot(
            ("HGETALL", keyspace.policy(policy_id)), ("HGETALL", keyspace.divergence(policy_id))
        )
        record, counts = as_record(policy_fields), as_record(counted)
        if not record:
            raise PolicyNotFound("No policy has this id or key")
        is_current = counts.get("version") == record.get("version")
        [policy] = await policies_of([record], self._pool, workspace_id)
        with decoding_record(f"The divergence of policy {policy_id}"):
            return PolicyDivergence(policy, _counts_of(counts) if is_current else ())


def _counts_of(record: Mapping[str, str]) -> tuple[DivergenceCount, ...]:
    pairs = ((was, would) for was in Result for would in Result)
    return tuple(
        DivergenceCount(result=was, shadow_result=would, count=number_of(count))
        for was, would in pairs
        if (count := record.get(f"{was} {would}"))
    )
