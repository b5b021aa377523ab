"""Ed25519 keys that sign checkpoints, and what signatures are worth to somebody who trusts some keys.

Needs `cryptography` (the extra `checkpoints`); import it only if a key is set.

A key file has one line per key, in the form that Go's note package reads: `PRIVATE+KEY+<name>+<id>+<type and seed>`.
Every key of the file signs, so a new key is introduced beside the old one.
"""

import base64
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec.structs import replace

from app.model.notes import Note, Signature, SignatureType, VerifierKey, require_key_name

_LINE = re.compile(r"PRIVATE\+KEY\+([^\s+]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})").fullmatch
_TIME_BYTES = 8
AHEAD_S = 300
"""How far a witness's clock may be ahead."""


class SigningKey:
    """A private key and the name under which it signs."""

    def __init__(self, name: str, seed: bytes, kind: SignatureType = SignatureType.NOTE) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self._seed = seed
        self.verifier = VerifierKey(name, kind, self._private.public_key().public_bytes_raw())

    @classmethod
    def new(cls, name: str, kind: SignatureType = SignatureType.NOTE) -> "SigningKey":
        """A new key. Raises ValueError with a sentence if no key can have this name."""
        return cls(require_key_name(name), Ed25519PrivateKey.generate().private_bytes_raw(), kind)

    @property
    def line(self) -> str:
        """The key as its file has it. It is secret."""
        encoded = base64.b64encode(bytes([self.verifier.kind]) + self._seed).decode()
        return f"PRIVATE+KEY+{self.verifier.name}+{self.verifier.key_id.hex()}+{encoded}\n"

    def named(self, name: str) -> "SigningKey":
        """The same key under another name."""
        return SigningKey(name, self._seed, self.verifier.kind)

    def sign(self, note: Note, now_s: Callable[[], float] = time.time) -> Signature:
        """The signature of the note; a cosignature also has the time."""
        if self.verifier.kind is SignatureType.NOTE:
            signed = self._private.sign(note.text.encode())
        else:
            seconds = int(now_s())
            signed = seconds.to_bytes(_TIME_BYTES, "big") + self._private.sign(_cosigned(note, seconds))
        return Signature(self.verifier.name, self.verifier.key_id + signed)


def read_keys(path: Path) -> list[SigningKey]:
    """The keys in the file, in its order. Raises ValueError with a sentence that shows nothing of it."""
    try:
        lines = path.read_text("ascii").split()
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read ({type(error).__name__})") from None
    keys = []
    for line in lines:
        match = _LINE(line)
        raw = base64.b64decode(match[3]) if match else b"\0"
        if match is None or raw[0] not in tuple(SignatureType):
            raise ValueError(f"{path} has a line that is not a key: `remit audit key new` makes one")
        key = SigningKey(match[1], raw[1:], SignatureType(raw[0]))
        if key.verifier.key_id.hex() != match[2]:
            raise ValueError(f"{path} has a key whose id is not that of its name and its value")
        keys.append(key)
    if not keys:
        raise ValueError(f"{path} has no key")
    return keys


def signed(note: Note, keys: Sequence[SigningKey]) -> Note:
    """The note, signed by each key under the name of its origin."""
    return replace(note, signatures=tuple(key.named(note.origin).sign(note) for key in keys))


def signature_time(note: Note, signature: Signature, key: VerifierKey) -> int | None:
    """The time of a signature in seconds since the epoch, 0 if its type has none; None if it is not the key's."""
    if signature.name != key.name or signature.value[:4] != key.key_id:
        return None
    value, seconds, message = signature.value[4:], 0, note.text.encode()
    if key.kind is SignatureType.COSIGNATURE:
        seconds, value = int.from_bytes(value[:_TIME_BYTES], "big"), value[_TIME_BYTES:]
        message = _cosigned(note, seconds)
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(value, message)
    except (InvalidSignature, ValueError):
        return None
    return seconds


def signed_at(note: Note, key: VerifierKey) -> int | None:
    """The time of the key's signature below the note, as `signature_time`; None if it has not signed."""
    times = (signature_time(note, each, key) for each in note.signatures)
    return next((seconds for seconds in times if seconds is not None), None)


def _cosigned(note: Note, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{note.text}".encode()


class NotVerified(Exception):
    """A note is not signed as required; the message is a sentence."""


def require_signed(note: Note, key: VerifierKey, witnesses: Sequence[VerifierKey], quorum: int, now_s: int) -> None:
    """Return if the log's key has signed the note, and of the witnesses at least so many. Raises NotVerified."""
    if key.name != note.origin:
        raise NotVerified(f"The checkpoint is of the log {note.origin}, and the key of {key.name}")
    if signed_at(note, key) is None:
        raise NotVerified(f"The checkpoint has no valid signature of the key {key}")
    times = {each: signed_at(note, each) for each in witnesses}
    ahead = [each.name for each, seconds in times.items() if seconds is not None and seconds > now_s + AHEAD_S]
    if ahead:
        raise NotVerified(f"The cosignature of {', '.join(ahead)} is of a time in the future")
    missing = [each.name for each, seconds in times.items() if seconds is None]
    if len(times) - len(missing) < quorum:
        raise NotVerified(f"The checkpoint has no valid cosignature of {', '.join(missing)}; {quorum} must have signed")
