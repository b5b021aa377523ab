"""POST /v1/approvals/decide: several approvals in one request, each decided by itself."""

import uuid

from approval_steps import answering, ask
from command_line import run_remit
from servers import clean_env
from tenants import Tenant


def decide(person, *seen, decision="approve", **fields):
    """What became of each, in few words."""
    approvals = [{"id": each, "version": version} for each, version in seen]
    answer = person.post(
        "/v1/approvals/decide", json={"approvals": approvals, "decision": decision, "note": "all of them", **fields}
    )
    assert answer.status_code == 200, answer.text
    assert [each["id"] for each in answer.json()] == [each for each, _ in seen]
    return [each["approval"]["status"] if "approval" in each else each["error"]["code"] for each in answer.json()]


def waiting(tenant, agent_id, *amounts):
    return [ask(tenant, agent_id, amount)["approval"]["id"] for amount in amounts]


def test_one_that_cannot_be_decided_does_not_stop_the_others(tenant, agent_id, person, store):
    """One of another version, a decided, an own, a hiding, an unknown and another workspace's one stay as they are."""
    first, changed, decided, last = waiting(tenant, agent_id, 1, 2, 3, 4)
    person.post(f"/v1/approvals/{decided}/deny", json={}).raise_for_status()
    hiding = tenant.authorize(agent_id, "refund.create", parameters={"password": "x"})["approval"]["id"]
    own = person.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "refund.create"}).json()["approval"][
        "id"
    ]
    stranger = Tenant(store.url, tenant.replica)
    with answering(stranger) as other:
        assert decide(other, (first, 1)) == ["APPROVAL_NOT_FOUND"]
    stranger.close()
    seen = [
        (each, 2 if each in (changed, decided) else 1)
        for each in (first, changed, decided, hiding, own, str(uuid.uuid4()), "nonsense")
    ]
    assert decide(person, *seen, (last, 1)) == [
        "approved",
        "APPROVAL_CHANGED",
        "APPROVAL_DECIDED",
        "VALIDATION_ERROR",
        "OWN_APPROVAL",
        "APPROVAL_NOT_FOUND",
        "APPROVAL_NOT_FOUND",
        "approved",
    ]
    assert [ask(tenant, agent_id, amount)["result"] for amount in (1, 2, 4)] == ["allowed", "escalated", "allowed"]
    noted = person.get(f"/v1/approvals/{last}").json()["approvals"]
    assert [(each["by"]["name"], each["note"]) for each in noted] == [("ann", "all of them")]


def test_several_are_denied_together(tenant, agent_id, person):
    ids = waiting(tenant, agent_id, 1, 2)
    assert decide(person, *((each, 1) for each in ids), decision="deny") == ["denied", "denied"]


def test_what_was_not_seen_is_not_decided(tenant, agent_id, person):
    """Nothing is decided without a version, twice in one request, beyond a hundred, or by a key that may not."""
    [one] = waiting(tenant, agent_id, 1)
    for approvals in (
        [],
        [{"id": one}],
        [{"id": one, "version": 1}] * 2,
        [{"id": str(n), "version": 1} for n in range(101)],
    ):
        answer = person.post("/v1/approvals/decide", json={"approvals": approvals, "decision": "approve"})
        assert answer.status_code == 400, answer.text
    body = {"approvals": [{"id": one, "version": 1}], "decision": "approve"}
    assert tenant.reader.post("/v1/approvals/decide", json=body).status_code == 403
    assert person.post("/v1/approvals/decide", json=body | {"decision": "cancel"}).status_code == 400
    assert person.get(f"/v1/approvals/{one}").json()["status"] == "pending"


def test_the_command_line_decides_several(tenant, agent_id):
    """It says what became of each, and ends with 1 unless all were decided."""
    env = clean_env() | {"REMIT_URL": tenant.replica.base_url, "REMIT_API_KEY": tenant.new_key(["approve"])["key"]}
    ids = waiting(tenant, agent_id, 1, 2, 3)
    done = run_remit(["approvals", "approve", *ids[:2]], env)
    assert (done.returncode, done.stdout) == (0, "".join(f"approval {each} is approved\n" for each in ids[:2]))
    done = run_remit(["approvals", "deny", ids[0], ids[2]], env)
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        [f"approval {ids[0]} stays: The approval is approved already", f"approval {ids[2]} is denied"],
    )
    assert run_remit(["approvals", "approve", *ids, "--uses", "2"], env).returncode == 2
