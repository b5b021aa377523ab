"""Load in which everything comes and goes: agents, policies, keys, connections, tools, sessions, shared guardrails."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx

TOOLS_EACH = 60
_NEW_AGENT_EVERY, _NEW_KEY_EVERY, _NEW_GUARDRAIL_EVERY = 5, 20, 50
WINDOW_SECONDS = 1


class Churn:
    """A workspace with as many agents after each round as before it."""

    def __init__(self, base_url: str, admin_key: str, agents: int) -> None:
        self._base_url = base_url
        self._admin = self._caller = patient_client(self._base_url, admin_key)
        self._key_id = ""
        self._number = 0
        self._guardrail = self._made("/v1/policies", {"name": "g", "kind": "guardrail", "rules": _guardrail(0)})["id"]
        self._agents = [self._new_agent() for _ in range(agents)]

    def close(self) -> None:
        self._caller.close()
        self._admin.close()

    def round(self) -> int:
        """One edit of a policy, three calls that it allows, now and then something larger; returns how many calls."""
        number = self._number = self._number + 1
        if number % _NEW_GUARDRAIL_EVERY == 0:
            self._changed(self._guardrail, _guardrail(number))
        if number % _NEW_AGENT_EVERY == 0:
            self._admin.delete(f"/v1/agents/{self._agents.pop(0)[0]}").raise_for_status()
            self._agents.append(self._new_agent())
        if number % _NEW_KEY_EVERY == 1:
            self._change_key()
        agent_id, policy_id = self._agents[number % len(self._agents)]
        self._changed(policy_id, _rules(number))
        tools = ("orders.read", f"tool{number}.1", f"orders.new{number}")
        for tool in tools:
            call = {"agent_id": agent_id, "tool_name": tool, "context": {"session": f"s{number}"}}
            answer = self._caller.post("/v1/authorize", json=call).json()
            if answer.get("result") != "allowed":
                raise RuntimeError(f"round {number}: {answer}")
        return len(tools)

    def _change_key(self) -> None:
        key = self._made("/v1/api-keys", {"name": f"k{self._number}", "scopes": ["read"]})
        if self._key_id:
            self._caller.close()
            self._admin.delete(f"/v1/api-keys/{self._key_id}").raise_for_status()
        self._key_id, self._caller = key["id"], patient_client(self._base_url, key["key"])

    def _new_agent(self) -> tuple[str, str]:
        """The ids of an agent and of its policy."""
        agent_id = self._made("/v1/agents", {"name": f"a{self._number}"})["id"]
        policy = self._made("/v1/policies", {"agent_id": agent_id, "name": "p", "rules": _rules(self._number)})
        return agent_id, policy["id"]

    def _changed(self, policy_id: str, rules: list[dict[str, Any]]) -> None:
        self._admin.patch(f"/v1/policies/{policy_id}", json={"rules": rules}).raise_for_status()

    def _made(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._admin.post(path, json=body).raise_for_status()
        made: dict[str, Any] = answer.json()
        return made


class _OnceMore(httpx.HTTPTransport):
    """Repeats a request that is answered 503: on a busy machine, a lane or the store may wait seconds for a core."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            return answer
        answer.close()
        return super().handle_request(request)


def patient_client(base_url: str, key: str) -> httpx.Client:
    """A client with this API key, for load of which only what it leaves behind is measured."""
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=base_url, headers=headers, timeout=60, transport=_OnceMore())


def _rules(number: int) -> list[dict[str, Any]]:
    """Rules for new tools, which count each session."""
    per = {"maxCalls": 9, "windowSeconds": WINDOW_SECONDS, "per": ["context.session"]}
    return [
        {"type": "tool_allowlist", "tools": ["orders.*", *(f"tool{number}.{each}" for each in range(TOOLS_EACH))]},
        {"type": "rate_limit", "tools": ["*"], "rateLimit": per},
    ]


def _guardrail(number: int) -> list[dict[str, Any]]:
    """A rule that makes every call leave a mark in its session."""
    sequence = {"forbiddenAfter": ["orders.*"], "withinSeconds": WINDOW_SECONDS}
    return [{"type": "sequence", "tools": [f"rm{number}"], "sequence": sequence}]


def resident_bytes(pids: Iterable[int]) -> dict[str, int]:
    """The resident memory of processes, by name; processes of one name together."""
    found = defaultdict[str, int](int)
    for pid in pids:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines if ":" in line)
        if "VmRSS" in status:
            found[status["Name"].strip()] += int(status["VmRSS"].split()[0]) * 1024
    return dict(found)


def outside_the_log(names: Iterable[str]) -> int:
    """How many of these keys do not belong to the log, which grows."""
    return sum(":audit:" not in name for name in names)
