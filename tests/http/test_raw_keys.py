"""I10: no raw key at rest, in a log line, an error, a metric, the audit log, the trail, or what the store is sent."""

import json
import re

import pytest
from command_line import run_remit
from monitor import watched
from servers import Replica, Store, clean_env
from tenants import Tenant

from app.http.routes import ENDPOINTS
from app.model.api_keys import digest_of

STRAY = "svc_" + "deadbeef" * 4
"""A key in a place where none belongs."""
RAW = re.compile(r"svc_[0-9a-f]{12,}")


class LoggedReplica(Replica):
    """A replica whose every line goes to a file."""

    def __init__(self, store_url, path):
        self._path = path
        settings = {"REMIT_LOG_LEVEL": "debug", "REMIT_LOG_FORMAT": "json", "REMIT_COMPACT": "false"}
        with path.open("wb") as file:
            super().__init__(store_url, log=file, REMIT_SECRET="0123456789abcdef" * 2, **settings)

    @property
    def written(self):
        return self._path.read_text()


@pytest.fixture(scope="module")
def session(valkey_store, tmp_path_factory):
    """Everything sent, stored, logged and answered while all operations were used, correctly and incorrectly.

    In one format of log lines: tests/runtime/test_logs.py shows that each cuts raw keys wherever they stand.
    """
    folder = tmp_path_factory.mktemp("keys")
    store = Store(valkey_store.binary, folder / "store")
    replica = LoggedReplica(store.url, folder / "log")
    with watched(store.port) as commands:
        made = Session(store, replica)
        made.use_everything()
    made.commands = commands
    yield made
    made.tenant.close()
    replica.stop()
    store.stop()


class Session:
    """A tenant that does everything. keys: every raw key there is. answers: all but those that show a new key."""

    def __init__(self, store, replica):
        self.store, self.replica = store, replica
        self.tenant = Tenant(store.url, replica)
        self.keys = {replica.env["REMIT_BOOTSTRAP_KEY"], self.tenant.admin_key, self.tenant.read_key, STRAY}
        self.answers = []

    def use_everything(self):
        """Every operation, with a key where it belongs and with keys where none does."""
        admin = self.tenant.admin
        agent = self.tenant.new_agent()["id"]
        policy = self.tenant.new_policy(
            agent,
            {"type": "parameter_constraint", "tools": ["t"], "parameters": {"a": {"regex": "^ok$"}}},
        )["id"]
        key = self.tenant.new_key(["admin"])
        words = ["key", "rotate", key["id"], "-w", self.tenant.id, "--json"]
        rotated = run_remit(words, clean_env() | {"REMIT_REDIS_URL": self.store.url})
        self.keys |= {key["key"], json.loads(rotated.stdout)["key"]}
        ids = {
            "agent_id": agent,
            "policy_id": policy,
            "key_id": key["id"],
            "entry_id": self.tenant.authorize(agent)["id"],
            "approval_id": self._held(),
            "decision_id": self.tenant.authorize(agent)["id"],
            "group": "crew",
            "tool": "file.read",
            "webhook_id": "018bcfe5-6800-7000-8000-00000000cafe",
            "session_id": "018bcfe5-6800-7000-8000-00000000beef",
            "task_id": "018bcfe5-6800-7000-8000-00000000feed",
            "issuer_name": "cluster",
            "path": "orders",
            "resource_type": "record",
            "resource_name": "r1",
            "workspace_id": self.tenant.id,
            "review_id": "018bcfe5-6800-7000-8000-00000000face",
        }
        for operation in sorted(ENDPOINTS, key=lambda each: each.method == "DELETE"):
            for path in (operation.path.format_map(ids), re.sub(r"{\w+}", STRAY, operation.path)):
                body = {"agent_id": agent, "tool_name": "t", "name": STRAY, "parameters": {"a": f"no {STRAY}"}}
                for query in ({}, {STRAY: STRAY}):
                    self._send(operation.method, path, params=query, json=body if operation.body else None)
                self._send(operation.method, path, content=STRAY if operation.body else None)
                for authorization in (STRAY, f"Bearer {STRAY}", f"Basic {STRAY}", f"Bearer {STRAY}0"):
                    self._send(operation.method, path, headers={"Authorization": authorization})
        self._send("POST", "/v1/authorize", json={"agent_id": agent, "tool_name": "t", "parameters": {"a": STRAY * 9}})
        self._send("GET", f"/{STRAY}?{STRAY}")
        self._send("PUT", f"/v1/agents/{STRAY}")
        admin.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"}, headers={"Idempotency-Key": STRAY})

    def _held(self):
        """The id of an approval that waits."""
        asking = self.tenant.new_agent()["id"]
        self.tenant.new_policy(asking, {"type": "approval_required", "tools": ["*"]})
        return self.tenant.authorize(asking)["approval"]["id"]

    def _send(self, method, path, **how):
        if method == "GET" and path.endswith("/stream"):
            return
        answer = self.tenant.admin.request(method, path, **how)
        assert answer.status_code < 500, (method, path, answer.text)
        if not (method == "POST" and path == "/v1/api-keys" and answer.status_code == 201):
            self.answers.append((method, path, answer.text))


@pytest.mark.slow
def test_the_store_is_sent_digests_only(session):
    """MONITOR and SLOWLOG show the arguments of every command."""
    assert len(session.commands) > 100
    sent = "\n".join(" ".join(words) for words in session.commands)
    assert digest_of(session.tenant.admin_key) in sent
    assert [key for key in session.keys if key in sent] == []


@pytest.mark.slow
def test_nothing_at_rest_is_a_raw_key(session):
    """Neither key names nor values contain one: not the log, the trail or the records."""
    stored = dump(session.store)
    assert digest_of(session.tenant.admin_key) in stored
    assert "deadbeef..." in stored, "what was sent in parameters is recorded, cut to its prefix"
    assert [key for key in session.keys if key in stored] == []


@pytest.mark.slow
def test_no_log_line_contains_a_raw_key(session):
    """At level debug, with all refusals and requested paths."""
    written = session.replica.written
    assert "/v1/agents/svc_deadbeef..." in written
    assert RAW.findall(written) == []


@pytest.mark.slow
def test_only_the_answer_that_creates_a_key_contains_it(session):
    """Errors quote values without the key."""
    assert len(session.answers) > 200
    examples = {"/docs/api", "/openapi.json"}
    assert {path for _, path, text in session.answers if RAW.search(text)} == examples
    assert any("svc_deadbeef..." in text for _, _, text in session.answers)


@pytest.mark.slow
def test_the_reason_of_a_denial_quotes_the_value_without_the_key(session):
    """Even if it is shortened: half a key is most of a key."""
    reasons = [entry["reason"] for entry in session.tenant.log(tool_name="t")]
    assert any("svc_deadbeef..." in reason for reason in reasons)
    assert [reason for reason in reasons if RAW.search(reason)] == []


def dump(store):
    """Every key and value of the store, as text. Only tests scan."""
    import redis  # noqa: PLC0415 - only here

    with redis.Redis(port=store.port, decode_responses=True) as client:
        read = {
            "string": client.get,
            "hash": client.hgetall,
            "zset": lambda name: client.zrange(name, 0, -1),
            "stream": client.xrange,
            "list": lambda name: client.lrange(name, 0, -1),
            "set": client.smembers,
        }
        return "\n".join(f"{name} {read[client.type(name)](name)}" for name in client.scan_iter())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/authorize", {"agent_id": None, "tool_name": f"t {STRAY}"}),
        ("/v1/authorize", {"agent_id": None, "tool_name": "t", "action": STRAY}),
        ("/v1/agents", {"name": STRAY}),
        ("/v1/agents", {"name": "a", "description": f"uses {STRAY}"}),
        ("/v1/api-keys", {"name": f"{STRAY}{STRAY}", "scopes": ["read"]}),
        ("/v1/policies", {"agent_id": None, "name": STRAY, "rules": [{"type": "tool_allowlist", "tools": ["t"]}]}),
    ],
)
def test_a_key_is_no_name(tenant, path, body):
    """It would appear in the log, in reasons and in the trail; the error does not repeat it either."""
    if "agent_id" in body:
        body = body | {"agent_id": tenant.new_agent()["id"]}
    answer = tenant.admin.post(path, json=body)
    assert answer.status_code == 400
    assert "contains an API key" in answer.text
    assert RAW.search(answer.text) is None


def constraint(**fields):
    return {"type": "parameter_constraint", "tools": ["*"], "parameters": {"p": fields}}


RULES = {
    "tools[0]": {"type": "tool_denylist", "tools": [STRAY]},
    "parameters.p.enum[1]": constraint(enum=[1, STRAY]),
    "parameters.p.notEnum[0]": constraint(notEnum=[f"Bearer {STRAY}"]),
    "parameters.p.regex": constraint(regex=f"^{STRAY}$"),
    "parameters.p.notRegex": constraint(notRegex=STRAY),
    "parameters.p.path.under[0]": constraint(path={"under": [f"/{STRAY}"]}),
    f"parameters.{STRAY}": {**constraint(), "parameters": {STRAY: {"min": 1}}},
    "when.context.c.enum[0]": {**constraint(min=1), "when": {"context": {"c": {"enum": [STRAY]}}}},
    "schema.properties.p.const": {
        "type": "parameter_schema",
        "tools": ["*"],
        "schema": {"properties": {"p": {"const": STRAY}}},
    },
}


@pytest.mark.parametrize("place", RULES)
def test_no_rule_may_contain_a_raw_key(tenant, place):
    """Rules are visible to readers, in reasons too: 400 with the place, on creation and on change."""
    agent = tenant.new_agent()["id"]
    policy = tenant.new_policy(agent)
    body = {"rules": [{"type": "tool_allowlist", "tools": ["a"]}, RULES[place]]}
    for answer in (
        tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", **body}),
        tenant.admin.patch(f"/v1/policies/{policy['id']}", json=body),
    ):
        assert answer.status_code == 400, answer.text
        (detail,) = answer.json()["error"]["details"]
        assert "contains an API key" in detail["message"]
        assert detail["path"] == f"$.rules[1].{place}".replace(STRAY, STRAY[:12] + "...")
        assert STRAY not in answer.text


@pytest.mark.parametrize("path", [STRAY, f"a?token={STRAY}", STRAY.replace("_", "%5F"), STRAY.replace("d", "%64")])
def test_no_url_of_a_webhook_may_contain_a_raw_key(tenant, path):
    """This holds for new and for changed webhooks, and however the key is encoded."""
    body = {"url": "https://example.com/a", "events": ["approval.requested"]}
    webhook = tenant.admin.post("/v1/webhooks", json=body).json()
    body["url"] = f"https://example.com/{path}"
    for answer in (
        tenant.admin.post("/v1/webhooks", json=body),
        tenant.admin.patch(f"/v1/webhooks/{webhook['id']}", json={"url": body["url"]}),
    ):
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["details"][0]["path"] == "$.url"
        assert "contains an API key" in answer.text
        assert STRAY not in answer.text


def test_a_pattern_for_keys_is_no_key(tenant):
    """A rule may deny anything that looks like a key."""
    tenant.new_policy(tenant.new_agent()["id"], constraint(notRegex="svc_[0-9a-f]{32}", enum=["svc_…", "svc_0123"]))
