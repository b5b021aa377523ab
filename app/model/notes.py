"""Signed checkpoints: notes in the formats of C2SP (signed-note, tlog-checkpoint, tlog-cosignature), without keys.

A note says how large a Merkle tree is and what its root is. Each line of signatures is by one key; a verifier reads
those of the keys that it knows.
"""

import base64
import hashlib
import re
from enum import IntEnum

from msgspec import Struct

from app.model.ids import uuid_of

NOTE_MAX = 16 * 1024
"""Bytes of the longest note that is read."""
OF_CHANGES = "/changes"
"""Ends the origin of a trail of changes; what stands before it is the origin of the workspace's log."""
_DASH = "— "
_NAME = r"[^\s+\x00-\x1f\x7f]{1,200}"
_is_name = re.compile(_NAME).fullmatch
_TEXT = re.compile(rf"({_NAME})\n(0|[1-9][0-9]{{0,14}})\n([A-Za-z0-9+/]{{43}}=)\n").fullmatch
_SIGNATURE = re.compile(rf"{_DASH}({_NAME}) ([A-Za-z0-9+/]+={{0,2}})").fullmatch
_VKEY = re.compile(rf"({_NAME})\+([0-9a-f]{{8}})\+([A-Za-z0-9+/]+={{0,2}})").fullmatch
_HASH_BYTES = _KEY_BYTES = 32


class SignatureType(IntEnum):
    """What a key's signatures are: of the text, or of a time and the text."""

    NOTE = 0x01
    COSIGNATURE = 0x04


class Signature(Struct, frozen=True):
    """A line below a note. value: 4 bytes of the key's id, then what that type of key signs."""

    name: str
    value: bytes

    @property
    def line(self) -> str:
        return f"{_DASH}{self.name} {_base64(self.value)}\n"


class Note(Struct, frozen=True):
    """A checkpoint: the origin of the log, the number of leaves, the root, and the signatures."""

    origin: str
    size: int
    root: bytes
    signatures: tuple[Signature, ...] = ()

    @property
    def text(self) -> str:
        """What is signed: three lines."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"

    def __str__(self) -> str:
        return f"{self.text}\n{''.join(each.line for each in self.signatures)}"

    @property
    def workspace(self) -> str | None:
        """The workspace that the origin names; None if it names none."""
        return uuid_of(self.origin.removesuffix(OF_CHANGES).rpartition("/")[2])

    @property
    def is_of_changes(self) -> bool:
        return self.origin.endswith(OF_CHANGES)

    @classmethod
    def parse(cls, written: str) -> "Note":
        """The note. Raises ValueError with a sentence."""
        text, _, signed = written.partition("\n\n")
        match = _TEXT(f"{text.removesuffix(chr(10))}\n")
        root = raw_of(match[3]) if match else b""
        if match is None or len(root) != _HASH_BYTES or len(written.encode()) > NOTE_MAX:
            raise ValueError("is not a signed checkpoint: three lines with origin, size and root, and then signatures")
        return cls(match[1], int(match[2]), root, signatures_in(signed))


class VerifierKey(Struct, frozen=True):
    """A public key and the name under which it signs, written as `<name>+<id in hex>+<type and key in base64>`."""

    name: str
    kind: SignatureType
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The 4 bytes with which its signatures begin."""
        return hashlib.sha256(b"%b\n%b%b" % (self.name.encode(), bytes([self.kind]), self.public)).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{_base64(bytes([self.kind]) + self.public)}"

    @classmethod
    def parse(cls, written: str) -> "VerifierKey":
        """The key. Raises ValueError with a sentence."""
        match = _VKEY(written.strip())
        raw = raw_of(match[3]) if match else b""
        try:
            key = cls(match[1], SignatureType(raw[0]), raw[1:]) if match else None
        except (ValueError, IndexError):
            key = None
        if key is None or match is None or len(key.public) != _KEY_BYTES or key.key_id.hex() != match[2]:
            raise ValueError("is not a verifier key: <name>+<id>+<key>, as `remit audit key` prints it, of type 1 or 4")
        return key


def signatures_in(written: str) -> tuple[Signature, ...]:
    """The signatures in these lines. Raises ValueError with a sentence."""
    signatures = []
    for line in written.removesuffix("\n").split("\n") if written else ():
        match = _SIGNATURE(line)
        value = raw_of(match[2]) if match else b""
        if match is None or len(value) <= 4:  # noqa: PLR2004 - the key's id
            raise ValueError("has a line that is not a signature: — <name> <base64>")
        signatures.append(Signature(match[1], value))
    return tuple(signatures)


def raw_of(text: str) -> bytes:
    """The bytes that this base64 stands for; none if they are written in another way than `_base64` does."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return b""
    return raw if _base64(raw) == text else b""


def require_key_name(name: str) -> str:
    """The name, if a key can have it. Raises ValueError with a sentence."""
    if _is_name(name) is None:
        raise ValueError(
            "is not the name of a key: up to 200 characters without spaces, control characters and +, such as "
            "remit.example.com"
        )
    return name


def origin_of(name: str, workspace_id: str) -> str:
    """The origin of the log of a workspace, where keys have this name."""
    return f"{name}/{workspace_id}"


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
