"""What the log keeps of a call's values: secrets are removed, then long strings are shortened."""

from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdp_and_mirror import REDACTOR

from app.redaction.credentials import without_credentials
from app.redaction.recording import KEPT_CHARACTERS, LONG_TEXT_BYTES, recorded
from app.redaction.signer import UNSIGNED, Purpose, Signer
from app.redaction.text import redacted_text

SIGNER = Signer([b"n" * 32])
RAW_KEY = "svc_" + "0123456789abcdef" * 2


def kept(value, signer=SIGNER):
    return msgspec.json.decode(recorded(value, REDACTOR, signer, "w"))


@pytest.mark.parametrize("text", ["x" * LONG_TEXT_BYTES, "é" * (LONG_TEXT_BYTES // 2), "天" * 682])
def test_a_string_of_2_kib_is_kept_as_it_is(text):
    """Its UTF-8 bytes count."""
    assert kept({"a": text, "b": [text]}) == {"a": text, "b": [text]}


@pytest.mark.parametrize("text", ["x" * (LONG_TEXT_BYTES + 1), "é" * (LONG_TEXT_BYTES // 2 + 1), "天" * 683])
def test_a_longer_string_keeps_its_beginning_length_and_mac(text):
    """Wherever it occurs; the rest is unchanged."""
    mac = SIGNER.mac(Purpose.LONG_TEXT, f"w {text}".encode())
    short = {"beginning": text[:KEPT_CHARACTERS], "length": len(text), "hmac": mac}

    assert kept({"a": text, "b": [{"c": text}, 1], "d": None}) == {"a": short, "b": [{"c": short}, 1], "d": None}


def test_without_a_secret_there_is_no_mac():
    """Because a string could be guessed from a plain digest."""
    text = "x" * 3_000
    assert kept({"a": text}, UNSIGNED) == {"a": {"beginning": text[:KEPT_CHARACTERS], "length": 3_000}}


def test_a_redacted_value_is_not_shortened():
    """No character of a secret is kept, nor its length or MAC."""
    secret = "hunter2" * 1_000
    assert kept({"password": secret, "nested": {"token": [secret]}}) == {
        "password": "[REDACTED]",
        "nested": {"token": "[REDACTED]"},
    }


@pytest.mark.parametrize("before", [0, 200, KEPT_CHARACTERS - 5, KEPT_CHARACTERS - 4 - 31, KEPT_CHARACTERS - 1])
def test_no_part_of_a_raw_key_survives_shortening(before):
    """Half a key is most of a key."""
    text = "x" * before + RAW_KEY + "y" * 3_000
    assert "0123456789" not in recorded({"a": text}, REDACTOR, SIGNER, "w").decode()


def test_a_short_call_is_kept_whole():
    """Short strings stay strings, however many there are."""
    value = {"texts": ["y" * 1_000] * 10}
    assert kept(value) == value


@pytest.mark.parametrize(
    "text",
    [
        "use Basic HUNTER2a",
        "use pwd:HUNTER2a now",
        "use password:HUNTER2a now",
        "use (--token HUNTER2a)",
        "use /password:HUNTER2a now",
        "use -token HUNTER2a",
        "use token: HUNTER2a",
        "use token 'HUNTER2a'",
        "config set token HUNTER2a",
        "login ann password HUNTER2a",
        "password:HUNTER2a",
        "/password:HUNTER2a",
        "X-Api-Key:HUNTER2a",
        "{'token':'HUNTER2a'}",
        "{token:'HUNTER2a'}",
        "-token HUNTER2a",
        "CONFIG SET token HUNTER2a",
        "IDENTIFIED BY HUNTER2a",
        "use PASSPHRASE:HUNTER2a",
        "BASIC HUNTER2a",
        "JDBC:ORACLE:THIN:ANN/HUNTER2a@db",
    ],
)
def test_a_secret_with_a_single_hint_is_not_kept(text):
    """In an otherwise plain call, which is searched only if a quick scan finds a hint."""
    assert "HUNTER2a" not in kept({"a": text})["a"]


JOINTS = [
    ":",
    ": ",
    " : ",
    "=",
    " = ",
    "=>",
    " ",
    "\t",
    "\n",
    "\\\n",
    "'",
    '"',
    "{",
    "[",
    ",",
    ";",
    "/",
    "-",
    "--",
    "<",
    ">",
]
NAMES = ["password", "PASSWORD", "token", "apiKey", "Authorization", "passphrase", "pass", "pwd", "name", "value"]
PHRASES = ["CONFIG SET ", "login a ", "export ", "identified by ", "IDENTIFIED BY ", "BASIC ", "Basic ", "bearer "]
COMMANDS = ["curl ", "redis-cli ", "mysql ", "sshpass ", "-u", "-u ", "-a ", "-p"]
VALUES = ["x", "\u00e9", "dTpwVw", "a/b@c", "redis://:p@h", "JDBC:oracle:thin:"]
PIECES = st.sampled_from(JOINTS + NAMES + PHRASES + COMMANDS + VALUES)


@given(text=st.lists(PIECES, min_size=1, max_size=8).map("".join))
def test_no_shortcut_misses_what_a_thorough_search_finds(text):
    """Most calls are searched for hints only: in doubt, there must be one."""
    thorough = msgspec.json.encode(REDACTOR.redacted({"a": text}, partial(redacted_text, REDACTOR))).decode()
    assert recorded({"a": text}, REDACTOR, UNSIGNED, "w").decode() == without_credentials(thorough)


def test_a_large_call_is_recorded_like_any_other():
    """Even though its long strings are cut before anything searches them."""
    long_ones = {"a": "x" * 5000, "b": ["password=hunter2 " * 500], "c": {"text": "\u00e9" * 3000}}
    short_ones = {"d": "--password hunter2", "password": "hunter2", "e": "plain", "f": "AKIA" + "Q" * 16}
    for value in (long_ones, short_ones, long_ones | short_ones, {}):
        assert recorded(value, REDACTOR, UNSIGNED, "w", is_large=True) == recorded(value, REDACTOR, UNSIGNED, "w")
