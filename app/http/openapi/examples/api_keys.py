"""API keys."""

from app.http.openapi.examples.subjects import AGENT, CREATED, DECIDED, KEY

_KEY_FIELDS = {
    "id": KEY,
    "name": "booking agent, production",
    "prefix": "svc_5eed5eed",
    "scopes": ["authorize"],
    "agents": [AGENT],
    "expiresAt": "2027-01-01T00:00:00.000Z",
    "createdAt": CREATED,
}
CREATE_API_KEY = {
    "for a PEP": {
        "name": "booking agent, production",
        "scopes": ["authorize"],
        "agents": [AGENT],
        "expiresAt": "2027-01-01T00:00:00Z",
    },
    "an admin": {"name": "deploy pipeline", "scopes": ["admin"]},
}
CREATED_API_KEY = {**_KEY_FIELDS, "key": "svc_5eed5eed5eed5eed5eed5eed5eed5eed"}
API_KEY_VIEW = {**_KEY_FIELDS, "lastUsedAt": DECIDED}
ROTATE_API_KEY = {"with an hour to deploy the new one": {"overlapSeconds": 3600}}
ROTATED_API_KEY = {**CREATED_API_KEY, "replaces": AGENT, "replacedUntil": "2026-11-20T13:34:56.789Z"}
