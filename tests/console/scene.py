"""A workspace as people would find it: agents, policies, decisions of every kind, and approvals that wait."""

import json
import random

HOSTILE = "<img src=x onerror=alert(1)> \u202egnp.exe"
MARKUP = "<img src=x onerror=alert(1)> " + "z" * 120
BIG = 9007199254740993
ORDER = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
REFUND = {
    "type": "object",
    "properties": {
        "order": {"type": "string"},
        "amount": {"type": "number"},
        "currency": {"type": "string", "enum": ["EUR", "USD"]},
    },
    "required": ["order", "amount"],
}
TOOLS = [
    {"name": "refund.create", "description": "Refund an order", "inputSchema": REFUND},
    {"name": "order.read", "description": "Read an order", "inputSchema": ORDER},
    {"name": "mail.send", "description": "Send mail to customers"},
    {"name": "deploy.start", "description": "Start a deployment"},
    {"name": "file.read", "description": "Read a file"},
    {"name": "file.delete", "description": "Delete a file"},
]
AGENTS = {
    "refund-bot": ("Refund bot", ["support"]),
    "mail-bot": ("Mail bot", ["support"]),
    "deploy-bot": ("Deploy bot", ["platform"]),
    "research-bot": ("Research bot", ["platform"]),
}
REFUND_RULES = [
    {"type": "tool_allowlist", "tools": ["order.read", "refund.create"]},
    {
        "type": "parameter_constraint",
        "tools": ["refund.create"],
        "parameters": {
            "order": {"regex": "^[A-Z0-9]{6}$"},
            "currency": {"enum": ["EUR"]},
            "amount": {"above": 0, "max": 500},
        },
    },
    {
        "type": "parameter_constraint",
        "tools": ["refund.create"],
        "parameters": {"amount": {"above": 0, "max": 100}},
        "effect": "escalate",
    },
    {
        "type": "budget",
        "tools": ["refund.create"],
        "budget": {"parameter": "amount", "max": 20000, "windowSeconds": 86400},
    },
]


CALLS = {
    "refund": (
        "refund-bot",
        "refund.create",
        lambda draw, order: {"order": order, "currency": "EUR", "amount": draw([12, 19.9, 25, 40, 55, 95])},
    ),
    "wrong": ("refund-bot", "refund.create", lambda _, order: {"order": order, "currency": "USD", "amount": 900}),
    "read": ("refund-bot", "order.read", lambda _, order: {"order": order}),
    "mail": (
        "mail-bot",
        "mail.send",
        lambda _, order: {"to": ["ann@example.com"], "subject": f"Order {order}", "body": "It is on its way."},
    ),
    "deploy": (
        "deploy-bot",
        "deploy.start",
        lambda draw, _: {"environment": "staging", "version": f"4.{draw(range(30))}.0"},
    ),
    "delete": ("deploy-bot", "file.delete", lambda *_: {"path": "/etc/passwd"}),
    "file": ("research-bot", "file.read", lambda draw, _: {"path": draw(["/srv/papers/a.pdf", "/etc/shadow"])}),
}
"""What the agents ask for: agent, tool, and parameters made by draws and the number of an order."""


def make_calls(call, count):
    """Ask for this many decisions, the same ones each time."""
    draws = random.Random(7)
    for index in range(count):
        order = "".join(draws.choices("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", k=6))
        agent, tool, parameters = CALLS[draws.choices([*CALLS], [6, 1, 4, 4, 2, 1, 2])[0]]
        context = {"session": f"chat-{index // 5}", "user": draws.choice(["ann", "bo"])}
        call(agent, tool, parameters(draws.choice, order), context=context)


def build(admin, runtime, calls=40, hostile=True):
    """Fill a workspace. admin, runtime: clients with the scopes admin and authorize. Returns ids by name.

    hostile: Whether somebody has written texts that are to do harm.
    """

    def made(path, body, **headers):
        answer = admin.post(path, json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    assert admin.put("/v1/catalog", json={"tools": TOOLS}).status_code == 200
    ids = {}
    for alias, (name, groups) in AGENTS.items():
        ids[alias] = made("/v1/agents", {"name": name, "alias": alias, "groups": groups})["id"]
    reason = {"Change-Reason": "refunds of support, as agreed with finance"}
    refunds = {"agent_id": "refund-bot", "name": "Small refunds", "priority": 10, "rules": REFUND_RULES}
    ids["policy"] = made("/v1/policies", refunds, **reason)["id"]
    for body in POLICIES:
        made("/v1/policies", body)

    def call(agent, tool, parameters, **fields):
        body = {"agent_id": ids[agent], "tool_name": tool, "parameters": parameters, **fields}
        answer = runtime.post("/v1/authorize", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    make_calls(call, calls)
    asked = {"session": "chat-9", "user": "ann"}
    refund = {"order": "FUGWRD", "currency": "EUR", "amount": 260}
    ids["refund"] = call("refund-bot", "refund.create", refund, context=asked)["approval"]["id"]
    mail = {"to": ["ann@examp\u200ble.com"], "subject": HOSTILE, "body": "Save it to C:\\new\nat once."}
    ids["hostile"] = call("mail-bot", "mail.send", mail)["approval"]["id"]
    deploy = {"environment": "production", "version": "4.21.0", "build": BIG, "notes": "A new checkout. " * 40}
    ids["exact"] = call("deploy-bot", "deploy.start", deploy)["approval"]["id"]
    assert str(BIG) in json.dumps(deploy)
    if hostile:
        add_hostile(made, admin)
    return ids


def add_hostile(made, admin):
    """Markup and long words wherever somebody may give a text; where invisible characters are refused, without them."""
    reason = {"Change-Reason": MARKUP}
    made("/v1/agents", {"name": MARKUP, "alias": "hostile", "description": MARKUP, "groups": ["platform"]}, **reason)
    rules = [{"type": "tool_allowlist", "tools": ["x" * 128]}]
    made("/v1/policies", {"agent_id": "hostile", "name": MARKUP, "agent_message": MARKUP, "rules": rules}, **reason)
    made("/v1/api-keys", {"name": MARKUP, "scopes": ["view"]}, **reason)
    schema = {"type": "object", "description": HOSTILE, "properties": {HOSTILE: {"type": "string"}}}
    tool = {"name": "x" * 128, "title": HOSTILE, "description": f"{HOSTILE} {'y' * 200}", "inputSchema": schema}
    version = admin.get("/v1/catalog").headers["ETag"]
    put = admin.put("/v1/catalog", json={"tools": [*TOOLS, tool]}, headers={"If-Match": version})
    assert put.status_code == 200, put.text


POLICIES = [
    {
        "agent_id": "refund-bot",
        "name": "Refunds up to 60",
        "mode": "shadow",
        "priority": 20,
        "rules": [
            {"type": "tool_allowlist", "tools": ["order.read", "refund.create"]},
            {
                "type": "parameter_constraint",
                "tools": ["refund.create"],
                "parameters": {"amount": {"min": 0, "max": 60}},
            },
        ],
    },
    {
        "agent_id": "mail-bot",
        "name": "Mail to customers",
        "rules": [
            {"type": "tool_allowlist", "tools": ["mail.send", "order.read"]},
            {
                "type": "parameter_constraint",
                "tools": ["mail.send"],
                "parameters": {"to[*]": {"emailDomain": {"in": ["example.com"]}}},
                "effect": "escalate",
            },
        ],
    },
    {
        "agent_id": "deploy-bot",
        "name": "Staging freely, production with a person",
        "rules": [
            {"type": "tool_allowlist", "tools": ["deploy.*", "file.read"]},
            {
                "type": "parameter_constraint",
                "tools": ["deploy.start"],
                "parameters": {"environment": {"enum": ["staging"]}},
                "effect": "escalate",
                "approval": {"approvals": 2, "expiresSeconds": 3600, "maxUses": 3},
            },
        ],
    },
    {
        "agent_id": "research-bot",
        "name": "Read papers",
        "rules": [
            {"type": "tool_allowlist", "tools": ["file.read"]},
            {
                "type": "parameter_constraint",
                "tools": ["file.read"],
                "parameters": {"path": {"path": {"under": ["/srv/papers"]}}},
            },
            {
                "type": "rate_limit",
                "tools": ["file.read"],
                "rateLimit": {"maxCalls": 100, "windowSeconds": 3600, "per": ["context.user"]},
            },
        ],
    },
    {
        "group": "platform",
        "name": "Never delete",
        "kind": "guardrail",
        "rules": [{"type": "tool_denylist", "tools": ["file.delete"]}],
    },
]
