"""The proxy between real MCP clients and servers, and between plain lines for claims about the wire itself."""

import json
import os
import socket
import subprocess
import sys
import time
import tty
from pathlib import Path

import anyio
import pytest
from cases import CASES, YES
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import ElicitResult
from service import answer, free_port

from remit_client import calls

HERE = Path(__file__).parent
PROXY = str(Path(sys.executable).parent / "remit-client")
KEY = "svc_" + "0" * 32
ESCALATED = YES | {"allowed": False, "result": "escalated", "approval": {"id": "a1", "status": "pending"}}
EVERY_TOOL = [{"type": "tool_denylist", "tools": ["refund_delete"]}, {"type": "tool_allowlist", "tools": ["*"]}]


def environment(url, key=KEY):
    kept = {name: os.environ[name] for name in ("PATH", "SSL_CERT_FILE", "HTTPS_PROXY") if name in os.environ}
    return {**kept, "REMIT_URL": url, "REMIT_API_KEY": key}


class Lines:
    """The proxy in front of the echo server, as a client that writes and reads lines."""

    def __init__(self, url, *options, tools=2, key=KEY):
        command = [PROXY, "mcp", "--agent", "desk", "--session", "s1", *options, "--"]
        command += [sys.executable, HERE / "echo_server.py", str(tools)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment(url, key), stdin=pipe, stdout=pipe, stderr=pipe)
        self.started = self.read()

    def send(self, message):
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def call(self, number=1, name="tool_0", arguments=None, **params):
        params = {"name": name, "arguments": arguments or {}, **params}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(20)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


@pytest.fixture
def lines():
    opened = []

    def open_lines(*args, **options):
        opened.append(Lines(*args, **options))
        return opened[-1]

    yield open_lines
    for one in opened:
        if one.process.poll() is None:
            one.close()


class TestWhatPasses:
    """Messages arrive equal as JSON, whatever is in them."""

    @pytest.mark.parametrize(
        "raw",
        [
            '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2099","x":{"y":[null]}},"z":1}',
            '{"jsonrpc":"2.0","method":"notifications/initialized"}',
            '{"jsonrpc":"2.0","id":"a","method":"sampling/new","params":{"n":1.0,"big":12345678901234567890123}}',
            '{ "jsonrpc" : "2.0", "id" : 2, "method" : "resources/list", "params" : {"uri":"x:\\u00fc\\ud83d\\ude00"}}',
            '{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"a":1e2,"b":-0.0,"c":"\\u2028"}}',
            '{"jsonrpc":"2.0","id":5,"result":{"action":"accept","content":{"x":1}},"unknown":true}',
            '{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"no","data":{"x":[1,{}]},"more":1}}',
            '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99,"reason":"r"}}',
            '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":0.5}}',
        ],
    )
    def test_to_the_server_and_back(self, raw, lines, faulty):
        talk = lines(faulty(None).url)
        talk.send(raw.encode())
        assert talk.read()["params"]["line"] == raw + "\n"
        answered = raw.replace('"id":2', '"id":77')
        wanted = json.dumps({"jsonrpc": "2.0", "method": "x/answer", "params": {"raw": answered}})
        talk.send(wanted.encode())
        talk.read()
        assert talk.process.stdout.readline().decode() == answered + "\n"

    def test_a_carriage_return_cannot_hide_a_call(self, lines, faulty):
        """A server that ends lines there would find a call in the middle of a harmless message."""
        hidden = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"tool_0"}}'
        talk = lines(faulty(None).url)
        talk.send(b'{"jsonrpc":"2.0","method":"x","params":{"a":[1,\r' + hidden + b"\r]}}")
        assert "\r" not in talk.read()["params"]["line"]

    @pytest.mark.parametrize(
        "raw",
        [
            b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"tool_0"}}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_0","name":"tool_1"}}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"a":2}}}',
            b'[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_0"}}]',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":NaN}}}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1e999}}}',
            b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
            b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"tool_0"}}',
            b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"tool_0"}}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["tool_0"]}}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_0","arguments":[1]}}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["tool_0"]}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call"',
            b"[" * 100_000,
        ],
    )
    def test_what_two_readers_could_understand_differently_does_not_pass(self, raw, lines, faulty):
        talk = lines(faulty(answer(200, YES)).url)
        talk.send(raw)
        assert talk.read()["error"]["code"] == -32600
        talk.send({"jsonrpc": "2.0", "method": "next"})
        assert json.loads(talk.read()["params"]["line"])["method"] == "next", "the server has seen nothing before it"

    def test_the_server_does_not_get_our_key(self, lines, faulty):
        assert lines(faulty(None).url).started["params"] == {"key": None}

    def test_in_a_terminal(self, faulty):
        """Threads read and write a terminal, because the event loop would change its mode."""
        ours, theirs = os.openpty()
        tty.setraw(theirs)
        command = [PROXY, "mcp", "--agent", "desk", "--", sys.executable, HERE / "echo_server.py"]
        env = environment(faulty(answer(200, YES)).url)
        with (
            os.fdopen(theirs, "rb", 0) as given,
            os.fdopen(ours, "r+b", 0) as terminal,
            subprocess.Popen(command, env=env, stdin=given, stdout=given, stderr=subprocess.PIPE) as process,
        ):
            terminal.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_0"}}\n')
            said = b""
            while b'"result"' not in said:
                said += terminal.read(1 << 16)
            assert [json.loads(line).get("id") for line in said.splitlines()] == [None, None, 1]
            assert os.get_blocking(theirs)
            process.terminate()
            assert process.wait(20) == 0


class TestWhatIsJudged:
    """tools/call and tools/list."""

    def test_an_allowed_call_passes_exactly_as_it_was_judged(self, lines, faulty):
        service = faulty(answer(200, YES))
        talk = lines(service.url)
        talk.call(1, arguments={"amount": 1.0, "é": [None]}, _meta={"progressToken": 5}, task={"ttl": 1})
        passed = json.loads(talk.read()["params"]["line"])
        assert passed["params"]["_meta"] == {"progressToken": 5}
        assert passed["params"]["task"] == {"ttl": 1}
        asked = json.loads(service.asked[-1].partition(b"\r\n\r\n")[2])
        assert asked["parameters"] == passed["params"]["arguments"]
        assert (asked["agent_id"], asked["tool_name"], asked["context"]) == ("desk", "tool_0", {"session": "s1"})
        assert talk.read()["id"] == 1

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_no_call_passes_without_a_yes(self, case, lines, at):
        """The cases of test_fails_closed.py; the model reads each as the tool's own error."""
        talk = lines(at(case), "--timeout", "0.3")
        talk.call()
        said = talk.read()
        assert said["result"]["isError"] is True
        assert "was not run" in said["result"]["content"][0]["text"]
        talk.send({"jsonrpc": "2.0", "method": "next"})
        assert json.loads(talk.read()["params"]["line"])["method"] == "next"

    def test_an_escalated_call_waits_and_runs_when_it_is_approved(self, lines, faulty):
        approved = {"id": "a1", "status": "approved"}
        talk = lines(faulty(answer(200, ESCALATED), answer(200, approved), answer(200, YES)).url, "--wait", "20")
        talk.call(arguments={"a": 1})
        assert json.loads(talk.read()["params"]["line"])["params"]["arguments"] == {"a": 1}

    def test_a_long_wait_reports_progress(self, lines, faulty):
        talk = lines(faulty(answer(200, ESCALATED), None).url, "--wait", "30")
        talk.call(_meta={"progressToken": "p"})
        said = talk.read()
        assert (said["method"], said["params"]["progressToken"]) == ("notifications/progress", "p")

    def test_a_call_that_is_cancelled_while_it_waits_never_runs(self, lines, faulty):
        service = faulty(None)
        talk = lines(service.url, "--timeout", "60")
        talk.call(1)
        assert service.was_asked.wait(10)
        talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        talk.send({"jsonrpc": "2.0", "method": "next"})
        assert json.loads(talk.read()["params"]["line"])["method"] == "next"

    def test_two_calls_with_one_id_are_not_confused(self, lines, faulty):
        talk = lines(faulty(None).url, "--timeout", "60")
        talk.call(1)
        talk.call(1, "tool_1")
        assert "in use" in talk.read()["error"]["message"]

    def test_tools_that_can_never_be_allowed_are_hidden_and_approvals_announced(self, lines, faulty):
        statuses = {"tools": [{"name": "tool_0", "status": "denied"}, {"name": "tool_1", "status": "escalated"}]}
        talk = lines(faulty(answer(200, statuses)).url, tools=3)
        talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        talk.read()
        said = talk.read()["result"]
        assert [tool["name"] for tool in said["tools"]] == ["tool_1", "tool_2"]
        assert "A person must approve" in said["tools"][0]["description"]
        assert said["tools"][1] == {"name": "tool_2", "description": "d", "x-new": [1]}
        assert (said["nextCursor"], said["x"]) == ("n", {"y": 1})

    def test_the_service_itself_says_what_is_hidden_and_announced(self, lines, service, admin):
        """According to the agent's policies, for a key that may ask only about this agent, and without a catalogue."""
        agent = admin.send(calls.create_agent("listed", alias="listed")).id
        rules = [
            {"type": "tool_denylist", "tools": ["tool_0"]},
            {"type": "approval_required", "tools": ["tool_1"]},
            {"type": "parameter_constraint", "tools": ["tool_2"], "parameters": {"amount": {"min": 1, "max": 5}}},
        ]
        admin.send(calls.create_policy(agent, "tools", rules))
        key = admin.send(calls.create_api_key("laptop", ["authorize"], agents=[agent])).key
        talk = lines(service.url, "--agent", "listed", tools=4, key=key)
        talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        talk.read()
        shown = {tool["name"]: tool["description"] for tool in talk.read()["result"]["tools"]}
        assert list(shown) == ["tool_1", "tool_2"]
        assert ["A person must approve" in text for text in shown.values()] == [True, False]

    def test_tools_are_printed_for_the_catalogue_under_the_names_of_policies(self, admin):
        """All pages of them, and nothing else; no agent and no service is needed."""
        command = [PROXY, "mcp", "--print-tools", "--tool-prefix", "desk.", "--"]
        done = subprocess.run(
            [*command, sys.executable, HERE / "thousand_server.py"], env=environment("http://127.0.0.1:1"),
            capture_output=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        tools = json.loads(done.stdout)["tools"]
        assert (len(tools), tools[0]["name"], tools[-1]["name"]) == (1000, "desk.changed", "desk.tool_994")
        added = admin.send(calls.put_catalog(tools[:3]))["added"]
        assert added == sorted(tool["name"] for tool in tools[:3])
        for name in added:
            admin.send(calls.delete_catalog_tool(name))

    def test_a_thousand_tools_are_listed(self, lines, faulty):
        statuses = {"tools": [{"name": f"tool_{number}", "status": "denied"} for number in range(0, 1000, 2)]}
        talk = lines(faulty(answer(200, statuses)).url, tools=1000)
        talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        talk.read()
        assert len(talk.read()["result"]["tools"]) == 500

    def test_an_argument_of_a_mebibyte_passes(self, lines, faulty):
        talk = lines(faulty(answer(200, YES)).url)
        talk.call(arguments={"text": "é" * (1 << 19)})
        talk.read()
        assert json.loads(talk.read()["result"]["content"][0]["text"]) == {"text": "é" * (1 << 19)}


class TestWhoLeavesFirst:
    """Neither side waits for one that has disconnected."""

    def test_a_server_that_crashes_fails_what_was_open(self, lines, faulty):
        talk = lines(faulty(None).url, "--timeout", "60")
        talk.call(1)
        talk.send({"jsonrpc": "2.0", "id": "open", "method": "resources/list"})
        talk.read()
        talk.send({"jsonrpc": "2.0", "id": 3, "method": "x/crash"})
        talk.read()
        failed = {one["id"]: one["error"]["message"] for one in (talk.read(), talk.read(), talk.read())}
        assert failed.keys() == {1, "open", 3}
        assert "exit code 7" in failed["open"]
        assert talk.process.wait(20) == 1

    def test_a_client_that_goes_ends_the_server(self, lines, faulty):
        talk = lines(faulty(None).url, "--timeout", "60")
        talk.call(1)
        assert talk.close() == 0

    def test_a_client_that_is_killed_ends_both(self, lines, faulty):
        talk = lines(faulty(None).url)
        talk.process.stdout.close()
        talk.process.stdin.close()
        assert talk.process.wait(20) == 0

    @pytest.mark.parametrize("arguments", [[], ["--url", "http://x", "--", "true"], ["--context", "x", "--", "true"]])
    def test_a_mistake_in_the_configuration_is_named(self, arguments):
        ran = subprocess.run(
            [PROXY, "mcp", "--agent", "a", *arguments],
            env=environment("http://127.0.0.1:1"),
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 2
        assert "--" in ran.stderr

    def test_a_server_that_does_not_exist_is_named(self):
        ran = subprocess.run(
            [PROXY, "mcp", "--agent", "a", "--", "no-such-server"],
            env=environment("http://127.0.0.1:1"),
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 2
        assert "no-such-server" in ran.stderr


@pytest.fixture
def desk(admin):
    made = admin.send(calls.create_agent("desk"))
    admin.send(calls.create_policy(made.id, "all but sleep", EVERY_TOOL))
    return made.id


@pytest.fixture(params=["stdio", "url"])
def proxied(request, service, asking_key, desk):
    """The transport of an SDK client to the proxy, in front of the SDK's server."""
    server = None
    target = ["--", sys.executable, str(HERE / "sdk_server.py")]
    if request.param == "url":
        port = free_port()
        server = subprocess.Popen([sys.executable, HERE / "sdk_server.py", str(port)], stderr=subprocess.DEVNULL)
        _wait_for(port)
        target = ["--url", f"http://127.0.0.1:{port}/mcp"]
    options = ["mcp", "--agent", desk, "--timeout", "20", *target]
    yield StdioServerParameters(command=PROXY, args=options, env=environment(service.url, asking_key))
    if server is not None:
        server.terminate()
        server.wait(20)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_sdk_client_and_server_do_not_notice(proxied, mode, admin, desk):
    """Handshake, tools, progress, resources, prompts and large arguments, over both transports and protocol eras."""

    async def elicit(context, params):
        return ElicitResult(action="accept", content={"sure": True})

    seen = []

    async def progress(number, total, message):
        seen.append(message)

    async with Client(stdio_client(proxied), mode=mode, elicitation_callback=elicit) as client:
        assert "refund_create" in {tool.name for tool in (await client.list_tools()).tools}
        said = await client.call_tool("refund_create", {"amount": 5})
        assert said.content[0].text == "paid 5.0"
        assert (await client.call_tool("count", {}, progress_callback=progress)).content[0].text == "counted"
        assert seen == ["step 0", "step 1", "step 2"]
        assert (await client.read_resource("desk://note")).contents[0].text == "remember"
        assert "Ann" in (await client.get_prompt("greeting", {"name": "Ann"})).messages[0].content.text
        assert (await client.call_tool("length", {"text": "é" * (1 << 19)})).content[0].text == str(1 << 19)
        if mode == "legacy":
            assert "accept" in (await client.call_tool("ask", {})).content[0].text
        admin.send(calls.create_policy(desk, "closed", [{"type": "tool_denylist", "tools": ["refund_create"]}]))
        denied = await client.call_tool("refund_create", {"amount": 5})
        assert denied.is_error
        assert 'on the denylist of policy "closed"' in denied.content[0].text
        with anyio.move_on_after(1):
            await client.call_tool("sleep", {})
        assert (await client.call_tool("count", {})).content[0].text == "counted", "after a call that was given up"


async def test_a_call_that_asks_its_client_takes_one_place(proxied, admin, desk):
    async def elicit(context, params):
        return ElicitResult(action="accept", content={})

    once = {"type": "rate_limit", "tools": ["sure"], "rateLimit": {"maxCalls": 1, "windowSeconds": 3600}}
    admin.send(calls.create_policy(desk, "once", [once]))
    async with Client(stdio_client(proxied), mode="auto", elicitation_callback=elicit) as client:
        said = [(await client.call_tool("sure", {})).content[0].text for _ in range(2)]
    assert said[0] == "done"
    assert "was not run" in said[1]


async def test_a_published_server_works_behind_it(service, asking_key, desk):
    """mcp-server-time, as anybody would start it."""
    command = [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"]
    args = ["mcp", "--agent", desk, "--timeout", "20", "--", *command]
    server = StdioServerParameters(command=PROXY, args=args, env=environment(service.url, asking_key))
    async with Client(stdio_client(server), mode="legacy") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"get_current_time", "convert_time"}
        asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        assert "21:00" in (await client.call_tool("convert_time", asked)).content[0].text


def _wait_for(port):
    until = time.monotonic() + 30
    with socket.socket() as probe:
        while probe.connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.05)
