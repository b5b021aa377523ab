"""Evaluation alone by the peers' libraries: the same two conditions on one tool, in process, without a server.

Prints JSON: library and version → [us with this policy alone, us behind 200 policies about other tools].
"""

import importlib.metadata
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import casbin  # type: ignore[import-not-found]
import cedarpy  # type: ignore[import-not-found]
from regopy import Interpreter  # type: ignore[import-not-found]

TOOL, OTHERS = "payments.refund", 200
GOOD = {"amount": 120, "currency": "EUR", "order": "A-10293", "note": "damaged on arrival"}
BAD = GOOD | {"amount": 501}
Ask = Callable[[dict[str, object]], bool]


def main() -> None:
    seconds = float(sys.argv[1])
    results = {}
    for name, make in (("cedarpy", cedar), ("pycasbin", pycasbin), ("regopy", rego)):
        times = [measured(make(others), seconds) for others in (0, OTHERS)]
        results[f"{name} {importlib.metadata.version(name)}"] = times
    print(json.dumps(results))


def measured(ask: Ask, seconds: float) -> float:
    """CPU time of an evaluation, us. Raises if an answer is wrong."""
    if not ask(GOOD) or ask(BAD):
        raise RuntimeError("wrong answer")
    calls, began = 0, time.process_time()
    while time.process_time() - began < seconds:
        for _ in range(20):
            ask(GOOD)
        calls += 20
    return (time.process_time() - began) / calls * 1e6


def cedar(others: int) -> Ask:
    rule = (
        'permit(principal, action == Action::"call", resource == Tool::"{tool}") when '
        '{{ context.amount >= 0 && context.amount <= 500 && context.currency like "E*" }};'
    )
    tools = [*(f"other.tool{n}" for n in range(others)), TOOL]
    policies = cedarpy.PolicySet.from_str("\n".join(rule.format(tool=tool) for tool in tools))
    entities = cedarpy.Entities.from_json_str("[]")

    def ask(parameters: dict[str, object]) -> bool:
        request = {
            "principal": 'Agent::"a"',
            "action": 'Action::"call"',
            "resource": f'Tool::"{TOOL}"',
            "context": parameters,
        }
        return bool(cedarpy.is_authorized(request, policies, entities).allowed)

    return ask


def pycasbin(others: int) -> Ask:
    model = """
[request_definition]
r = tool, call
[policy_definition]
p = tool, low, high, pattern
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.tool == p.tool && r.call.amount >= float(p.low) && r.call.amount <= float(p.high) && \
regexMatch(r.call.currency, p.pattern)
"""
    tools = [*(f"other.tool{n}" for n in range(others)), TOOL]
    with tempfile.TemporaryDirectory() as folder:
        model_path, policy_path = Path(folder, "model.conf"), Path(folder, "policy.csv")
        model_path.write_text(model)
        policy_path.write_text("".join(f"p, {tool}, 0, 500, ^[A-Z][A-Z][A-Z]$\n" for tool in tools))
        enforcer = casbin.Enforcer(str(model_path), str(policy_path))
    enforcer.add_function("float", float)

    class Call:
        def __init__(self, parameters: dict[str, object]) -> None:
            self.__dict__.update(parameters)

    def ask(parameters: dict[str, object]) -> bool:
        return bool(enforcer.enforce(TOOL, Call(parameters)))

    return ask


def rego(others: int) -> Ask:
    rule = (
        'allow if {{ input.tool == "{tool}"; input.amount >= 0; input.amount <= 500; '
        "regex.match(`^[A-Z]{{3}}$`, input.currency) }}"
    )
    tools = [*(f"other.tool{n}" for n in range(others)), TOOL]
    lines = ["package tools", "import rego.v1", "default allow := false"]
    interpreter = Interpreter()
    interpreter.add_module("tools", "\n".join(lines + [rule.format(tool=tool) for tool in tools]))
    bundle = interpreter.build(None, ["tools/allow"])

    def ask(parameters: dict[str, object]) -> bool:
        interpreter.set_input_term(json.dumps({"tool": TOOL} | parameters))
        output = interpreter.query_bundle_entrypoint(bundle, "tools/allow")
        return "true" in str(output)

    return ask


if __name__ == "__main__":
    main()
