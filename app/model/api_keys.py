"""API keys: who is calling, and what they may do."""

import hashlib
import re
import secrets
from collections.abc import Collection, Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import force_setattr

from app.model.actors import UNRECORDED, Actor, ActorKind, Via

KEY_TYPE = "svc_"
SESSION_TYPE = "ses_"
"""What the raw key of a sign-in begins with."""
PREFIX_LENGTH = 12
TOKEN_TYPE = "eyJ"  # noqa: S105 - how every one begins
"""What a signed JWT begins with."""
is_token = re.compile(r"(?=.{1,8192}$)eyJ[\w-]+\.[\w-]+\.[\w-]+", re.ASCII).fullmatch
is_raw_key = re.compile(r"svc_[0-9a-f]{32}|ses_[0-9a-f]{64}").fullmatch
_raw_keys = re.compile(r"((?:svc|ses)_[0-9a-f]{8})[0-9a-f]{24,}")


class Scope(StrEnum):
    """What a key may do. `admin` may do everything; `read` may ask for decisions and read all but keys and the trail.

    `view` may read the same, and changes nothing: who only looks needs no more. The others each grant a part:
    `authorize` asks for decisions, `audit` reads and verifies log and trail, `policies` reads and writes agents and
    policies, `approve` reads and decides approvals, `request` pins what users asked for, `record` reports what calls
    resulted in.
    """

    ADMIN = "admin"
    READ = "read"
    VIEW = "view"
    AUTHORIZE = "authorize"
    AUDIT = "audit"
    APPROVE = "approve"
    POLICIES = "policies"
    REQUEST = "request"
    RECORD = "record"


class SessionFrom(StrEnum):
    """What defines a call's session, if not its context: `key` = all calls of a key are one session."""

    KEY = "key"


KEY_SESSION = "key:"
"""Begins the name of a session that is a key, which its id completes; no call can name such a session."""

ASKING = frozenset({Scope.ADMIN, Scope.READ, Scope.AUTHORIZE})
"""The scopes with which a key may ask for decisions."""


_CONTAINED = {Scope.ADMIN: frozenset(Scope) - {Scope.ADMIN}, Scope.READ: frozenset({Scope.VIEW, Scope.AUTHORIZE})}
"""What a scope allows because it allows more."""


def scopes_in_both(some: Iterable[Scope], others: Iterable[Scope]) -> frozenset[Scope]:
    """The fewest scopes that together allow what both do."""
    both = _with_contained(some) & _with_contained(others)
    return both.difference(*(contained for scope, contained in _CONTAINED.items() if scope in both))


def _with_contained(scopes: Iterable[Scope]) -> frozenset[Scope]:
    had = frozenset(scopes)
    return had.union(*(_CONTAINED.get(scope, ()) for scope in had))


def can_be_bound(scopes: Collection[Scope]) -> bool:
    """True if a key with these scopes can be bound to agents or a session: `authorize` without a wider scope."""
    return Scope.AUTHORIZE in scopes and {Scope.READ, Scope.ADMIN}.isdisjoint(scopes)


class Caller(Struct, frozen=True):
    """The authenticated API key making a request.

    agents: ids of the only agents it may ask about; None means all.
    session_from: if None, `context.session` names the session of a call.
    asks_for_all: True if it may ask for decisions about every agent; the hot path then checks no further.
    name: of the key. root: whose key it is (`ApiKey.root`); the key's own id if left out.
    via, person: of a session, as in `Actor`.
    record: the id of the record that says whether it is still valid, if that is another: a workload's token has a
    record of its own, and its key_id is that of the workload.
    logged_as: the id that its entries have, and, for a workload's token, a space and the token's subject.
    """

    workspace_id: str
    key_id: str
    scopes: frozenset[Scope]
    agents: frozenset[str] | None = None
    session_from: SessionFrom | None = None
    asks_for_all: bool = False
    name: str = ""
    root: str = ""
    via: Via = Via.KEY
    person: str = ""
    record: str = ""
    logged_as: str = ""

    def __post_init__(self) -> None:
        if not self.root:
            force_setattr(self, "root", self.key_id)
        if not self.record:
            force_setattr(self, "record", self.key_id)
        if not self.logged_as:
            force_setattr(
                self, "logged_as", self.key_id if self.record == self.key_id else f"{self.key_id} {self.name}"
            )
        force_setattr(self, "asks_for_all", self.agents is None and not ASKING.isdisjoint(self.scopes))

    @property
    def actor(self) -> Actor:
        """The key, or who asks without one, as the actor of a change."""
        return UNRECORDED.get(self.key_id) or Actor(self.key_id, self.name, ActorKind.KEY, self.via, self.person)

    def has_any(self, scopes: Iterable[Scope]) -> bool:
        """True if one of the scopes was granted; `admin` includes every scope."""
        return Scope.ADMIN in self.scopes or not self.scopes.isdisjoint(scopes)

    def may_ask_for(self, agent_id: str) -> bool:
        """True if it may ask for decisions about this agent."""
        return self.asks_for_all or (
            self.agents is not None and agent_id in self.agents and not ASKING.isdisjoint(self.scopes)
        )


class ApiKey(Struct, frozen=True, kw_only=True):
    """The record of a key. It does not contain the raw key: only its SHA-256 is stored.

    agents: ids of the only agents it may ask about; empty means all.
    session_from: if None, `context.session` names the session of a call.
    root: whose key it is; keys with the same root belong to one person. A new key is its own root, a successor has its
    predecessor's.
    made_by: roots of the keys that created or rotated it, of those that created these, and so on: none of them and this
    key are two people.
    """

    id: str
    name: str
    prefix: str
    scopes: tuple[Scope, ...]
    created_ms: int
    expires_ms: int | None = None
    last_used_ms: int | None = None
    agents: tuple[str, ...] = ()
    session_from: SessionFrom | None = None
    root: str = ""
    made_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.root:
            force_setattr(self, "root", self.id)


def without_raw_keys(text: str) -> str:
    """`text` with every raw key in it cut to its prefix, so that a key pasted there does not spread."""
    return _raw_keys.sub(r"\1...", text) if KEY_TYPE in text or SESSION_TYPE in text else text


def new_raw_key() -> str:
    """A key never given out before: `svc_` and 128 random bits in hexadecimal."""
    return KEY_TYPE + secrets.token_hex(16)


def digest_of(raw_key: str) -> str:
    """SHA-256 of a raw key, hexadecimal. 128 random bits need no salt and no slow hash."""
    return hashlib.sha256(raw_key.encode()).hexdigest()
