"""A shard of a cluster that is gone for good, each in turn: its workspaces are 503, and nobody else notices."""

import pytest
from servers import Replica
from topologies import SEALING_FAST, Cluster, until
from witness import Witness

MASTERS = 3


@pytest.fixture
def cluster(own, server, program, tmp_path):
    made = own(Cluster(server("redis"), program("redis-cli", "a Redis Cluster"), tmp_path))
    for node in made.nodes:
        node.redis.config_set("cluster-require-full-coverage", "no")
    return made


@pytest.fixture
def url(cluster):
    return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in cluster.nodes)


@pytest.fixture
def replica(url, own):
    return own(Replica(url, **SEALING_FAST, REMIT_STORE_TIMEOUT_MS="1500"))


@pytest.fixture
def tenants(cluster, replica, own):
    """The tenant of a workspace on each master, by that one's port, with an agent and keys that were never used."""
    made = {}
    while len(made) < MASTERS:
        tenant = own(Witness(cluster.redis, cluster.url, replica)).tenant
        port = cluster.owner(cluster.redis.keyslot(f"{{{tenant.id}}}")).port
        if port not in made:
            agent_id = tenant.new_agent()["id"]
            tenant.new_policy(agent_id)
            made[port] = tenant, agent_id, [tenant.new_key(["authorize"])["key"] for _ in range(8)]
    return made


def ask(replica, key, agent_id):
    with replica.client(key) as caller:
        return caller.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "file.read"})


@pytest.mark.parametrize("number", range(MASTERS))
def test_a_lost_shard_concerns_its_own_workspaces_and_nobody_else(cluster, url, replica, tenants, own, number):
    """Also the one with the list of workspaces, and for keys, sessions and replicas that are new since."""
    lost = cluster.nodes[number]
    lost.kill()
    until(lambda: ask(replica, tenants[lost.port][2][0], tenants[lost.port][1]).status_code == 503, "it is away")
    new = own(Replica(url, **SEALING_FAST, REMIT_STORE_TIMEOUT_MS="1500"))
    for serving in (replica, new):
        for port, (tenant, agent_id, keys) in tenants.items():
            answers = [ask(serving, key, agent_id) for key in keys]
            if port == lost.port:
                assert {answer.status_code for answer in answers} == {503}
                continue
            assert [answer.json().get("result", answer.text) for answer in answers] == ["allowed"] * len(keys)
            with serving.client(tenant.admin_key) as admin:
                assert admin.get("/readyz").status_code == 200
                made = [admin.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}) for _ in range(8)]
                assert [answer.status_code for answer in made] == [201] * 8, made[-1].text
                ended = [admin.delete(f"/v1/api-keys/{answer.json()['id']}").status_code for answer in made]
                assert ended == [204] * 8
            for answer in made:
                with serving.client(answer.json()["key"]) as ended_key:
                    assert ended_key.get("/v1/agents").status_code in {401, 503}
    for port, (tenant, agent_id, keys) in tenants.items():
        if port != lost.port:
            sealed = newest_segment(cluster, tenant)
            assert ask(replica, keys[0], agent_id).is_success
            until(lambda tenant=tenant, sealed=sealed: newest_segment(cluster, tenant) > sealed, "sealing goes on")


def newest_segment(cluster, tenant):
    return int(cluster.redis.hget(f"remit:{{{tenant.id}}}:audit:head", "segment") or 0)
