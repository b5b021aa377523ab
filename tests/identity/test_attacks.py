"""What RFC 8725 and RFC 9700 warn of, one test each, against a provider that answers whatever the test wants."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from contextlib import asynccontextmanager, suppress

import httpx
import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from servers import Replica

from app.errors import NoAccess, ProviderUnavailable, SeveralWorkspaces, Unauthorized
from app.http.api.sign_in_flow import is_console_path
from app.http.cookies import COOKIE_NAME, cookie_in
from app.identity import fetching
from app.identity.provider import FRESH_TOKEN_S, REDEEMING_MAX, REFRESH_S, STALE_S, UNKNOWN_KEY_S, Provider
from app.identity.tokens import LEEWAY_S, TOKEN_BYTES
from app.model.identity_provider import parse_group_scopes, scopes_by_workspace
from app.settings import Settings

RSA_KEY, EC_KEY, ED_KEY = (
    rsa.generate_private_key(65537, 2048),
    ec.generate_private_key(ec.SECP256R1()),
    ed25519.Ed25519PrivateKey.generate(),
)
STRANGER = rsa.generate_private_key(65537, 2048)
ALGORITHMS = {
    "RS256": (RSA_KEY, jwt.algorithms.RSAAlgorithm),
    "ES256": (EC_KEY, jwt.algorithms.ECAlgorithm),
    "EdDSA": (ED_KEY, jwt.algorithms.OKPAlgorithm),
}
LOGOUT_EVENT = {"http://schemas.openid.net/event/backchannel-logout": {}}


def public(alg, **fields):
    """The public key as the provider shows it."""
    key, kind = ALGORITHMS[alg]
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": alg, "use": "sig", "alg": alg, **fields}


class Clock:
    """The provider's clock, which tests move."""

    now_s = 1_000_000.0

    def __call__(self):
        return self.now_s


class Fake:
    """A provider whose answers a test changes. asked: the paths, in order."""

    def __init__(self):
        self.keys = [public(alg) for alg in ALGORITHMS]
        self.metadata, self.answers, self.asked, self.token = {}, {}, [], ""
        self.serving = []

    async def serve(self, reader, writer):
        self.serving.append(asyncio.current_task())
        try:
            await self.answer(reader, writer)
        finally:
            writer.transport.abort()

    async def answer(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        self.asked.append(path)
        ready = {
            "/.well-known/openid-configuration": {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/auth",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
                **self.metadata,
            },
            "/jwks": {"keys": self.keys},
            "/token": {"id_token": self.token},
        }
        status, body, *wait = self.answers.get(path, (200, json.dumps(ready.get(path, {})).encode()))
        await asyncio.sleep(*wait or (0,))
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body)) + body)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def ended(self):
        """What still waits to answer is stopped, and every connection is closed."""
        for each in self.serving:
            each.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)


@asynccontextmanager
async def faking(**settings):
    fake = Fake()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.issuer = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    fake.clock = Clock()
    given = {"oidc_client_id": "remit", "oidc_cli_client_id": "remit-cli", "oidc_scopes": "admins=admin"}
    chosen = Settings(oidc_issuer=fake.issuer, public_url="https://remit.example.com", **given | settings)
    fake.provider = Provider(chosen, fake.clock)
    async with server:
        yield fake
        await fake.ended()


@pytest.fixture
async def fake():
    async with faking() as made:
        yield made


def claims(fake, **changed):
    now = int(time.time())
    said = {
        "iss": fake.issuer,
        "aud": "remit",
        "sub": "ann",
        "iat": now,
        "exp": now + 300,
        "nonce": "n",
        "groups": ["admins"],
    }
    return {name: value for name, value in (said | changed).items() if value is not ...}


def signed(fake, alg="RS256", key=None, headers=None, **changed):
    return jwt.encode(claims(fake, **changed), key or ALGORITHMS[alg][0], alg, headers={"kid": alg, **(headers or {})})


async def redeem(fake, token, max_age_s=None):
    fake.token = token
    return (await fake.provider.redeem("code", "verifier", "n", max_age_s))[0]


@pytest.mark.parametrize("alg", ALGORITHMS)
async def test_a_proper_token_of_each_algorithm_is_accepted(fake, alg):
    """The tests below change one thing of it."""
    assert (await redeem(fake, signed(fake, alg)))["sub"] == "ann"
    assert fake.provider.identity({"iat": 0, "sub": "ann", "groups": ["admins"]})[1].scopes == ("admin",)


def by_hand(fake, header, signature=b"", **changed):
    """A token with this header and signature, made without the library."""
    parts = (
        json.dumps({"alg": "RS256", "kid": "RS256", **header}).encode(),
        json.dumps(claims(fake, **changed)).encode(),
    )
    return b".".join(base64.urlsafe_b64encode(each).rstrip(b"=") for each in (*parts, signature)).decode()


def confused(fake):
    """HS256 with the public key as the secret (RFC 8725, 2.1)."""
    pem = RSA_KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    unsigned = by_hand(fake, {"alg": "HS256"}).rpartition(".")[0]
    mac = base64.urlsafe_b64encode(hmac.digest(pem, unsigned.encode(), hashlib.sha256)).rstrip(b"=").decode()
    return f"{unsigned}.{mac}"


def respelt(token):
    """The token with another last character that stands for the same bytes."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]


def deep(levels):
    """Nested lists."""
    found = []
    for _ in range(levels):
        found = [found]
    return found


NOW, LATER = int(time.time()), int(time.time()) + 30 * 24 * 3600
ATTACKS = {
    "alg none": (lambda fake: by_hand(fake, {"alg": "none"}), "alg must be one of"),
    "alg None in other letters": (lambda fake: by_hand(fake, {"alg": "nOnE"}), "alg must be one of"),
    "a public key as a secret": (confused, "alg must be one of"),
    "no signature": (lambda fake: by_hand(fake, {}), "signature is wrong"),
    "another's signature": (lambda fake: signed(fake, key=STRANGER), "signature is wrong"),
    "an algorithm for another key": (lambda fake: signed(fake, "ES256", headers={"kid": "RS256"}), "names no key"),
    "an unknown key": (lambda fake: signed(fake, headers={"kid": "new"}), "names no key"),
    "a key in the header": (lambda fake: signed(fake, key=STRANGER, headers={"jwk": {"kty": "RSA"}}), "header has jwk"),
    "an address of keys": (lambda fake: signed(fake, headers={"jku": "https://evil.example"}), "header has jku"),
    "an address of certificates": (
        lambda fake: signed(fake, headers={"x5u": "https://evil.example"}),
        "header has x5u",
    ),
    "certificates": (lambda fake: signed(fake, headers={"x5c": ["MII"]}), "header has x5c"),
    "what must be understood": (lambda fake: signed(fake, headers={"crit": ["x"], "x": 1}), "is not a signed JWT"),
    "for another client": (lambda fake: signed(fake, aud="another"), "aud is not remit"),
    "for another client too": (lambda fake: signed(fake, aud=["remit", "another"]), "azp is not remit"),
    "given to another client": (lambda fake: signed(fake, azp="another"), "azp is not remit"),
    "without an audience": (lambda fake: signed(fake, aud=...), "has no aud"),
    "of another issuer": (lambda fake: signed(fake, iss="https://evil.example"), "iss is not"),
    "of an issuer with a slash more": (lambda fake: signed(fake, iss=f"{fake.issuer}/"), "iss is not"),
    "of a list of issuers": (lambda fake: by_hand(fake, {}, iss=[fake.issuer]), ""),
    "without an issuer": (lambda fake: signed(fake, iss=...), "has no iss"),
    "expired": (lambda fake: signed(fake, exp=NOW - LEEWAY_S - 5), "exp has passed"),
    "without an end": (lambda fake: signed(fake, exp=...), "has no exp"),
    "of the future": (lambda fake: signed(fake, iat=LATER, exp=LATER + 900), "in the future"),
    "not valid yet": (lambda fake: signed(fake, nbf=LATER, exp=LATER + 900), "in the future"),
    "without a time": (lambda fake: signed(fake, iat=...), "has no iat"),
    "without a subject": (lambda fake: signed(fake, sub=...), "has no sub"),
    "with an empty subject": (lambda fake: signed(fake, sub=""), "sub must be"),
    "of another request": (lambda fake: signed(fake, nonce="m"), "nonce is not"),
    "without a nonce": (lambda fake: signed(fake, nonce=...), "has no nonce"),
    "with a nonce that is no text": (lambda fake: signed(fake, nonce=["n"]), "nonce is not"),
    "a number as a text": (lambda fake: signed(fake, exp=str(LATER)), "exp must be a number"),
    "an end that is no number": (lambda fake: by_hand(fake, {}, exp=float("inf")), ""),
    "true as a time": (lambda fake: signed(fake, nbf=True), "nbf must be a number"),
    "an access token": (lambda fake: signed(fake, headers={"typ": "at+jwt"}), "typ must be JWT"),
    "a logout token": (lambda fake: signed(fake, headers={"typ": "logout+jwt"}), "typ must be JWT"),
    "the same bytes, spelt otherwise": (lambda fake: respelt(signed(fake)), "is not a signed JWT"),
    "white space in the signature": (lambda fake: signed(fake)[:-9] + "\n" + signed(fake)[-9:], "is not a signed JWT"),
    "a path as kid": (lambda fake: signed(fake, headers={"kid": "../../dev/null"}), "names no key"),
    "NUL in kid": (lambda fake: signed(fake, headers={"kid": "RS256\0"}), "names no key"),
    "a kid that is no text": (lambda fake: by_hand(fake, {"kid": ["RS256"]}), "is not a signed JWT"),
    "a deep header": (lambda fake: by_hand(fake, {"x": deep(400)}), "signature is wrong"),
    "no token": (lambda _: "x", "is not a signed JWT"),
    "a token of five parts": (lambda _: "eyJhbGciOiJkaXIifQ.a.b.c.d", "is not a signed JWT"),
    "a very long one": (lambda fake: signed(fake, x="x" * TOKEN_BYTES), "more than"),
}
"""What an attacker sends in place of an ID token, and what the refusal says. RFC 8725 chapters 2 and 3."""


@pytest.mark.parametrize("attack", ATTACKS)
async def test_another_token_is_refused_with_what_was_expected(fake, attack):
    """The sentence names the claim, and never shows the token."""
    make, sentence = ATTACKS[attack]
    token = make(fake)
    with pytest.raises(Unauthorized) as refused:
        await redeem(fake, token)
    assert sentence in refused.value.message
    assert token not in refused.value.message


async def test_a_sign_in_that_was_to_be_fresh_is(fake):
    """A provider that ignores max_age, says nothing or names the future, signs nobody in who could then approve."""
    now = int(time.time())
    assert await redeem(fake, signed(fake, auth_time=now - 50), max_age_s=60)
    for auth_time in (..., now - 60 - LEEWAY_S - 5, now + LEEWAY_S + 60, "now", True, 1e400):
        with pytest.raises(Unauthorized, match="auth_time"):
            await redeem(fake, signed(fake, auth_time=auth_time), max_age_s=60)
    with pytest.raises(Unauthorized, match="auth_time is in the future"):
        fake.provider.identity(await redeem(fake, signed(fake, auth_time=now + LEEWAY_S + 60)))


async def test_clocks_may_differ_by_half_a_minute(fake):
    """Of two well-kept machines."""
    for changed in ({"exp": int(time.time()) - LEEWAY_S + 5}, {"iat": int(time.time()) + LEEWAY_S - 5}):
        assert await redeem(fake, signed(fake, **changed))


async def test_a_new_key_is_found_and_a_removed_one_no_longer_counts(fake):
    """Unknown keys make Remit ask the provider once a minute, however many tokens name them."""
    await redeem(fake, signed(fake))
    fake.keys = [public("RS256", kid="next")]
    token = signed(fake, headers={"kid": "next"})
    for _ in range(5):
        with pytest.raises(Unauthorized, match="names no key"):
            await redeem(fake, token)
    assert fake.asked.count("/jwks") == 1
    fake.clock.now_s += UNKNOWN_KEY_S
    assert await redeem(fake, token)
    assert fake.asked.count("/jwks") == 2
    with pytest.raises(Unauthorized, match="names no key"):
        await redeem(fake, signed(fake))


async def test_concurrent_sign_ins_read_the_keys_once(fake):
    """At the start, and after an hour."""
    await asyncio.gather(*(fake.provider.authorization_url("s", "n", "v", None) for _ in range(10)))
    assert fake.asked.count("/jwks") == 1
    fake.clock.now_s += REFRESH_S
    await asyncio.gather(*(fake.provider.authorization_url("s", "n", "v", None) for _ in range(10)))
    assert fake.asked.count("/jwks") == 2


async def test_keys_count_for_a_day_while_the_provider_is_down(fake):
    """Then nobody signs in, since a key may have been withdrawn meanwhile."""
    await redeem(fake, signed(fake))
    token = signed(fake, aud="remit-cli")
    fake.answers["/.well-known/openid-configuration"] = (500, b"")
    fake.clock.now_s += STALE_S - 1
    assert await fake.provider.presented(token)
    fake.clock.now_s += 2
    with pytest.raises(ProviderUnavailable):
        await fake.provider.presented(token)


HOSTILE = {
    "an error": (500, b"{}"),
    "a redirect": (302, b"{}"),
    "no JSON": (200, b"<html>"),
    "a list": (200, b"[]"),
    "ten megabytes": (200, b" " * 10_000_000),
}


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/jwks", "/token"])
@pytest.mark.parametrize("answer", HOSTILE)
async def test_a_provider_that_answers_nonsense_signs_nobody_in(fake, path, answer):
    """With a sentence for people, whatever it was."""
    fake.answers[path] = HOSTILE[answer]
    with pytest.raises(ProviderUnavailable):
        await redeem(fake, signed(fake))


async def test_a_provider_that_does_not_answer_is_given_up(fake, monkeypatch):
    """After five seconds in all."""
    monkeypatch.setattr(fetching, "SECONDS", 0.05)
    fake.answers["/token"] = (200, b"{}", 5)
    with pytest.raises(ProviderUnavailable, match="gave no answer"):
        await redeem(fake, signed(fake))


METADATA = {
    "another issuer": {"issuer": "https://evil.example"},
    "no issuer": {"issuer": None},
    "keys without protection": {"jwks_uri": "http://keys.example.com/jwks"},
    "keys in a file": {"jwks_uri": "file:///etc/passwd"},
    "a password in an address": {"token_endpoint": "https://user:pw@example.com/"},
    "an address that is none": {"token_endpoint": 7},
}


@pytest.mark.parametrize("metadata", METADATA)
async def test_metadata_that_lead_elsewhere_are_refused(fake, metadata):
    """Mix-up (RFC 9700, 4.4): the issuer must be the one of the setting, and every address must be protected."""
    fake.metadata = METADATA[metadata]
    with pytest.raises(ProviderUnavailable):
        await redeem(fake, signed(fake))


async def test_an_answer_of_another_provider_is_refused(fake):
    """RFC 9207: `iss` in the answer, which must be there if the provider says so."""
    await fake.provider.require_issuer(fake.issuer)
    await fake.provider.require_issuer(None)
    with pytest.raises(Unauthorized):
        await fake.provider.require_issuer("https://evil.example")
    fake.metadata = {"authorization_response_iss_parameter_supported": True}
    fake.clock.now_s += REFRESH_S
    with pytest.raises(Unauthorized):
        await fake.provider.require_issuer(None)


async def test_keys_of_one_name_or_of_another_kind_sign_nothing(fake):
    """Which of two is meant, nobody knows; an elliptic key under RS256 is none of that algorithm."""
    fake.keys = [public("RS256"), {**public("RS256"), "n": "AQAB"}]
    with pytest.raises(Unauthorized, match="does not tell which key"):
        await redeem(fake, signed(fake))
    fake.keys = [{**public("ES256"), "kid": "RS256", "alg": "RS256"}]
    fake.clock.now_s += REFRESH_S
    with pytest.raises(Unauthorized, match="names no key"):
        await redeem(fake, signed(fake))
    fake.keys = [{**public("RS256"), "alg": "ES256"}]
    fake.clock.now_s += REFRESH_S
    with pytest.raises(Unauthorized, match="its key is for another"):
        await redeem(fake, signed(fake))
    fake.keys = [{"kty": "RSA", "kid": "RS256", "n": "!", "e": "AQAB"}, public("EdDSA", use="enc")]
    fake.clock.now_s += REFRESH_S
    with pytest.raises(Unauthorized, match="cannot be used"):
        await redeem(fake, signed(fake))
    with pytest.raises(Unauthorized, match="names no key"):
        await redeem(fake, signed(fake, "EdDSA"))


async def test_of_two_values_of_one_claim_the_signed_token_has_one_reading(fake):
    """RFC 7519, 4: whoever signs may write a member twice, and the last one is what all checks see."""
    header = base64.urlsafe_b64encode(b'{"alg":"RS256","kid":"RS256"}').rstrip(b"=").decode()
    body = json.dumps(claims(fake))[:-1] + ', "aud": "another"}'
    told = f"{header}.{base64.urlsafe_b64encode(body.encode()).rstrip(b'=').decode()}"
    signature = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256).sign(told.encode(), RSA_KEY)
    with pytest.raises(Unauthorized, match="aud is not remit"):
        await redeem(fake, f"{told}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}")


async def test_a_program_presents_fresh_tokens_of_its_own_client(fake):
    """Not one that a browser's sign-in could have leaked, nor an old one."""
    assert await fake.provider.presented(signed(fake, aud="remit-cli"))
    with pytest.raises(Unauthorized, match="aud is not remit-cli"):
        await fake.provider.presented(signed(fake))
    old = int(time.time()) - FRESH_TOKEN_S - 5
    with pytest.raises(Unauthorized, match="iat is more than"):
        await fake.provider.presented(signed(fake, aud="remit-cli", iat=old))
    with pytest.raises(Unauthorized, match="as logout tokens do"):
        await fake.provider.presented(signed(fake, aud="remit-cli", events=LOGOUT_EVENT))
    async with faking(oidc_cli_client_id="") as without:
        with pytest.raises(Unauthorized, match="REMIT_OIDC_CLI_CLIENT_ID is not set"):
            await without.provider.presented(signed(without, aud=""))


LOGOUTS = {
    "an ID token": ({"events": ...}, "events"),
    "with a nonce": ({"nonce": "n"}, "nonce"),
    "another event": ({"events": {"other": {}}}, "events"),
    "an event that is no object": ({"events": {next(iter(LOGOUT_EVENT)): 1}}, "events"),
    "of nobody": ({"sub": ...}, "neither sub nor sid"),
    "without jti": ({"jti": ...}, "has no jti"),
    "for another client": ({"aud": "another"}, "aud is not"),
    "expired": ({"exp": NOW - LEEWAY_S - 5}, "exp has passed"),
    "valid for weeks": ({"exp": LATER}, "valid for more than"),
    "of a session without a name": ({"sub": ..., "sid": ""}, "neither sub nor sid"),
}


@pytest.mark.parametrize("logout", LOGOUTS)
async def test_a_logout_token_is_nothing_else(fake, logout):
    """OpenID Connect Back-Channel Logout 1.0, 2.6."""
    proper = {"events": LOGOUT_EVENT, "jti": "1", "nonce": ...}
    assert (await fake.provider.logged_out(signed(fake, **proper))).person == fake.provider.person("ann")
    changed, sentence = LOGOUTS[logout]
    with pytest.raises(Unauthorized, match=sentence):
        await fake.provider.logged_out(signed(fake, **proper | changed))


async def test_groups_are_found_by_a_path_and_are_texts(fake):
    """Whatever else a provider puts there is nobody's group."""
    async with faking(
        oidc_groups_claim="realm_access.roles", oidc_scopes="a=view b=approve ops/a=admin /top=audit"
    ) as made:
        said = {"iat": 0, "sub": "x", "realm_access": {"roles": ["a", 7, None, ["b"], "A"]}}
        with pytest.raises(SeveralWorkspaces) as asked:
            made.provider.identity(said)
        assert [each.message for each in asked.value.details] == ["default", "ops"]
        assert made.provider.identity(said, "default")[1].scopes == ("view",)
        name, identity = made.provider.identity(said, "ops")
        assert (name, identity.scopes, identity.groups) == ("ops", ("admin",), ("A", "a"))
        for other in ({"roles": ["a"]}, {"realm_access": "a"}, {"realm_access": {"roles": "A"}}, {}):
            with pytest.raises(NoAccess):
                made.provider.identity({"iat": 0, "sub": "x", **other})
        with pytest.raises(NoAccess):
            made.provider.identity(said, "payments")
        assert made.provider.identity({"iat": 0, "sub": "x", "realm_access": {"roles": ["/top"]}})[0] == "default"


@pytest.mark.parametrize("text", ["a", "=view", "a=", "a=view,", "a=see", "/=view", "ops/=view", "a=view b"])
def test_a_wrong_table_of_groups_is_refused(text):
    """At the start, and not when somebody signs in."""
    with pytest.raises(ValueError, match=r"is not GROUP=|has a scope"):
        parse_group_scopes(text)


def test_scopes_of_several_groups_add_up():
    """In each workspace by themselves."""
    table = parse_group_scopes("a=view b=approve,view ops/a=policies")
    assert scopes_by_workspace(table, ["a", "b"]) == {"default": ("approve", "view"), "ops": ("policies",)}
    assert scopes_by_workspace(table, ["c"]) == {}


async def test_two_people_and_two_providers_are_different_persons(fake):
    """Identity is issuer and subject; name and mail are for display."""
    async with faking() as other:
        persons = {each.provider.person(sub) for each in (fake, other) for sub in ("ann", "bob", "Ann")}
        assert len(persons) == 6
    hidden = fake.provider.identity(
        {"iat": 0, "sub": "x", "name": "a\u202eb", "email": "a@example.com", "groups": ["admins"]}
    )
    assert hidden[1].name == "a@example.com"


@pytest.mark.parametrize(
    ("to", "is_one"),
    [
        ("/console", True),
        ("/console/decisions?tool_name=file.*&q=a+b%2F%5C//", True),
        ("/console//evil.example", False),
        ("/console/../..//evil.example", False),
        ("/console/%2e%2e/x", False),
        ("/console/%2fevil.example", False),
        ("/console\\evil.example", False),
        ("/console/\tevil", False),
        ("/console?a\r\nSet-Cookie: x", False),
        ("/console?a#b", False),
        ("/console?é", False),
        ("//evil.example/console", False),
        ("/consolé", False),
        ("/console@evil.example", False),
        ("/console.evil.example", False),
        ("/console\n", False),
        ("/console?a\n", False),
    ],
)
def test_a_path_of_the_console_is_nothing_else(to, is_one):
    """Whatever browsers make of slashes, dots, escapes and white space."""
    assert bool(is_console_path(to)) is is_one


def test_a_cookie_whose_name_only_looks_like_the_services_is_another():
    """Browsers guard names that begin with `__Host-`; with white space before it, any subdomain may set one."""
    for white in (b"\xa0", b"\x85", b"\x0b", b"\x1c"):
        assert cookie_in([(b"cookie", white + b"__Host-remit=x; a=b")], COOKIE_NAME) is None
    assert cookie_in([(b"cookie", b"a=b;\t __Host-remit=x")], COOKIE_NAME) == "x"


FLOW = "__Host-remit-flow"


def _packed(value):
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")


@pytest.mark.stores
@pytest.mark.slow
async def test_made_up_answers_ask_the_provider_nothing(fake, store):
    """A flow is one that this service began, has one answer, and counts as a failure of its address without one."""
    fake.answers["/token"] = (400, b'{"error": "invalid_grant"}')
    given = {"REMIT_OIDC_ISSUER": fake.issuer, "REMIT_OIDC_CLIENT_ID": "remit", "REMIT_OIDC_SCOPES": "admins=admin"}
    given |= {"REMIT_SECRET": "0123456789abcdef" * 2, "REMIT_PUBLIC_URL": "http://127.0.0.1:1"}
    given |= {"REMIT_AUTH_FAILURES_PER_MINUTE": "9", "REMIT_COMPACT": "false"}
    replica = await asyncio.to_thread(lambda: Replica(store.url, **given))

    async def come_back(client, flow, state):
        query = {"state": state, "code": "made-up"}
        answer = await client.get("/console/callback", params=query, headers={"Cookie": f"{FLOW}={flow}"})
        return answer.status_code

    try:
        async with httpx.AsyncClient(base_url=replica.base_url, timeout=30) as client:
            begun = await client.get("/console/sign-in?to=/console")
            flow = begun.headers["set-cookie"].partition("=")[2].partition(";")[0]
            written, _, mac = flow.partition(".")
            read = msgspec.json.decode(base64.urlsafe_b64decode(written + "=" * (-len(written) % 4)))
            state, other = read["state"], "0" if flow[-1] != "0" else "1"
            later, elsewhere = _packed(read | {"begun_s": read["begun_s"] + 1}), _packed(read | {"to": "/console/x"})
            for each in (f"{written}.", f"{flow[:-1]}{other}", f"{later}.{mac}", f"{elsewhere}.{mac}", ""):
                assert await come_back(client, each, state) == 401
            assert "/token" not in fake.asked
            assert [await come_back(client, flow, state) for _ in range(2)] == [401, 401]
            assert fake.asked.count("/token") == 1
            left = [await come_back(client, flow, state) for _ in range(4)]
            assert left == [401, 401, 429, 429]
    finally:
        await asyncio.to_thread(replica.stop)


async def test_few_codes_are_redeemed_at_the_same_time(fake):
    """A slow provider does not gather requests without end."""
    assert await redeem(fake, signed(fake))  # its metadata and keys are known from here on
    fake.answers["/token"] = (200, b"{}", 5)
    under_way = [asyncio.create_task(redeem(fake, signed(fake))) for _ in range(REDEEMING_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(ProviderUnavailable, match="Too many people"):
        await redeem(fake, signed(fake))
    for each in under_way:
        each.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
    fake.answers.clear()
    assert await redeem(fake, signed(fake))
