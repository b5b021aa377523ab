"""MACs under `REMIT_SECRET`, for data whose content the store must not be able to guess or forge."""

import hmac
from collections.abc import Iterable
from enum import StrEnum

_CONTEXT = "remit/1/"


class Purpose(StrEnum):
    """The purpose of a MAC. Each has separate keys, so its MACs are never valid for another."""

    LONG_TEXT = "workspace's long text"
    REQUEST = "user's request"
    CALL = "call"
    WEBHOOK = "webhook"
    QUESTION = "question"
    REMEMBERED = "remembered"
    SIGN_IN = "sign-in"
    SLACK = "button in Slack"


class Signer:
    """HMAC-SHA-256 under keys derived from each secret for each purpose (RFC 5869, expand only).

    secrets: newest first. The first one signs; all are accepted, so a secret can be replaced while its signatures are
    still in use. Without any, nothing can be signed and nothing is accepted.
    """

    def __init__(self, secrets: Iterable[bytes]) -> None:
        all_secrets = tuple(secrets)
        self._keys = {
            purpose: tuple(hmac.digest(secret, f"{_CONTEXT}{purpose}\x01".encode(), "sha256") for secret in all_secrets)
            for purpose in Purpose
        }

    def mac(self, purpose: Purpose, message: bytes) -> str | None:
        """The message's MAC as 64 hexadecimal digits, or None without a secret."""
        keys = self._keys[purpose]
        return hmac.digest(keys[0], message, "sha256").hex() if keys else None

    def macs(self, purpose: Purpose, message: bytes) -> list[str]:
        """The same MAC under each of the secrets, newest first; empty without a secret."""
        return [hmac.digest(key, message, "sha256").hex() for key in self._keys[purpose]]


UNSIGNED = Signer(())
"""The signer of a service without a secret."""
