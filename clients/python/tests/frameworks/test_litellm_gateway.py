"""The guardrail in LiteLLM's gateway itself, set up as its page says, with an MCP client and server of the SDK."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from cases import YES
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pages import blocks, output_of, without_ids
from service import ADMIN_KEY, FaultyServer, answer, free_port, problem

PAGE = "litellm.md"
GUARDRAIL, GATEWAY_KEYS, SERVER, PROGRAM = (text for kind, text in blocks(PAGE) if kind == "python")
[CONFIG] = (text for kind, text in blocks(PAGE) if kind == "yaml")
BIN = Path(sys.executable).parent
MASTER_KEY = "sk-" + "5eed" * 12
OFF = {"disable_global_guardrails": True, "opted_out_global_guardrails": ["remit"], "guardrails": []}
MORE_KEYS = f"""
KEYS["sk-nobody"] = {{"user_id": "ann"}}
KEYS["sk-off"] = KEYS["sk-desk"] | {{"metadata": {OFF}, "team_metadata": {OFF}}}
"""
PAID = {"order": "A1", "amount": 120}


class Gateway:
    """The program of the page's first half, in a folder with its files. ran: what the server's tools ran with."""

    def __init__(self, folder, agent, url, key):
        self.port = free_port()
        self._ran, self._log = folder / "ran", folder / "log"
        pays = '    return f"paid'
        writes = f"    open({str(self._ran)!r}, 'a').write(f'{{order}} {{amount}}\\n')\n"
        files = {
            "remit_guardrail.py": GUARDRAIL,
            "gateway_keys.py": GATEWAY_KEYS.replace('"refund-bot"', repr(agent)) + MORE_KEYS,
            "desk_server.py": SERVER.replace(pays, writes + pays),
            "config.yaml": CONFIG,
        }
        for name, text in files.items():
            (folder / name).write_text(text)
        own = {"LITELLM_MASTER_KEY": MASTER_KEY, "LITELLM_ENABLE_MCP_STDIO": "true"}
        quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": str(folder)}
        path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        command = [BIN / "litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(self.port)]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=own | quiet | path | {"REMIT_URL": url, "REMIT_API_KEY": key},
                stdout=log,
                stderr=log,
            )
        self._wait()

    def _wait(self):
        until = time.monotonic() + 600
        while time.monotonic() < until and self.process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/health/liveliness", timeout=30).status_code == 200:
                    return
            time.sleep(0.2)
        self.stop()
        raise RuntimeError(f"the gateway did not start: {self._log.read_text()[-2000:]}")

    def ran(self):
        return self._ran.read_text().splitlines() if self._ran.exists() else []

    def http(self, key):
        """A client for HTTP, with a key of the gateway."""
        base = f"http://127.0.0.1:{self.port}"
        return httpx.AsyncClient(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=120)

    @contextlib.asynccontextmanager
    async def connected(self, key="sk-desk", path="/mcp"):
        """A client for MCP, with a key of the gateway."""
        async with self.http(key) as http:
            address = f"{http.base_url}".rstrip("/") + path
            async with Client(streamable_http_client(address, http_client=http)) as desk:
                yield desk

    async def says(self, *calls, key="sk-desk", path="/mcp", **more):
        """What the caller reads of each call, through one connection."""
        async with self.connected(key, path) as desk:
            return [(await desk.call_tool(tool, given, **more)).content[0].text for tool, given in calls]

    def stop(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts gateways that ask a service at a URL."""
    with contextlib.ExitStack() as stack:

        def started(agent, url, key):
            gateway = Gateway(tmp_path_factory.mktemp("gateway"), agent, url, key)
            stack.callback(gateway.stop)
            return gateway

        yield started


def test_the_page_does_what_it_says(start, service, asking_key, agent, tmp_path):
    """Allowed, denied, waiting, approved; and listing the tools has asked Remit nothing."""
    gateway = start(agent, service.url, asking_key)
    program = PROGRAM.replace('"refund-bot"', repr(agent)).replace("4000", str(gateway.port))
    (tmp_path / "page.py").write_text(program)
    env = {"REMIT_URL": service.url, "PERSON_KEY": ADMIN_KEY, "PATH": os.environ["PATH"]}
    ran = subprocess.run([sys.executable, tmp_path / "page.py"], env=env, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert without_ids(ran.stdout) == without_ids(output_of(PAGE))
    assert gateway.ran() == ["A1 120"]


@pytest.fixture(scope="module")
def asked(start):
    """A gateway and the prepared service that it asks."""
    remit = FaultyServer(answer(200, YES))
    yield start("refund-bot", remit.url, "svc_" + "0" * 32), remit
    remit.close()


def sent(remit):
    return [json.loads(each.partition(b"\r\n\r\n")[2]) for each in remit.asked]


async def test_tools_are_listed_without_being_judged(asked):
    gateway, remit = asked
    remit.asked.clear()
    async with gateway.connected() as desk:
        assert [tool.name for tool in (await desk.list_tools()).tools] == ["desk-refund_create", "desk-mail_send"]
    assert remit.asked == []


async def test_a_tool_has_one_name_however_it_is_called(asked):
    """With and without its server's name, over the server's own address, and over the gateway's other API.

    Version 1.103 answers 500 there, and then neither asks nor runs anything.
    """
    gateway, remit = asked
    remit.asked.clear()
    await gateway.says(("desk-refund_create", PAID), ("refund_create", PAID))
    await gateway.says(("refund_create", PAID), path="/mcp/desk")
    body = {"server_id": "desk", "name": "desk-refund_create", "arguments": PAID, **OFF}
    async with gateway.http("sk-desk") as http:
        answered = await http.post("/mcp-rest/tools/call", json=body)
    calls = 3 + answered.is_success
    wanted = {"agent_id": "refund-bot", "tool_name": "refund_create", "parameters": PAID, "context": {"user": "ann"}}
    assert [{name: each[name] for name in wanted} for each in sent(remit)] == [wanted] * calls
    assert gateway.ran() == ["A1 120"] * calls


async def test_no_request_and_no_key_turns_it_off(asked):
    gateway, remit = asked
    remit.asked.clear()
    await gateway.says(("desk-refund_create", PAID), key="sk-off", meta=OFF)
    assert len(remit.asked) == 1


@pytest.mark.parametrize("key", ["sk-nobody", MASTER_KEY])
async def test_a_key_without_an_alias_calls_nothing(asked, key):
    gateway, remit = asked
    remit.asked.clear()
    before = gateway.ran()
    with contextlib.suppress(Exception):  # a key that the gateway does not know is refused by itself
        [said] = await gateway.says(("desk-refund_create", PAID), key=key)
        assert "neither the key nor its team has an alias" in said
    assert (remit.asked, gateway.ran()) == ([], before)


async def test_without_a_decision_the_tool_does_not_run(asked):
    gateway, remit = asked
    remit.answers[:] = [problem(503, "STORE_UNAVAILABLE")]
    before = gateway.ran()
    [said] = await gateway.says(("desk-refund_create", PAID))
    assert "The tool was not run." in said
    assert gateway.ran() == before
