"""MACs under `REMIT_SECRET`: what the store holds of a text that it must not be able to guess or to forge."""

import hmac
from collections.abc import Iterable
from enum import StrEnum

_CONTEXT = "remit/1/"


class Purpose(StrEnum):
    """What a MAC is for. Each has keys of its own, so one purpose's MAC is never another's."""

    LONG_TEXT = "long text"
    CALL = "call"
    WEBHOOK = "webhook"
    QUESTION = "question"


class Signer:
    """HMAC-SHA-256 under keys that are derived from each secret for each purpose (RFC 5869, expanding alone).

    secrets: newest first. The first one signs; any of them is believed, so a secret can be replaced while what it
    signed is still about. None at all: nothing can be signed, and nothing is believed.
    """

    def __init__(self, secrets: Iterable[bytes]) -> None:
        held = tuple(secrets)
        self._keys = {
            purpose: tuple(hmac.digest(secret, f"{_CONTEXT}{purpose}\x01".encode(), "sha256") for secret in held)
            for purpose in Purpose
        }

    def mac(self, purpose: Purpose, message: bytes) -> str | None:
        """64 hexadecimal digits; None without a secret."""
        keys = self._keys[purpose]
        return hmac.digest(keys[0], message, "sha256").hex() if keys else None

    def macs(self, purpose: Purpose, message: bytes) -> list[str]:
        """What `mac` gives with each of the secrets, newest first; none without a secret."""
        return [hmac.digest(key, message, "sha256").hex() for key in self._keys[purpose]]

    def made(self, mac: str, purpose: Purpose, message: bytes) -> bool:
        """Whether one of the secrets gave this MAC to the message, for this purpose."""
        return any(
            hmac.compare_digest(hmac.digest(key, message, "sha256").hex().encode(), mac.encode())
            for key in self._keys[purpose]
        )


UNSIGNED = Signer(())
"""Of a service without a secret."""
