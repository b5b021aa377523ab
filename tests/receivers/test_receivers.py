"""What is judged is what runs: programs that read JSON differently run no amount that a rule would refuse."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.stores
HERE = Path(__file__).parent
MOST = 500
RULE = {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"amount": {"max": MOST, "required": False}}}
SCHEMA = {"type": "parameter_schema", "tools": ["pay"], "schema": {"properties": {"amount": {"maximum": MOST}}}}
ATTACKS = {
    "letter case": '{"amount": 1, "Amount": 9000}',
    "letter case first": '{"AMOUNT": 9000, "amount": 1}',
    "letter case alone": '{"aMount": 9000}',
    "an escaped letter": '{"amount": 1, "\\u0041mount": 9000}',
    "a duplicate": '{"amount": 1, "amount": 9000}',
    "a duplicate first": '{"amount": 9000, "amount": 1}',
    "an escaped duplicate": '{"amount": 1, "\\u0061mount": 9000}',
    "an escaped duplicate first": '{"\\u0061mount": 9000, "amount": 1}',
    "a name that a NUL ends": '{"amount": 1, "amount\\u0000": 9000}',
    "too large for a double": '{"amount": 1e999}',
    "infinity": '{"amount": Infinity}',
    "a large exponent": '{"amount": 9e3}',
    "hexadecimal": '{"amount": 0x2328}',
    "leading zeros": '{"amount": 09000}',
    "a text": '{"amount": "9000"}',
    "an array": '{"amount": [9000]}',
    "a comment": '{"amount": 1 /* } */, "Amount": 9000}',
    "two documents": '{"amount": 1}{"amount": 9000}',
    "a byte order mark": '\ufeff{"amount": 9000}',
    "half a surrogate pair": '{"amount\\ud800": 9000, "amount": 1}',
    "a bound's last digit": '{"amount": 500.00000000000001}',
}
PLAIN = '{"amount": 500}'


def first_one_wins(pairs):
    """The reading of parsers that keep the first of two equal names."""
    return dict(reversed(pairs))


def of_python(line, **options):
    try:
        amount = json.loads(line, **options).get("amount")
    except ValueError:
        return None
    return amount if type(amount) in (int, float) else None


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What each receiver runs for each text."""
    texts = [PLAIN, *ATTACKS.values()]
    folder = tmp_path_factory.mktemp("receivers")
    go, node = shutil.which("go"), shutil.which("node")
    if go is None or node is None:
        pytest.skip("go or node is missing")
    env = {"GOCACHE": str(folder), "PATH": "/usr/bin:/bin", "GO111MODULE": "off"}
    built = [go, "build", "-o", str(folder / "receiver"), str(HERE / "receiver.go")]
    subprocess.run(built, env=env, check=True)

    def read_by(*command):
        ran = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, check=True)
        return dict(zip(texts, map(json.loads, ran.stdout.splitlines()), strict=True))

    return {
        "Go": read_by(str(folder / "receiver")),
        "Node": read_by(node, str(HERE / "receiver.mjs")),
        "Python": {text: of_python(text) for text in texts},
        "the first of two": {text: of_python(text, object_pairs_hook=first_one_wins) for text in texts},
    }


def ask_authorize(tenant, agent, text):
    body = f'{{"agent_id": "{agent}", "tool_name": "pay", "parameters": {text}}}'
    answer = tenant.reader.post("/v1/authorize", content=body.encode())
    return answer.status_code == 200 and answer.json()["allowed"]


def ask_hook(tenant, agent, text):
    head = '"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "pay"'
    body = f'{{{head}, "tool_input": {text}}}'.encode()
    answer = tenant.reader.post("/v1/hooks/claude-code", content=body, headers={"X-Remit-Agent": agent})
    return answer.json()["hookSpecificOutput"]["permissionDecision"] == "allow"


@pytest.mark.parametrize("ask", [ask_authorize, ask_hook])
@pytest.mark.parametrize("rule", [RULE, SCHEMA], ids=["constraint", "schema"])
def test_no_receiver_runs_what_was_not_judged(tenant, ran, ask, rule):
    """Whatever is allowed, each receiver runs an amount within the bound, or none."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["pay"]}, rule)
    assert ask(tenant, agent, PLAIN)
    allowed = [name for name, text in ATTACKS.items() if ask(tenant, agent, text)]
    wrong = {
        (name, receiver): amounts[ATTACKS[name]]
        for name in allowed
        for receiver, amounts in ran.items()
        if (amounts[ATTACKS[name]] or 0) > MOST
    }
    assert wrong == {}


def test_each_receiver_would_run_some_attack(ran):
    """Without Remit, so the receivers do read differently."""
    for receiver, amounts in ran.items():
        assert amounts[PLAIN] == MOST
        assert any((amounts[text] or 0) > MOST for text in ATTACKS.values()), receiver
    assert ran["Go"][ATTACKS["letter case"]] == 9000
    assert ran["Node"][ATTACKS["letter case"]] == 1
    assert ran["the first of two"][ATTACKS["a duplicate first"]] == 9000
