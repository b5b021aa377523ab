"""Writes one of everything that Remit keeps, over HTTP and with the command line's classes."""

import asyncio
import time
import uuid

import jwt
from audit_entries import grow_trees
from cryptography.hazmat.primitives.asymmetric import ec
from tenants import Tenant

from app.audit.seal.sealer import Sealer
from app.audit.trail_chain import seal_changes
from app.model.ids import Ids
from app.model.policies import Owner, PolicyFields
from app.model.rules import ToolAllowlist
from app.store.limits import WorkspaceLimits
from app.store.put_policies import Held
from app.transparency.keys import SigningKey
from app.transparency.rounds import CheckpointRounds
from tests.support import parts
from tests.support.actors import BY

SECRET = {"REMIT_SECRET": "s" * 32}
KINDS = (
    "agents", "policies", "policy:", "keys", "key:", "sign-ins", "issuers", "issuers:tokens", "catalog:tools",
    "catalog:seen", "changes", "changes:chain", "changes:tree", "changes:checkpoint", "commits", "quota:", "live:",
    "session:", "agent:", "idempotency:", "decision:", "audit:stream", "audit:head", "audit:segment:", "audit:data:",
    "audit:tree", "audit:checkpoint", "audit:by:", "approvals", "approvals:open", "approval:", "approvals:events",
    "webhooks", "webhook:", "pinned:", "policy-reviews", "policy-reviews:waiting", "policy-review:",
)  # fmt: skip
"""How names of keys begin, after the workspace's tag, of which there is at least one afterwards."""


def write_everything(tenant: Tenant) -> str:
    """Put something under each of `KINDS`: agents, keys, policies, decisions sealed and unsealed. The agent's id."""
    admin = tenant.admin
    agent_id = tenant.new_agent(groups=["crew"], alias="booking")["id"]
    limit = {"maxCalls": 50, "windowSeconds": 86_400}
    sides = {"forbiddenAfter": ["booking.*"], "requiresBefore": ["booking.*"], "withinSeconds": 86_400}
    asked = {"type": "approval_required", "tools": ["booking.pay"]}
    _done(admin.put("/v1/catalog", json={"tools": [{"name": "booking.read", "description": "Shows a booking."}]}))
    tenant.new_policy(
        agent_id,
        {"type": "tool_allowlist", "tools": ["booking.*"]},
        {"type": "rate_limit", "tools": ["*"], "rateLimit": limit},
        {"type": "rate_limit", "tools": ["*"], "rateLimit": limit | {"per": ["tool"]}},
        {"type": "sequence", "tools": ["rm"], "sequence": sides},
        asked,
    )
    breaker = {"maxDenials": 9, "windowSeconds": 86_400, "action": "deny"}
    guard = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": breaker}
    _done(admin.post("/v1/policies", json={"group": "crew", "kind": "guardrail", "name": "never", "rules": [guard]}))
    in_chat = {"context": {"session": "chat 7"}}
    _done(admin.post("/v1/webhooks", json={"url": "https://hooks.example.com/", "events": ["policy.changed"]}))
    _done(admin.post("/v1/session", json={"key": tenant.admin_key, "transport": "bearer"}))
    _done(admin.post("/v1/sessions/chat 7/request", json={"request": "Book me a table."}))
    tenant.in_store(lambda client: _ask_for_a_policy(client, tenant.id))
    with tenant.replica.client(_let_workloads_in(tenant)) as workload:
        _done(workload.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "booking.read"}))
    first, *_ = decide(tenant, agent_id, 5, **in_chat)
    _done(tenant.reader.post(f"/v1/decisions/{first}/outcome", json={"status": "executed"}))
    tenant.in_store(lambda client: _seal(client, tenant.id))
    decide(tenant, agent_id, 3, **in_chat)
    assert tenant.authorize(agent_id, "booking.pay")["result"] == "escalated"
    assert tenant.authorize(agent_id, "rm")["result"] == "denied"
    with tenant.replica.client(tenant.new_key(["read", "authorize"])["key"]) as keyed:
        body = {"agent_id": agent_id, "tool_name": "booking.read"}
        _done(keyed.post("/v1/authorize", json=body, headers={"Idempotency-Key": "once"}))
    return agent_id


def decide(tenant: Tenant, agent_id: str, count: int, **fields) -> list[str]:
    """The ids of this many allowed calls."""
    answers = [tenant.authorize(agent_id, "booking.read", **fields) for _ in range(count)]
    assert {answer["result"] for answer in answers} == {"allowed"}
    return [answer["id"] for answer in answers]


def missing(tenant: Tenant, stored: dict[bytes, tuple]) -> list[str]:
    """Which of `KINDS` are not stored."""
    names = [name.decode().partition("}:")[2] for name in stored if tenant.id.encode() in name]
    return [kind for kind in KINDS if not any(name == kind or name.startswith(kind) for name in names)]


async def _ask_for_a_policy(client, workspace_id: str) -> None:
    """A change of policies that waits for a second person."""
    reviewed, ids = WorkspaceLimits(second_person=True), Ids()
    fields = PolicyFields(name="everything", rules=[ToolAllowlist(tools=["*"])])
    try:
        await parts.policies(client, ids, reviewed).create(workspace_id, Owner(group="crew"), fields, by=BY)
    except Held as held:
        await parts.policy_reviews(client, ids, reviewed).ask(workspace_id, held)


async def _seal(client, workspace_id: str) -> None:
    """A segment, a link of the trail, trees, and a signed checkpoint."""
    await Sealer(client, 512, 100).seal_next(workspace_id)
    await seal_changes(client, workspace_id)
    await grow_trees(client, workspace_id)
    await CheckpointRounds(client, [SigningKey.new("remit.example.com")], []).run(asyncio.Event())


def _let_workloads_in(tenant: Tenant) -> str:
    """A token of a workload that an issuer's rule lets in."""
    key, issuer, now = ec.generate_private_key(ec.SECP256R1()), f"https://{uuid.uuid4().hex}.example.com", time.time()
    jwk = {**jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "k"}
    rules = [{"match": {"sub": "payments"}, "scopes": ["authorize"]}]
    body = {"issuer": issuer, "audience": "remit", "algorithms": ["ES256"], "jwks": {"keys": [jwk]}, "rules": rules}
    _done(tenant.admin.put("/v1/issuers/cluster", json=body))
    claims = {"iss": issuer, "aud": "remit", "sub": "payments", "iat": int(now), "exp": int(now) + 3600, "jti": "1"}
    return jwt.encode(claims, key, "ES256", headers={"kid": "k"})


def _done(answer) -> None:
    assert answer.is_success, answer.text
