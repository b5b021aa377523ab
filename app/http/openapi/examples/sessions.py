"""Sessions, and the state of the service."""

from app.http.openapi.examples.subjects import AGENT, CREATED, DECIDED, KEY

_UNTIL, _IDLE_UNTIL = "2026-11-20T20:34:56.789Z", "2026-11-20T13:04:56.789Z"
_SESSION_ID = "01a2e0c1-9a3b-7c4d-8e5f-60718293a4b5"
SIGN_IN_BODY = {
    "a browser, with an API key": {"key": "svc_5eed5eed5eed5eed5eed5eed5eed5eed"},
    "a program": {"key": "svc_5eed5eed5eed5eed5eed5eed5eed5eed", "transport": "bearer"},
    "with the code of `remit console`": {"code": "5eed5eed5eed5eed5eed5eed5eed5eed"},
}
SESSION_VIEW = {
    "id": _SESSION_ID,
    "name": "ann",
    "scopes": ["approve"],
    "via": "console",
    "keyId": KEY,
    "createdAt": CREATED,
    "lastUsedAt": DECIDED,
    "idleUntil": _IDLE_UNTIL,
    "until": _UNTIL,
}
NEW_SESSION = {**SESSION_VIEW, "lastUsedAt": None}
SIGNED_OUT = {"providerUrl": None}
WHO_AM_I = {
    "name": "ann",
    "workspace": {"id": AGENT, "name": "payments"},
    "scopes": ["approve"],
    "keyId": KEY,
    "sessionId": _SESSION_ID,
    "via": "console",
    "idleUntil": _IDLE_UNTIL,
    "until": _UNTIL,
    "totals": {"pendingApprovals": 2},
}
PIN_REQUEST = {
    "for a day": {"request": "Please send the minutes to ann@example.com."},
    "for an hour": {"request": "Please send the minutes to ann@example.com.", "valid_seconds": 3600},
}
SESSION_REQUEST = {
    "id": _SESSION_ID,
    "session": "conversation 42",
    "length": 43,
    "hmac": "8f1d3c2b0a9e8d7c6b5a49382716050f8f1d3c2b0a9e8d7c6b5a49382716050f",
    "pinnedAt": CREATED,
    "pinnedBy": KEY,
    "expiresAt": _UNTIL,
}
SIGN_IN_OPTIONS = {
    "provider": {"name": "Example SSO", "issuer": "https://sso.example.com", "cliClientId": "remit-command-line"},
    "only": False,
}
HEALTH = {"status": "ok"}
