"""`remit login`, `remit logout`, `remit whoami`: commands as the person who signed in."""

import http.client
import json
import sys
import time
from typing import Any
from urllib.parse import urlencode, urlsplit

import click

from app.cli.api import URL_OPTION, Refused, over_http
from app.cli.option_types import WholeNumber
from app.cli.output import Shown, shows
from app.cli.saved_session import forget, given_to, key_for, note_given, read_saved, remember
from app.model.api_keys import SESSION_TYPE

_ANSWER_BYTES = 256 * 1024
_PATIENCE_S = 600
_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
_NO_KEY = "none"
"""Signing in needs none."""
_LOCAL = ("127.0.0.1", "localhost", "::1")


@click.command("login")
@URL_OPTION
@click.option("--workspace", help="Which workspace, if you have access to several.")
@click.option(
    "--max-age", type=WholeNumber(0, 28_800), help="Enter your password again if that was longer ago, in seconds."
)
@click.option(
    "--new-address", is_flag=True, help="Sign in although the provider's last token was given to another URL."
)
@shows
def log_in(url: str, workspace: str | None, max_age: int | None, new_address: bool) -> Shown:
    """Sign in with the identity provider; later commands that talk to this service are made as you.

    Prints an address and a code to enter there, in any browser, and waits for at most ten minutes. A provider without
    the device flow is opened in a browser on this machine instead. The session lasts eight hours at most, and ends when
    it has not been used for half an hour. An address that asks for the token of another service is refused.
    """
    provider = over_http(url, "", _NO_KEY).call("GET", "/v1/sign-in")["provider"]
    if provider is None or "cliClientId" not in provider:
        raise click.ClickException(
            "This service has no identity provider for programs (REMIT_OIDC_CLI_CLIENT_ID); use an API key"
        )
    issuer, client_id = provider["issuer"], provider["cliClientId"]
    known = given_to(issuer, client_id)
    if known not in (None, url) and not new_address:
        raise click.ClickException(
            f"{url} asks for an ID token that is valid at {known}, too: the last one of this provider's client was for "
            "that service. If both are yours, add --new-address; else do not sign in here"
        )
    metadata = _ask(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if metadata.get("issuer") != issuer:
        raise click.ClickException(
            f"{issuer} calls itself another issuer; sign in with `remit console`, or use an API key"
        )
    wanted = ["openid", "profile", "email", *(["groups"] if "groups" in metadata.get("scopes_supported", ()) else [])]
    form = {"client_id": client_id, "scope": " ".join(wanted)} | ({} if max_age is None else {"max_age": str(max_age)})
    if "device_authorization_endpoint" in metadata:
        token = _id_token(metadata, client_id, form)
    else:
        from app.cli.loopback import sign_in

        require_protected(str(metadata.get("authorization_endpoint")))
        token = sign_in(metadata, client_id, form, _ask)
    made = _session(url, token, workspace)
    remember(url, made["token"], made["until"])
    note_given(issuer, client_id, url)
    yield {name: value for name, value in made.items() if name != "token"}
    ends = f"until {made['until']}, or {made['idleUntil']} if it is not used before"
    click.echo(f"signed in as {made['name']} ({', '.join(made['scopes'])}) {ends}")


@click.command("logout")
@URL_OPTION
@shows
def log_out(url: str) -> Shown:
    """Sign out: end the session of `remit login`, and remove it from this machine."""
    saved = read_saved(url)
    if saved is None:
        raise click.ClickException(f"Nobody is signed in at {url} on this machine")
    forget()
    over_http(url, "", saved["token"]).call("DELETE", "/v1/session")
    yield {"signedOut": url}
    click.echo(f"signed out of {url}")


@click.command("whoami")
@URL_OPTION
@shows
def who_am_i(url: str) -> Shown:
    """Print who the service takes you for: the key in REMIT_API_KEY, or the person of `remit login`."""
    key = key_for(url)
    if not key:
        raise click.UsageError("REMIT_API_KEY is not set, and nobody has signed in with `remit login`")
    me = over_http(url, "", key).call("GET", "/v1/session")
    yield me
    kind = "session" if key.startswith(SESSION_TYPE) else "API key"
    until = "never ends" if me["until"] is None else f"ends {me['until']}"
    click.echo(f"{me['name']}, in workspace {me['workspace']['name']}\n{kind} with {', '.join(me['scopes'])}; {until}")


def _session(url: str, token: str, workspace: str | None) -> dict[str, Any]:
    """The answer to the sign-in. Somebody with access to several workspaces is asked for one, in a terminal."""
    api, body = over_http(url, "", _NO_KEY), {"id_token": token, "transport": "bearer"}
    try:
        made: dict[str, Any] = api.call("POST", "/v1/session", body | ({"workspace": workspace} if workspace else {}))
    except Refused as refused:
        if refused.code != "SEVERAL_WORKSPACES" or not sys.stdin.isatty():
            raise
        names = click.Choice([each["message"] for each in refused.details])
        made = api.call("POST", "/v1/session", body | {"workspace": click.prompt("Workspace", type=names, err=True)})
    return made


def _id_token(metadata: dict[str, Any], client_id: str, wanted: dict[str, str]) -> str:
    """The ID token, once the person has agreed (RFC 8628). Raises ClickException."""
    asked, endpoint = _ask(metadata["device_authorization_endpoint"], wanted), metadata["token_endpoint"]
    click.echo(f"Open {asked['verification_uri']} and enter {asked['user_code']}", err=True)
    if complete := asked.get("verification_uri_complete"):
        click.echo(f"or open {complete}", err=True)
    wait_s = max(1, int(asked.get("interval", 5)))
    ends = time.monotonic() + min(_PATIENCE_S, int(asked.get("expires_in", _PATIENCE_S)))
    form = {"grant_type": _DEVICE, "device_code": asked["device_code"], "client_id": client_id}
    while time.monotonic() < ends:
        time.sleep(wait_s)
        answer = _ask(endpoint, form, refusals=True)
        match answer.get("error"):
            case None:
                return str(answer["id_token"])
            case "authorization_pending":
                continue
            case "slow_down":
                wait_s += 5
            case error:
                raise click.ClickException(f"The identity provider refused: {str(error)[:60]!r}")
    raise click.ClickException("Nobody entered the code in time")


def require_protected(url: str) -> str:
    """The URL, if it is https, or http on this machine. Raises ClickException."""
    parts = urlsplit(url)
    if parts.scheme != "https" and (parts.scheme, parts.hostname in _LOCAL) != ("http", True):
        raise click.ClickException(f"The identity provider must be at an https address, not at {url[:200]!r}")
    return url


def _ask(url: str, form: dict[str, str] | None = None, *, refusals: bool = False) -> dict[str, Any]:
    """The provider's JSON object; refusals: also if its status is 400. Only over https, or http on this machine."""
    parts = urlsplit(require_protected(url))
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=20)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    try:
        connection.request(
            "GET" if form is None else "POST", target, None if form is None else urlencode(form), headers
        )
        answer = connection.getresponse()
        told = json.loads(answer.read(_ANSWER_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise click.ClickException(f"The identity provider gave no usable answer ({type(error).__name__})") from None
    finally:
        connection.close()
    if not isinstance(told, dict) or (answer.status != http.client.OK and not refusals):
        raise click.ClickException(f"The identity provider answered {answer.status}")
    return told
