"""Tokens of workloads: what they may do, whatever platform issued them, and every way in which one is refused."""

import asyncio
import base64
import json
import string
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from unittest.mock import AsyncMock

import httpx
import jwt
import pytest
from command_line import run_remit
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from msgspec import structs
from servers import clean_env
from tenants import Tenant

from app.authorize.authenticator import Authenticator
from app.errors import IssuerNotFound, LimitReached, ProviderUnavailable, StoreUnavailable, Unauthorized
from app.identity.admission import Admission
from app.identity.key_refresh import KeyRefresh
from app.model.api_keys import Scope, digest_of
from app.model.ids import Ids
from app.model.issuers import LONGEST_S, Algorithm, IssuerFields, IssuerRule, Keys
from app.redis_client.clients import open_client
from app.runtime.lanes.lane import Lane
from app.settings import Settings
from app.store import issuers as issuers_of_store
from app.store.issuers import Issuers
from app.store.keyspace import Keyspace, key_pointer
from tests.support.actors import BY

RSA_KEY, EC_KEY, ED_KEY = (
    rsa.generate_private_key(65537, 2048),
    ec.generate_private_key(ec.SECP256R1()),
    ed25519.Ed25519PrivateKey.generate(),
)
STRANGER = rsa.generate_private_key(65537, 2048)
KEYS = {
    "RS256": (RSA_KEY, jwt.algorithms.RSAAlgorithm),
    "ES256": (EC_KEY, jwt.algorithms.ECAlgorithm),
    "EdDSA": (ED_KEY, jwt.algorithms.OKPAlgorithm),
}
SUB = "system:serviceaccount:payments:refund-bot"


def jwks(*algorithms):
    """The public keys, as an issuer shows them."""
    shown = [(each, *KEYS[each]) for each in algorithms or KEYS]
    return {"keys": [{**json.loads(kind.to_jwk(key.public_key())), "kid": each} for each, key, kind in shown]}


@pytest.fixture
def replicas(replica, other_replica):
    """Two replicas; none seals or reads the keys of issuers."""
    return replica, other_replica


@pytest.fixture
def tenant(store, replicas):
    made = Tenant(store.url, replicas[0])
    yield made
    made.close()


class Platform:
    """An issuer that is set up in the tenant's workspace, and signs tokens."""

    def __init__(self, tenant):
        self.tenant, self.issuer, self.audience = tenant, f"https://{uuid.uuid4().hex}.example.com", "remit"
        self.agent = tenant.new_agent()["id"]
        tenant.new_policy(self.agent)

    def put(self, *rules, name="cluster", **changed):
        rules = list(rules) or [{"match": {"sub": SUB}, "scopes": ["authorize"]}]
        body = {"issuer": self.issuer, "audience": self.audience, "algorithms": [*KEYS], "jwks": jwks(), "rules": rules}
        return self.tenant.admin.put(f"/v1/issuers/{name}", json=body | changed)

    def token(self, alg="RS256", key=None, headers=None, **changed):
        now = int(time.time())
        said = {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": SUB,
            "iat": now,
            "exp": now + 600,
            "jti": uuid.uuid4().hex,
        }
        claims = {name: value for name, value in (said | changed).items() if value is not ...}
        given = {"kid": alg, "typ": None, **(headers or {})}
        return jwt.encode(claims, key or KEYS[alg][0], alg, headers=given)

    def ask(self, token, replica=None, agent=None):
        """The answer to one call made with the token."""
        url = (replica or self.tenant.replica).base_url
        body = {"agent_id": agent or self.agent, "tool_name": "file.read"}
        return httpx.post(f"{url}/v1/authorize", json=body, headers={"Authorization": f"Bearer {token}"}, timeout=30)


@pytest.fixture
def platform(tenant):
    made = Platform(tenant)
    assert made.put().status_code == 200
    return made


@pytest.mark.parametrize("alg", KEYS)
def test_a_workload_asks_with_its_own_token(platform, tenant, replicas, alg):
    """On every replica; the log has the UUIDv5 of issuer and sub, which the trail explains."""
    token = platform.token(alg)
    for replica in (*replicas, *replicas):
        answer = platform.ask(token, replica)
        assert answer.status_code == 200, answer.text
        assert answer.json()["result"] == "allowed"
    workload = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{platform.issuer} {SUB}"))
    assert {entry["keyId"] for entry in tenant.log()} == {workload}
    [seen] = tenant.admin.get("/v1/changes", params={"resource_type": "workload"}).json()
    assert (seen["resourceId"], seen["after"]["subject"], seen["actorName"]) == (workload, SUB, SUB)
    me = httpx.get(f"{replicas[1].base_url}/v1/session", headers={"Authorization": f"Bearer {token}"})
    assert (me.json()["name"], me.json()["scopes"], me.json()["keyId"]) == (SUB, ["authorize"], workload)


def nested(levels):
    """Claims with so many lists within each other, encoded."""
    return base64.urlsafe_b64encode(b'{"iss":' + b"[" * levels + b"]" * levels + b"}").rstrip(b"=").decode()


def test_entries_name_the_subject_of_a_token(platform, tenant, replicas, tmp_path):
    """In pages, files and the command line, and only of calls that tokens made; not longer than a `sub` may be."""
    long = "system:serviceaccount:payments:" + "é ü" * 74
    assert len(long) == 253
    platform.put({"match": {"sub": "system:serviceaccount:payments:*"}, "scopes": ["authorize"]})
    for sub in (SUB, long, SUB):
        assert platform.ask(platform.token(sub=sub), replicas[1]).status_code == 200
    tenant.authorize(platform.agent)
    subjects = [entry.get("subject") for entry in tenant.log()]
    assert subjects == [None, SUB, long, SUB]
    workload = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{platform.issuer} {long}"))
    [found] = tenant.log(subject=long)
    assert (found["keyId"], found["subject"]) == (workload, long)
    assert [entry["id"] for entry in tenant.log(key_id=workload)] == [found["id"]]
    assert tenant.log(subject=SUB[:-1]) == []
    assert len(tenant.log(subject=SUB, result="allowed")) == 2
    for kind in ("csv", "ndjson"):
        file = tenant.admin.get("/v1/audit-logs/export", params={"format": kind, "subject": long}).text
        assert file.count(long) == 1
    env = clean_env() | {"REMIT_URL": str(tenant.admin.base_url), "REMIT_API_KEY": tenant.admin_key}
    shown = json.loads(run_remit(["audit", "query", "--subject", SUB, "--json"], env).stdout)
    assert [entry["subject"] for entry in shown] == [SUB, SUB]


def without_padding(data):
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


def unsigned(platform, alg="none"):
    return f"{without_padding({'alg': alg, 'kid': 'RS256'})}.{platform.token().split('.')[1]}.c2ln"


def long_lived(platform, seconds):
    now = int(time.time())
    return platform.token(iat=now, exp=now + seconds)


def tampered(platform):
    head, body, signature = platform.token().split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    return f"{head}.{without_padding(claims | {'sub': SUB, 'x': 1})}.{signature}"


PITFALLS = {
    "no algorithm": (unsigned, "alg must be one of"),
    "a symmetric algorithm": (lambda it: unsigned(it, "HS256"), "alg must be one of"),
    "an algorithm of another family": (lambda it: unsigned(it, "PS256"), "alg must be one of"),
    "a key of the header": (lambda it: it.token(headers={"jwk": jwks("RS256")["keys"][0]}), "header has jwk"),
    "the address of a key": (lambda it: it.token(headers={"jku": "https://evil.example/"}), "header has jku"),
    "a certificate": (lambda it: it.token(headers={"x5c": ["x"]}), "header has x5c"),
    "the address of a certificate": (lambda it: it.token(headers={"x5u": "https://evil.example/"}), "header has x5u"),
    "what must be understood": (lambda it: it.token(headers={"crit": ["exp"]}), "not a signed JWT"),
    "another type": (lambda it: it.token(headers={"typ": "logout+jwt"}), "typ must be"),
    "another kid": (lambda it: it.token(headers={"kid": "other"}), "kid names no key"),
    "a kid of another type of key": (lambda it: it.token(headers={"kid": "ES256"}), "kid names no key"),
    "a stranger's key": (lambda it: it.token(key=STRANGER), "signature is wrong"),
    "another body": (tampered, "signature is wrong"),
    "another audience": (lambda it: it.token(aud="https://kubernetes.default.svc"), "iss and aud are not"),
    "several audiences": (lambda it: it.token(aud=["remit", "other"]), "one iss and one aud"),
    "another issuer": (lambda it: it.token(iss=it.issuer + "/"), "iss and aud are not"),
    "no issuer": (lambda it: it.token(iss=...), "one iss and one aud"),
    "no exp": (lambda it: it.token(exp=...), "has no exp"),
    "no iat": (lambda it: it.token(iat=...), "has no iat"),
    "no sub": (lambda it: it.token(sub=...), "has no sub"),
    "a long life": (lambda it: long_lived(it, LONGEST_S + 1), "at most 24 hours"),
    "expired": (lambda it: it.token(iat=1, exp=2), "exp has passed"),
    "from the future": (lambda it: it.token(iat=int(time.time()) + 600), "iat or nbf is in the future"),
    "an ID token": (lambda it: it.token(nonce="n"), "has nonce"),
    "an ID token with at_hash": (lambda it: it.token(at_hash="h"), "has at_hash"),
    "another subject": (lambda it: it.token(sub=SUB + "x"), "No rule"),
    "a subject that only ends so": (lambda it: it.token(sub="x" + SUB), "No rule"),
    "an invisible character": (lambda it: it.token(sub="a\u200bb"), "invisible"),
    "a number as a text": (lambda it: it.token(exp=str(int(time.time()) + 60)), "exp must be a number"),
    "a time as a text": (lambda it: it.token(iat=str(int(time.time()))), ""),
    "deep claims": (lambda it: f"eyJhbGciOiJSUzI1NiJ9.{nested(2900)}.c2ln", "not a signed JWT"),
    "not JSON": (lambda it: "eyJhbGciOiJSUzI1NiJ9.bm90IEpTT04.c2ln", "not a signed JWT"),
}


@pytest.mark.parametrize("pitfall", PITFALLS)
def test_a_pitfall_is_refused_with_what_was_expected(platform, tenant, pitfall):
    """RFC 8725 and 7523: 401, a sentence that names what is wrong, and never a part of the token. No entry."""
    make, sentence = PITFALLS[pitfall]
    token = make(platform)
    answer = platform.ask(token)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    assert sentence in answer.json()["error"]["message"]
    assert not any(part in answer.text for part in token.split(".") if len(part) > 8)
    assert tenant.log() == []


def test_algorithms_are_the_issuers_whatever_keys_it_has(platform):
    """A key that is published for another algorithm verifies nothing here."""
    assert platform.put(algorithms=["RS256"]).status_code == 200
    refused = platform.ask(platform.token("ES256"))
    assert (refused.status_code, "alg must be one of RS256, as for this issuer" in refused.text) == (401, True)
    assert platform.ask(platform.token("RS256")).status_code == 200


def test_a_token_that_is_too_long_is_no_token(platform):
    """8 KiB; before anything is decoded."""
    assert platform.ask(platform.token(x="x" * 9000)).status_code in (401, 431)


def test_the_first_rule_that_matches_counts(platform):
    """`*` stands for what follows a `:` or `/`; a rule without scopes refuses; agents bind."""
    other = platform.tenant.new_agent()["id"]
    platform.put(
        {"match": {"sub": "repo:example/bad:*"}, "scopes": []},
        {"match": {"sub": "repo:example/*", "ref": "refs/heads/main"}, "scopes": ["authorize"], "agents": [other]},
        {"match": {"sub": "repo:example/app:ref"}, "scopes": ["view"]},
    )
    refused = platform.ask(platform.token(sub="repo:example/bad:x", ref="refs/heads/main"))
    assert (refused.status_code, "refuses" in refused.json()["error"]["message"]) == (401, True)
    bound = platform.token(sub="repo:example/app", ref="refs/heads/main")
    assert platform.ask(bound).status_code == 403
    assert platform.ask(bound, agent=other).status_code == 200
    assert platform.ask(platform.token(sub="repo:example/app", ref=["refs/heads/main"])).status_code == 401
    assert platform.ask(platform.token(sub="repo:example/app:ref")).status_code == 403  # view asks for nothing
    assert platform.ask(platform.token(sub="repo:example/", ref="refs/heads/main")).status_code == 401


SHAPES = {
    "kubernetes": {
        "sub": SUB,
        "kubernetes.io": {"namespace": "payments", "serviceaccount": {"name": "refund-bot"}, "pod": {"name": "p"}},
    },
    "spiffe": {"sub": "spiffe://example.org/ns/payments/sa/refund-bot", "iss": ...},
    "github": {
        "sub": "repo:example/app:ref:refs/heads/main",
        "repository": "example/app",
        "ref": "refs/heads/main",
        "job_workflow_ref": "example/app/.github/workflows/deploy.yml@refs/heads/main",
        "runner_environment": "github-hosted",
    },
    "gitlab": {
        "sub": "project_path:example/app:ref_type:branch:ref:main",
        "project_path": "example/app",
        "ref": "main",
        "ref_protected": "true",
    },
}
RULES = {
    "kubernetes": {"sub": "system:serviceaccount:payments:*"},
    "spiffe": {"sub": "spiffe://example.org/ns/payments/*"},
    "github": {"repository": "example/app", "ref": "refs/heads/main"},
    "gitlab": {"project_path": "example/app", "ref_protected": "true"},
}


@pytest.mark.parametrize("kind", SHAPES)
def test_the_tokens_of_each_platform_are_accepted(platform, kind):
    """Claims as these platforms write them."""
    assert platform.put({"match": RULES[kind], "scopes": ["authorize"]}).status_code == 200
    claims = {name: value for name, value in SHAPES[kind].items() if value is not ...}
    assert platform.ask(platform.token(**claims)).json()["result"] == "allowed"


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"rules": [{"match": {"sub": "a"}, "scopes": ["admin"]}]}, "rules[0].scopes"),
        ({"rules": [{"match": {"sub": "*"}, "scopes": ["view"]}]}, "rules[0].match.sub"),
        ({"rules": [{"match": {"sub": "a*"}, "scopes": ["view"]}]}, "rules[0].match.sub"),
        ({"rules": [{"match": {}, "scopes": ["view"]}]}, "rules[0].match"),
        ({"rules": []}, "rules"),
        ({"algorithms": ["HS256"]}, "algorithms"),
        ({"audience": "https://kubernetes.default.svc.cluster.local"}, "audience"),
        ({"jwks": {"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}}, "jwks"),
        ({"jwks": {"keys": []}}, "jwks"),
        ({"jwks_uri": "https://example.com/keys"}, "jwks"),
    ],
)
def test_an_issuer_that_could_do_harm_is_not_put(platform, changed, where):
    answer = platform.put(**changed)
    assert answer.status_code == 400
    assert where in answer.text


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/", "file:///etc"]
)
def test_keys_are_never_read_from_where_webhooks_may_not_go(platform, url):
    answer = platform.tenant.admin.put(
        "/v1/issuers/other",
        json={
            "issuer": "https://x.example.com",
            "audience": "remit",
            "algorithms": ["RS256"],
            "jwksUri": url,
            "rules": [{"match": {"sub": "a"}, "scopes": ["view"]}],
        },
    )
    assert (answer.status_code, "jwksUri" in answer.text) == (400, True)


def test_no_other_workspace_can_have_the_same_issuer_and_audience(platform, store, replicas):
    """Otherwise it could decide about the first one's workloads; with another audience, it can."""
    other = Tenant(store.url, replicas[0])
    intruder = Platform(other)
    intruder.issuer = platform.issuer
    assert intruder.put().json()["error"]["code"] == "ISSUER_TAKEN"
    intruder.audience = "remit-other"
    assert intruder.put().status_code == 200
    assert intruder.ask(platform.token()).status_code == 404  # its agent is not the other workspace's
    platform.tenant.admin.delete("/v1/issuers/cluster")
    intruder.audience = "remit"
    assert intruder.put().status_code == 200
    other.close()


@pytest.mark.parametrize("spelled", [str, str.upper])
def test_an_audience_with_the_id_of_a_workspace_is_that_one_s(platform, store, replicas, spelled):
    """Another cannot set it up first and receive what its workloads ask; the id of nothing is anybody's."""
    other = Tenant(store.url, replicas[0])
    intruder = Platform(other)
    intruder.issuer, audience = platform.issuer, f"https://remit.example.com/{spelled(platform.tenant.id)}"
    refused = intruder.put(audience=audience)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ISSUER_TAKEN")
    assert other.admin.get("/v1/issuers").json() == []
    assert platform.put(audience=audience).status_code == 200
    assert intruder.put(audience=f"remit:{other.id}").status_code == 200
    assert intruder.put(audience=f"api://{uuid.uuid4()}").status_code == 200
    other.close()


def test_an_issuer_is_read_listed_and_named_in_the_trail(platform, tenant):
    shown = tenant.admin.get("/v1/issuers/cluster").json()
    assert tenant.admin.get("/v1/issuers").json() == [shown]
    assert (shown["name"], shown["keysReadAt"], shown["issuer"]) == ("cluster", None, platform.issuer)
    assert platform.put().status_code == 200  # the same again: no change
    kinds = [each["kind"] for each in tenant.admin.get("/v1/changes", params={"resource_type": "issuer"}).json()]
    assert kinds == ["created"]
    assert tenant.admin.delete("/v1/issuers/cluster").status_code == 204
    assert tenant.admin.delete("/v1/issuers/cluster").json()["error"]["code"] == "ISSUER_NOT_FOUND"


def test_issuers_are_managed_with_commands(platform, tenant, tmp_path):
    """As over HTTP, with the reason in the trail."""
    env = clean_env() | {"REMIT_URL": str(tenant.admin.base_url), "REMIT_API_KEY": tenant.admin_key}
    file = tmp_path / "issuer.json"
    rules = [{"match": {"repository": "example/app"}, "scopes": ["view"]}, {"match": {"sub": "a"}, "scopes": []}]
    body = {"issuer": "https://ci.example.com", "audience": tenant.id, "algorithms": ["RS256"], "rules": rules}
    file.write_text(json.dumps(body | {"jwks": jwks("RS256")}))
    put = run_remit(["issuers", "put", "ci", str(file), "--reason", "for the pipeline"], env)
    assert put.stdout == "issuer ci has 2 rules\n", put.stderr
    assert tenant.admin.get("/v1/changes").json()[0]["reason"] == "for the pipeline"
    assert run_remit(["issuers", "list"], env).stdout.count("given") == 2
    shown = run_remit(["issuers", "show", "ci"], env).stdout
    assert "repository = example/app: view\nsub = a: refused\n" in shown
    file.write_text(json.dumps(body | {"jwks": jwks("RS256"), "rules": [*rules, rules[0]]}))
    for command in (["put", "ci", str(file)], ["show", "ci"]):
        assert "Warning: $.rules[2]: never_reached: " in run_remit(["issuers", *command], env).stderr
    assert [each["code"] for each in tenant.admin.get("/v1/issuers/ci").json()["warnings"]] == ["never_reached"]
    assert run_remit(["issuer", "delete", "ci"], env).stdout == "issuer ci is deleted\n"
    gone = run_remit(["issuers", "show", "ci"], env)
    assert (gone.returncode, "No issuer has this name" in gone.stderr) == (1, True)


def test_deleting_an_issuer_binds_under_load_on_every_replica(platform, replicas):
    """As revoking a key does: no answer to a call sent after the deletion was answered is a decision."""
    token = platform.token()
    until, after = [True], []

    def load(replica):
        with httpx.Client(timeout=30) as client:
            body = {"agent_id": platform.agent, "tool_name": "file.read"}
            made = 0
            while until[0] or made < 20:
                was_deleted = not until[0]
                answer = client.post(
                    f"{replica.base_url}/v1/authorize", json=body, headers={"Authorization": f"Bearer {token}"}
                )
                if was_deleted:
                    after.append(answer.status_code)
                    made += 1

    with ThreadPoolExecutor(6) as pool:
        running = [pool.submit(load, replica) for replica in replicas * 3]
        while not platform.tenant.log():
            time.sleep(0.01)
        assert platform.tenant.admin.delete("/v1/issuers/cluster").status_code == 204
        until[0] = False
        for each in running:
            each.result()
    assert len(after) == 120
    assert set(after) == {401}


def test_a_changed_rule_binds_at_once_and_interrupts_nobody_else(platform, replicas):
    """Tokens are judged anew: those that still match go on without a failed call."""
    stays, goes = platform.token(), platform.token(sub="system:serviceaccount:payments:old")
    platform.put({"match": {"sub": "system:serviceaccount:payments:*"}, "scopes": ["authorize"]})
    for replica in replicas:
        assert [platform.ask(each, replica).status_code for each in (stays, goes)] == [200, 200]
    platform.put({"match": {"sub": SUB}, "scopes": ["authorize"]})
    for replica in replicas:
        assert [platform.ask(each, replica).status_code for each in (stays, goes)] == [200, 401]


def test_a_changed_rule_interrupts_no_batch(platform, tenant, replicas):
    """It changes while the calls are decided one by one: a token that it still lets in gets every answer."""
    calls = [{"agent_id": platform.agent, "tool_name": "file.read"}] * 500
    batch = {"calls": calls, "semantics": "deny_on_first_deny"}
    headers = {"Authorization": f"Bearer {platform.token()}"}
    client = httpx.Client(timeout=60, base_url=replicas[0].base_url, headers=headers)
    with client, ThreadPoolExecutor(1) as pool:
        for scopes in (["authorize", "read"], ["authorize"]):
            platform.put()
            before = _newest(tenant)
            running = pool.submit(client.post, "/v1/authorize/batch", json=batch)
            while _newest(tenant) == before and not running.done():
                pass
            platform.put({"match": {"sub": SUB}, "scopes": scopes})
            answer = running.result()
            assert answer.status_code == 200, answer.text
            assert ["decision" in each for each in answer.json()["results"]] == [True] * len(calls)


def _newest(tenant):
    return tenant.in_store(lambda client: client.call("HGET", Keyspace(tenant.id).commits, "sequence"))


def test_a_token_ends_by_the_stores_clock(platform, tenant, replicas):
    """The commit checks its record, whatever a replica has cached; another token of the workload goes on."""
    first, second = platform.token(), platform.token()
    assert platform.ask(first).status_code == platform.ask(second).status_code == 200
    pointer = tenant.in_store(lambda client: client.call("GET", key_pointer(digest_of(first))))
    _, token_id, workload = pointer.split(" ")
    tenant.in_store(lambda client: client.call("HSET", Keyspace(tenant.id).key(token_id), "expires_ms", 1))
    for replica in replicas:
        answer = platform.ask(first, replica)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "API_KEY_EXPIRED")
        assert platform.ask(second, replica).status_code == 200
    for each in (token_id, workload):  # neither is an API key that an admin could rotate
        assert tenant.admin.delete(f"/v1/api-keys/{each}").json()["error"]["code"] == "API_KEY_NOT_FOUND"


async def test_racing_with_the_deletion_leaves_no_token(platform, tenant, replicas):
    """A token that is verified while its issuer is deleted is not admitted afterwards."""
    for _ in range(4):
        platform.put()
        tokens = [platform.token() for _ in range(6)]
        body = {"agent_id": platform.agent, "tool_name": "file.read"}
        async with httpx.AsyncClient(timeout=30) as client:
            gone, *answers = await asyncio.gather(
                client.delete(
                    f"{replicas[0].base_url}/v1/issuers/cluster",
                    headers={"Authorization": f"Bearer {tenant.admin_key}"},
                ),
                *(
                    client.post(
                        f"{replicas[index % 2].base_url}/v1/authorize",
                        json=body,
                        headers={"Authorization": f"Bearer {token}"},
                    )
                    for index, token in enumerate(tokens)
                ),
            )
            assert gone.status_code == 204
            assert {each.status_code for each in answers} <= {200, 401}
            for token in tokens:
                headers = {"Authorization": f"Bearer {token}"}
                assert (
                    await client.post(f"{replicas[1].base_url}/v1/authorize", json=body, headers=headers)
                ).status_code == 401
    assert tenant.in_store(lambda client: client.call("ZCARD", Keyspace(tenant.id).tokens)) == 0


async def test_no_workload_takes_the_places_of_others(valkey_store, monkeypatch):
    """Beyond its share of the workspace's tokens, the one that expires first ends, and may be used again."""
    monkeypatch.setattr(issuers_of_store, "TOKENS_PER_WORKLOAD", 3)
    monkeypatch.setattr(issuers_of_store, "TOKENS_MAX", 4)
    client, workspace_id = open_client(valkey_store.url, 5_000), Ids().new(1)
    keyspace, issuers = Keyspace(workspace_id), Issuers(client, Ids())
    name = f"https://crowd.{workspace_id}.example.com"
    rules = [IssuerRule(match={"sub": "job:*"}, scopes=[Scope.VIEW])]
    await issuers.put(workspace_id, "crowd", structs.replace(fields_of(name), rules=rules), BY)
    authenticator = Authenticator(client, 10, admit=Admission(client, issuers, Lane()).admit)

    async def listed():
        return await client.call("ZCARD", keyspace.tokens)

    tokens = [await admitted(client, issuers, name, 600 + number, sub="job:greedy") for number in range(3)]
    first = (await authenticator.authenticate(tokens[0])).record
    tokens.append(await admitted(client, issuers, name, 603, sub="job:greedy"))
    assert (await listed(), await client.call("EXISTS", keyspace.key(first), key_pointer(digest_of(tokens[0])))) == (
        3,
        0,
    )
    await admitted(client, issuers, name, sub="job:modest")
    assert await listed() == 4
    with pytest.raises(LimitReached):
        await admitted(client, issuers, name, sub="job:third")
    greedy = [await authenticator.authenticate(each) for each in (*tokens, *tokens)]
    assert {each.key_id for each in greedy} == {greedy[0].key_id}
    assert await listed() == 4
    await issuers.delete(workspace_id, "crowd", BY)
    assert await client.call("EXISTS", keyspace.tokens, keyspace.workload_tokens(greedy[0].key_id)) == 0
    await client.close()


async def test_another_signature_of_a_token_takes_no_second_place(valkey_store):
    """For (r, s) of ES256, (r, n - s) is valid, too; a last letter with bits that mean nothing is refused."""
    order = int("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551", 16)
    client, workspace_id = open_client(valkey_store.url, 5_000), Ids().new(1)
    keyspace, issuers = Keyspace(workspace_id), Issuers(client, Ids())
    name, now = f"https://twice.{workspace_id}.example.com", int(time.time())
    fields = structs.replace(fields_of(name), algorithms=[Algorithm.ES256], jwks=jwks("ES256"))
    await issuers.put(workspace_id, "twice", fields, BY)
    claims = {"iss": name, "aud": "remit", "sub": SUB, "iat": now, "exp": now + 600}
    signed, _, signature = jwt.encode(claims, EC_KEY, "ES256", headers={"kid": "ES256"}).rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    other = raw[:32] + (order - int.from_bytes(raw[32:])).to_bytes(32)
    spellings = [signature, base64.urlsafe_b64encode(other).decode().rstrip("=")]
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    authenticator = Authenticator(client, 10, admit=Admission(client, issuers, Lane()).admit)
    for each in spellings:
        with pytest.raises(Unauthorized):
            await authenticator.authenticate(f"{signed}.{each[:-1]}{letters[letters.index(each[-1]) ^ 1]}")
    callers = [await authenticator.authenticate(f"{signed}.{each}") for each in spellings]
    assert len({each.record for each in callers}) == 1
    assert await client.call("ZCARD", keyspace.tokens) == 1
    # If a change of the issuer ends it, each of them is admitted anew.
    await issuers.put(workspace_id, "twice", structs.replace(fields, rules=[*fields.rules, fields.rules[0]]), BY)
    assert len({(await authenticator.authenticate(f"{signed}.{each}")).record for each in spellings}) == 1
    await issuers.delete(workspace_id, "twice", BY)
    for each in spellings:
        with pytest.raises(Unauthorized):
            await authenticator.authenticate(f"{signed}.{each}")
    await client.close()


class Published:
    """A server with the public keys of an issuer, or with whatever a test lets it answer."""

    def __init__(self):
        self.answer, self.asked = jwks("RS256"), 0

    async def serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        body = json.dumps(self.answer).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()


def fields_of(issuer):
    """What to put for an issuer whose tokens may view."""
    return IssuerFields(
        issuer=issuer,
        audience="remit",
        algorithms=[Algorithm.RS256],
        rules=[IssuerRule(match={"sub": SUB}, scopes=[Scope.VIEW])],
        jwks=jwks("RS256"),
    )


async def admitted(client, issuers, issuer, seconds=600, **changed):
    """A token of the issuer, which counts."""
    now = int(time.time())
    claims = {"iss": issuer, "aud": "remit", "sub": SUB, "iat": now, "exp": now + seconds} | changed
    token = jwt.encode(claims, RSA_KEY, "RS256", headers={"kid": "RS256"})
    await Admission(client, issuers, Lane()).admit(token)
    return token


async def test_a_change_that_was_interrupted_binds_once_it_is_made_again(valkey_store, monkeypatch):
    """The record was written, and the tokens admitted before were not ended yet: the answer to the retry ends them."""
    client, workspace_id = open_client(valkey_store.url, 5_000), Ids().new(1)
    issuers, name = Issuers(client, Ids()), f"https://{workspace_id}.example.com"
    fields = fields_of(name)
    await issuers.put(workspace_id, "cluster", fields, BY)
    token = await admitted(client, issuers, name)
    changed = structs.replace(fields, rules=[IssuerRule(match={"sub": "another"}, scopes=[Scope.VIEW])])
    with monkeypatch.context() as broken:
        broken.setattr(Issuers, "drop_stale", AsyncMock(side_effect=StoreUnavailable("gone")))
        with pytest.raises(StoreUnavailable):
            await issuers.put(workspace_id, "cluster", changed, BY)
    assert await client.call("GET", key_pointer(digest_of(token))) is not None
    await issuers.put(workspace_id, "cluster", changed, BY)
    assert await client.call("GET", key_pointer(digest_of(token))) is None
    assert await client.call("ZCARD", Keyspace(workspace_id).tokens) == 0
    await client.close()


async def test_changes_of_others_leave_no_record_of_a_deleted_issuers_workload_and_take_no_other(
    valkey_store, monkeypatch
):
    """Whoever completes what was interrupted, the deletion of one issuer and the change of another."""
    client, workspace_id = open_client(valkey_store.url, 5_000), Ids().new(1)
    issuers, names = Issuers(client, Ids()), [f"https://{each}.{workspace_id}.example.com" for each in ("gone", "here")]
    for name in names:
        await issuers.put(workspace_id, name[8:12], fields_of(name), BY)
        await admitted(client, issuers, name)
    gone, here = (Keyspace(workspace_id).key(str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name} {SUB}"))) for name in names)
    with monkeypatch.context() as broken:
        broken.setattr(Issuers, "drop_stale", AsyncMock(side_effect=StoreUnavailable("gone")))
        with pytest.raises(StoreUnavailable):
            await issuers.delete(workspace_id, "gone", BY)
        with pytest.raises(StoreUnavailable):
            await issuers.put(workspace_id, "here", structs.replace(fields_of(names[1]), audience="changed"), BY)
    await issuers.put(workspace_id, "here", structs.replace(fields_of(names[1]), audience="changed"), BY)
    assert [await client.call("EXISTS", key) for key in (gone, here)] == [0, 1]
    with pytest.raises(IssuerNotFound):
        await issuers.delete(workspace_id, "gone", BY)
    assert await client.call("EXISTS", here) == 1
    assert await client.call("ZCARD", Keyspace(workspace_id).tokens) == 0
    await client.close()


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_what_was_interrupted_is_completed_in_the_background(valkey_store, monkeypatch, is_deleted):
    """Nobody repeats it: old tokens end, and what a deleted issuer's workloads asked for can be approved no more.

    Others can have the issuer and audience that are no longer used.
    """
    client, one, other = open_client(valkey_store.url, 5_000), Ids().new(1), Ids().new(1)
    issuers, refresh, name = Issuers(client, Ids()), KeyRefresh(client, Settings()), f"https://{one}.example.com"
    fields = fields_of(name)
    await issuers.put(one, "cluster", fields, BY)
    token = await admitted(client, issuers, name)
    await refresh.run(asyncio.Event())
    assert await client.call("GET", key_pointer(digest_of(token))) is not None
    with monkeypatch.context() as broken:
        broken.setattr(Issuers, "drop_stale", AsyncMock(side_effect=StoreUnavailable("gone")))
        with pytest.raises(StoreUnavailable):
            await (
                issuers.delete(one, "cluster", BY)
                if is_deleted
                else issuers.put(one, "cluster", structs.replace(fields, audience="changed"), BY)
            )
    for _ in range(2):
        await refresh.run(asyncio.Event())
    assert await client.call("GET", key_pointer(digest_of(token))) is None
    assert await client.call("ZCARD", Keyspace(one).tokens) == 0
    workload = Keyspace(one).key(str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name} {SUB}")))
    assert await client.call("EXISTS", workload) == (not is_deleted)
    await issuers.put(other, "theirs", fields, BY)
    if not is_deleted:
        assert await issuers.of_token(name, "changed") is not None
    await client.close()


async def test_an_issuer_that_is_not_put_is_not_taken(valkey_store, monkeypatch):
    """A workspace without room for another issuer keeps no other from having it; one being written stays its own."""
    client, one, other = open_client(valkey_store.url, 5_000), Ids().new(1), Ids().new(1)
    issuers, refresh, name = Issuers(client, Ids()), KeyRefresh(client, Settings()), f"https://{one}.example.com"
    with monkeypatch.context() as full:
        full.setattr(issuers_of_store, "ISSUERS_MAX", 0)
        with pytest.raises(LimitReached):
            await issuers.put(one, "cluster", fields_of(name), BY)
    await issuers.put(other, "cluster", fields_of(name), BY)
    await issuers.delete(other, "cluster", BY)
    write = Issuers._write

    async def slowly(*given):
        for _ in range(3):
            await refresh.run(asyncio.Event())
        return await write(*given)

    monkeypatch.setattr(Issuers, "_write", slowly)
    await issuers.put(one, "cluster", fields_of(name), BY)
    assert await issuers.of_token(name, "remit") is not None
    await client.close()


async def test_keys_are_read_in_the_background_and_again_for_an_unknown_kid(valkey_store):
    """By a job of the compactor, once a minute at most; until it has, no token is judged: 503."""
    client, published, workspace_id = open_client(valkey_store.url, 5_000), Published(), Ids().new(1)
    server = await asyncio.start_server(published.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys"
    allowed = Settings(webhook_http=True, webhook_networks="127.0.0.0/8")
    issuers, run = Issuers(client, Ids()), KeyRefresh(client, allowed).run
    rule = IssuerRule(match={"sub": SUB}, scopes=[Scope.VIEW])
    name, algorithms = f"https://{workspace_id}.example.com", [Algorithm.RS256, Algorithm.ES256]
    fields = IssuerFields(issuer=name, audience="remit", algorithms=algorithms, rules=[rule], jwks_uri=url)
    await issuers.put(workspace_id, "cluster", fields, BY)
    admit = Admission(client, issuers, Lane()).admit
    keys, now = Keyspace(workspace_id).issuer_keys("cluster"), int(time.time())
    claims = {"iss": name, "aud": "remit", "sub": SUB, "iat": now, "exp": now + 600}
    one, other = (jwt.encode(claims, KEYS[each][0], each, headers={"kid": each}) for each in ("RS256", "ES256"))
    stopped = asyncio.Event()
    with pytest.raises(ProviderUnavailable):
        await admit(one)
    await KeyRefresh(client, Settings()).run(stopped)  # whose settings forbid this address
    assert published.asked == 0
    await client.call("DEL", keys)
    for _ in range(3):
        await run(stopped)
    assert published.asked == 1
    await admit(one)
    for _ in range(3):
        with pytest.raises(Unauthorized, match="kid names no key"):
            await admit(other)
        await run(stopped)
    assert published.asked == 1
    published.answer = jwks("RS256", "ES256")
    await client.call("HSET", keys, "tried_ms", 1)  # a minute later
    await run(stopped)
    await admit(other)
    elsewhere = structs.replace(fields, jwks_uri=f"{url}-of-another-host")
    late = await client.call("HGETALL", keys)  # as a compactor writes that began to read before the change
    await issuers.put(workspace_id, "cluster", elsewhere, BY)
    await client.call("HSET", keys, *(late if isinstance(late, list) else chain.from_iterable(late.items())))
    assert await issuers.keys_of(workspace_id, (await issuers.get(workspace_id, "cluster"))[0]) == Keys()
    await issuers.put(workspace_id, "cluster", fields, BY)
    await run(stopped)
    await admit(one)
    published.answer = {"keys": "x" * 70_000}
    await client.call("HSET", keys, "tried_ms", 1, "wanted", "1")
    await run(stopped)
    await admit(one)  # the keys that were read before count on, for a day
    await client.call("HSET", keys, "read_ms", 1)
    with pytest.raises(ProviderUnavailable):
        await admit(one)
    await issuers.delete(workspace_id, "cluster", BY)
    assert await client.call("ZCARD", Keyspace(workspace_id).tokens) == 0
    server.close()
    await client.close()


async def test_an_issuer_that_does_not_answer_delays_no_other(valkey_store):
    """Nor does a workspace full of them; and one that is deleted while it is asked leaves nothing."""
    client, silent, healthy = open_client(valkey_store.url, 5_000), *(Ids().new(number) for number in (1, 2))
    published, asked, ended = Published(), [], asyncio.Event()

    async def say_nothing(_reader, writer):
        asked.append(writer)
        await ended.wait()
        writer.close()

    servers = [await asyncio.start_server(each, "127.0.0.1", 0) for each in (say_nothing, published.serve)]
    ports = [each.sockets[0].getsockname()[1] for each in servers]
    issuers, rule = Issuers(client, Ids()), IssuerRule(match={"sub": SUB}, scopes=[Scope.VIEW])

    async def put(workspace_id, name, port):
        url, issuer = f"http://127.0.0.1:{port}/keys", f"https://{workspace_id}.example.com/{name}"
        fields = IssuerFields(issuer=issuer, audience="remit", algorithms=[Algorithm.RS256], rules=[rule], jwks_uri=url)
        await issuers.put(workspace_id, name, fields, BY)
        return Keyspace(workspace_id).issuer_keys(name)

    kept = [await put(silent, f"i{number}", ports[0]) for number in range(12)]
    [wanted] = [await put(healthy, "cluster", ports[1])]
    refresh = KeyRefresh(client, Settings(webhook_http=True, webhook_networks="127.0.0.0/8"))
    running = asyncio.create_task(refresh.run(asyncio.Event()))
    while len(asked) < 8 or not await client.call("HEXISTS", wanted, "read_ms"):
        assert not running.done(), (len(asked), published.asked)
        await asyncio.sleep(0.01)
    assert not ended.is_set()
    for number in range(12):
        await issuers.delete(silent, f"i{number}", BY)
    ended.set()
    await running
    assert len(asked) == 8
    assert await client.call("EXISTS", *kept) == 0
    for server in servers:
        server.close()
    await client.close()


async def test_issuers_that_never_answer_keep_none_of_their_workspace_out(valkey_store):
    """They are due again before every other has had its turn, so each round has an order of its own."""
    client, workspace_id, asked = open_client(valkey_store.url, 5_000), Ids().new(1), set()

    async def refuse(reader, writer):
        asked.add((await reader.readline()).split()[1].decode())
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    issuers, rule = Issuers(client, Ids()), IssuerRule(match={"sub": SUB}, scopes=[Scope.VIEW])
    names = [f"i{number}" for number in range(12)]
    for name in names:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{name}"
        issuer = f"https://{workspace_id}.example.com/{name}"
        fields = IssuerFields(issuer=issuer, audience="remit", algorithms=[Algorithm.RS256], rules=[rule], jwks_uri=url)
        await issuers.put(workspace_id, name, fields, BY)
    refresh = KeyRefresh(client, Settings(webhook_http=True, webhook_networks="127.0.0.0/8"))
    for _ in range(20):
        for name in names:
            await client.call("DEL", Keyspace(workspace_id).issuer_keys(name))
        await refresh.run(asyncio.Event())
    assert asked == {f"/{name}" for name in names}
    server.close()
    await client.close()
