"""What the log keeps of the values of a call: no secrets, and of long texts their beginning."""

from operator import is_not
from typing import Any

import msgspec

from app.model.keys import KEY_TYPE, without_raw_keys
from app.model.redaction import Redactor
from app.model.signer import Purpose, Signer

LONG_TEXT_BYTES = 2 * 1024
KEPT_CHARACTERS = 256
_LONGEST_CREDENTIAL = 64
_NESTED = frozenset({dict, list})
_KEY_TYPE = KEY_TYPE.encode()
_encode = msgspec.json.Encoder().encode


def recorded(value: dict[str, Any], redactor: Redactor, signer: Signer) -> bytes:
    """JSON of the value as the log may keep it; what is redacted is redacted first.

    In place of a text of more than 2 KiB stands an object: `beginning`, its first 256 characters; `length`, how many
    it has; and with a secret `hmac`, the MAC of all of it, by which the text can be recognised and not guessed.
    """
    kept = redactor.redacted(value)
    made = _encode(kept)
    if len(made) > LONG_TEXT_BYTES and (short := _shortened(kept, signer)) is not kept:
        made = _encode(short)
    return without_raw_keys(made.decode()).encode() if _KEY_TYPE in made else made


def _shortened(value: Any, signer: Signer) -> Any:
    """`value` with every long text in it replaced; `value` itself if it holds none."""
    if type(value) is str:
        return _beginning(value, signer) if _is_long(value) else value
    if type(value) is dict:
        kept = [_shortened(inner, signer) for inner in value.values()]
        return dict(zip(value, kept, strict=True)) if any(map(is_not, kept, value.values())) else value
    if type(value) is list:
        kept = [_shortened(inner, signer) for inner in value]
        return kept if any(map(is_not, kept, value)) else value
    return value


def _is_long(text: str) -> bool:
    return len(text) > LONG_TEXT_BYTES or (not text.isascii() and len(text.encode()) > LONG_TEXT_BYTES)


def _beginning(text: str, signer: Signer) -> dict[str, Any]:
    # Before it is cut: half a raw key is still most of a key.
    shown = without_raw_keys(text[: KEPT_CHARACTERS + _LONGEST_CREDENTIAL])[:KEPT_CHARACTERS]
    mac = signer.mac(Purpose.LONG_TEXT, text.encode())
    return {"beginning": shown, "length": len(text)} | ({} if mac is None else {"hmac": mac})
