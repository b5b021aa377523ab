"""Shadow policies while replicas die, replies are lost and policies are edited: counters match the log."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import httpx
from proxy import Fault, Proxy
from servers import HASTY, Replica
from tenants import FREE

CALLERS, CALLS, MOST = 6, 40, 25
CAP = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": MOST, "windowSeconds": 3600}}
NO_MAIL = {"type": "tool_denylist", "tools": ["mail"]}
IN_SHADOW = {"kind": "guardrail", "mode": "shadow"}


def divergence(tenant, policy):
    return tenant.admin.get(f"/v1/policies/{policy['id']}/divergence").json()


def counted(found):
    return Counter({(each["result"], each["shadowResult"]): each["count"] for each in found["counts"]})


def since_change(tenant, policy, log):
    """The divergences of the policy since its last change, according to the log."""
    [change, *_] = tenant.admin.get("/v1/changes", params={"resource_id": policy["id"], "limit": 1}).json()
    later = log[change["sequence"] :]
    of_policy = [entry for entry in later if entry.get("shadow", {}).get("policyId") == policy["id"]]
    return Counter((entry["result"], entry["shadow"]["result"]) for entry in of_policy)


def test_divergence_counters_match_the_log_whatever_is_lost_or_killed(store, tenant, replicas, own):
    """They change no answer, a shadow limit admits exactly its maximum, and each count has an entry."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, FREE)
    cap = tenant.new_policy(agent_id, CAP, **IN_SHADOW)
    no_mail = tenant.new_policy(agent_id, NO_MAIL, **IN_SHADOW)
    proxy = own(Proxy(store.port).start())
    everywhere = [*replicas, own(Replica(proxy.url, **HASTY))]
    clients = [replica.client(tenant.read_key) for replica in everywhere]
    answers = []

    def call(caller):
        for number, client, tool in zip(range(CALLS), cycle(clients), cycle(["look", "mail", "look", "pay"])):
            body = {"agent_id": agent_id, "tool_name": tool}
            headers = {"Idempotency-Key": f"{caller} {number}"}
            for _ in range(2):  # once more, as a client does that had no answer
                try:
                    told = client.post("/v1/authorize", json=body, headers=headers)
                except httpx.HTTPError:
                    continue
                if told.status_code == 200:
                    answers.append(told.json()["result"])

    with ThreadPoolExecutor(CALLERS) as pool:
        work = [pool.submit(call, caller) for caller in range(CALLERS)]
        for name, fault in (("first", Fault.LOSE), ("second", Fault.CUT_MID_REPLY)):
            proxy.break_(fault)
            replicas[1].kill()
            assert tenant.admin.patch(f"/v1/policies/{cap['id']}", json={"name": name}).status_code == 200
            proxy.heal()
            replicas[1].start()
        for each in work:
            each.result()
    for client in clients:
        client.close()

    log = tenant.log(limit=1000)[::-1]
    assert set(answers) == {entry["result"] for entry in log} == {"allowed"}
    for policy in (cap, no_mail):
        assert counted(divergence(tenant, policy)) == since_change(tenant, policy, log)
    assert sum("shadow" not in entry for entry in log) == MOST
    assert all("shadow" in entry for entry in log if entry["toolName"] == "mail")


def test_a_retry_that_gets_the_first_answer_again_is_not_counted_again(store, tenant, own):
    """Even if the first reply was lost."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, FREE)
    no_mail = tenant.new_policy(agent_id, NO_MAIL, **IN_SHADOW)
    proxy = own(Proxy(store.port).start())
    client = own(Replica(proxy.url, **HASTY)).client(tenant.read_key)
    question = {"json": {"agent_id": agent_id, "tool_name": "mail"}, "headers": {"Idempotency-Key": "one"}}
    assert client.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "look"}).status_code == 200
    proxy.break_(Fault.LOSE)
    assert client.post("/v1/authorize", **question).status_code == 503
    proxy.heal()

    answers = []
    while len(answers) < 3:
        answer = client.post("/v1/authorize", **question)
        if answer.status_code != 503:  # until the replica has its store again
            answers.append(answer.json())
    client.close()

    assert [answer.get("result") for answer in answers] == ["allowed"] * 3
    assert divergence(tenant, no_mail)["total"] == len([e for e in tenant.log() if "shadow" in e]) == 1
