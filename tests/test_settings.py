"""Settings: a wrong or unknown REMIT_* stops the start with a sentence that names it, and shows no secret."""

import pytest

from app.settings import Settings, SettingsError, names

SECRET = "hunter2"


def fault(**env: str) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env(env)
    return str(caught.value)


def test_without_any_variable_every_setting_has_its_default():
    """So an unconfigured machine can start."""
    assert Settings.from_env({}) == Settings()


def test_other_variables_are_ignored():
    """Only names that begin with REMIT_ count."""
    assert Settings.from_env({"PATH": "/bin", "PORT": "9", "XREMIT_PORT": "9"}) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("REMIT_PORT", "65535", "port", 65535),
        ("REMIT_COMPACT", "false", "compact", False),
        ("REMIT_COMPACT", "0", "compact", False),
        ("REMIT_COMPACT", "true", "compact", True),
        ("REMIT_LOG_FORMAT", "json", "log_format", "json"),
        ("REMIT_REDACT", "", "redact", ""),
        ("REMIT_REDIS_URL", "redis://h", "redis_url", "redis://h"),
        (
            "REMIT_REDIS_URL",
            "rediss://user:p%40ss@h.example:6380/3",
            "redis_url",
            "rediss://user:p%40ss@h.example:6380/3",
        ),
        ("REMIT_REDIS_URL", "redis://[::1]:6379/0", "redis_url", "redis://[::1]:6379/0"),
        ("REMIT_REDIS_URL", "unix:///run/a%20b.sock?db=1", "redis_url", "unix:///run/a%20b.sock?db=1"),
        ("REMIT_REDIS_URL", "redis+sentinel://a:26379,b/main/0", "redis_url", "redis+sentinel://a:26379,b/main/0"),
        ("REMIT_REDIS_URL", "redis+cluster://node:7000", "redis_url", "redis+cluster://node:7000"),
        ("REMIT_REDIS_URL", "redis+cluster://node:7000/0", "redis_url", "redis+cluster://node:7000/0"),
        ("REMIT_REDIS_URL", "redis://h/", "redis_url", "redis://h/"),
        ("REMIT_REDIS_URL", "redis://h/15?db=15", "redis_url", "redis://h/15?db=15"),
        ("REMIT_REDIS_URL", "redis+sentinel://a:26379/main", "redis_url", "redis+sentinel://a:26379/main"),
        ("REMIT_REDIS_URL", "redis+sentinel://a:26379", "redis_url", "redis+sentinel://a:26379"),
    ],
)
def test_a_value_is_taken_as_its_type(name, value, field, expected):
    """Variables are strings, but settings have types."""
    assert getattr(Settings.from_env({name: value}), field) == expected


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("REMIT_PORT", "0", "REMIT_PORT must be a whole number from 1 to 65535, and not '0'"),
        ("REMIT_PORT", "65536", "REMIT_PORT must be a whole number from 1 to 65535, and not '65536'"),
        ("REMIT_PORT", "http", "REMIT_PORT must be a whole number from 1 to 65535, and not 'http'"),
        ("REMIT_PORT", "80.5", "REMIT_PORT must be a whole number from 1 to 65535, and not '80.5'"),
        ("REMIT_PORT", "", "REMIT_PORT must be a whole number from 1 to 65535, and not ''"),
        ("REMIT_WORKERS", "65", "REMIT_WORKERS must be a whole number from 1 to 64, and not '65'"),
        ("REMIT_AGENT_CACHE_BYTES", "-1", "REMIT_AGENT_CACHE_BYTES must be a whole number of at least 0, and not '-1'"),
        ("REMIT_COMPACT", "off", "REMIT_COMPACT must be true or false, and not 'off'"),
        ("REMIT_HOST", "", "REMIT_HOST must be a text that is not empty, and not ''"),
        ("REMIT_LOG_FORMAT", "xml", "REMIT_LOG_FORMAT must be one of json, text, and not 'xml'"),
        ("REMIT_OIDC_NAME", "x" * 41, f"REMIT_OIDC_NAME must be a text of 1 to 40 characters, and not {'x' * 41!r}"),
        (
            "REMIT_AUDIT_SEGMENT_ENTRIES",
            "9",
            "REMIT_AUDIT_SEGMENT_ENTRIES must be a whole number from 16 to 1000, and not '9'",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_it_must_be(name, value, sentence):
    """Anyone can correct the setting from the sentence alone."""
    assert fault(**{name: value}) == sentence


@pytest.mark.parametrize("name", names())
def test_every_setting_that_can_be_wrong_says_its_own_name(name):
    """No setting produces a library's own message."""
    free_text = {"REMIT_HOST", "REMIT_DATA_DIR", "REMIT_REDACT", "REMIT_OIDC_NAME"}
    wrong = "" if name in free_text else "\N{SNOWMAN}"
    if name == "REMIT_REDACT":
        assert Settings.from_env({name: wrong}).redact == ""
    else:
        assert fault(**{name: wrong}).startswith(f"{name} must ")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("REMIT_PROT", "REMIT_PROT is not a setting; did you mean REMIT_PORT?"),
        ("REMIT_port", "REMIT_port is not a setting; did you mean REMIT_PORT?"),
        ("REMIT_REDIS_URLS", "REMIT_REDIS_URLS is not a setting; did you mean REMIT_REDIS_URL?"),
        ("REMIT_", f"REMIT_ is not a setting; there are {', '.join(names())}"),
    ],
)
def test_an_unknown_setting_is_named_with_the_nearest_or_all(name, sentence):
    """A misspelt setting must not be silently ignored."""
    assert fault(**{name: SECRET}) == sentence


@pytest.mark.parametrize(
    "url",
    [
        "",
        "null",
        "localhost:6379",
        f"http://:{SECRET}@h",
        f"redis://:{SECRET}@",
        f"redis://:{SECRET}@h:0",
        f"redis://:{SECRET}@h:70000",
        f"redis://:{SECRET}@h:port",
        f"redis://:{SECRET}@[::1",
        f"redis+sentinel://:{SECRET}@a,,b/main",
        "unix://",
        f"redis://:{SECRET}@h/remit",
        f"redis://:{SECRET}@h/0/remit",
        f"redis://:{SECRET}@h//1",
        f"redis://:{SECRET}@h/-1",
        f"redis://:{SECRET}@h/01",
        f"redis://:{SECRET}@h/1_0",
        f"redis://:{SECRET}@h/1/2",
        f"redis://:{SECRET}@h/٣",
        f"redis://:{SECRET}@h?db=remit",
        f"redis://:{SECRET}@h?db=",
        f"redis://:{SECRET}@h/1?db=2",
        f"redis://:{SECRET}@h?db=1&db=2",
        f"rediss://:{SECRET}@h/remit",
        f"redis+sentinel://:{SECRET}@a/main/remit",
        f"redis+sentinel://:{SECRET}@a/main/0/1",
        f"redis+cluster://:{SECRET}@a/1",
        f"redis+cluster://:{SECRET}@a/remit",
        f"redis+cluster://:{SECRET}@a?db=1",
        "unix:///run/a.sock?db=remit",
    ],
)
def test_an_invalid_store_url_is_refused_and_not_shown(url):
    """The URL may contain a password, so the message has only the setting's name."""
    sentence = fault(REMIT_REDIS_URL=url)
    assert sentence.startswith("REMIT_REDIS_URL must ")
    assert SECRET not in sentence


@pytest.mark.parametrize("key", [SECRET, "svc_" + "A" * 32, "svc_" + "0" * 31, "svc_" + "0" * 33])
def test_a_malformed_bootstrap_key_is_refused_and_not_shown(key):
    """A malformed key is still a secret."""
    assert fault(REMIT_BOOTSTRAP_KEY=key) == "REMIT_BOOTSTRAP_KEY must be svc_ and 32 hex digits"


def test_settings_print_without_their_secrets():
    """So a traceback or log line with the settings reveals nothing."""
    settings = Settings(redis_url=f"redis://:{SECRET}@h", bootstrap_key="svc_" + "ab" * 16, port=9)
    assert SECRET not in repr(settings)
    assert "abab" not in f"{settings}"
    assert "port=9" in repr(settings)


def test_a_secret_is_long_and_never_shown():
    """Comma-separated, the signing one first; one that is too short stops the start without being shown."""
    new, old = "n" * 32, "o" * 40
    assert Settings.from_env({"REMIT_SECRET": f"{new}, {old}"}).secrets == [new.encode(), old.encode()]
    assert Settings.from_env({}).secrets == []
    for wrong in ("", SECRET, f"{new},", f"{new},{SECRET}", f",{new}"):
        sentence = fault(REMIT_SECRET=wrong)
        assert sentence.startswith("REMIT_SECRET must be secrets of at least 32 bytes, comma-separated")
        assert SECRET not in sentence
    assert new not in repr(Settings.from_env({"REMIT_SECRET": new}))


def test_the_variables_of_clients_are_not_wrong_settings():
    """So a terminal with a key for `remit authorize` can still start the service."""
    assert Settings.from_env({"REMIT_URL": "http://127.0.0.1:8080", "REMIT_API_KEY": "svc_x"}) == Settings()


@pytest.mark.parametrize("missing", ["REMIT_OIDC_CLIENT_ID", "REMIT_OIDC_SCOPES", "REMIT_PUBLIC_URL"])
def test_an_identity_provider_needs_the_settings_around_it(missing):
    """Otherwise the first person who signs in would find out."""
    given = {
        "REMIT_OIDC_ISSUER": "https://sso.example.com",
        "REMIT_OIDC_CLIENT_ID": "remit",
        "REMIT_OIDC_SCOPES": "admins=admin",
        "REMIT_PUBLIC_URL": "https://remit.example.com",
    }
    assert Settings.from_env(given).oidc_issuer
    assert fault(**{name: value for name, value in given.items() if name != missing}).endswith(
        f"needs {missing}, which is not set"
    )
