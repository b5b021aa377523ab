"""Requests to the provider: only to where they should go, bounded in time and size, without redirects."""

import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpcore
import msgspec

from app.errors import ProviderUnavailable, Unauthorized
from app.outgoing_http import Unanswered, request

ANSWER_BYTES = 256 * 1024
SECONDS = 5.0


def require_fetchable(name: str, url: Any) -> str:
    """The URL, if it is https, or http on this machine. Raises ProviderUnavailable."""
    parts = urlsplit(url) if isinstance(url, str) and url.isascii() and url.isprintable() else None
    if parts is None or not parts.hostname or parts.username is not None or parts.fragment:
        raise ProviderUnavailable(f"{name} of the identity provider is not a URL")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname)):
        raise ProviderUnavailable(f"{name} of the identity provider must be https")
    return str(url)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def fetch_json(
    url: str,
    form: Mapping[str, str] | None = None,
    basic: str = "",
    *,
    backend: httpcore.AsyncNetworkBackend | None = None,
    most: int = ANSWER_BYTES,
) -> dict[str, Any]:
    """The JSON object at the URL, or the answer to the form posted there.

    basic: credentials, as base64. backend: what connects. most: bytes of the answer.

    Raises ProviderUnavailable, which shows neither what was sent nor what was answered, or Unauthorized if the form was
    refused.
    """
    headers = [("Accept", "application/json"), ("User-Agent", "Remit")]
    if basic:
        headers.append(("Authorization", f"Basic {basic}"))
    if form is not None:
        headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    method, content = ("GET", None) if form is None else ("POST", urlencode(form).encode())
    try:
        status, _, body = await request(method, url, headers, content, seconds=SECONDS, most=most, backend=backend)
    except Unanswered as failure:
        raise ProviderUnavailable(f"The identity provider {failure}") from None
    if status == 400 and form is not None:  # noqa: PLR2004 - RFC 6749, 5.2: what was sent is wrong, not the provider
        raise Unauthorized("The identity provider did not accept the code; sign in again")
    if status != 200:  # noqa: PLR2004 - OK
        raise ProviderUnavailable(f"The identity provider answered {status}")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise ProviderUnavailable("The identity provider answered something other than a JSON object") from None


async def published(issuer: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The issuer's metadata and keys. Raises ProviderUnavailable."""
    metadata = await fetch_json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if metadata.get("issuer") != issuer:
        raise ProviderUnavailable(f"The identity provider calls itself another issuer than {issuer}")
    keys = (await fetch_json(require_fetchable("jwks_uri", metadata.get("jwks_uri")))).get("keys")
    if not isinstance(keys, list):
        raise ProviderUnavailable("The identity provider's keys are not a list")
    return metadata, [key for key in keys if isinstance(key, dict)]
