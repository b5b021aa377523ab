"""Behind the proxy, servers in other languages run what was judged: they read JSON differently, and Remit decides."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from remit_client import calls

SERVERS = Path(__file__).parent / "servers"
MAIN = "from remit_client.mcp.command import main; main()"
RULES = [
    {"type": "tool_allowlist", "tools": ["pay", "note"]},
    {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"amount": {"max": 500, "required": False}}},
]
PLAIN = '{"amount": 500}'
ARGUMENTS = {
    "letter case": '{"amount": 1, "Amount": 9000}',
    "letter case first": '{"AMOUNT": 9000, "amount": 1}',
    "letter case alone": '{"aMount": 9000}',
    "a letter that folds": '{"amount": 1, "note": {"k": 1, "\\u212a": 2}}',
    "an escaped letter": '{"amount": 1, "\\u0041mount": 9000}',
    "a duplicate": '{"amount": 1, "amount": 9000}',
    "a duplicate first": '{"amount": 9000, "amount": 1}',
    "an escaped duplicate": '{"amount": 1, "\\u0061mount": 9000}',
    "a nested duplicate": '{"amount": 1, "note": [{"k": 1, "k": 2}]}',
    "a name that a NUL ends": '{"amount": 1, "amount\\u0000": 9000}',
    "NUL in a text": '{"note": "a\\u0000b"}',
    "half a surrogate pair": '{"note": "\\ud800"}',
    "half a surrogate pair in a name": '{"a\\ud800": 1, "a\\ud801": 2}',
    "a whole surrogate pair": '{"note": "\\ud83d\\ude00"}',
    "too large for a double": '{"note": 1e400}',
    "a whole number too large for a double": '{"note": 1' + "0" * 400 + "}",
    "a whole number that no double equals": '{"note": 9007199254740993}',
    "one below zero, nested": '{"note": [{"id": -9007199254740993}]}',
    "one that a double equals": '{"note": 9007199254740994, "amount": -9007199254740992}',
    "more digits than a double": '{"amount": 500.00000000000001}',
    "a double without digits": '{"note": 9007199254740993.0}',
    "zero below zero": '{"amount": -0}',
    "zero below zero with a fraction": '{"amount": -0.0}',
    "smaller than a double": '{"amount": 1e-400}',
    "an exponent": '{"amount": 9e3}',
    "infinity": '{"amount": Infinity}',
    "leading zeros": '{"amount": 09000}',
    "a comment": '{"amount": 1 /* } */, "Amount": 9000}',
    "line ends in a text": '{"note": "a\u2028b\u2029c\u0085d\\r\\n\\u2028"}',
    "a carriage return": '{"amount":\r1}',
}
CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":%s}}'
STEALS = '"params":{"name":"steal","arguments":{}}'
STOLEN = '"method":"tools/call",' + STEALS
PAID = '"params":{"name":"pay","arguments":{}}'
MESSAGES = {
    "a method twice": '{"jsonrpc":"2.0","id":1,"method":"ping",' + STOLEN + "}",
    "a method in another case": '{"jsonrpc":"2.0","id":1,"Method":"tools/call",' + STEALS + "}",
    "an escaped method": '{"jsonrpc":"2.0","id":1,"\\u006dethod":"tools\\/call",' + STEALS + "}",
    "params twice": '{"jsonrpc":"2.0","id":1,' + STOLEN + "," + PAID + "}",
    "params in another case": '{"jsonrpc":"2.0","id":1,"method":"tools/call",'
    + PAID
    + ',"PARAMS":{"name":"steal","arguments":{}}}',
    "a name twice": CALL % '{},"name":"steal"',
    "a name in another case": CALL % '{},"Name":"steal"',
    "arguments twice": CALL % '{"amount":1},"arguments":{"amount":9000}',
    "arguments in another case": CALL % '{"amount":1},"argument\\u017f":{"amount":9000}',
    "a batch": "[{" + '"jsonrpc":"2.0","id":1,' + STOLEN + "}]",
    "two documents": CALL % PLAIN + '{"jsonrpc":"2.0","id":1,' + STOLEN + "}",
    "a document after a carriage return": CALL % PLAIN + '\r{"jsonrpc":"2.0","id":1,' + STOLEN + "}",
    "a byte order mark": "\ufeff" + '{"jsonrpc":"2.0","id":1,' + STOLEN + "}",
    "an answer that is a call": '{"jsonrpc":"2.0","id":1,"result":{},"Method":"tools/call",' + PAID + "}",
}
PING = '{"jsonrpc":"2.0","id":"last","method":"ping"}'
LINES = {**{name: CALL % text for name, text in ARGUMENTS.items()}, **MESSAGES}


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """The command of each server."""
    go, node = shutil.which("go"), shutil.which("node")
    if go is None or node is None:
        pytest.skip("go or node is missing")
    folder = tmp_path_factory.mktemp("go")
    env = {"GOCACHE": str(folder), "PATH": os.environ["PATH"], "GO111MODULE": "off"}
    subprocess.run([go, "build", "-o", folder / "server", SERVERS / "server.go"], env=env, check=True)
    return {"Go": [str(folder / "server")], "Node": [node, str(SERVERS / "server.mjs")]}


class Talk:
    """A client of a server, which sends one line at a time."""

    def __init__(self, command, **env):
        pipe = subprocess.PIPE
        env = {"PATH": os.environ["PATH"], **env}
        self.process = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe)
        self._limit = threading.Timer(120, self.process.kill)
        self._limit.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._limit.cancel()
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def send(self, line):
        """What the server ran because of this line."""
        ran, answers = [], []
        for asked, ends in ((line, lambda _: True), (PING, lambda said: said["id"] == "last")):
            self.process.stdin.write(asked.encode() + b"\n")
            self.process.stdin.flush()
            while not answers or not ends(answers[-1]):
                said = json.loads(self.process.stdout.readline())
                if said.get("method") == "notifications/ran":
                    ran.append(said["params"]["ran"])
                else:
                    answers.append(said)
        return ran


@pytest.fixture
def proxied(service, admin, asking_key):
    """Starts the proxy in front of a server, for an agent of its own; gives both."""
    agent = admin.send(calls.create_agent("payer")).id
    admin.send(calls.create_policy(agent, "payments", RULES))

    def start(server):
        command = [sys.executable, "-c", MAIN, "mcp", "--agent", agent, "--timeout", "20", "--", *server]
        return agent, Talk(command, REMIT_URL=service.url, REMIT_API_KEY=asking_key)

    return start


@pytest.mark.parametrize("language", ["Go", "Node"])
def test_a_server_in_another_language_runs_what_was_judged(language, servers, proxied, admin):
    """Whatever the lines are, it runs, as it reads them, the calls that the log says were allowed, and no others."""
    agent, talk = proxied(servers[language])
    with talk:
        ran = {name: talk.send(line) for name, line in {"plain": CALL % PLAIN, **LINES}.items()}
    allowed = reversed(admin.send(calls.list_audit_logs(agent_id=agent, result="allowed")))
    judged = [[each.tool_name, each.parameters.get("amount"), each.parameters] for each in allowed]
    assert [call for each in ran.values() for call in each] == judged
    assert {name for name, each in ran.items() if each} == {
        "plain",
        "NUL in a text",
        "a whole surrogate pair",
        "one that a double equals",
        "more digits than a double",
        "a double without digits",
        "zero below zero",
        "zero below zero with a fraction",
        "smaller than a double",
        "line ends in a text",
        "a carriage return",
    }


def test_the_servers_read_differently(servers):
    """Without Remit each runs what no rule allows, and not for the same lines."""
    ran = {}
    for language, command in servers.items():
        with Talk(command) as talk:
            ran[language] = {name: talk.send(line) for name, line in LINES.items()}
    for name, go, node in [
        ("letter case", [9000], [1]),
        ("a method in another case", [None], []),
        ("a duplicate", [9000], [9000]),
        ("arguments in another case", [9000], [1]),
    ]:
        assert ([amount for _, amount, _ in ran["Go"][name]], [amount for _, amount, _ in ran["Node"][name]]) == (
            go,
            node,
        )
    for name in ("a method twice", "a name twice", "an escaped method"):
        assert ran["Go"][name][0][0] == ran["Node"][name][0][0] == "steal"
    assert ran["Node"]["a document after a carriage return"] != ran["Go"]["a document after a carriage return"]
