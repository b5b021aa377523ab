# ruff: noqa: T201 - a script that prints what it found
"""Send calls through a balancer and check that the log has all of them. `cluster_demo.sh --check` runs it.

Arguments: the balancer's URL, an admin key, and the URL of every replica. Standard library only.
"""

import json
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

CALLS = 200
MAX_CALLS = 50


def ask(method: str, url: str, key: str, body: object = None) -> object:
    """Return the answer as JSON; raise if its status is 400 or above."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - a URL of our own
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.load(answer)


def main() -> None:
    """Exit code 0 if an exact quota held over all replicas and every answer is in the log."""
    url, key, *replicas = sys.argv[1:]
    agent = ask("POST", f"{url}/v1/agents", key, {"name": "cluster check"})
    quota = {
        "type": "rate_limit",
        "tools": ["orders.*"],
        "rateLimit": {"maxCalls": MAX_CALLS, "windowSeconds": 3600},
    }
    ask("POST", f"{url}/v1/policies", key, {"agent_id": agent["id"], "name": "at most 50", "rules": [quota]})

    def decide(_: int) -> dict:
        return ask("POST", f"{url}/v1/authorize", key, {"agent_id": agent["id"], "tool_name": "orders.read"})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(decide, range(CALLS)))
    allowed = sum(answer["allowed"] for answer in answers)
    query = f"/v1/audit-logs?agent_id={agent['id']}&limit=1000"
    for each in (url, *replicas):
        logged = {entry["id"] for entry in ask("GET", each + query, key)}
        if logged != {answer["id"] for answer in answers}:
            sys.exit(f"{each} shows {len(logged)} of {CALLS} answers")
    if allowed != MAX_CALLS:
        sys.exit(f"{allowed} calls were allowed; the quota is {MAX_CALLS}")
    print(f"{CALLS} calls over {len(replicas)} replicas: {allowed} allowed, all in the log")


if __name__ == "__main__":
    main()
