"""Which values the log may keep; reasons never show the others."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdp_and_mirror import REDACTOR, agent, policy_of, request

from app.model.decisions import Result
from app.pdp import compile_agent, decide
from app.redaction.redactor import Redactor

SECRET_NAMES = [
    *("password", "Password", "PASSWORD", "userPassword", "user_password", "passwordHash", "password1", "old-password"),
    *("passWord", "pass_word", "token", "accessToken", "ACCESS_TOKEN", "x-csrf-token", "token2", "apikey", "apiKey"),
    *("api_key", "API_KEY", "APIKey", "X-Api-Key", "OPENAI_API_KEY", "accesskey", "accessKey", "privatekey"),
    *("Authorization", "proxy-authorization", "clientSecret", "client secret", "credentials", "credential.value"),
    *("pin", "cardPIN", "otp_code", "cvv", "SSN", "cookie", "Set-Cookie", "passphrase", "ключ.token", "пароль_token"),
    *(
        "".join(chr(ord(letter) - ord("A") + 0xFF21) for letter in "PASSWORD"),  # in full width
        "api_" + "".join(chr(ord(letter) - ord("a") + 0x1D41A) for letter in "key"),  # as mathematics has it
        "passcode",
        "bearer",
        "cvc",
        "cardNumber",
        "card_number",
        "mnemonic",
    ),
    *("seed_phrase", "signingKey", "encryption_key", "ssh_key", "SSHKey", "db_pass", "dbpass"),
    *("smtp_pass", "userPass", "creds", "contraseña", "AccountKey", "mfaCode", "recovery_codes", "X-Amz-Signature"),
    *("passwords", "secrets", "app-secrets", "dbPasswords", "apiKeys", "API_KEYS"),
    *(
        "pwd",
        "PGPASSWORD",
        "MYSQL_PWD",
        "IDTOKEN",
        "ACCESSTOKEN",
        "clientsecret",
        "authtoken",
        "cookies",
        "jwt",
        "auth",
    ),
    *("refreshTokens", "access_tokens", "privateKeys", "sshKeys", "jwts", "dsn", "connection_string", "DSNs", "pins"),
    *(
        "secretkey",
        "secretkeys",
        "privkey",
        "sharedKey",
        "storage-key",
        "hmacKeys",
        "gpgKey",
        "newpassword",
        "oldpasswords",
    ),
    *("2fa_code", "mfa", "mfaToken", "2FA", "unlock_code", "unlockCode", "sessionid", "SESSIONID", "pem", "serverPem"),
    *("kms_key", "kmsKeys", "rsaKey", "pfx", "wifi_pass", "redisPass", "connect.sid", "ASP.NET_SessionId"),
    *("contrasena", "пароль", "новый_пароль", "密码", "パスワード"),
]
PLAIN_NAMES = [
    *("max_tokens", "maxTokens", "tokenizer", "tokenize", "secretary", "pinned", "shipping", "spin", "opinion"),
    *("authorized", "author", "cookiecutter", "passport", "compass", "hairpin", "mapIn", "tokens_per_second"),
    *("session_id", "sessionId", "signature", "boarding_pass", "code", "public_key", "keyboard"),
    *("session", "bypass", "key", "api", "keyapi", "", "_", "…", "sso", "credent", "passwordless"),
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_name_that_holds_a_secret_word_is_secret(name):
    """Whole words, however the name joins them."""
    assert REDACTOR.is_secret(name)


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_a_name_that_merely_contains_the_letters_is_not(name):
    """`max_tokens` is a number worth keeping."""
    assert not REDACTOR.is_secret(name)


@pytest.mark.parametrize("name", ["server.pass", "pass", "PASS"])
def test_no_sentence_shows_what_a_pass_is(name):
    """In a call it depends on the value; a sentence of a policy never shows it."""
    assert (REDACTOR.may_be_secret(name), REDACTOR.is_secret(name)) == (True, False)
    assert not REDACTOR.may_be_secret("boarding_pass")
    assert not Redactor([]).may_be_secret("password")


def test_the_setting_replaces_the_default_words():
    """Only the listed words count."""
    redactor = Redactor(["salary", "home address", ""])

    assert [redactor.is_secret(name) for name in ("baseSalary", "homeAddress", "address", "password")] == [
        *(True, True, False, False)
    ]


def test_an_empty_setting_switches_redaction_off():
    """No name is secret then."""
    assert Redactor([]).redacted({"password": "x"}) == {"password": "x"}


def test_values_under_secret_names_are_replaced_wherever_they_stand():
    """Nested in objects and arrays; objects and arrays under a secret name are replaced whole."""
    parameters = {
        "user": {"password": "hunter2", "name": "ann"},
        "calls": [{"headers": {"Authorization": "Bearer x", "Accept": "*/*"}}, [{"otp": 123456}], "token"],
        "credentials": {"user": "ann", "key": ["a", "b"]},
        "auth.token": None,
        "max_tokens": 5,
    }

    assert REDACTOR.redacted(parameters) == {
        "user": {"password": "[REDACTED]", "name": "ann"},
        "calls": [{"headers": {"Authorization": "[REDACTED]", "Accept": "*/*"}}, [{"otp": "[REDACTED]"}], "token"],
        "credentials": "[REDACTED]",
        "auth.token": "[REDACTED]",
        "max_tokens": 5,
    }


def test_policies_see_the_real_values_because_redaction_copies():
    """The original value is unchanged."""
    parameters = {"a": [{"password": "hunter2"}], "b": {"c": 1}}

    kept = REDACTOR.redacted(parameters)

    assert parameters == {"a": [{"password": "hunter2"}], "b": {"c": 1}}
    assert kept["a"] == [{"password": "[REDACTED]"}]


def test_parameters_without_secrets_are_not_copied():
    """Most calls contain none, and copying would slow the hot path."""
    parameters = {"a": [{"b": [1, {}]}], "c": {"d": {}}}
    assert REDACTOR.redacted(parameters) is parameters


def test_the_cache_of_names_is_bounded():
    """Callers choose the names, so the cache is bounded; results do not depend on it."""
    redactor = Redactor(["token"])
    for number in range(10_050):
        redactor.is_secret(f"name{number}")
    redactor.is_secret("token" + "_x" * 40)

    assert len(redactor._roles) <= 10_000
    assert redactor.is_secret("late_token")
    assert not redactor.is_secret("late_name")


names = st.lists(st.sampled_from(["user", "Auth", "key", "api", "token", "name", "x"]), min_size=1, max_size=4)
joints = st.sampled_from(["", "_", "-", ".", " "])
documents = st.recursive(
    st.just("VALUE") | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.builds(lambda parts, joint: joint.join(parts), names, joints), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "api_key", "b.token", "d"]), documents, max_size=4))
def test_redaction_keeps_everything_else_and_the_shape(parameters):
    """Read beside the original, only values under secret names differ, and those are all replaced."""

    def compare(kept, given_value):
        if isinstance(given_value, dict):
            assert list(kept) == list(given_value)
            for name, inner in given_value.items():
                if REDACTOR.is_secret(name):
                    assert kept[name] == "[REDACTED]"
                else:
                    compare(kept[name], inner)
        elif isinstance(given_value, list):
            assert len(kept) == len(given_value)
            for kept_item, given_item in zip(kept, given_value, strict=True):
                compare(kept_item, given_item)
        else:
            assert kept == given_value

    compare(REDACTOR.redacted(parameters), parameters)


pieces = ["token", "Token", "TOKEN", "api", "Key", "pin", "s", "O", "1", "_", "-", ".", "é", "Σ", "ΚΩΔΙΚΌΣ", "ς", "İ"]


@given(st.lists(st.sampled_from(pieces), max_size=8).map("".join))
def test_a_name_is_secret_exactly_if_it_contains_a_whole_secret_word(name):
    """The fast search is compared with trying every run of words against every secret word."""
    redactor = Redactor(["token", "api_key", "pin", "pins", "o_1", "κωδικός"])
    words = [
        word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_0-9A-Za-z]+", name)
    ]  # as the class says that a name has words
    runs = {"".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}
    assert redactor.is_secret(name) == bool(runs & {"token", "apikey", "pin", "pins", "o1", "κωδικός"})


constraint = st.sampled_from(
    [
        {"regex": "^WANTED$"},
        {"enum": ["WANTED", 7777777]},
        {"min": 8888888, "max": 9999999},
        {"regex": "", "max": 1111111},
    ]
)
value = st.sampled_from(["GIVEN", 5555555, 5555555.5, True, None, ["GIVEN"], {"GIVEN": "GIVEN"}, "GIVEN" * 99])


@given(st.sampled_from(["password", "auth.token", "a.pin.b", "apiKey"]), constraint, value)
def test_a_secret_never_stands_in_a_reason(name, wanted, given_value):
    """Neither the given nor the wanted value, because reasons are stored and shown."""
    rules = [{"type": "parameter_constraint", "tools": ["*"], "parameters": {name: wanted}}]
    body = {"id": "p", "name": "p", "rules": rules, "priority": 0, "enabled": True, "createdAt": 0}
    compiled = compile_agent(agent(), [policy_of(body)], REDACTOR.is_secret)

    outcome = decide(compiled, request("t", {name: given_value}), 0).outcome

    assert outcome.result is Result.DENIED
    for shown in ("GIVEN", "WANTED", "5555555", "7777777", "8888888", "9999999", "1111111", "true", "null"):
        assert shown not in outcome.reason


def test_json_of_redacted_parameters_holds_no_secret():
    """This JSON is what goes to the store."""
    parameters = {"a": {"b": [{"refresh_token": "hunter2"}, {"DB_PASSWORD": {"deep": "hunter2"}}]}}
    assert b"hunter2" not in msgspec.json.encode(REDACTOR.redacted(parameters))
