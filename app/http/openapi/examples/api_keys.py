"""API keys, and issuers of tokens that count as such."""

from typing import Any

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


PUT_ISSUER: dict[str, Any] = {
    "A Kubernetes cluster": {
        "issuer": "https://oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLE",
        "audience": "remit",
        "algorithms": ["RS256"],
        "jwksUri": "https://oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLE/keys",
        "rules": [
            {
                "match": {"sub": "system:serviceaccount:payments:refund-bot"},
                "agents": ["refund-bot"],
                "scopes": ["authorize"],
            }
        ],
    },
    "GitHub Actions": {
        "issuer": "https://token.actions.githubusercontent.com",
        "audience": "remit.example.com",
        "algorithms": ["RS256"],
        "jwksUri": "https://token.actions.githubusercontent.com/.well-known/jwks",
        "rules": [{"match": {"repository": "example/policies", "ref": "refs/heads/main"}, "scopes": ["view"]}],
    },
}
ISSUER_VIEW: dict[str, Any] = {
    "id": "01a1fb57-73a1-7c34-9c4e-5a0ff3c1d7b2",
    "name": "cluster",
    "issuer": "https://oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLE",
    "audience": "remit",
    "algorithms": ["RS256"],
    "jwksUri": "https://oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLE/keys",
    "rules": [{"match": {"sub": "system:serviceaccount:payments:refund-bot"}, "scopes": ["authorize"]}],
    "updatedAt": "2026-11-20T12:34:56.789Z",
    "keysReadAt": "2026-11-20T12:35:00.123Z",
}
