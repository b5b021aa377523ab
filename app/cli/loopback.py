"""Signing in with a browser on this machine: the authorization code comes back to 127.0.0.1 (RFC 8252)."""

import base64
import hashlib
import hmac
import html
import json
import os
import secrets
import sys
import time
import webbrowser
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import click

PATIENCE_S = 600
"""How long somebody may take to sign in, in seconds."""
_PATH = "/callback"
_REQUEST_S = 5
_HAS_BROWSER, _DISPLAYS = ("darwin", "win32"), ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Elsewhere a browser would be one for terminals, and take this one."""
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Connection": "close",
}

Ask = Callable[[str, dict[str, str]], dict[str, Any]]


class _Listener(HTTPServer):
    """Listens on a port of 127.0.0.1 for the one answer to a request that had this state.

    answer: its query, once it is there. Anything else that arrives is refused and changes nothing.
    """

    def __init__(self, state: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state, self.answer = state, dict[str, str]()
        self.host = f"127.0.0.1:{self.server_port}"

    def _say_nothing(self, request: Any, client_address: Any) -> None:
        """Ignore clients that leave or are too slow."""

    handle_error = _say_nothing


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    timeout = _REQUEST_S

    def do_GET(self) -> None:
        """Take the answer, if it is one and the first."""
        where = urlsplit(self.path)
        given = parse_qs(where.query, keep_blank_values=True, max_num_fields=20)
        query = {name: values[0] for name, values in given.items() if len(values) == 1}
        # The name of a host that an attacker made to lead here (DNS rebinding) is in Host.
        is_here = where.path == _PATH and self.headers.get_all("Host") == [self.server.host]
        is_ours = hmac.compare_digest(query.get("state", "").encode(), self.server.state.encode())
        if not is_here or not is_ours or len(query) != len(given) or self.server.answer:
            return self._say(400, "This is not the answer that remit login waits for")
        self.server.answer = query
        return self._say(200, "Go on in the terminal; this page can be closed")

    def _say(self, status: int, sentence: str) -> None:
        body = f"<!doctype html><title>remit login</title><p>{html.escape(sentence)}.</p>".encode()
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the library
        """Nothing is logged: the request contains the code."""


def sign_in(metadata: dict[str, Any], client_id: str, wanted: dict[str, str], ask: Ask) -> str:
    """The ID token of a person who signs in with a browser on this machine within ten minutes. Raises ClickException.

    metadata: of the provider. wanted: client, scope and whatever else the request has. ask: posts a form, and returns
    the answer.
    """
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    with _Listener(state) as listener:
        redirect_uri = f"http://{listener.host}{_PATH}"
        query = wanted | {"response_type": "code", "redirect_uri": redirect_uri, "state": state, "nonce": nonce}
        query |= {"code_challenge": challenge, "code_challenge_method": "S256"}
        endpoint = str(metadata["authorization_endpoint"])
        url = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"
        click.echo(f"Open {url}", err=True)
        if sys.platform in _HAS_BROWSER or any(map(os.environ.get, _DISPLAYS)):
            Thread(target=webbrowser.open, args=[url], daemon=True).start()  # some wait until the browser is closed
        ends = time.monotonic() + PATIENCE_S
        while not listener.answer and (left := ends - time.monotonic()) > 0:
            listener.timeout = left
            listener.handle_request()
    code = _code_in(listener.answer, metadata)
    exchange = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    answer = ask(metadata["token_endpoint"], exchange | {"client_id": client_id, "code_verifier": verifier})
    token = answer.get("id_token")
    # It came from the provider itself, over TLS; the service verifies its signature (OpenID Connect Core, 3.1.3.7).
    if not isinstance(token, str) or not hmac.compare_digest(_nonce_in(token).encode(), nonce.encode()):
        raise click.ClickException("The identity provider gave no ID token for this sign-in")
    return token


def _code_in(answer: dict[str, str], metadata: dict[str, Any]) -> str:
    if not answer:
        raise click.ClickException("Nobody signed in in time")
    names_itself = metadata.get("authorization_response_iss_parameter_supported") is True
    if answer.get("iss", None if names_itself else metadata["issuer"]) != metadata["issuer"]:
        raise click.ClickException("The answer came from another identity provider (RFC 9207)")
    if "error" in answer or not answer.get("code"):
        raise click.ClickException(f"The identity provider refused: {answer.get('error', '')[:60]!r}")
    return answer["code"]


def _nonce_in(token: str) -> str:
    try:
        middle = token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4))).get("nonce", ""))
    except (ValueError, LookupError, AttributeError):
        return ""
