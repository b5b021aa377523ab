"""Records a call's values for the log: without secrets, and with only the beginning of long strings."""

import re
from contextlib import suppress
from functools import partial
from string import ascii_letters, digits
from typing import Any

import msgspec

from app.model.api_keys import KEY_TYPE, SESSION_TYPE, without_raw_keys
from app.model.constraints import REQUEST
from app.redaction.credentials import RUN, SIGNS, holds_credentials, without_credentials
from app.redaction.named_values import may_name
from app.redaction.redactor import Redactor
from app.redaction.signer import UNSIGNED, Purpose, Signer
from app.redaction.text import may_name_secrets, redacted_text, without_named_values
from app.redaction.work import MAX_SHORTENED, TooMuchWork, Work

LONG_TEXT_BYTES = 2 * 1024
QUICK_BYTES = 4 * 1024
"""Up to this size, all secrets in a call are found within a few milliseconds, whatever it contains."""

KEPT_CHARACTERS = 256
MAX_RECORDED_BYTES = 64 * 1024
"""The most bytes of parameters as logged."""

_LOOKED_AT, _LITTLE = 1024, 512
_CREDENTIAL_STEPS = 6
_MARK, _NAME, _SPACE, _AT, _A_RUN = *map(ord, "!? @"), b"x" * RUN  # a single byte takes four times as long to find
_roles = dict.fromkeys(SIGNS, "x") | dict.fromkeys("\\=<", "!") | dict.fromkeys(":'", "?")
_seen = bytes(ord(_roles.get(chr(code), chr(code))) for code in range(256))
"""`!` may belong to a credential, or to a string that names a secret, such as `name=value` or embedded JSON. `?` may
only belong to a string that names one: `name:value`, `name 'value'`.
"""

_words = frozenset((ascii_letters + digits + "_.-").encode())
_apart = bytes(code if code in _words else ord(" ") for code in range(256))
_before_host = re.compile(rb"://|@(?:tcp|unix)|jdbc:", re.IGNORECASE).search
_KEY_TYPE, _SESSION_TYPE = KEY_TYPE.encode(), SESSION_TYPE.encode()
_encode = msgspec.json.Encoder().encode


def recorded(
    value: dict[str, Any],
    redactor: Redactor,
    signer: Signer,
    workspace_id: str,
    long_bytes: int = LONG_TEXT_BYTES,
    *,
    is_large: bool = False,
    work: Work | None = None,
) -> bytes:
    """The value as JSON for the log, secrets redacted before long strings are cut.

    A string of more than `long_bytes` is replaced by an object: `beginning`, its first 256 characters; `length`, its
    number of characters; and, if there is a secret, `hmac`, a MAC of the whole string that identifies it without making
    it guessable; in each workspace it is another one. So is every string that cannot be searched within `work`; if
    nothing of it can be, its `beginning` is empty. is_large: strings are cut before they are encoded, as each pass over
    a large call takes a millisecond during which no other thread runs. work: what is left for the call.

    Raises TooMuchWork if more than `MAX_SHORTENED` strings are. In a result of more than `MAX_RECORDED_BYTES`, which no
    log keeps, credentials may remain.
    """
    encoded = _encode(redactor.redacted(value, partial(_without_long, long_bytes=long_bytes) if is_large else None))
    if not is_large and len(encoded) <= long_bytes and _is_plain(encoded, redactor):
        return encoded
    names_secrets = may_name_secrets(encoded, redactor)
    work = Work() if work is None else work

    def kept(text: str) -> Any:
        if _is_long(text, long_bytes):
            return _shortened(text, redactor, signer, workspace_id, work)
        if not names_secrets or may_name(text) is None or not may_name_secrets(_encode(text), redactor):
            return text
        if work.left > work.kept:
            with suppress(TooMuchWork):
                return redacted_text(redactor, text, work)
        return _shortened(text, redactor, signer, workspace_id, work)

    if names_secrets or is_large or len(encoded) > long_bytes:
        encoded = _encode(redactor.redacted(value, kept))
    if len(encoded) > MAX_RECORDED_BYTES:
        return encoded
    if holds_credentials(encoded):
        encoded = without_credentials(encoded.decode()).encode()
    if _KEY_TYPE in encoded or _SESSION_TYPE in encoded:
        encoded = without_raw_keys(encoded.decode()).encode()
    return encoded


def recorded_request(text: str, signer: Signer, workspace_id: str) -> dict[str, Any]:
    """What the log keeps of a user's request: `length`, its characters, and a MAC, `hmac`, if there is a secret."""
    return {"length": len(text)} | _mac(Purpose.REQUEST, text, signer, workspace_id)


def with_request(logged: bytes, context: dict[str, Any], redactor: Redactor) -> bytes:
    """The context as logged, with the user's request kept as other texts are, in place of its MAC.

    A request that is shortened keeps that MAC: of one text, there is only one in the log.
    """
    request = context.get(REQUEST)
    if type(request) is not str:
        return logged
    known = msgspec.json.decode(logged)
    kept = msgspec.json.decode(recorded({REQUEST: request}, redactor, UNSIGNED, ""))[REQUEST]
    return _encode(known | {REQUEST: known[REQUEST] | kept if type(kept) is dict else kept})


def takes_long(raw: bytes, redactor: Redactor) -> bool:
    """True if recording a call for the log may take more than a few milliseconds. raw: its body."""
    return len(raw) > QUICK_BYTES and (b"\\u" in raw or b'"-' in raw or may_name_secrets(raw, redactor))


def _is_plain(made: bytes, redactor: Redactor) -> bool:
    """True if this JSON certainly contains no credential and names no secret in a string; mostly half a microsecond."""
    # The colons of JSON itself say nothing, and neither does one at the beginning of a string.
    strings = made.replace(b'":', b'"')
    seen = strings.translate(_seen)
    if _MARK in seen or seen.find(_A_RUN) >= 0 or (_AT in seen and _before_host(made) is not None):
        return False
    may_name = _NAME in seen
    if _SPACE in seen or not made.isascii():
        text = made.decode().lower()
        if "basic" in text:
            return False
        # Written out, because a loop would take longer than all of this.
        if "password" in text or "identified" in text or " set " in text or strings.translate(_apart).find(b" -") >= 0:
            may_name = True
    return not (may_name and may_name_secrets(made, redactor))


def _is_long(text: str, long_bytes: int) -> bool:
    return len(text) > long_bytes or (not text.isascii() and len(text.encode()) > long_bytes)


def _without_long(text: str, long_bytes: int) -> str:
    """The string, or an empty one if it is long: names in a long string do not affect other values."""
    return "" if _is_long(text, long_bytes) else text


def _shortened(text: str, redactor: Redactor, signer: Signer, workspace_id: str, work: Work) -> dict[str, Any]:
    work.shortened += 1
    if work.shortened > MAX_SHORTENED:
        raise TooMuchWork
    beginning = ""
    try:
        beginning = _beginning(text[:_LOOKED_AT], redactor, work)
    except TooMuchWork:
        work.kept = 0
        with suppress(TooMuchWork):
            beginning = _beginning(text[:_LITTLE], redactor, work)
    return {"beginning": beginning, "length": len(text)} | _mac(Purpose.LONG_TEXT, text, signer, workspace_id)


def _mac(purpose: Purpose, text: str, signer: Signer, workspace_id: str) -> dict[str, str]:
    """The text's `hmac`, if there is a secret.

    Many texts can be guessed. So that no other workspace can try guesses against a log, its MACs are of its own.
    """
    mac = signer.mac(purpose, f"{workspace_id} {text}".encode())
    return {} if mac is None else {"hmac": mac}


def _beginning(text: str, redactor: Redactor, work: Work) -> str:
    # Redact before cutting: half a key is still most of a key.
    shown = without_named_values(redactor.is_secret, text, work)
    if holds_credentials(shown.encode()):
        work.spend(_CREDENTIAL_STEPS * len(shown))
        shown = without_credentials(shown)
    return without_raw_keys(shown)[:KEPT_CHARACTERS]
