"""API keys."""

from typing import Any

from app.http.api.api_keys import CreateApiKey
from app.http.openapi.examples.subjects import AGENT, CREATED, DECIDED, KEY
from app.views.api_keys import ApiKeyView, CreatedApiKey

_KEY_FIELDS = {
    "id": KEY,
    "name": "booking agent, production",
    "prefix": "svc_5eed5eed",
    "scopes": ["authorize"],
    "agents": [AGENT],
    "expiresAt": "2027-01-01T00:00:00.000Z",
}

BODIES: dict[type, dict[str, Any]] = {
    CreateApiKey: {
        "for a PEP": {
            "name": "booking agent, production",
            "scopes": ["authorize"],
            "agents": [AGENT],
            "expiresAt": "2027-01-01T00:00:00Z",
        },
        "an admin": {"name": "deploy pipeline", "scopes": ["admin"]},
    },
}
ANSWERS: dict[type, Any] = {
    CreatedApiKey: {**_KEY_FIELDS, "createdAt": CREATED, "key": "svc_5eed5eed5eed5eed5eed5eed5eed5eed"},
    ApiKeyView: {**_KEY_FIELDS, "lastUsedAt": DECIDED, "createdAt": CREATED},
}
