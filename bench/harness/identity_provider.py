"""An identity provider of one key, whose tokens say whatever is asked for."""

import json
import secrets
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

_KID = "k"
_LOGOUT: dict[str, Any] = {"http://schemas.openid.net/event/backchannel-logout": {}}


class IdentityProvider:
    """Listens on loopback from its start to its stop."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.jwk = {**jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True), "kid": _KID}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self._server.published = {  # type: ignore[attr-defined]
            "/.well-known/openid-configuration": {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks"},
            "/jwks": {"keys": [self.jwk]},
        }
        Thread(target=self._server.serve_forever, daemon=True).start()

    def settings(self, groups: str) -> dict[str, str]:
        """What a replica needs whose people sign in here. groups: as in `REMIT_OIDC_SCOPES`."""
        return {
            "REMIT_PUBLIC_URL": "http://127.0.0.1",
            "REMIT_OIDC_ISSUER": self.issuer,
            "REMIT_OIDC_CLIENT_ID": "remit",
            "REMIT_OIDC_CLI_CLIENT_ID": "remit-cli",
            "REMIT_OIDC_SCOPES": groups,
        }

    def id_token(self, sub: str, group: str) -> str:
        """A new ID token for programs."""
        return self.signed(sub=sub, aud="remit-cli", groups=[group])

    def logout_token(self, sub: str) -> str:
        """A new logout token."""
        return self.signed(sub=sub, aud="remit", events=_LOGOUT)

    def signed(self, **claims: Any) -> str:
        """A token that is valid for five minutes, and different from all others."""
        now = int(time.time())
        given = {"iss": self.issuer, "iat": now, "exp": now + 300, "jti": secrets.token_hex(16)} | claims
        return jwt.encode(given, self._key, "ES256", headers={"kid": _KID})

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer what is published at the path."""
        body = json.dumps(self.server.published[self.path]).encode()  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""
