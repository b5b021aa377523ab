"""The catalogue of tools."""

from app.http.openapi.examples.subjects import CHANGED, CREATED, SET_VERSION

_TOOL = {
    "title": "Refund a payment",
    "description": "Pays back all or a part of a payment.",
    "inputSchema": {
        "type": "object",
        "properties": {"booking": {"type": "string"}, "amount": {"type": "number"}, "currency": {"type": "string"}},
        "required": ["booking", "amount"],
    },
}
_SENT = {**_TOOL, "annotations": {"destructiveHint": True}}
PUT_CATALOG = {
    "the result of tools/list": {"tools": [{"name": "payment.refund", **_SENT}]},
    "the whole message": {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "payment.refund", **_SENT}]}},
}
MARK_TOOLS = {
    "what a person says of two tools": {
        "tools": {
            "payment.refund": {"consequence": "irreversible"},
            "mail.read": {"consequence": "none", "foreign": True},
        }
    }
}
_RECORD = {
    "title": "Record 1",
    "description": None,
    "actions": ["read", "write"],
    "properties": {"status": "active"},
    "inputSchema": None,
}
PUT_RESOURCE = {"a record": _RECORD, "a subject": {"properties": {"role": "admin"}}}
RESOURCE_VIEW = {
    "type": "record",
    "id": "record-1",
    **_RECORD,
    "createdAt": CREATED,
    "updatedAt": CHANGED,
    "version": 2,
}
PUT_TOOL = {"a tool with its schema": _SENT}
CATALOG_TOOL_VIEW = {
    "type": "tool",
    "name": "payment.refund",
    "catalogued": True,
    **_TOOL,
    "consequence": "irreversible",
    "foreign": None,
    "suggested": {"consequence": "irreversible", "foreign": None},
    "createdAt": CREATED,
    "updatedAt": CHANGED,
    "version": 2,
}
CHANGED_CATALOG_VIEW = {
    "version": SET_VERSION,
    "tools": 12,
    "added": [],
    "changed": ["payment.refund"],
    "removed": [],
    "unmarked": ["payment.refund"],
}
