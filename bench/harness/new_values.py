"""Calls of which each has new values: a token of a workload, a pinned request, an access request, an approved value."""

import time
from collections.abc import Callable
from typing import Any

import httpx
import redis

from bench.harness.churn import patient_client
from bench.harness.identity_provider import IdentityProvider

COUNT_S = 30
"""How long a token, a pinned request and an approved value count."""
SUBJECTS = 50
SECRET, PUBLIC_URL = "s" * 32, "https://remit.example.com"
"""What a replica needs for these calls, as `REMIT_SECRET` and `REMIT_PUBLIC_URL`."""
_SUBJECT = {"type": "user", "id": "bob@example.com"}
_COUNTED: dict[str, tuple[str, Callable[[Any, str], int] | None]] = {
    "requests pinned": ("pinned:*", None),
    "tokens in use": ("issuers:tokens", redis.Redis.zcard),
    "values remembered (at most 1,000)": ("agent:*:remembered:*", redis.Redis.hlen),
    "access requests (of 60 days)": ("approval:*", None),
}


class NewValues:
    """One agent whose requests are pinned and kept, and whose values people approve, and an issuer of its tokens."""

    def __init__(self, base_url: str, admin_key: str) -> None:
        self._base_url = base_url
        self._admin = patient_client(base_url, admin_key)
        self._gateway = patient_client(base_url, self._new_key("gateway", "authorize"))
        self._person = patient_client(base_url, self._new_key("ann", "approve"))
        self._chat = patient_client(base_url, self._new_key("chat", "request"))
        self._platform = IdentityProvider()
        issuer = {"issuer": "https://cluster.example.com", "audience": "remit", "algorithms": ["ES256"]}
        rules = [{"match": {"sub": "pod:*"}, "scopes": ["authorize"]}]
        self._send(
            self._admin, "PUT", "/v1/issuers/cluster", issuer | {"jwks": {"keys": [self._platform.jwk]}, "rules": rules}
        )
        self._agent_id = self._made("/v1/agents", {"name": "bob", "type": "user", "alias": _SUBJECT["id"]})["id"]
        policy = {"agent_id": self._agent_id, "name": "p", "keeps_requests": True, "rules": _RULES}
        self._made("/v1/policies", policy)

    def close(self) -> None:
        self._platform.stop()
        for client in (self._admin, self._gateway, self._person, self._chat):
            client.close()

    def round(self, number: int) -> int:
        """Four calls, one of which waits for approval; returns how many."""
        asked = f"Please refund {number}."
        self._send(self._chat, "POST", f"/v1/sessions/n{number}/request", {"request": asked, "validSeconds": COUNT_S})
        context = {"session": f"n{number}", "request": asked}
        self._decided_by_token(number, context)
        question = {
            "subject": _SUBJECT,
            "action": {"name": "refund"},
            "resource": {"type": "booking", "id": str(number), "properties": {"to": f"customer {number}"}},
            "context": context,
        }
        denial = self._evaluated(question, False)
        hint = {"evaluation_id": denial["evaluation_id"], "expires_at": denial["access_request"]["expires_at"]}
        task = self._send(self._gateway, "POST", "/access/v1/requests", question | {"denial": hint})["task"]["id"]
        self._send(self._person, "POST", f"/v1/approvals/{task}/approve", {})
        carried = self._send(self._gateway, "GET", f"/access/v1/requests/{task}")["result"]["approval"]
        self._evaluated(question | {"context": context | {"approval": carried}}, True)
        self._evaluated(question, True)  # because a person has approved the value before
        return 4

    def _decided_by_token(self, number: int, context: dict[str, str]) -> None:
        claims = {"iss": "https://cluster.example.com", "aud": "remit", "sub": f"pod:{number % SUBJECTS}"}
        token = self._platform.signed(**claims, exp=int(time.time()) + COUNT_S)
        with patient_client(self._base_url, token) as pod:
            call = {"agent_id": self._agent_id, "tool_name": "booking.read", "context": context}
            if (answer := self._send(pod, "POST", "/v1/authorize", call))["result"] != "allowed":
                raise RuntimeError(f"round {number}: {answer}")

    def _evaluated(self, question: dict[str, Any], wanted: bool) -> dict[str, Any]:
        answer = self._send(self._gateway, "POST", "/access/v1/evaluation", question)
        if answer["decision"] is not wanted:
            raise RuntimeError(f"{question}: {answer}")
        context: dict[str, Any] = answer["context"]
        return context

    def _new_key(self, name: str, scope: str) -> str:
        key: str = self._made("/v1/api-keys", {"name": name, "scopes": [scope]})["key"]
        return key

    def _made(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._send(self._admin, "POST", path, body)

    def _send(self, client: httpx.Client, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = client.request(method, path, json=body)
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        told: dict[str, Any] = answer.json()
        return told


def counted(client: "redis.Redis") -> dict[str, float]:
    """How many of each the store has, of all workspaces."""
    found = {}
    for label, (pattern, size) in _COUNTED.items():
        names = client.scan_iter(f"remit:{{*}}:{pattern}", count=1000)
        found[label] = float(sum(1 if size is None else size(client, name) for name in names))
    return found


_RULES = [
    {"type": "tool_allowlist", "tools": ["booking.*"]},
    {"type": "pinned_request", "tools": ["booking.*"]},
    {
        "type": "parameter_constraint",
        "tools": ["booking.refund"],
        "parameters": {"to": {"approvedBefore": {"withinSeconds": COUNT_S}}},
        "effect": "escalate",
    },
]
