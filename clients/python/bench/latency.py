"""Question: how much time does the client add to a bare POST, and its proxy to a connection without a proxy?

Rows alternate call by call, so that load on the machine affects all of them alike. Run with the service up and a key
that may
ask and manage: `REMIT_URL=… REMIT_API_KEY=… .venv-newest/bin/python bench/latency.py [CALLS]`.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from pathlib import Path

import httpx
from mcp import Client, StdioServerParameters, stdio_client

from remit_client import Remit, calls

COUNT = int(sys.argv[1]) if sys.argv[1:] else 500
SERVER = [sys.executable, str(Path(__file__).parents[1] / "tests/frameworks/sdk_server.py")]
PROXY = str(Path(sys.executable).parent / "remit-client")
PARAMETERS = {"amount": 120}


def row(name: str, taken: list[float], baseline: list[float]) -> None:
    """One line of the table."""
    p50, bare = statistics.median(taken), statistics.median(baseline)
    print(f"{name:34} {p50 * 1000:8.2f} {(p50 - bare) * 1000:9.2f} {p50 / bare:10.2f}")


def ask_over_http(remit: Remit, agent: str) -> None:
    """A bare POST on a connection that stays open, the client, and the client with retries."""
    body = {"agent_id": agent, "tool_name": "refund_create", "parameters": PARAMETERS}
    headers = {"Authorization": f"Bearer {os.environ['REMIT_API_KEY']}"}
    times: dict[str, list[float]] = {"bare httpx POST": [], "Remit.authorize": []}
    with httpx.Client(base_url=os.environ["REMIT_URL"], headers=headers) as bare:

        def post() -> None:
            assert bare.post("/v1/authorize", json=body).json()["allowed"]

        def authorize() -> None:
            assert remit.authorize(agent, "refund_create", PARAMETERS).allowed

        for number in range(COUNT):
            for name, ask in list(zip(times, (post, authorize)))[:: 1 if number % 2 else -1]:
                began = time.perf_counter()
                ask()
                times[name].append(time.perf_counter() - began)
    for name, taken in times.items():
        row(name, taken, times["bare httpx POST"])


async def call_over_mcp(agent: str) -> None:
    """The same tool of the same server over stdio, alone and behind remit-client mcp."""
    behind = ["mcp", "--agent", agent, "--timeout", "20", "--", *SERVER]
    commands = {
        "MCP server": StdioServerParameters(command=SERVER[0], args=SERVER[1:]),
        "MCP server behind remit-client mcp": StdioServerParameters(command=PROXY, args=behind, env=dict(os.environ)),
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    async with (
        Client(stdio_client(commands["MCP server"])) as alone,
        Client(stdio_client(commands["MCP server behind remit-client mcp"])) as proxied,
    ):
        spent_us = proxies_cpu_us()
        for _ in range(COUNT):
            for name, client in zip(commands, (alone, proxied)):
                began = time.perf_counter()
                said = await client.call_tool("refund_create", PARAMETERS)
                times[name].append(time.perf_counter() - began)
                assert said.content[0].text == "paid 120.0"
        spent_us = proxies_cpu_us() - spent_us
    for name, taken in times.items():
        row(name, taken, times["MCP server"])
    print(f"remit-client mcp took {spent_us / COUNT:.0f} us of a core for each call")


def proxies_cpu_us() -> float:
    """Microseconds of a core that our proxy has taken so far; 0 where there is no /proc."""
    listed = Path("/proc/self/task").glob("*/children")
    children = [Path("/proc", child) for one in listed for child in one.read_text().split()]
    ours = [child for child in children if PROXY in (child / "cmdline").read_text()]
    spent_ns = [int(one.read_text().split()[0]) for child in ours for one in child.glob("task/*/schedstat")]
    return sum(spent_ns) / 1000


def main() -> None:
    """Prints the table."""
    with Remit(timeout=20) as remit:
        agent = remit.send(calls.create_agent("latency")).id
        remit.send(calls.create_policy(agent, "refunds", [{"type": "tool_allowlist", "tools": ["refund_create"]}]))
        print(f"{'':34} {'p50 ms':>8} {'added ms':>9} {'x baseline':>10}")
        ask_over_http(remit, agent)
        asyncio.run(call_over_mcp(agent))


if __name__ == "__main__":
    main()
