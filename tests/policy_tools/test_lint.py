"""Each warning, with policies that cause it and policies that do not."""

import msgspec
import pytest
from msgspec import structs

from app.model.policies import Policy, PolicyKind, PolicyMode
from app.model.rules import PolicyRule, ToolAllowlist, ToolGrant
from app.model.sequences import covers
from app.policy_tools.lint import Code, KnownTools, lint_policies
from app.policy_tools.lint.overlaps import Patterns
from app.policy_tools.lint.rules import lets_commands_join

SCHEMAS = {
    "refund.create": {
        "properties": {
            "amount": {"type": "number"},
            "to": {"properties": {"name": {}}},
            "lines": {"items": {"properties": {"sku": {}}}},
        }
    },
    "refund.list": {"properties": {}},
    "mail.write": {
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}},
            "bcc": {"items": {"type": ["string", "null"]}},
            "cc": {"anyOf": [{"type": "string"}, {"type": "array"}]},
            "body": {"type": "string"},
            "urgency": {"type": "number"},
        }
    },
    "mail.send": {"properties": {"subject": {}}, "additionalProperties": {"type": "string"}},
}
KNOWN = KnownTools(
    {"refund.create", "refund.delete", "refund.list", "pay", "pay_all", "mail.send", "mail.write", "t"},
    {name: msgspec.json.encode(schema) for name, schema in SCHEMAS.items()},
)
ALLOW = {"type": "tool_allowlist", "tools": ["refund.*"]}
GRANT = {"type": "tool_grant", "tools": ["refund.*"]}
BOUNDED = {"type": "parameter_constraint", "tools": ["refund.create"], "parameters": {"amount": {"min": 1, "max": 500}}}
DENY = {"type": "tool_denylist", "tools": ["refund.delete"]}
ASK = {"type": "approval_required", "tools": ["refund.create"]}


def describing(*names):
    return {**ASK, "approval": {"descriptive": list(names)}}


def limit(*tools):
    return {"type": "rate_limit", "tools": list(tools), "rateLimit": {"maxCalls": 5, "windowSeconds": 60}}


def window(*tools, **fields):
    return {"type": "time_based", "tools": list(tools), "timeWindow": fields}


def sequence(*tools, **sides):
    return {"type": "sequence", "tools": list(tools), "sequence": sides}


def breaker(most, seconds=60, action="suspend", tools=("*",)):
    terms = {"maxDenials": most, "windowSeconds": seconds, "action": action}
    return {"type": "denial_breaker", "tools": list(tools), "denialBreaker": terms}


def constrained(name, **constraint):
    return {"type": "parameter_constraint", "tools": ["t"], "parameters": {name: constraint}}


def schema(properties):
    return {"type": "parameter_schema", "tools": ["t"], "schema": {"properties": properties}}


def mail(**asked):
    """A constraint on a mail: its values must stand in the user's request."""
    lists = {"to", "bcc"}
    parameters = {f"{name}[*]" if name in lists else name: {"fromRequest": how} for name, how in asked.items()}
    return {"type": "parameter_constraint", "tools": ["mail.write"], "parameters": parameters}


def of_tool(tool, *names, **fields):
    """A constraint on a refund's parameters, with a bound that causes no other warning."""
    parameters = {name: {"minLength": 1} for name in names}
    return {"type": "parameter_constraint", "tools": [tool], "parameters": parameters} | fields


def denied_in(folder, **fields):
    """A denial of files in a directory."""
    named = {"file": {"path": {"under": [folder], **fields}}}
    return {"type": "tool_denylist", "tools": ["t"], "when": {"parameters": named}}


def in_directory(word, folder):
    """A grant that is about files in a directory."""
    return GRANT | {word: {"parameters": {"file": {"path": {"under": [folder]}}}}}


def policy(*rules, name="p", priority=0, kind="grant", enabled=True, at=0):
    return Policy(
        id=f"{name}-{at}",
        agent_id="a",
        name=name,
        kind=PolicyKind(kind),
        rules=tuple(msgspec.convert(rule, PolicyRule) for rule in rules),
        priority=priority,
        enabled=enabled,
        created_ms=at,
        updated_ms=at,
        version=1,
    )


def found(*policies, **known):
    """Codes and places of the first policy's warnings."""
    return [(each.code, each.path) for each in lint_policies(policies, **known)[0]]


EARNED = {
    "a cap on everything grants everything": (
        [policy(limit("*"), priority=900)],
        (Code.GRANTS_BY_RESTRICTION, "$.rules[0]"),
    ),
    "business hours grant what they cover": (
        [policy(DENY, window("refund.*", allowedHours=[9]))],
        (Code.GRANTS_BY_RESTRICTION, "$.rules[1]"),
    ),
    "a cap on more than the constraint beside it": (
        [policy(BOUNDED, limit("refund.*"))],
        (Code.GRANTS_BY_RESTRICTION, "$.rules[1]"),
    ),
    "a cap on more than what is granted": (
        [policy(GRANT, limit("refund.create"), limit("mail.send", "refund.list"))],
        (Code.GRANTS_BY_RESTRICTION, "$.rules[2]"),
    ),
    "a constraint that demands nothing": (
        [policy(GRANT, constrained("amount", required=False))],
        (Code.GRANTS_BY_TRICK, "$.rules[1]"),
    ),
    "a grant of everything": (
        [policy({"type": "tool_grant", "tools": ["*"]})],
        (Code.ALLOWS_EVERYTHING, "$.rules[0].tools"),
    ),
    "a grant that silences an approval": (
        [policy(GRANT, priority=10), policy(ASK, GRANT, name="low")],
        (Code.SILENCES_BELOW, "$.priority"),
    ),
    "a grant of what the own allowlist refuses": (
        [policy(ALLOW, {"type": "tool_grant", "tools": ["mail.send"]})],
        (Code.NEVER_DECIDES, "$.rules[1]"),
    ),
    "a grant of a tool that an allowlist beside it refuses": (
        [policy(GRANT), policy({"type": "tool_allowlist", "tools": ["mail.send"]}, name="mail")],
        (Code.ALLOWLIST_SHADOWS, "$.rules[0].tools"),
    ),
    "an allowlist of everything": (
        [policy({"type": "tool_allowlist", "tools": ["*"]})],
        (Code.ALLOWS_EVERYTHING, "$.rules[0].tools"),
    ),
    "a higher grant silences an approval": (
        [policy(BOUNDED, priority=10), policy(ASK, ALLOW, name="low")],
        (Code.SILENCES_BELOW, "$.priority"),
    ),
    "a higher grant silences a denial": (
        [policy(ALLOW, priority=10), policy(DENY, name="low")],
        (Code.SILENCES_BELOW, "$.priority"),
    ),
    "nothing below an allowlist is asked": (
        [policy(BOUNDED), policy(ALLOW, name="high", priority=10)],
        (Code.NEVER_DECIDES, "$.priority"),
    ),
    "what the own allowlist refuses": (
        [policy(ALLOW, {"type": "approval_required", "tools": ["mail.send"]})],
        (Code.NEVER_DECIDES, "$.rules[1]"),
    ),
    "two allowlists without a tool in common": (
        [policy(ALLOW, {"type": "tool_allowlist", "tools": ["mail.send"]})],
        (Code.ALLOWLISTS_DISJOINT, "$.rules[1].tools"),
    ),
    "a boundary without a tool of the grant": (
        [policy(ALLOW), policy({"type": "tool_allowlist", "tools": ["mail.*"]}, name="wall", kind="guardrail")],
        (Code.ALLOWLISTS_DISJOINT, "$.rules[0].tools"),
    ),
    "an allowlist refuses what a grant beside it allows": (
        [policy(ALLOW), policy({"type": "tool_allowlist", "tools": ["mail.send", "refund.list"]}, name="mail")],
        (Code.ALLOWLIST_SHADOWS, "$.rules[0].tools"),
    ),
    "an allowlist that refuses what a grant beside it allows": (
        [policy(DENY, {"type": "tool_allowlist", "tools": ["mail.send"]}), policy(BOUNDED, name="other")],
        (Code.ALLOWLIST_SHADOWS, "$.rules[1].tools"),
    ),
    "a limit on a tool that is denied": (
        [policy(ALLOW, {"type": "tool_denylist", "tools": ["refund.de*"]}, limit("refund.delete"))],
        (Code.NEVER_DECIDES, "$.rules[2]"),
    ),
    "a limit on a tool that a guardrail denies": (
        [policy(ALLOW, limit("refund.delete")), policy(DENY, name="wall", kind="guardrail")],
        (Code.NEVER_DECIDES, "$.rules[1]"),
    ),
    "a limit on a tool that a higher grant denies": (
        [policy(ALLOW, limit("refund.delete")), policy(DENY, name="high", priority=10)],
        (Code.NEVER_DECIDES, "$.rules[1]"),
    ),
    "a limit on a tool that a grant beside it denies": (
        [policy(ALLOW, limit("refund.delete")), policy(ALLOW, DENY, name="beside")],
        (Code.NEVER_DECIDES, "$.rules[1]"),
    ),
    "two hours that are meant as a span": (
        [policy(ALLOW, window("refund.*", allowedHours=[9, 17]))],
        (Code.HOURS_NOT_A_SPAN, "$.rules[1].timeWindow.allowedHours"),
    ),
    "a minimum for other tools": (
        [policy(constrained("amount", max=500), {**constrained("amount", above=0), "tools": ["refund.create"]})],
        (Code.MIN_MISSING, "$.rules[0].parameters.amount"),
    ),
    "a minimum in a schema that applies to some calls": (
        [
            policy(
                constrained("amount", max=500),
                {**schema({"amount": {"minimum": 0}}), "when": {"parameters": {"kind": {"enum": ["gift"]}}}},
            )
        ],
        (Code.MIN_MISSING, "$.rules[0].parameters.amount"),
    ),
    "a schema without a minimum": (
        [policy(constrained("amount", max=500), schema({"amount": {"type": "number", "maximum": 600}}))],
        (Code.MIN_MISSING, "$.rules[0].parameters.amount"),
    ),
    "a regex on a path": (
        [policy(constrained("path", regex="^/repo/.*$"))],
        (Code.REGEX_ON_PATH_OR_HOST, "$.rules[0].parameters.path.regex"),
    ),
    "a regex on a URL": (
        [policy(constrained("request.callbackUrl", regex="^https://corp.com$"))],
        (Code.REGEX_ON_PATH_OR_HOST, "$.rules[0].parameters.request.callbackUrl.regex"),
    ),
    "a regex without anchors": (
        [policy(constrained("customer", regex="C-[0-9]+"))],
        (Code.REGEX_UNANCHORED, "$.rules[0].parameters.customer.regex"),
    ),
    "a pattern for shell lines that ends anywhere": (
        [policy(constrained("command", regex="^git log"))],
        (Code.PATTERN_LETS_COMMANDS_JOIN, "$.rules[0].parameters.command.regex"),
    ),
    "a pattern for shell lines with any character": (
        [policy(constrained("input.cmd", regex="^git log .*$"))],
        (Code.PATTERN_LETS_COMMANDS_JOIN, "$.rules[0].parameters.input.cmd.regex"),
    ),
    "a pattern for shell lines with an excluding class": (
        [policy(constrained("script", regex="^ls [^;]*$"))],
        (Code.PATTERN_LETS_COMMANDS_JOIN, "$.rules[0].parameters.script.regex"),
    ),
    "a maximum that every negative number keeps": (
        [policy(constrained("payment.amount", max=500))],
        (Code.MIN_MISSING, "$.rules[0].parameters.payment.amount"),
    ),
    "hours that never meet": (
        [policy(ALLOW, window("refund.*", allowedHours=[9]), window("refund.create", allowedHours=[10]))],
        (Code.WINDOW_NEVER_OPENS, "$.rules[2].timeWindow"),
    ),
    "hours that never meet over zones": (
        [
            policy(
                ALLOW,
                window("refund.*", allowedHours=[9], timezone="Europe/Paris"),
                window("refund.*", allowedHours=[9], timezone="Asia/Tokyo"),
            )
        ],
        (Code.WINDOW_NEVER_OPENS, "$.rules[2].timeWindow"),
    ),
    "hours that never meet those of a guardrail": (
        [
            policy(ALLOW, window("refund.*", allowedHours=[9])),
            policy(window("*", allowedHours=[10]), name="wall", kind="guardrail"),
        ],
        (Code.WINDOW_NEVER_OPENS, "$.rules[1].timeWindow"),
    ),
    "hours of a guardrail that never meet those of a grant": (
        [
            policy(window("*", allowedHours=[10]), kind="guardrail"),
            policy(ALLOW, window("refund.*", allowedHours=[9]), name="desk", priority=7),
        ],
        (Code.WINDOW_NEVER_OPENS, "$.rules[0].timeWindow"),
    ),
    "hours that never meet those of a grant of the same priority": (
        [
            policy(ALLOW, window("refund.*", allowedHours=[9])),
            policy(ALLOW, window("refund.list", allowedHours=[10]), name="other"),
        ],
        (Code.WINDOW_NEVER_OPENS, "$.rules[1].timeWindow"),
    ),
    "spans that never meet": (
        [
            policy(
                ALLOW,
                window("refund.*", windows=[{"days": [5], "from": "22:00", "to": "06:00"}]),
                window("refund.*", windows=[{"days": [5], "from": "00:00", "to": "21:59"}]),
            )
        ],
        (Code.WINDOW_NEVER_OPENS, "$.rules[2].timeWindow"),
    ),
    "a denial of a prefix that is a tool": (
        [policy(GRANT, {"type": "tool_denylist", "tools": ["pay*"]})],
        (Code.PREFIX_WITHOUT_ITS_NAME, "$.rules[1].tools[0]"),
    ),
    "a guardrail for a prefix that is a tool": (
        [policy(limit("refund.list", "pay*"), kind="guardrail")],
        (Code.PREFIX_WITHOUT_ITS_NAME, "$.rules[0].tools[1]"),
    ),
    "what must not come before is a prefix and a tool": (
        [policy(GRANT, sequence("refund.create", forbiddenAfter=["pay*"]))],
        (Code.PREFIX_WITHOUT_ITS_NAME, "$.rules[1].sequence.forbiddenAfter[0]"),
    ),
    "a denied directory in one letter case": (
        [
            policy(constrained("file", path={"under": ["/repo"]})),
            policy(denied_in("/repo/secrets"), name="wall", kind="guardrail"),
        ][::-1],
        (Code.PATH_IN_OTHER_CASE, "$.rules[0].when.parameters.file.path"),
    ),
    "a directory that is not granted, in one letter case": (
        [policy(in_directory("when", "/repo"), in_directory("unless", "/repo/secrets"))],
        (Code.PATH_IN_OTHER_CASE, "$.rules[1].unless.parameters.file.path"),
    ),
    "a star in a directory": (
        [policy(constrained("path", path={"under": ["/repo", "/home/*/repo"]}))],
        (Code.STAR_IN_PATH, "$.rules[0].parameters.path.path.under[1]"),
    ),
    "a star in a directory of a condition": (
        [policy(GRANT | {"when": {"parameters": {"x": {"path": {"under": ["/repo/*"]}}}}})],
        (Code.STAR_IN_PATH, "$.rules[0].when.parameters.x.path.under[0]"),
    ),
    "a tool that nobody knows": (
        [policy({"type": "tool_allowlist", "tools": ["refund.create", "refnud.*"]})],
        (Code.UNKNOWN_TOOL, "$.rules[0].tools[1]"),
    ),
    "a parameter that the tool does not have": (
        [policy(of_tool("refund.create", "amuont", "amount"))],
        (Code.UNKNOWN_PARAMETER, "$.rules[0].parameters.amuont"),
    ),
    "a parameter that it has not where it is looked for": (
        [policy(of_tool("refund.create", "to.mail", "to.name"))],
        (Code.UNKNOWN_PARAMETER, "$.rules[0].parameters.to.mail"),
    ),
    "a parameter of elements that have none such": (
        [policy(of_tool("refund.create", "lines[*].sku", "lines[*].price"))],
        (Code.UNKNOWN_PARAMETER, "$.rules[0].parameters.lines[*].price"),
    ),
    "a parameter of a tool without any": (
        [policy(of_tool("refund.list", "id"))],
        (Code.UNKNOWN_PARAMETER, "$.rules[0].parameters.id"),
    ),
    "a condition on a parameter that the tool does not have": (
        [policy(of_tool("refund.create", "amount", when={"parameters": {"currency": {"enum": ["EUR"]}}}))],
        (Code.UNKNOWN_PARAMETER, "$.rules[0].when.parameters.currency"),
    ),
    "a limit per a parameter that the tool does not have": (
        [
            policy(
                BOUNDED,
                {
                    "type": "rate_limit",
                    "tools": ["refund.create"],
                    "rateLimit": {"maxCalls": 5, "windowSeconds": 60, "per": ["parameters.order"]},
                },
            )
        ],
        (Code.UNKNOWN_PARAMETER, "$.rules[1].rateLimit.per[0]"),
    ),
    "a session's past that nobody knows": (
        [policy(sequence("refund.create", forbiddenAfter=["mail.send", "mial.*"]), kind="guardrail")],
        (Code.UNKNOWN_TOOL, "$.rules[0].sequence.forbiddenAfter[1]"),
    ),
    "a record of a tool that nobody knows": (
        [
            policy(
                {
                    "type": "parameter_constraint",
                    "tools": ["refund.create"],
                    "record": {
                        "of": "order:{parameters.order}",
                        "from": ["refund.list", "refund.raed"],
                        "fields": {"status": {"enum": ["delivered"]}},
                    },
                },
                kind="guardrail",
            )
        ],
        (Code.UNKNOWN_TOOL, "$.rules[0].record.from[1]"),
    ),
    "what must come first waits for itself": (
        [policy(sequence("refund.*", requiresBefore=["refund.list"]), kind="guardrail")],
        (Code.SEQUENCE_NEVER_BEGINS, "$.rules[0].sequence.requiresBefore"),
    ),
    "a breaker that one denial is enough for": (
        [policy(breaker(1), kind="guardrail")],
        (Code.BREAKER_ON_FIRST_DENIAL, "$.rules[0].denialBreaker.maxDenials"),
    ),
    "a breaker whose first denial stops a session": (
        [policy(breaker(1, action="deny"), kind="guardrail")],
        (Code.BREAKER_ON_FIRST_DENIAL, "$.rules[0].denialBreaker.maxDenials"),
    ),
    "people are asked later than the agent is suspended": (
        [policy(breaker(20, action="escalate"), breaker(10), kind="guardrail")],
        (Code.BREAKER_NEVER_FULL, "$.rules[0].denialBreaker"),
    ),
    "a wider breaker of another policy is forestalled": (
        [
            policy(breaker(20, 30, tools=["refund.*"]), kind="guardrail"),
            policy(breaker(20, 60), name="all", kind="guardrail"),
        ],
        (Code.BREAKER_NEVER_FULL, "$.rules[0].denialBreaker"),
    ),
    "copies go to anybody": (
        [policy(mail(to="exact", body="text"))],
        (Code.FREE_BESIDE_REQUEST, "$.rules[0].parameters"),
    ),
    "copies are only constrained in some calls": (
        [
            policy(
                mail(to="exact", body="text"),
                {
                    "type": "parameter_constraint",
                    "tools": ["mail.*"],
                    "parameters": {"cc": {"absent": True}, "bcc": {"absent": True}},
                    "when": {"parameters": {"body": {"minLength": 9}}},
                },
            )
        ],
        (Code.FREE_BESIDE_REQUEST, "$.rules[0].parameters"),
    ),
    "a number that is looked for in a request": (
        [policy(mail(to="exact", body="text", cc="exact", bcc="exact", urgency="text"))],
        (Code.NOT_IN_REQUESTS, "$.rules[0].parameters.urgency.fromRequest"),
    ),
    "a description that another rule reads": (
        [policy(GRANT, describing("note")), policy(of_tool("*", "note.text"), name="o", kind="guardrail")],
        (Code.DESCRIPTIVE_IS_BOUND, "$.rules[1].approval.descriptive[0]"),
    ),
    "a description that another rule that asks does not name": (
        [policy(GRANT, describing("memo", "note"), describing("note"))],
        (Code.DESCRIPTIVE_IS_BOUND, "$.rules[1].approval.descriptive[0]"),
    ),
    "the same breaker twice": (
        [policy(breaker(20), breaker(20), kind="guardrail")],
        (Code.BREAKER_NEVER_FULL, "$.rules[1].denialBreaker"),
    ),
}


@pytest.mark.parametrize("name", EARNED)
def test_a_faulty_policy_gets_its_warning(name):
    """At its place, and no other warning."""
    policies, warning = EARNED[name]
    assert found(*policies, known_tools=KNOWN) == [warning]


NOT_EARNED = {
    "a parameter that one of the tools has": [policy(of_tool("refund.*", "amount"))],
    "a parameter of a tool whose schema is open": [policy(of_tool("mail.send", "anything"))],
    "a parameter of a tool without a schema": [policy(of_tool("t", "anything"))],
    "a parameter that must not be given": [
        policy(of_tool("refund.create") | {"parameters": {"bcc": {"absent": True}}})
    ],
    "what the schema does not say of an object": [policy(of_tool("refund.create", "amount.value"))],
    "copies are constrained by another rule": [
        policy(
            mail(to="exact", body="text"),
            {"type": "parameter_constraint", "tools": ["mail.*"], "parameters": {"cc": {"absent": True}}},
            {"type": "parameter_constraint", "tools": ["*"], "parameters": {"bcc": {"maxItems": 0}}},
        )
    ],
    "requests for a tool whose schema is unknown": [policy(mail(to="exact") | {"tools": ["t"]})],
    "a cap as a guardrail": [policy(limit("*"), kind="guardrail")],
    "a cap beside a constraint": [policy(BOUNDED, limit("refund.create"))],
    "a cap on what is granted": [policy(GRANT, limit("refund.create", "refund.list"))],
    "a cap on more than an allowlist names": [policy(ALLOW, limit("*"))],
    "a constraint that demands something of one value": [
        policy(constrained("a", required=False) | {"context": {"user": {"minLength": 1}}})
    ],
    "a constraint that demands nothing, which people may be asked about": [
        policy(constrained("a", required=False, maxLength=5), constrained("b", absent=True))
    ],
    "two grants of other tools": [policy(GRANT), policy({"type": "tool_grant", "tools": ["mail.send"]}, name="mail")],
    "below a grant of other tools": [policy(BOUNDED), policy({**GRANT, "tools": ["t"]}, name="high", priority=10)],
    "denials alone grant nothing": [policy(DENY)],
    "people are asked before the agent is suspended": [
        policy(breaker(5, action="escalate"), breaker(20), kind="guardrail"),
        policy(breaker(20, 3600, tools=["refund.*"]), name="others", kind="guardrail", enabled=False),
    ],
    "a breaker of fewer tools or of a longer window": [
        policy(breaker(5), breaker(4, tools=["refund.*"]), breaker(5, 3600, "escalate"), kind="guardrail"),
    ],
    "denials of what its own allowlist refuses": [
        policy({"type": "tool_allowlist", "tools": ["refund.*"]}, breaker(5, tools=["mail.*"]), kind="guardrail"),
    ],
    "one denial is enough to ask people": [policy(breaker(1, action="escalate"), kind="guardrail")],
    "what must come first is another tool's": [
        policy(sequence("refund.*", requiresBefore=["mail.send"]), kind="guardrail"),
        policy(sequence("refund.*", requiresBefore=["refund.list", "mail.send"]), kind="guardrail"),
    ],
    "an allowlist of everything beside denials": [policy({"type": "tool_allowlist", "tools": ["*"]}, DENY)],
    "a higher grant of other tools": [
        policy(BOUNDED, priority=10),
        policy({"type": "approval_required", "tools": ["mail.send"]}, name="low"),
    ],
    "a higher grant that asks as well": [policy(ASK, BOUNDED, priority=10), policy(ASK, name="low")],
    "a lower policy that is off": [policy(BOUNDED, priority=10), policy(ASK, name="low", enabled=False)],
    "approvals in a guardrail are not silenced": [
        policy(BOUNDED, priority=10),
        policy(ASK, name="wall", kind="guardrail"),
    ],
    "one tier": [policy(BOUNDED), policy(ALLOW, name="other")],
    "below what abstains": [policy(ALLOW), policy(BOUNDED, name="high", priority=10)],
    "a denied tool among those of a limit": [policy(ALLOW, DENY, limit("refund.delete", "refund.create"))],
    "the same denial in a guardrail": [policy(ALLOW, DENY), policy(DENY, name="wall", kind="guardrail")],
    "a narrow allowlist in a guardrail": [
        policy(ALLOW),
        policy({"type": "tool_allowlist", "tools": ["refund.list"]}, name="wall", kind="guardrail"),
    ],
    "allowlists that name all that the others allow": [policy(ALLOW), policy(ALLOW, name="other")],
    "a minimum in a rule beside it": [policy(constrained("amount", max=500), constrained("amount", above=0))],
    "a minimum in a guardrail": [
        policy(constrained("amount", max=500)),
        policy({**constrained("amount", min=0), "tools": ["*"]}, name="wall", kind="guardrail"),
    ],
    "a minimum in a schema beside it": [
        policy(constrained("amount", max=500), schema({"amount": {"type": "number", "exclusiveMinimum": 0}}))
    ],
    "a minimum in a guardrail's schema": [
        policy(constrained("payment.amount", max=500)),
        policy(
            {**schema({"payment": {"properties": {"amount": {"minimum": 0}}}}), "tools": ["*"]},
            name="wall",
            kind="guardrail",
        ),
    ],
    "a number with both bounds": [policy(constrained("amount", min=0, max=500))],
    "a maximum of something that may be negative": [policy(constrained("temperature", max=30))],
    "an anchored regex": [policy(constrained("customer", regex="^C-[0-9]+$"))],
    "hours that meet": [policy(ALLOW, window("refund.*", allowedHours=[9, 10]), window("*", allowedHours=[10]))],
    "hours that meet over zones": [
        policy(
            ALLOW,
            window("refund.*", allowedHours=[9], timezone="Europe/Paris"),
            window("refund.*", allowedHours=[17], timezone="Asia/Tokyo"),
        )
    ],
    "a denied directory in any letter case": [
        policy(constrained("file", path={"under": ["/repo"]}), denied_in("/repo/secrets", ignoreCase=True))
    ],
    "a denied directory that nothing grants": [
        policy(constrained("file", path={"under": ["/repo"]}), denied_in("/repo"), denied_in("/tmp/x"))
    ],
    "a denial of a prefix and of its name": [
        policy(GRANT, {"type": "tool_denylist", "tools": ["pay*"]}, ASK | {"tools": ["pay"]})
    ],
    "a grant of a prefix": [policy(GRANT | {"tools": ["pay*"]})],
    "a denial of what goes on after a dot": [policy({"type": "tool_denylist", "tools": ["refund.*"]})],
    "windows that apply to different calls": [
        policy(
            ALLOW,
            window("refund.*", allowedHours=[9]) | {"when": {"context": {"site": {"enum": ["a"]}}}},
            window("refund.*", allowedHours=[10]) | {"unless": {"context": {"site": {"enum": ["a"]}}}},
        )
    ],
    "windows of different priorities": [
        policy(BOUNDED, window("refund.create", allowedHours=[9])),
        policy(BOUNDED, window("refund.create", allowedHours=[10]), name="other", priority=7),
    ],
    "a description that is bound for one of two tools": [
        policy({**describing("note"), "tools": ["refund.create", "t"]}, {**ASK, "tools": ["t"]}, kind="guardrail"),
    ],
    "descriptions that every rule that asks names": [
        policy(GRANT, describing("note"), describing("note")),
        policy({**constrained("note", minLength=1), "tools": ["t"]}, name="other tools", kind="guardrail"),
    ],
    "spans that meet for a minute over zones": [
        policy(
            ALLOW,
            window("refund.*", windows=[{"days": [6], "from": "22:00", "to": "06:01"}], timezone="Europe/Paris"),
            window("refund.*", windows=[{"days": [0], "from": "14:00", "to": "15:00"}], timezone="Asia/Tokyo"),
        )
    ],
    "windows of different tools": [
        policy(ALLOW, window("refund.create", allowedHours=[9]), window("refund.list", allowedHours=[10]))
    ],
}


@pytest.mark.parametrize("name", NOT_EARNED)
def test_a_sound_policy_gets_no_warning(name):
    """Warnings that cry wolf are soon ignored."""
    assert found(*NOT_EARNED[name], known_tools=KNOWN) == []


CURED = {
    "two allowlists of one policy": (
        [policy(ALLOW, {"type": "tool_allowlist", "tools": ["t"]})],
        "make each a tool_grant",
    ),
    "two allowlists of one tier": (
        [policy(ALLOW), policy({"type": "tool_allowlist", "tools": ["t"]}, name="other")],
        "make each a tool_grant",
    ),
    "an allowlist that shadows": (
        [policy(ALLOW, name="p"), policy({"type": "tool_allowlist", "tools": ["refund.list"]}, name="other")],
        "make it a tool_grant",
    ),
    "what the own allowlist refuses": ([policy(ALLOW, limit("t"))], "make that a tool_grant"),
    "what is below an allowlist": (
        [policy(BOUNDED), policy({"type": "tool_allowlist", "tools": ["t"]}, name="high", priority=10)],
        "Make its allowlist a tool_grant",
    ),
    "a constraint that demands nothing": ([policy(constrained("a", required=False))], "make it a tool_grant"),
}


@pytest.mark.parametrize("name", CURED)
def test_a_fence_that_was_meant_as_a_grant_is_told_its_cure(name):
    """And with the cure, no policy has a warning."""
    policies, cure = CURED[name]
    [warning] = lint_policies(policies, known_tools=KNOWN)[0]
    assert cure in warning.message
    cured = [
        structs.replace(
            each, rules=tuple(map(as_grant, each.rules)), priority=0 if "high" in each.name else each.priority
        )
        for each in policies
    ]
    assert [each.code for each in lint_policies(cured, known_tools=KNOWN)[0]] == (
        [Code.GRANTS_BY_RESTRICTION] if "own allowlist" in name else []
    )


def as_grant(rule):
    """An allowlist, or a constraint that demands nothing, as a grant."""
    is_fence = isinstance(rule, ToolAllowlist) or "'required': False" in str(msgspec.to_builtins(rule))
    return ToolGrant(tools=rule.tools) if is_fence else rule


@pytest.mark.parametrize(
    ("pattern", "warned"),
    [("delete*", True), ("delete_*", False), ("delete.*", False), ("*", False), ("delete", False)],
)
def test_where_no_tool_is_known_a_prefix_that_ends_in_a_letter_is_a_name(pattern, warned):
    """`delete` may exist; `delete_` does not."""
    draft = policy(GRANT, {"type": "tool_denylist", "tools": [pattern]})
    codes = [code for code, _ in found(draft)]
    assert (Code.PREFIX_WITHOUT_ITS_NAME in codes) is warned


def test_every_warning_code_has_a_policy_that_causes_it():
    """A warning that nothing causes would be an empty promise."""
    elsewhere = {Code.TOO_MUCH_TO_COMPARE, Code.MANAGED_ELSEWHERE, Code.NOBODY_CAN_APPROVE, Code.GROUP_CANNOT_APPROVE}
    elsewhere |= {Code.IRREVERSIBLE_UNASKED}
    assert {code for _, (code, _) in EARNED.values()} | elsewhere == set(Code)


@pytest.mark.parametrize(
    ("inner", "outer", "within", "meet"),
    [
        ("a.b", "a.b", True, True),
        ("a.b", "a.*", True, True),
        ("a.*", "a.b", False, True),
        ("a.b.*", "a.*", True, True),
        ("a.*", "*", True, True),
        ("a.", "a.*", False, False),
        ("a", "a.*", False, False),
        ("a", "a*", False, False),
        ("ab", "a*", True, True),
        ("b.*", "a.*", False, False),
        ("*", "*", True, True),
        ("*", "a", False, True),
    ],
)
def test_patterns_relate_as_the_tools_they_cover(inner, outer, within, meet):
    """Within: the other covers every tool of the one. Meet: both cover some tool."""
    one, other = Patterns([inner]), Patterns([outer])
    assert (other.covering(inner) == outer) is (other.first_uncovered(one) is None) is within
    assert any(one.meeting(other)) is any(other.meeting(one)) is meet


def test_what_a_pattern_covers_among_many_is_what_it_covers_one_by_one():
    """By binary search, since there may be thousands."""
    names = ["a", "a.", "a.b", "a.b.c", "ab", "b", "a\U0010ffff"]
    known = KnownTools(names)
    for pattern in ("a", "a.*", "a*", "*", "b", "b*", "a.b", "a.b.*", "c", "c*"):
        assert sorted(known.covered(pattern)) == sorted(name for name in names if covers([pattern], name)), pattern


UNDOABLE = KnownTools(irreversible=["refund.create", "refund.delete"])
"""What a person said of two tools; nothing else is known."""
ALL_ASK = {**ASK, "tools": ["refund.*"]}
UNASKED = {
    "alone": ([policy(GRANT)], 0),
    "by an allowlist": ([policy(ALLOW)], 0),
    "by name, after what only reads": ([policy({**GRANT, "tools": ["t"]}, {**GRANT, "tools": ["refund.create"]})], 1),
    "one of two": ([policy(GRANT, ASK)], 0),
    "beside a limit of other tools": ([policy(GRANT), policy(limit("t"), kind="guardrail")], 0),
    "beside a breaker": ([policy(GRANT, breaker(20))], 0),
    "beside another grant": ([policy(GRANT), policy({**GRANT, "when": {"context": {"a": {"enum": [1]}}}})], 0),
    "above what asks": ([policy(GRANT, priority=9), policy(ALL_ASK, name="low")], 0),
    "beside what asks in shadow": ([policy(GRANT), structs.replace(policy(ALL_ASK), mode=PolicyMode.SHADOW)], 0),
    "beside what asks and is disabled": ([policy(GRANT), policy(ALL_ASK, enabled=False)], 0),
}


@pytest.mark.parametrize("name", UNASKED)
def test_a_tool_that_cannot_be_undone_is_not_granted_unasked(name):
    """The warning is at the rule that grants it."""
    policies, index = UNASKED[name]
    assert (Code.IRREVERSIBLE_UNASKED, f"$.rules[{index}].tools") in found(*policies, known_tools=UNDOABLE)
    assert Code.IRREVERSIBLE_UNASKED not in [code for code, _ in found(*policies, known_tools=KNOWN)]


BINDING = {
    "another tool": [policy({**GRANT, "tools": ["refund.list"]})],
    "asked in the policy": [policy(GRANT, ALL_ASK)],
    "asked by a guardrail": [policy(GRANT), policy(ALL_ASK, kind="guardrail")],
    "asked beside it": [policy(GRANT), policy(ALL_ASK, name="beside")],
    "asked above it": [policy(GRANT), policy(ALL_ASK, name="above", priority=9)],
    "limited": [policy(GRANT), policy(limit("*"), kind="guardrail")],
    "constrained": [policy(GRANT, {**constrained("amount", min=1, max=5), "tools": ["refund.*"]})],
    "granted on a condition": [policy({**GRANT, "when": {"parameters": {"amount": {"max": 5}}}})],
    "denied": [policy(GRANT, {**DENY, "tools": ["refund.*"]})],
    "outside the fence of a guardrail": [
        policy(GRANT),
        policy({"type": "tool_allowlist", "tools": ["refund.list"]}, kind="guardrail"),
    ],
    "in a guardrail's fence alone": [policy(ALLOW, kind="guardrail")],
    "disabled": [policy(GRANT, enabled=False)],
}


@pytest.mark.parametrize("name", BINDING)
def test_a_tool_that_cannot_be_undone_may_be_granted_if_something_binds_it(name):
    """A rule that asks, limits, constrains or denies, where it decides together with the grant or before it."""
    assert Code.IRREVERSIBLE_UNASKED not in [code for code, _ in found(*BINDING[name], known_tools=UNDOABLE)]


def test_the_warning_names_the_first_tool_that_cannot_be_undone_and_says_how_many_more():
    """And what would be right."""
    [warning] = lint_policies([policy(GRANT)], UNDOABLE)[0]
    assert warning.message.startswith('calls of "refund.create" and 1 more cannot be undone, and no rule asks')
    assert warning.message.endswith("cover them with an approval_required, a rate_limit or a parameter_constraint, too")


def test_shadow_policies_are_linted_with_enforced_ones_but_not_the_reverse():
    """A policy in shadow mode gets the warnings that it would get enforced, and causes none for others."""
    grant, asks = policy(BOUNDED, priority=10), policy(ASK, ALLOW, name="low")
    tried = [structs.replace(each, mode=PolicyMode.SHADOW) for each in (grant, asks)]
    silenced = (Code.SILENCES_BELOW, "$.priority")
    assert silenced in found(grant, asks)
    assert silenced not in found(grant, tried[1])
    assert silenced in found(tried[0], asks)
    assert silenced in found(tried[0], tried[1])


@pytest.mark.parametrize("regex", ["^(ls|cat)( [a-z/]+)*$", "^make (test|check)$", r"^git log --oneline -\d+$"])
def test_patterns_that_match_no_joint_are_not_warned_about(regex):
    """A line break is a joint, too."""
    assert not lets_commands_join(regex)
