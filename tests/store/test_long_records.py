"""Reading long records does not block the loop."""

import json
import threading

from app.model.catalog import ToolEntry
from app.model.past_states import PastState
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store import catalog, policy_records
from app.store.catalog import Catalog
from tests.support.actors import BY

SCHEMA = {"type": "object", "properties": {f"p{each}": {"pattern": f"^[a-z]{{1,9}}{each}$"} for each in range(40)}}


def record(**rule):
    """A policy's record with this one rule."""
    policy_id = "018bcfe5-6800-7000-8000-00000000cafe"
    fields = {"id": policy_id, "agent_id": policy_id, "name": "n", "rules": json.dumps([{"tools": ["*"], **rule}])}
    return fields | {"priority": "0", "enabled": "1", "created_ms": "1", "updated_ms": "1", "version": "1"}


async def test_a_stored_policy_with_a_schema_is_compiled_in_a_thread(monkeypatch, workspace_id):
    """A few bytes of patterns take milliseconds; a policy without any is read in the loop."""
    in_the_loop = []
    real = policy_records.policy_of

    def noted(held):
        in_the_loop.append(threading.current_thread() is threading.main_thread())
        return real(held)

    monkeypatch.setattr(policy_records, "policy_of", noted)
    records = record(type="parameter_schema", schema=SCHEMA), record(type="tool_allowlist")
    pool = FairThreadPool(1)
    policies = await policy_records.policies_of(records, pool, workspace_id)
    pool.close()
    assert [each.rules[0].schema if index == 0 else None for index, each in enumerate(policies)] == [SCHEMA, None]
    assert in_the_loop == [False, True]


def test_a_former_version_with_a_schema_is_compiled_in_a_thread_too():
    """Also while changes are undone."""
    policy = policy_records.policy_of(record(type="tool_allowlist"))
    past = PastState(policy, object)
    assert not past.compiles_much()
    past.undo(json.dumps({"rules": [{"type": "parameter_schema", "tools": ["*"], "schema": SCHEMA}]}).encode())
    assert past.compiles_much()


async def test_a_large_catalogue_lets_others_have_their_turn(client, workspace_id, monkeypatch):
    """It may have 4 MiB."""
    turns = []

    async def take_turn():
        turns.append(None)

    monkeypatch.setattr(catalog, "take_turn", take_turn)
    kept = Catalog(client)
    tools = [ToolEntry(name=f"tool.{each}", description="x" * 3_000) for each in range(400)]
    await kept.put(workspace_id, tools, by=BY)
    assert len((await Catalog(client).read(workspace_id)).tools) == 400
    assert len(turns) >= 4
