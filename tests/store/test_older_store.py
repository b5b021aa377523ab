"""A store that an older release wrote is read and continued: keys, agents, policies, the log and its chain.

tests/store/older/ holds what DUMP gave of every key, and what the older release answered.
"""

import base64
import json
from pathlib import Path

import pytest
import redis
from servers import Replica, Store

pytestmark = pytest.mark.slow

HELD = json.loads((Path(__file__).parent / "older" / "before_guardrails.json").read_text())


@pytest.fixture(params=["redis", "valkey"])
def replica(request, server, tmp_path):
    """A replica of this release on the older store, sealing included."""
    store = Store(server(request.param), tmp_path)
    with redis.Redis.from_url(store.url) as client:
        for name, dumped in HELD["keys"].items():
            client.restore(name, 0, base64.b64decode(dumped))
    running = Replica(store.url, REMIT_AUDIT_SEAL_AFTER_SECONDS="1")
    yield running
    running.stop()
    store.stop()


def test_what_an_older_release_wrote_is_read_and_continued(replica):
    """Every entry is unchanged, the chain continues, and its policies decide as before."""
    with replica.client(HELD["admin_key"]) as client:
        read = client.get("/v1/audit-logs", params={"limit": 1000}).json()
        shown = [{name: value for name, value in each.items() if name != "code"} for each in read]
        assert shown == list(map(json.loads, HELD["entries"]))
        verified = client.get("/v1/audit-logs/verify", params={"checkpoint": HELD["checkpoint"]}).json()
        assert (verified["intact"], verified["finding"]) == (True, None)
        assert client.get(f"/v1/agents/{HELD['agent_id']}").json()["name"] == "old agent"
        policy = client.get(f"/v1/policies/{HELD['policy_id']}").json()
        assert (policy["kind"], policy["priority"], policy["version"]) == ("grant", 7, 2)
        assert len(client.get("/v1/changes").json()) == 6  # the newest is the key that this replica was started with

        calls = {"file.read": {}, "file_write": {}, "mail.send": {"to": "x@evil.com"}}
        results = [
            client.post(
                "/v1/authorize", json={"agent_id": HELD["agent_id"], "tool_name": tool, "parameters": parameters}
            ).json()["result"]
            for tool, parameters in calls.items()
        ]
        assert results == ["allowed", "denied", "escalated"]
        status = client.get("/v1/audit-logs/status").json()
        assert status["lastSequence"] == len(HELD["entries"]) + len(calls)
        assert client.get("/v1/audit-logs/verify").json()["intact"]
