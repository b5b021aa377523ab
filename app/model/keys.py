"""API keys: who calls, and what they may do."""

import hashlib
import re
import secrets
from enum import StrEnum

from msgspec import Struct

KEY_TYPE = "svc_"
PREFIX_LENGTH = 12
is_raw_key = re.compile(r"svc_[0-9a-f]{32}").fullmatch
_raw_keys = re.compile(r"(svc_[0-9a-f]{8})[0-9a-f]{24,}")


class Scope(StrEnum):
    """`admin` may do everything; `read` may decide and read. `admin` implies `read`."""

    ADMIN = "admin"
    READ = "read"


class Caller(Struct, frozen=True):
    """The authenticated API key making a request."""

    workspace_id: str
    key_id: str
    scopes: frozenset[Scope]

    def has(self, scope: Scope) -> bool:
        return scope in self.scopes or Scope.ADMIN in self.scopes


class ApiKey(Struct, frozen=True, kw_only=True):
    """The record of a key. The raw key is not in it: only its SHA-256 is kept."""

    id: str
    name: str
    prefix: str
    scopes: tuple[Scope, ...]
    created_ms: int
    expires_ms: int | None = None
    last_used_ms: int | None = None


def without_raw_keys(text: str) -> str:
    """`text` with every raw key in it cut to its prefix: whoever put one there, it goes no further."""
    return _raw_keys.sub(r"\1...", text) if KEY_TYPE in text else text


def new_raw_key() -> str:
    """A key never handed out before: `svc_` and 128 random bits in hexadecimal."""
    return KEY_TYPE + secrets.token_hex(16)


def digest_of(raw_key: str) -> str:
    """SHA-256 of a raw key, hexadecimal. 128 random bits need no salt and no slow hash."""
    return hashlib.sha256(raw_key.encode()).hexdigest()
