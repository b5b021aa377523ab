"""Callers that keep asking for decisions while a test breaks things, and remember every answer."""

import http.client
import json
import time

import httpx
from background import Background

TOOL = "orders.read"


def make_agent(client: httpx.Client, *rules: dict) -> str:
    """The id of a new agent with one policy of these rules; without any, one that allows TOOL."""
    agent = client.post("/v1/agents", json={"name": "broken things"})
    assert agent.status_code == 201, agent.text
    agent_id = agent.json()["id"]
    policy = {
        "agent_id": agent_id,
        "name": "what it may",
        "rules": list(rules) or [{"type": "tool_allowlist", "tools": [TOOL]}],
    }
    made = client.post("/v1/policies", json=policy)
    assert made.status_code == 201, made.text
    return agent_id


def decide(client: httpx.Client, agent_id: str) -> dict:
    """The answer to one call."""
    answer = client.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": TOOL})
    assert answer.status_code == 200, answer.text
    return answer.json()


def entries(client: httpx.Client, agent_id: str) -> dict[str, dict]:
    """Every entry of the agent in the log, by id; no id comes twice."""
    found, cursor = {}, None
    while True:
        parameters = {"agent_id": agent_id, "limit": 1000} | ({} if cursor is None else {"cursor": cursor})
        page = client.get("/v1/audit-logs", params=parameters)
        assert page.status_code == 200, page.text
        for entry in page.json():
            assert entry["id"] not in found
            found[entry["id"]] = entry
        cursor = page.headers.get("X-Next-Cursor")
        if cursor is None:
            return found


class Callers(Background):
    """Threads that ask for decisions over open connections until stopped.

    answered: id → answer, of every decision that a caller has seen.
    cut: requests sent on a connection that had already served one, and left without any answer.
    refused: answers other than decisions.
    """

    def __init__(self, port: int, key: str, agent_id: str, count: int = 4) -> None:
        super().__init__(count)
        self.answered: dict[str, dict] = {}
        self.cut = self.refused = 0
        self._port, self._key = port, key
        self._body = json.dumps({"agent_id": agent_id, "tool_name": TOOL})

    def after(self, answers: int, seconds: float = 180) -> None:
        """Return once that many further answers have been seen."""
        wanted, deadline = len(self.answered) + answers, time.monotonic() + seconds
        while len(self.answered) < wanted:
            assert time.monotonic() < deadline, f"{len(self.answered)} answers, {wanted} wanted"
            time.sleep(0.01)

    def _run(self, _number: int) -> None:
        connection, served = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30), 0
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        while not self._stopping.is_set():
            try:
                if connection.sock is None:
                    served = 0
                connection.request("POST", "/v1/authorize", self._body, headers)
                response = connection.getresponse()
                body = response.read()
                served += 1
                if response.status == 200:
                    answer = json.loads(body)
                    self.answered[answer["id"]] = answer
                else:
                    self.refused += 1
            except (OSError, http.client.HTTPException):
                self.cut += served > 0
                connection.close()
                self._stopping.wait(0.01)
        connection.close()
