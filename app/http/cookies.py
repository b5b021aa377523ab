"""The cookie of a browser's session, and the check that a request with it was made by a page of this service."""

from collections.abc import Iterable, Mapping

from app.errors import CrossSite, Invalid, Unauthorized
from app.http.answers import Header
from app.model.api_keys import SESSION_TYPE, is_raw_key

COOKIE_NAME = "__Host-remit"
"""A browser takes it only over a secure connection and sends it to no other host."""

FLOW_COOKIE = "__Host-remit-flow"
"""What a browser was sent to the identity provider with. `Lax`, because it comes back from another site."""

_COOKIE = b"cookie"
_FLOW_SECONDS = 600
_ATTRIBUTES = "HttpOnly; Secure; SameSite=Strict; Path=/"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def session_cookie(headers: Iterable[Header]) -> str | None:
    """The session's token in the request's cookies; None if there is none.

    Raises Unauthorized if it does not have the form of one, Invalid if it is there twice.
    """
    token = cookie_in(headers, COOKIE_NAME)
    if token is not None and not (token.startswith(SESSION_TYPE) and is_raw_key(token)):
        raise Unauthorized(f"The cookie {COOKIE_NAME} is not the token of a session")
    return token


def cookie_in(headers: Iterable[Header], cookie: str) -> str | None:
    """The value of the cookie with this name; None if there is none. Raises Invalid if it is there twice."""
    values = [value.decode("latin-1") for name, value in headers if name == _COOKIE]
    # Only what separates cookies: a name that begins with another white space is another cookie, which any subdomain
    # may set, since to a browser it does not begin with `__Host-`.
    pairs = [pair.strip(" \t") for value in values for pair in value.split(";")]
    found = [pair.partition("=")[2] for pair in pairs if pair.partition("=")[0] == cookie]
    if len(found) > 1:
        raise Invalid.at("Cookie", f"has {cookie} more than once")
    return found[0] if found else None


def require_same_origin(method: str, headers: Iterable[Header], public_url: str | None) -> None:
    """Raise CrossSite unless the request only reads, or was made by a page of this very origin.

    A page on another port or subdomain is of the same site, so a browser sends it even the cookies that are `Strict`.
    Browsers say who made a request in Sec-Fetch-Site; to those that do not, Origin must be the public URL.
    """
    if method in _SAFE:
        return
    given: Mapping[bytes, list[bytes]] = {name: [] for name in (b"sec-fetch-site", b"origin")}
    for name, value in headers:
        if name in given:
            given[name].append(value)
    if sites := given[b"sec-fetch-site"]:
        if sites == [b"same-origin"]:
            return
        raise CrossSite("Sec-Fetch-Site must be `same-origin`: this request was made by a page of another origin")
    if public_url is not None and given[b"origin"] == [origin_of(public_url).encode()]:
        return
    raise CrossSite(
        "A request with a session's cookie needs `Sec-Fetch-Site: same-origin`, or Origin = REMIT_PUBLIC_URL"
    )


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, as browsers write them in Origin."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0].partition("?")[0].lower()
    default = {"http": ":80", "https": ":443"}.get(scheme.lower(), "")
    return f"{scheme.lower()}://{authority.removesuffix(default) if default else authority}"


def set_cookie(token: str, max_age_s: int) -> str:
    """The value of Set-Cookie that gives a browser the session's token; with 0 seconds, one that takes it away."""
    return f"{COOKIE_NAME}={token}; Max-Age={max_age_s}; {_ATTRIBUTES}"


def flow_cookie(value: str) -> str:
    """The value of Set-Cookie that gives a browser what it goes to the identity provider with; "" takes it away."""
    age_s = _FLOW_SECONDS if value else 0
    return f"{FLOW_COOKIE}={value}; Max-Age={age_s}; HttpOnly; Secure; SameSite=Lax; Path=/"
