"""Aliases, policy keys, rollbacks and explanations: whatever breaks, the store agrees with the answers given."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
from changing import Changing
from test_policy_sets_under_load import AFTER_IT_RAN, named
from topologies import until

ALLOWS, DENIES = [{"type": "tool_allowlist", "tools": ["*"]}], [{"type": "tool_denylist", "tools": ["*"]}]


def at_once(*acts):
    """The results of all of these, begun at the same time."""
    gate = threading.Barrier(len(acts))

    def begin(act):
        gate.wait(60)
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(begin, acts))


def unavailable(answer):
    return (answer.status_code, answer.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")


def test_of_two_agents_that_want_one_alias_at_once_one_gets_it(witness, other):
    """Repeatedly, on two replicas: the alias leads to the agent whose request succeeded, and the other has none."""
    admin = witness.tenant.admin
    agents = [witness.new_agent() for _ in range(2)]
    with other.client(witness.tenant.admin_key) as elsewhere:
        for number in range(20):
            alias = f"team/bot-{number}"
            answers = at_once(
                lambda alias=alias: admin.patch(f"/v1/agents/{agents[0]}", json={"alias": alias}),
                lambda alias=alias: elsewhere.patch(f"/v1/agents/{agents[1]}", json={"alias": alias}),
            )
            assert sorted(answer.status_code for answer in answers) == [200, 409]
            winner = agents[[answer.status_code for answer in answers].index(200)]
            assert [each["id"] for each in admin.get("/v1/agents", params={"alias": alias}).json()] == [winner]
            assert witness.tenant.authorize(alias)["allowed"]
            assert witness.tenant.log()[0]["agentId"] == winner


def test_an_alias_whose_reply_was_lost_is_the_agents_alone(witness, proxy, behind):
    """However it was lost: the caller gets 503; the alias leads to the agent that shows it, the old one to nobody; a
    retry is harmless.
    """
    admin = witness.tenant.admin
    for fault in AFTER_IT_RAN:
        agent, rival = witness.new_agent(), witness.new_agent()
        before, after = (f"{named(fault).replace(' ', '-')}-{when}" for when in ("before", "after"))
        admin.patch(f"/v1/agents/{agent}", json={"alias": before}).raise_for_status()
        with behind.client(witness.tenant.admin_key) as broken:
            until(lambda broken=broken, agent=agent: broken.get(f"/v1/agents/{agent}").is_success, "the agent is known")
            proxy.break_(fault, "while it breaks")  # which stands in the change alone, and in no look at who has it
            why = {"Change-Reason": "while it breaks"}
            assert unavailable(broken.patch(f"/v1/agents/{agent}", json={"alias": after}, headers=why)), fault
            assert proxy.struck.is_set(), fault
            proxy.heal()
            until(lambda broken=broken, agent=agent: broken.get(f"/v1/agents/{agent}").is_success, "the way is whole")

            assert broken.get(f"/v1/agents/{after}").json()["id"] == agent, fault
            assert broken.get(f"/v1/agents/{before}").status_code == 404, fault
            assert broken.patch(f"/v1/agents/{rival}", json={"alias": after}).status_code == 409, fault
            assert broken.patch(f"/v1/agents/{rival}", json={"alias": before}).status_code == 200, fault
            changes = admin.get("/v1/changes", params={"resource_id": agent}).json()
            kinds = [each["kind"] for each in changes]
            assert kinds == ["updated", "updated", "created"], f"{fault}: the alias was given once"
            assert broken.patch(f"/v1/agents/{agent}", json={"alias": after}).status_code == 200, fault


def test_with_a_policy_key_a_lost_creation_is_safe_to_repeat(witness, proxy, behind):
    """However it was lost: the second POST is 409, the key names the one policy that there is, and it decides."""
    for fault in AFTER_IT_RAN:
        agent = witness.tenant.new_agent()["id"]
        body = {"agent_id": agent, "name": "reads", "key": "reads-orders", "rules": ALLOWS}
        with behind.client(witness.tenant.admin_key) as broken:
            until(lambda broken=broken, agent=agent: broken.get(f"/v1/agents/{agent}").is_success, "the agent is known")
            proxy.break_(fault, "while it breaks")
            lost = broken.post("/v1/policies", json=body, headers={"Change-Reason": "while it breaks"})
            assert unavailable(lost), fault
            assert proxy.struck.is_set(), fault
            proxy.heal()
            until(lambda broken=broken, agent=agent: broken.get(f"/v1/agents/{agent}").is_success, "the way is whole")

            again = broken.post("/v1/policies", json=body)
            assert (again.status_code, again.json()["error"]["code"]) == (409, "POLICY_KEY_TAKEN"), fault
            [policy] = broken.get("/v1/policies", params={"agent_id": agent}).json()
            assert broken.get("/v1/policies/reads-orders", params={"agent_id": agent}).json() == policy, fault
        assert witness.tenant.authorize(agent)["policyId"] == policy["id"], fault


def test_of_two_policies_with_one_key_at_once_one_is_made(witness, other):
    """On two replicas; the key names the policy that was acknowledged."""
    agent = witness.tenant.new_agent()["id"]
    with other.client(witness.tenant.admin_key) as elsewhere:
        for number in range(20):
            body = {"agent_id": agent, "name": "p", "key": f"key-{number}", "rules": ALLOWS}
            answers = at_once(
                lambda body=body: witness.tenant.admin.post("/v1/policies", json=body),
                lambda body=body: elsewhere.post("/v1/policies", json=body),
            )
            assert sorted(answer.status_code for answer in answers) == [201, 409]
            [made] = [answer.json()["id"] for answer in answers if answer.status_code == 201]
            found = elsewhere.get(f"/v1/policies/key-{number}", params={"agent_id": agent})
            assert found.json()["id"] == made


def test_a_rollback_whose_reply_was_lost_was_made_once(witness, proxy, behind):
    """However it was lost: the caller gets 503 and looks: the version has moved by one, and the same request is 412."""
    for fault in AFTER_IT_RAN:
        agent = witness.tenant.new_agent()["id"]
        policy = witness.tenant.new_policy(agent, *ALLOWS)
        path = f"/v1/policies/{policy['id']}"
        changed = witness.tenant.admin.patch(path, json={"rules": DENIES})
        tag = {"If-Match": changed.headers["ETag"]}
        with behind.client(witness.tenant.admin_key) as broken:
            until(lambda broken=broken, path=path: broken.get(path).is_success, "the policy is known")
            proxy.break_(fault, "back to version 1")
            assert unavailable(broken.post(f"{path}/rollback", json={"version": 1}, headers=tag)), fault
            assert proxy.struck.is_set(), fault
            proxy.heal()
            until(lambda broken=broken, path=path: broken.get(path).is_success, "the way is whole")
            assert broken.post(f"{path}/rollback", json={"version": 1}, headers=tag).status_code == 412, fault
            versions = broken.get(f"{path}/versions").json()
        assert [each["version"] for each in versions] == [3, 2, 1], fault
        assert versions[0]["policy"]["rules"] == versions[2]["policy"]["rules"] == ALLOWS, fault
        assert witness.tenant.authorize(agent)["allowed"], fault


def test_of_two_rollbacks_at_once_one_is_refused(witness, other):
    """Both had seen the same version; the stored policy is the one that was acknowledged."""
    policy = witness.tenant.new_policy(witness.tenant.new_agent()["id"], *ALLOWS)
    path = f"/v1/policies/{policy['id']}"
    newest = witness.tenant.admin.patch(path, json={"rules": DENIES})
    with other.client(witness.tenant.admin_key) as elsewhere:
        for _ in range(15):
            tag = {"If-Match": newest.headers["ETag"]}
            answers = at_once(
                lambda tag=tag: witness.tenant.admin.post(f"{path}/rollback", json={"version": 1}, headers=tag),
                lambda tag=tag: elsewhere.post(f"{path}/rollback", json={"version": 2}, headers=tag),
            )
            [done] = [answer for answer in answers if answer.status_code == 200]
            refused = [answer for answer in answers if answer.status_code == 412]
            # One of the two versions is the present one, so that rollback may have had nothing to do.
            newest = elsewhere.get(path)
            assert len(refused) == 1
            told = {name: value for name, value in done.json().items() if name != "warnings"}
            assert newest.json() == told


def version_of(witness, path):
    """The policy's version now; the replica may have been killed a moment ago."""
    seen = []

    def look():
        with contextlib.suppress(httpx.HTTPError):
            seen.append(witness.tenant.admin.get(path))
        return bool(seen) and seen[-1].is_success

    until(look, "the replica is there again")
    return seen[-1].json()["version"]


class RollingBack(Changing):
    """Makes the version before the newest current, so that odd ones allow and even ones deny, as 1 and 2 do.

    acknowledged: the versions that it was told of.
    """

    pause_s = 0.005

    def __init__(self, witness, path) -> None:
        super().__init__(witness, path)
        self._newest = version_of(witness, path)

    def change(self) -> None:
        answer = self.admin.post(f"{self.path}/rollback", json={"version": self._newest - 1})
        assert answer.is_success or answer.status_code == 503, answer.text
        if answer.is_success:
            self._newest = answer.json()["version"]
            self.acknowledged.append(self._newest)


def require_odd_allow(versions):
    """Check that every kept version is unchanged."""
    assert all((each["policy"]["rules"] == ALLOWS) == (each["version"] % 2 == 1) for each in versions)


def test_every_decision_says_which_version_made_it_whatever_is_killed(witness, other):
    """Rolled back and forth under load, the replica killed: entry, version and explanation agree with the answer."""
    agent = witness.tenant.new_agent()["id"]
    policy = witness.tenant.new_policy(agent, *ALLOWS)
    path = f"/v1/policies/{policy['id']}"
    witness.tenant.admin.patch(path, json={"rules": DENIES}).raise_for_status()
    with witness.load(agent, ports=[witness.replica.port, other.port]) as load:
        for _ in range(3):
            with RollingBack(witness, path) as rolling:
                rolling.after(6)
                witness.replica.kill()
            witness.replica.start()
            assert version_of(witness, path) >= rolling.acknowledged[-1]
        load.after(50)
    assert load.wrong == []
    version_of(witness, path)
    require_odd_allow(witness.tenant.reader.get(f"{path}/versions").json())
    entries = {entry["id"]: entry for entry in witness.log().entries}
    answered = [call.answer for call in load.answered]
    assert {answer["allowed"] for answer in answered} == {True, False}
    for answer in answered:
        assert int(entries[answer["id"]]["policyVersion"]) % 2 == answer["allowed"]
    for answer in answered[:: max(1, len(answered) // 40)]:
        found = witness.tenant.reader.get(f"/v1/audit-logs/{answer['id']}/explanation")
        told = found.json()
        if found.status_code == 410:  # more than a hundred versions ago
            continue
        assert (told["result"], told["reason"]) == (answer["result"], answer["reason"])
        assert told["policies"][0]["version"] == int(entries[answer["id"]]["policyVersion"])
        assert told["policies"][0]["part"] == ("passed" if answer["allowed"] else "failed")
    witness.check()


def test_an_explanation_is_of_one_moment_or_none(witness, proxy, behind):
    """Under edits and over failing connections: the version it names gives its answer, or else it is 503."""
    agent = witness.tenant.new_agent()["id"]
    policy = witness.tenant.new_policy(agent, *ALLOWS)
    path = f"/v1/policies/{policy['id']}"
    witness.tenant.admin.patch(path, json={"rules": DENIES}).raise_for_status()
    question, told, refused = {"agent_id": agent, "tool_name": "t"}, [], 0
    with behind.client(witness.tenant.read_key) as asking, RollingBack(witness, path) as rolling:
        until(lambda: asking.post("/v1/explain", json=question).is_success, "the agent is known")
        for fault in AFTER_IT_RAN:
            rolling.after(1)
            for _ in range(20):
                answer = asking.post("/v1/explain", json=question)
                assert answer.status_code == 200, answer.text
                told.append(answer.json())
            proxy.break_(fault)
            answer = asking.post("/v1/explain", json=question)
            proxy.heal()
            if answer.status_code == 200:
                told.append(answer.json())
            else:
                assert unavailable(answer)
                refused += 1
            until(lambda: asking.post("/v1/explain", json=question).is_success, "the way is whole again")
        rolling.after(1)
    assert refused == len(AFTER_IT_RAN)
    require_odd_allow(witness.tenant.reader.get(f"{path}/versions").json())
    assert {each["allowed"] for each in told} == {True, False}
    for each in told:
        [part] = each["policies"]
        assert part["version"] % 2 == each["allowed"]
    assert witness.tenant.log() == []
