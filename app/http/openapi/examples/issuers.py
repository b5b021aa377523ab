"""Examples of issuers of workload tokens."""

from typing import Any

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
