"""What does each further condition of a policy cost over the same policy without it?"""

from typing import Any

import msgspec
from msgspec import Struct

from app.model.policies import PolicyKind, PolicyMode
from bench.harness.bench import Bench, decisions, forget_entries
from bench.harness.closed_loop import COLUMNS, Call
from bench.harness.population import ENOUGH, PATH, TOOL, Place, PolicySketch, make_place
from bench.harness.table import Row, Table, take_turns

PLAIN = "one quota, without context"
WITHOUT = "the same call without it"
MORE_SERVICE, MORE_STORE = "more service us", "more store us"
ITEMS, PROPERTIES, QUOTAS = 100, 30, 3
CONNECTIONS = 2
"""Few enough that a second has fewer calls than a budget may have live entries."""
BASE: list[dict[str, Any]] = [
    {"type": "tool_allowlist", "tools": ["payments.*"]},
    {"type": "rate_limit", "tools": ["payments.*"], "rateLimit": ENOUGH},
]
SMALL: dict[str, Any] = {"amount": 120, "currency": "EUR", "order": "A-10293", "note": "damaged on arrival"}
REQUEST = "Refund what arrived damaged, and keep the rest. " * 84 + "It was order A-10293, thanks."
SESSION: dict[str, Any] = {"session": "conversation 7"}
USERS: dict[str, Any] = {"user": "ann", "team": "refunds", "session": "conversation 7"}


class Condition(Struct, frozen=True):
    """Rules that a policy has in addition, and the call that is judged. parameters: None = those of a refund.

    shadow: rules of a guardrail in shadow mode next to that policy.
    """

    rules: list[dict[str, Any]]
    parameters: dict[str, Any] | None = None
    context: dict[str, Any] | None = None
    shadow: list[dict[str, Any]] = []


def measure(bench: Bench) -> Table:
    """Each condition in turns with the same call under the policy without it, by the CPU time of both processes."""
    with bench.running_store("language") as store, bench.replica(store) as replica:
        places: list[Place] = []

        def target_of(name: str, held: Condition, shadow: list[dict[str, Any]], *rules: dict[str, Any]) -> Any:
            policies = [PolicySketch([*BASE, *rules])]
            if shadow:
                policies.append(PolicySketch(shadow, kind=PolicyKind.GUARDRAIL, mode=PolicyMode.SHADOW))
            place = make_place(store.url, name, policies)
            places.append(place)
            return decisions(replica, store, [_call(place, held)])

        targets = {PLAIN: target_of("plain", Condition([]), [])}
        for name, held in CONDITIONS.items():
            targets[name] = target_of(name, held, held.shadow, *held.rules)
            targets[f"{name}: {WITHOUT}"] = target_of(f"without {name}", held, [])
        forget = forget_entries(store, places)
        turns = {name: bench.turn(target, CONNECTIONS, forget) for name, target in targets.items()}
        rows = take_turns(turns, bench.rounds)
    return Table(
        name="language",
        question="what does each kind of condition add to the cost of a decision?",
        command=bench.command,
        columns={
            "service us": COLUMNS["service us"],
            "store us": COLUMNS["store us"],
            MORE_SERVICE: "+.1f",
            MORE_STORE: "+.1f",
        },
        rows=_with_differences(rows),
        baseline=PLAIN,
        compared="service us",
        first_column="Condition",
        left_out=[
            (
                "`more …` is the CPU time of a decision with the condition, minus that of the same "
                "call under the same policy without it, in the same round. Both pay for a larger "
                "body."
            ),
            f"There are only {CONNECTIONS} connections, so calls go to the store one by one, not in batches.",
        ],
    )


def _call(place: Place, held: Condition) -> Call:
    body: dict[str, Any] = {
        "agent_id": place.agent_id,
        "tool_name": TOOL,
        "action": "call",
        "parameters": SMALL if held.parameters is None else held.parameters,
    }
    if held.context is not None:
        body["context"] = held.context
    return Call(PATH, msgspec.json.encode(body), place.raw_key)


def _with_differences(rows: list[Row]) -> list[Row]:
    """The rows, with each condition's cost over the row without it, which is kept for reference."""
    by_name = {row.label: row for row in rows}
    for name in CONDITIONS:
        without = by_name[f"{name}: {WITHOUT}"]
        for mine, theirs in zip(by_name[name].samples, without.samples, strict=True):
            mine[MORE_SERVICE] = mine["service us"] - theirs["service us"]
            mine[MORE_STORE] = mine["store us"] - theirs["store us"]
    return rows


def _per(number: int) -> dict[str, Any]:
    """A limit per value of three fields; `number` makes it differ from the others."""
    limit = ENOUGH | {"per": ["tool", "parameters.currency", "context.user"]}
    return {"type": "rate_limit", "tools": ["payments.*", f"other{number}"], "rateLimit": limit}


_BUDGET = {"parameter": "amount", "max": 1_000_000_000, "windowSeconds": 1}
_PROPERTIES = {f"field{number}": {"type": "string", "maxLength": 40} for number in range(PROPERTIES)}
_SCHEMA = {"type": "object", "properties": _PROPERTIES, "required": sorted(_PROPERTIES), "additionalProperties": False}
_ONE_MORE = {"type": "rate_limit", "tools": [TOOL, "other"], "rateLimit": ENOUGH}
CONDITIONS = {
    "one plain quota more": Condition([_ONE_MORE]),
    f"an array of {ITEMS}, each element bounded": Condition(
        [{"type": "parameter_constraint", "tools": [TOOL], "parameters": {"items[*].amount": {"min": 0, "max": 500}}}],
        {"items": [{"amount": number} for number in range(ITEMS)]},
    ),
    f"a schema of {PROPERTIES} properties": Condition(
        [{"type": "parameter_schema", "tools": [TOOL], "schema": _SCHEMA}],
        {name: f"value of {name}" for name in _PROPERTIES},
    ),
    f"{QUOTAS} quotas with `per`": Condition([_per(number) for number in range(QUOTAS)], context=USERS),
    "a budget": Condition([{"type": "budget", "tools": ["payments.*"], "budget": _BUDGET}]),
    "a sequence, asked": Condition(
        [{"type": "sequence", "tools": ["payments.*"], "sequence": {"forbiddenAfter": ["mail.*"]}}], context=SESSION
    ),
    "a sequence for which the call is remembered": Condition(
        [{"type": "sequence", "tools": ["other"], "sequence": {"forbiddenAfter": ["payments.*"]}}], context=SESSION
    ),
    f"a value found in a request of {len(REQUEST)} characters": Condition(
        [{"type": "parameter_constraint", "tools": [TOOL], "parameters": {"order": {"fromRequest": "exact"}}}],
        context={"request": REQUEST},
    ),
    f"a text found in a request of {len(REQUEST)} characters": Condition(
        [{"type": "parameter_constraint", "tools": [TOOL], "parameters": {"note": {"fromRequest": "text"}}}],
        {**SMALL, "note": "what ARRIVED damaged"},
        context={"request": REQUEST},
    ),
    "a shadow policy that would deny": Condition([], shadow=[{"type": "tool_denylist", "tools": [TOOL]}]),
    "a shadow policy with a quota": Condition([], shadow=[_ONE_MORE]),
    "a context of three values, one compared": Condition(
        [{"type": "parameter_constraint", "tools": [TOOL], "context": {"team": {"enum": ["refunds", "support"]}}}],
        context=USERS,
    ),
}
