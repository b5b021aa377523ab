"""Garbage in a field of any record: an answer says so or is unaffected.

Never an unexpected error, and never a new permission. For keys of the log, see tests/audit.
"""

import json
import secrets

import pytest
from approval_steps import SECRET
from redis import Redis
from servers import Replica, Store
from tenants import Tenant

from app.store.keyspace import Keyspace

GARBAGE = ["nan", "inf", "1" + "0" * 400, "", b"\xff\xfe", "x", "-5e300"]
ROWS = {
    "agent": ["name", "status", "groups", "created_ms", "updated_ms", "revision", "active_since", "tripped"],
    "reader": ["scopes", "expires_ms", "last_used_ms", "created_ms", "agents", "session_from"],
    "policy": ["id", "rules", "priority", "enabled", "shadow", "policy_kind", "created_ms", "updated_ms", "version"],
    "guardrail": ["id", "enabled", "shadow", "policy_kind", "mode"],
    "approval": [
        "asked",
        "status",
        "version",
        "expires_ms",
        "usable_until_ms",
        "asked_sequence",
        "uses_left",
        "said",
        "approved_by",
    ],
    "commits": ["time_us", "skew_us", "room:2000000", "sequence"],
    "webhook": ["events", "format", "enabled", "secrets", "created_ms", "version"],
    "outbox": ["log", "trail", "notices", "delivered", "lost", "quiet_until_ms"],
    "catalog_tools": ["file.read"],
    "marks": ["any"],
    "first_answer": ["result", "rule", "retryUs", "latencyUs", "timeUs", "body_digest"],
    "workspace_totals": ["rate_limits", "rules_bytes"],
    "divergence": ["version", "allowed denied"],
    "session": ["every"],
    "quota": ["every"],
    "budget": ["every"],
    "changes": ["added"],
}
FIELDS = [(what, field) for what, fields in ROWS.items() for field in fields]
FEW = 4
"""A record with so many fields gets every kind of garbage, two kinds a field; the fields of others get three each."""


def limit(tool, calls):
    return {"type": "rate_limit", "tools": [tool], "rateLimit": {"maxCalls": calls, "windowSeconds": 3600}}


class World:
    """A workspace with one of everything, as it is put back after each question that changes it.

    sound: the answers while nothing is spoilt.
    """

    def __init__(self, tenant):
        self.tenant = tenant
        self.redis = Redis.from_url(tenant.store_url)
        admin, keyspace = tenant.admin, Keyspace(tenant.id)
        self.agent = tenant.new_agent(alias="booker", groups=["crew"])["id"]
        asking = tenant.new_agent(alias="asking")["id"]
        sides = {"forbiddenAfter": ["secret.*"], "requiresBefore": ["file.*"], "withinSeconds": 3600}
        never = [{"type": "sequence", "tools": ["rm"], "sequence": sides}]
        grown = {"kind": "guardrail", "name": "g", "rules": never}
        guardrail = admin.post("/v1/policies", json=grown | {"group": "crew"}).json()["id"]
        budget = {"parameter": "amount", "max": 100, "windowSeconds": 3600}
        rules = [{"type": "tool_allowlist", "tools": ["*"]}, limit("limited", 2)]
        rules += [{"type": "budget", "tools": ["pay"], "budget": budget}]
        policy = tenant.new_policy(self.agent, *rules, key="main")["id"]
        tried = {
            "agent_id": self.agent,
            "kind": "guardrail",
            "name": "tried",
            "mode": "shadow",
            "rules": [limit("*", 1)],
        }
        shadow = admin.post("/v1/policies", json=tried).json()["id"]
        tenant.new_policy(asking, {"type": "approval_required", "tools": ["*"]})
        admin.put("/v1/catalog", json={"tools": [{"name": "file.read", "description": "reads"}]})
        told = {"url": "https://hooks.example.com/", "events": ["policy.changed"]}
        webhook = admin.post("/v1/webhooks", json=told).json()["id"]
        expiring = tenant.new_key(["read"], expires_at="2090-01-01T00:00:00Z")
        self.reader = tenant.replica.client(expiring["key"])
        in_session = {"context": {"session": "s1"}}
        for tool in ("file.read", "secret.x", "limited", "limited", "limited"):
            tenant.authorize(self.agent, tool, **in_session)
        tenant.authorize(self.agent, "pay", parameters={"amount": 90})
        approval = tenant.authorize(asking)["approval"]["id"]
        assert admin.post(f"/v1/approvals/{approval}/approve", json={}).status_code == 200
        self.once = {"agent_id": self.agent, "tool_name": "file.read"}
        self.reader.post("/v1/authorize", json=self.once, headers={"Idempotency-Key": "once"})
        self.redis.hset(keyspace.commits, "skew_us", 5)
        self.calls = [
            {"agent_id": self.agent, "tool_name": "limited"},
            {"agent_id": self.agent, "tool_name": "pay", "parameters": {"amount": 90}},
            {"agent_id": self.agent, "tool_name": "rm", **in_session},
            {"agent_id": "booker", "tool_name": "file.read"},
            {"agent_id": asking, "tool_name": "file.read"},
        ]
        self.paths = [
            "agents",
            f"agents/{self.agent}",
            f"agents/{self.agent}/tools",
            "policies",
            f"policies/{policy}",
            f"policies/{policy}/versions",
            f"policies/{shadow}/divergence",
            "groups/crew/policies",
            "approvals",
            f"approvals/{approval}",
            "webhooks",
            f"webhooks/{webhook}/events",
            "catalog",
            "catalog/tool/file.read",
            "changes",
            "api-keys",
        ]
        self.edits = [f"agents/{self.agent}", f"policies/{policy}", f"webhooks/{webhook}"]
        self.keys = {
            "agent": keyspace.agent(self.agent),
            "reader": keyspace.key(expiring["id"]),
            "policy": keyspace.policy(policy),
            "guardrail": keyspace.policy(guardrail),
            "approval": keyspace.approval(approval),
            "commits": keyspace.commits,
            "webhook": keyspace.webhook(webhook),
            "outbox": keyspace.webhook_outbox(webhook),
            "catalog_tools": keyspace.catalog_tools,
            "marks": keyspace.marks,
            "changes": keyspace.changes,
            "workspace_totals": keyspace.workspace,
            "divergence": keyspace.divergence(shadow),
            "first_answer": self._only(f"*:idempotency:{expiring['id']}:*"),
            "session": self._only("*}:session:*"),
            "quota": self._only(f"*:quota:{policy}:*", b"limited-times"),
            "budget": self._only(f"*:quota:{policy}:*", b"budget"),
        }
        self.kept = {name: self.redis.dump(name) for name in self._names()}
        self.sound = self.answers()
        assert set(self.sound.values()) == {True, False}

    def _names(self):
        return list(self.redis.scan_iter(f"*{self.tenant.id}*", count=1000))  # the store holds little else

    def _only(self, pattern, kind=b""):
        """The key that matches; of quotas, the budget's or the other one."""
        found = self.redis.keys(pattern)
        if kind:
            found = [name for name in found if (b" " in self.redis.lindex(name, 0)) == (kind == b"budget")]
        [name] = found
        return name.decode()

    def put_back(self, *, changed=True):
        """Restore the store; with `changed`, replicas must read the agent and its policies again."""
        pipeline = self.redis.pipeline(transaction=False)
        for name in set(self._names()) - set(self.kept):
            pipeline.delete(name)
        for name, dump in self.kept.items():
            pipeline.restore(name, 0, dump, replace=True)
        if changed:
            pipeline.hset(self.keys["agent"], "version", secrets.token_hex(16))
        pipeline.execute()

    def spoil(self, what, field, garbage):
        """Put garbage where the row says."""
        key = self.keys[what]
        match field:
            case "added":
                self.redis.xadd(key, {"kind": garbage, "before": garbage})
            case "any":
                self.redis.hset(key, garbage, garbage)
            case "every" if self.redis.type(key) == b"list":
                for place in range(self.redis.llen(key)):
                    self.redis.lset(key, place, garbage)
            case "every":
                for name in self.redis.hkeys(key):
                    self.redis.hset(key, name, garbage)
            case _:
                self.redis.hset(key, field, garbage)

    def answers(self, spoil=lambda: None):
        """The answer to each request: its status and, for a decision, whether the call is allowed."""
        admin, said = self.tenant.admin, {}
        self.put_back()
        spoil()
        for path in self.paths:
            said[path] = self._short(admin.get(f"/v1/{path}"))
        for call in self.calls:
            said[f"explain {json.dumps(call)}"] = self._short(admin.post("/v1/explain", json=call))
        for call in self.calls:
            self.put_back()
            spoil()
            said[f"authorize {json.dumps(call)}"] = self._short(admin.post("/v1/authorize", json=call))
        self.put_back(changed=False)
        spoil()
        again = self.reader.post("/v1/authorize", json=self.once, headers={"Idempotency-Key": "once"})
        said["once more"] = self._short(again)
        for path in self.edits:
            self.put_back()
            spoil()
            body = {"enabled": False} if "agents" not in path else {"name": "another"}
            said[f"edit {path}"] = self._short(admin.patch(f"/v1/{path}", json=body))
        return said

    @staticmethod
    def _short(answer):
        if answer.status_code >= 400:
            return answer.json()["error"]["code"]
        return answer.json().get("allowed", True) if answer.text[:1] == "{" else True


@pytest.fixture(scope="module")
def world(valkey_store, tmp_path_factory):
    """On a replica that can ask people, and a store of its own: all names in it are read again and again."""
    store = Store(valkey_store.binary, tmp_path_factory.mktemp("records"))
    replica = Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false")
    made = Tenant(store.url, replica)
    world = World(made)
    yield world
    world.reader.close()
    world.redis.close()
    made.close()
    replica.stop()
    store.stop()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "what", "field"), [(number, *each) for number, each in enumerate(FIELDS)])
def test_garbage_in_a_record_is_reported_and_permits_nothing(world, number, what, field):
    """Mostly as STORE_UNAVAILABLE; nothing denied becomes allowed, and nothing is an INTERNAL_ERROR.

    The next field gets the next kinds of garbage: all of it everywhere takes minutes.
    """
    kinds = 2 if len(ROWS[what]) >= FEW else 3
    for garbage in (GARBAGE[(kinds * number + step) % len(GARBAGE)] for step in range(kinds)):
        now = world.answers(lambda garbage=garbage: world.spoil(what, field, garbage))
        wrong = {
            name: said
            for name, said in now.items()
            if said == "INTERNAL_ERROR" or (said is True and not world.sound[name])
        }
        assert not wrong, garbage
    world.put_back()
