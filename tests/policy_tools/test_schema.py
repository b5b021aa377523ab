"""The schema of policy files accepts what the service accepts and refuses what it refuses: fuzzed both ways.

Files that are right are changed at random, a few values at a time; then both are asked. What they may differ in is
named here, each with what the service says of it: JSON Schema compares no two fields and parses no name or number.
"""

import copy
import json
import re
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from app.model.text import FieldError
from app.model.whole_numbers import with_whole_numbers
from app.policy_tools.files.policy_file import PolicySetFile
from app.policy_tools.files.schema import schema

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema_rs.Draft202012Validator(schema(), validate_formats=True, ignore_unknown_formats=True)

LOOSER = {
    "a pattern in RE2 syntax": "is not a regular expression in RE2 syntax|contains an API key",
    "a time zone of the IANA": "is not an IANA time zone",
    "bounds that exclude each other": "nothing can satisfy it",
    "names of values": r"`\[`, `\]` and `\*` stand only|has an empty part|names more than",
    "a parameter with its kind": "names a parameter, without",
    "every value": r"goes with the name `\*\*`|`\*\*` is every value|`\*\*` can have",
    "a limit for many values": "stands for many values",
    "a schema in the file": "is not a JSON Schema of|must be https://json-schema.org|is not accepted|leads to no",
    "addresses, networks, hosts": "not an? (IP address or network|host name)|no domain|more than a host|no mailboxes",
    "dates": "is neither a date such as|ends before it begins",
    "a span of no length": "like `from`; a whole day is",
    "paths": "is not an absolute path",
    "letters that are not read alike": "are not read alike|has the invisible character|has the space",
    "six decimal places": "more than six decimal places",
    "whose an entry is": "is not the owner of these policies",
    "an id that occurs twice": "occurs twice",
    "an alias in the form of an id": "looks like a UUID",
    "what a shell line may run": (
        "what its first word says|runs other commands|changes how the shell|runs what it reads|must be one flag"
        "|lie below|is none of npx|give allow, deny or both|give the project's|home or the whole disk|may be one of"
        "|give under, not|be one name|words are in order|allows every other|name of a program|wherever the agent"
        "|is about the directories of"
    ),
}
"""What only the service refuses: by what it says."""
STRICTER = {
    "an agent's id in the file and in its entries": lambda value: '"agentId"' in json.dumps(value["policies"]),
    "times as GET shows them, which are not looked at": lambda value: "edAt" in json.dumps(value["policies"]),
}
"""What only the schema refuses."""

RULES = [
    {"type": "tool_allowlist", "tools": ["a", "get_*"], "when": {"parameters": {"x": {"equals": {"context": "y"}}}}},
    {
        "type": "tool_denylist",
        "tools": ["*"],
        "unless": {"context": {"env": {"enum": ["prod", 1, None]}}, "ifMissing": "skip"},
    },
    {"type": "approval_required", "tools": ["b"], "approval": {"expiresSeconds": 60, "approvals": 2}},
    {
        "type": "parameter_constraint",
        "tools": ["c"],
        "parameters": {
            "amount": {"min": 0, "below": 10.5, "type": "number"},
            "to[*]": {"emailDomain": {"in": ["*.corp.com"]}, "maxItems": 3},
            "file": {
                "path": {"under": ["/srv", {"context": "project"}], "notAmong": ["secrets", "hidden"]},
                "minLength": 1,
            },
            "other": {"path": {"under": ["/srv"], "ignoreCase": True}},
            "line": {
                "command": {
                    "root": {"context": "project"},
                    "env": ["CI"],
                    "allow": [
                        {"run": ["ls", "cat"], "flags": "usual", "paths": "inside", "via": ["npx"]},
                        {"run": "git", "first": "log", "flags": ["-n NUMBER"], "paths": ["./src"], "pattern": False},
                        {"run": "node", "script": "inside", "writes": "inside"},
                    ],
                    "deny": [{"run": "rm", "flags": ["-r"]}],
                    "unread": "deny",
                }
            },
            "url": {"host": {"in": ["corp.com"], "notNetworks": ["private", "192.0.2.0/24"]}, "notRegex": "^x"},
            "peer": {"host": {"networks": ["10.0.0.0/8"]}},
            "ip": {"cidr": {"in": ["10.0.0.0/8"]}, "notEnum": ["10.0.0.1"]},
            "gone": {"absent": True},
            "**": {"notRegex": "x{9}", "notKind": ["card", "iban", "secret"], "except": ["line"]},
            "roles": {"contains": "admin", "maxItems": 3},
            "end": {"atLeast": {"parameter": "start"}, "required": False},
        },
        "effect": "escalate",
        "approval": {"maxUses": 2},
    },
    {"type": "parameter_schema", "tools": ["d"], "schema": {"type": "object", "required": ["a"]}, "effect": "deny"},
    {
        "type": "rate_limit",
        "tools": ["e"],
        "rateLimit": {"maxCalls": 3, "windowSeconds": 60, "per": ["tool", "context.user"]},
    },
    {
        "type": "sequence",
        "tools": ["h"],
        "sequence": {"forbiddenAfter": ["mail.*"], "withinSeconds": 60},
        "effect": "escalate",
    },
    {"type": "budget", "tools": ["f"], "budget": {"parameter": "amount", "max": 10.25, "windowSeconds": 60}},
    {"type": "budget", "tools": ["f"], "budget": {"context": "cost", "max": 10, "windowSeconds": "forever"}},
    {
        "type": "rate_limit",
        "tools": ["f"],
        "rateLimit": {"maxCalls": 3, "calendar": "day", "timezone": "Europe/Paris", "per": ["tool"]},
    },
    {
        "type": "time_based",
        "tools": ["g"],
        "timeWindow": {"allowedHours": [9], "allowedDays": [1, 7], "timezone": "Europe/Paris"},
    },
    {
        "type": "time_based",
        "tools": ["g"],
        "timeWindow": {
            "windows": [{"days": [5], "from": "22:00", "to": "06:00"}, {"from": "12:00", "to": "24:00"}],
            "except": ["2026-12-24/2027-01-02", "2027-05-01"],
        },
    },
    {"type": "pinned_request", "tools": ["i"], "effect": "escalate"},
    {
        "type": "denial_breaker",
        "tools": ["j"],
        "denialBreaker": {"maxDenials": 3, "windowSeconds": 60, "action": "deny", "per": ["tool"]},
    },
]
GRANT = {"type": "tool_grant", "tools": ["a"], "when": {"context": {"env": {"enum": ["test"]}}}}
DRAWN = {rule["type"] for rule in (*RULES, GRANT)}
"""The types of rules that are drawn."""
ENTRY = {"name": "p", "key": "k.1", "kind": "guardrail", "priority": 5, "enabled": False, "rules": RULES}
SHOWN = {"id": "01931f2e-9b10-7d42-8c11-5a0c2f9e4d02", "group": None, "agentId": None, "version": 3}
TIMES = {"createdAt": "2026-11-20T12:00:00.000Z", "updatedAt": "2026-11-20T12:00:00.000Z"}
AGENT = "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"
FILES = [
    {"agent": "refund-bot", "policies": [ENTRY]},
    {
        "agent": {"name": "n", "alias": "team/a", "description": "d\ne", "groups": ["crew"]},
        "policies": [ENTRY],
        "$schema": "x",
    },
    {"group": "crew", "policies": [ENTRY, {"name": "q", "rules": [*RULES[:2], GRANT]}]},
    {"workspace": True, "policies": [ENTRY]},
    {"agentId": AGENT, "group": None, "version": "5eed", "policies": [ENTRY | SHOWN | TIMES]},
    {"agentId": None, "group": None, "version": "0", "policies": [ENTRY | SHOWN | TIMES]},
    {"agent": "a", "policies": []},
]
EXAMPLES = [json.loads(path.read_text()) for path in sorted(ROOT.glob("examples/*/*.json"))]
EXAMPLES = [each for each in EXAMPLES if "policies" in each]

ODD = [
    None,
    True,
    False,
    0,
    1,
    -1,
    5.0,
    1.5,
    1e300,
    10**20,
    "",
    "x",
    "*",
    "a*b",
    " a",
    "a\u202eb",
    "\u3000",
    "x" * 300,
    [],
    {},
]
ODD += [
    [1],
    ["x"],
    ["x", "x"],
    {"x": 1},
    "deny",
    "escalate",
    "grant",
    "tool_denylist",
    "rate_limit",
    AGENT,
    "2026-11-20",
    "prod",
]
NAMES = [
    "name",
    "rules",
    "kind",
    "type",
    "tools",
    "when",
    "unless",
    "parameters",
    "context",
    "effect",
    "approval",
    "min",
    "x",
]
NAMES += [
    "agent",
    "agentId",
    "group",
    "workspace",
    "version",
    "id",
    "priority",
    "absent",
    "regex",
    "enum",
    "required",
    "a[*]",
    "a..b",
]


def refusal(value):
    """What the service says; None if it takes the file."""
    for tried in (value, with_whole_numbers(value)):
        try:
            msgspec.convert(tried, PolicySetFile)
        except msgspec.ValidationError as error:
            said, by_field = str(error), isinstance(error.__cause__, FieldError)
        else:
            return None
    return f"{said}" if by_field else f"TYPES: {said}"


def places(value, path=()):
    """Every place in a value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in inside:
        yield from places(inner, (*path, step))


@st.composite
def files(draw):
    """A file that is right, with up to three values exchanged, dropped, added or moved."""
    value = copy.deepcopy(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(0, 3))):
        paths = [each for each in places(value) if each]
        if not paths:
            return value
        path = draw(st.sampled_from(paths))
        holder = value
        for step in path[:-1]:
            holder = holder[step]
        match draw(st.sampled_from(["exchange", "drop", "add", "copy"])):
            case "exchange":
                holder[path[-1]] = copy.deepcopy(draw(st.sampled_from(ODD)))
            case "drop":
                del holder[path[-1]]
            case "add" if isinstance(holder, dict):
                holder[draw(st.sampled_from(NAMES))] = copy.deepcopy(draw(st.sampled_from(ODD)))
            case "copy" | "add":
                other = draw(st.sampled_from(list(places(value))))
                found = value
                for step in other:
                    found = found[step]
                holder[path[-1]] = copy.deepcopy(found)
    return value


@settings(max_examples=examples(500))
@given(files())
def test_schema_and_service_agree(value):
    """Except in the cases named above."""
    said, fits = refusal(value), SCHEMA.is_valid(value)
    if fits and said is not None:
        assert not said.startswith("TYPES"), f"only the service refuses it: {said}\n{json.dumps(value)}"
        assert re.search("|".join(LOOSER.values()), said), f"only the service refuses it: {said}\n{json.dumps(value)}"
    if not fits and said is None:
        error = next(SCHEMA.iter_errors(value))
        stricter = any(differs(value) for differs in STRICTER.values())
        assert stricter, f"only the schema refuses it: {error.message[:300]}\n{json.dumps(value)}"


@pytest.mark.parametrize("value", [*FILES, *EXAMPLES], ids=lambda value: str(value)[:40])
def test_files_that_are_right_are_right_to_both(value):
    """The files changed above, and all examples."""
    assert refusal(value) is None
    SCHEMA.validate(value)


WRONG = [
    {},
    {"policies": []},
    {"agent": "a", "group": "b", "policies": []},
    {"agent": "a", "workspace": True, "policies": []},
    {"workspace": False, "policies": []},
    {"workspace": True, "policies": [{"name": "p", "rules": RULES[:1]}]},
    {"agent": "a", "policies": [ENTRY] * 501},
    {"agent": "a", "policies": [{"name": "p", "rules": []}]},
    {"agent": "a", "policies": [{"name": "p", "rules": RULES * 10}]},
    {"agent": "a", "policies": [ENTRY | {"priority": 1001}]},
    {"agent": "a", "policies": [ENTRY | {"extra": 1}]},
    {"agent": "a", "extra": 1, "policies": []},
    {"agent": "a", "policies": [ENTRY | {"rules": [GRANT]}]},
    {"agent": "a", "policies": [{"name": "p", "rules": [GRANT | {"effect": "escalate"}]}]},
    {"agent": "a", "policies": [{"name": "p", "rules": [GRANT | {"approval": {"approvals": 2}}]}]},
    {"agent": "a", "policies": [{"name": "p", "rules": [GRANT | {"when": GRANT["when"] | {"ifMissing": "apply"}}]}]},
]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: str(value)[:40])
def test_files_that_are_wrong_are_wrong_to_both(value):
    """Each for a different reason."""
    assert refusal(value) is not None
    assert not SCHEMA.is_valid(value)


def test_every_field_says_what_it_means():
    """Because editors show the descriptions."""
    for name, each in [*schema()["$defs"].items(), ("file", schema())]:
        for field, described in each.get("properties", {}).items():
            assert described.get("description"), (name, field)
