"""What identifies a repeated request."""

from msgspec import Struct


class Idempotency(Struct, frozen=True):
    """Identifies a repeated request: the SHA-256 of its Idempotency-Key, and a MAC of its body.

    body_digest: under the newest secret; without a secret the SHA-256, from which short bodies can be guessed.
    former_digests: under older secrets, with which earlier requests may have been stored.
    """

    key_digest: str
    body_digest: str
    former_digests: tuple[str, ...] = ()
