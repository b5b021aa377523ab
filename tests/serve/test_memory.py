"""What comes and goes leaves no memory behind in any process of a service."""

from pathlib import Path

import httpx
import pytest
from servers import ADMIN_KEY
from serving import REPLICA, Service, children_of

pytestmark = pytest.mark.slow

AGENTS, ROUNDS = 40, 600
MAX_GROWTH = 3 * 1024 * 1024
"""Bytes. A lane that kept each agent that it had loaded grows by 8 MiB in this many rounds, others by 0.5 MiB."""


def resident_bytes(service: Service) -> dict[str, int]:
    """The resident memory of the replica's processes, by name."""
    [replica] = service.children(REPLICA)
    found = {}
    for pid in children_of(replica):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        found[status["Name"].strip()] = int(status["VmRSS"].split()[0]) * 1024
    return found


def churn(service: Service, agents: list[str], begin: int) -> None:
    """In each round an edit of a policy, calls of an old and a new tool; now and then a new key and connection."""
    admin = httpx.Client(base_url=service.base_url, headers={"Authorization": f"Bearer {ADMIN_KEY}"}, timeout=30)
    caller = admin
    policies = {agent: admin.get("/v1/policies", params={"agent_id": agent}).json()[0]["id"] for agent in agents}
    for number in range(begin, begin + ROUNDS):
        agent = agents[number % AGENTS]
        if number % 20 == 0:
            key = admin.post("/v1/api-keys", json={"name": f"k{number}", "scopes": ["read"]}).json()
            if caller is not admin:
                caller.close()
            caller = httpx.Client(base_url=service.base_url, headers={"Authorization": f"Bearer {key['key']}"})
        rules = [{"type": "tool_allowlist", "tools": ["orders.*", *(f"tool{number}.{each}" for each in range(60))]}]
        admin.patch(f"/v1/policies/{policies[agent]}", json={"rules": rules}).raise_for_status()
        for tool in ("orders.read", f"tool{number}.1", f"orders.new{number}"):
            answer = caller.post("/v1/authorize", json={"agent_id": agent, "tool_name": tool})
            assert answer.json()["result"] == "allowed", answer.text
    caller.close()
    admin.close()


def test_agents_edits_keys_and_tool_names_that_come_and_go_leave_no_memory_behind(tmp_path, store):
    """Of both lanes, while the cache of agents holds a third of them and the rest is evicted again and again."""
    service = Service(
        tmp_path,
        REMIT_REDIS_URL=store.url,
        REMIT_BOOTSTRAP_KEY=ADMIN_KEY,
        REMIT_COMPACT="false",
        REMIT_AGENT_CACHE_BYTES=str(120_000),
        REMIT_LOG_LEVEL="error",
    )
    service.start()
    try:
        with httpx.Client(base_url=service.base_url, headers={"Authorization": f"Bearer {ADMIN_KEY}"}) as admin:
            agents = [admin.post("/v1/agents", json={"name": f"a{each}"}).json()["id"] for each in range(AGENTS)]
            for agent in agents:
                rules = [{"type": "tool_allowlist", "tools": ["orders.*"]}]
                admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": rules}).raise_for_status()
        churn(service, agents, 0)
        halfway = resident_bytes(service)
        churn(service, agents, ROUNDS)
        growth = {name: after - halfway[name] for name, after in resident_bytes(service).items()}
        assert all(more < MAX_GROWTH for more in growth.values()), growth
    finally:
        service.stop()
