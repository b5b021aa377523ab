"""The catalogue of tools."""

from typing import Any

from app.http.api.catalog import PutCatalog, PutTool
from app.http.openapi.examples.subjects import CHANGED, CREATED, SET_VERSION
from app.views.catalog import CatalogToolView, ChangedCatalogView

_TOOL = {
    "title": "Refund a payment",
    "description": "Pays back all or a part of a payment.",
    "inputSchema": {
        "type": "object",
        "properties": {"booking": {"type": "string"}, "amount": {"type": "number"}, "currency": {"type": "string"}},
        "required": ["booking", "amount"],
    },
}

BODIES: dict[type, dict[str, Any]] = {
    PutCatalog: {
        "the result of tools/list": {"tools": [{"name": "payment.refund", **_TOOL}]},
        "the whole message": {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "payment.refund", **_TOOL}]}},
    },
    PutTool: {"a tool with its schema": _TOOL},
}
ANSWERS: dict[type, Any] = {
    CatalogToolView: {
        "type": "tool",
        "name": "payment.refund",
        "catalogued": True,
        **_TOOL,
        "createdAt": CREATED,
        "updatedAt": CHANGED,
        "version": 2,
    },
    ChangedCatalogView: {
        "version": SET_VERSION,
        "tools": 12,
        "added": [],
        "changed": ["payment.refund"],
        "removed": [],
    },
}
