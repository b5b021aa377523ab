"""What is judged is what runs: programs that read a request differently run no call that a rule would refuse."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.stores
HERE = Path(__file__).parent
MOST = 500
TOOL = "money.pay"
GRANT = {"type": "tool_allowlist", "tools": [TOOL, "money.look"]}
RULE = {"type": "parameter_constraint", "tools": ["*"], "parameters": {"amount": {"max": MOST, "required": False}}}
SCHEMA = {"type": "parameter_schema", "tools": ["*"], "schema": {"properties": {"amount": {"maximum": MOST}}}}
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
LONG = 2**53 + 1
"""A whole number that no double equals."""

CALL = '"tool_name": "money.pay", "parameters": %s'
ASKED = '"action": {"name": "pay"}, "resource": {"type": "money", "id": "1", "properties": %s}'
WAYS = {
    "authorize": '{"agent_id": "AGENT", ' + CALL + "}",
    "batch": '{"calls": [{"agent_id": "AGENT", ' + CALL + "}]}",
    "hook": '{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "money.pay", "tool_input": %s}',
    "evaluation": '{"subject": {"type": "agent", "id": "AGENT"}, ' + ASKED + "}",
    "evaluations": '{"subject": {"type": "agent", "id": "AGENT"}, "evaluations": [{' + ASKED + "}]}",
}
"""The body of each way in, around the parameters."""

EVIL = {"amount": 9000}
ENTITY = f'"resource": {{"type": "money", "id": "1", "properties": {PLAIN}}}'
STOLEN = {"type": "money", "id": "1", "properties": EVIL}
OTHER = {"subject": {"type": "agent", "id": "AGENT"}, "action": {"name": "steal"}, "resource": STOLEN}
NAME, VALUES = '"tool_name": "money.pay"', f'"parameters": {PLAIN}'
TWINS = {
    "authorize": [
        (VALUES, EVIL, ["parameters", "Parameters", "parameter\\u017f", "p\\u0061rameters", "parameters\\u0000"]),
        (NAME, "steal", ["tool_name", "Tool_Name"]),
    ],
    "batch": [
        (None, [{"agent_id": "AGENT", "tool_name": "steal"}], ["calls", "Calls", "c\\u0061lls", "call\\u017f"]),
        (VALUES, EVIL, ["Parameters"]),
        (NAME, "steal", ["Tool_Name"]),
    ],
    "hook": [
        (f'"tool_input": {PLAIN}', EVIL, ["tool_input", "Tool_Input"]),
        (NAME, "steal", ["tool_name", "TOOL_NAME"]),
    ],
    "evaluation": [
        (ENTITY, STOLEN, ["resource", "Resource"]),
        ('"action": {"name": "pay"}', {"name": "steal"}, ["Action"]),
        (f'"properties": {PLAIN}', EVIL, ["properties", "Properties", "propertie\\u017f"]),
        ('"name": "pay"', "steal", ["name", "Name"]),
        ('"type": "money"', "steal", ["Type"]),
    ],
    "evaluations": [
        (None, [OTHER], ["evaluations", "Evaluations", "evaluation\\u017f"]),
        (ENTITY, STOLEN, ["resource", "Resource"]),
        (f'"properties": {PLAIN}', EVIL, ["Properties"]),
        ('"name": "pay"', "steal", ["Name"]),
    ],
}
"""For each way in: a member of the request itself (None: the list), the value of its twin, and the twin's names."""


def first_one_wins(pairs):
    """The reading of parsers that keep the first of two equal names."""
    return dict(reversed(pairs))


def of_python(way, body, **options):
    def asked(each):
        return f"{each['resource']['type']}.{each['action']['name']}", each["resource"].get("properties", {})

    readers = {
        "authorize": lambda body: [(body["tool_name"], body.get("parameters", {}))],
        "batch": lambda body: [(each["tool_name"], each.get("parameters", {})) for each in body["calls"]],
        "hook": lambda body: [(body["tool_name"], body["tool_input"])],
        "evaluation": lambda body: [asked(body)],
        "evaluations": lambda body: [asked(each) for each in body["evaluations"]],
    }
    try:
        ran = readers[way](json.loads(body, **options))
    except (ValueError, LookupError, TypeError, AttributeError):
        return []
    return [[tool, given.get("amount") if type(given.get("amount")) in (int, float) else None] for tool, given in ran]


def attacks(way):
    """The texts of all attacks, by name."""
    found = {name: WAYS[way] % text for name, text in ATTACKS.items()}
    plain = WAYS[way] % PLAIN
    for member, value, names in TWINS[way]:
        own = plain[plain.index(f'"{way if way == "evaluations" else "calls"}": [') : -1] if member is None else member
        for name in names:
            twin = f'"{name}": {json.dumps(value)}'
            found[f"{name}, then {own:.20}"] = plain.replace(own, f"{twin}, {own}")
            found[f"{own:.20}, then {name}"] = plain.replace(own, f"{own}, {twin}")
    return found


TEXTS = {way: attacks(way) for way in WAYS}


def longs(way):
    """A call with the long number, and one with the next that is a double."""
    return [WAYS[way] % json.dumps({"amount": number}) for number in (LONG, LONG - 1)]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What each receiver runs for each body: one process of each kind reads all."""
    texts = [(way, text) for way, texts in TEXTS.items() for text in (WAYS[way] % PLAIN, *longs(way), *texts.values())]
    folder = tmp_path_factory.mktemp("receivers")
    go, node = shutil.which("go"), shutil.which("node")
    if go is None or node is None:
        pytest.skip("go or node is missing")
    env = {"GOCACHE": str(folder), "PATH": "/usr/bin:/bin", "GO111MODULE": "off"}
    built = [go, "build", "-o", str(folder / "receiver"), str(HERE / "receiver.go")]
    subprocess.run(built, env=env, check=True)

    def read_by(*command):
        lines = "\n".join(f"{way}\t{text}" for way, text in texts)
        ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return dict(zip(texts, map(json.loads, ran.stdout.splitlines()), strict=True))

    return {
        "Go": read_by(str(folder / "receiver")),
        "Node": read_by(node, str(HERE / "receiver.mjs")),
        "Python": {each: of_python(*each) for each in texts},
        "the first of two": {each: of_python(*each, object_pairs_hook=first_one_wins) for each in texts},
    }


def is_allowed(tenant, agent, way, text):
    body = text.replace("AGENT", agent).encode()
    paths = {"authorize": "/v1/authorize", "batch": "/v1/authorize/batch", "hook": "/v1/hooks/claude-code"}
    path = paths.get(way, f"/access/v1/{way}")
    headers = {"X-Remit-Agent": agent, "Content-Type": "application/json"}
    answer = tenant.reader.post(path, content=body, headers=headers)
    if answer.status_code != 200:
        return False
    said = answer.json()
    return {
        "authorize": lambda: said["allowed"],
        "batch": lambda: any(each["decision"]["allowed"] for each in said["results"]),
        "hook": lambda: said["hookSpecificOutput"]["permissionDecision"] == "allow",
        "evaluation": lambda: said["decision"],
        "evaluations": lambda: any(each["decision"] for each in said["evaluations"]),
    }[way]()


def is_wrong(calls):
    return any(tool not in (TOOL, "") or (amount or 0) > MOST for tool, amount in calls)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", [RULE, SCHEMA], ids=["constraint", "schema"])
def test_no_receiver_runs_what_was_not_judged(tenant, ran, way, rule):
    """Whatever is allowed, each receiver runs that tool with an amount within the bound, or nothing."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, GRANT, rule)
    assert is_allowed(tenant, agent, way, WAYS[way] % PLAIN)
    allowed = [name for name, text in TEXTS[way].items() if is_allowed(tenant, agent, way, text)]
    wrong = {
        (name, receiver): calls[way, TEXTS[way][name]]
        for name in allowed
        for receiver, calls in ran.items()
        if is_wrong(calls[way, TEXTS[way][name]])
    }
    assert wrong == {}


@pytest.mark.parametrize("way", WAYS)
def test_each_receiver_would_run_some_attack(ran, way):
    """Without Remit, so the receivers do read differently."""
    for receiver, calls in ran.items():
        assert calls[way, WAYS[way] % PLAIN] == [[TOOL, MOST]], receiver
        assert any(is_wrong(calls[way, text]) for text in TEXTS[way].values()), receiver
    case = WAYS[way] % ATTACKS["letter case"]
    assert (ran["Go"][way, case], ran["Node"][way, case]) == ([[TOOL, 9000]], [[TOOL, 1]])
    first = WAYS[way] % ATTACKS["a duplicate first"]
    assert ran["the first of two"][way, first] == [[TOOL, 9000]]
    for names in (names for _, _, names in TWINS[way]):
        for name in names:
            assert (
                any(is_wrong(ran["Go"][way, text]) for called, text in TEXTS[way].items() if name in called)
                or "0" in name
            )


@pytest.mark.parametrize("way", WAYS)
def test_of_a_long_whole_number_every_digit_is_judged(tenant, ran, way):
    """A program that reads numbers as doubles runs the next one, which the page says; so send such numbers as texts."""
    agent = tenant.new_agent()["id"]
    only = {"type": "parameter_constraint", "tools": ["*"], "parameters": {"amount": {"enum": [LONG, str(LONG)]}}}
    tenant.new_policy(agent, GRANT, only)
    long, next_to_it = longs(way)
    as_text = long.replace(str(LONG), f'"{LONG}"')
    assert [is_allowed(tenant, agent, way, text) for text in (long, next_to_it, as_text)] == [True, False, True]
    amounts = {receiver: calls[way, long] for receiver, calls in ran.items()}
    assert amounts["Python"] == [[TOOL, LONG]]
    assert amounts["Node"] == amounts["Go"] == ran["Node"][way, next_to_it] == [[TOOL, LONG - 1]]
