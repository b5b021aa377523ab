"""Finds the caller that a raw key belongs to."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable

from app.errors import ApiKeyExpired, Unauthorized
from app.model.actors import Via
from app.model.api_keys import SESSION_TYPE, TOKEN_TYPE, Caller, Scope, SessionFrom, digest_of
from app.model.identity_provider import GroupGrants
from app.model.sign_ins import SignIn
from app.redis_client.client import Client
from app.redis_client.replies import check_reply, decoding_record, number_of
from app.redis_client.scripts import CHECK_KEY
from app.store.keyspace import Keyspace, key_pointer, keyspace_of
from app.store.pointers import pointed

_NO_SCOPE = "The session has no scope that the settings of this service still give it"
_TOLD_MAX = 1_000
_SESSION_CACHED_S = 60.0
CALLERS_CACHED = 10_000
"""API keys whose workspace and scopes each lane of a replica keeps; those used longest ago go first."""
"""A session ends when it has not been used for a while, so its use is noted at least this often."""


class Authenticator:
    """Authentication against the store, with a bounded cache of callers.

    What is cached (workspace, key id, root, name, scopes, bindings) never changes while the key exists and the process
    runs. So the cache can be wrong in one way only: the key may be gone or have expired. `commit_decision` checks that
    again; every other endpoint uses `authenticate`. Unknown keys are never cached.

    prompt: a client with the shorter timeout of decisions; without it, `client` serves them too. tell: called with the
    digests of keys that have worked here, separated by spaces, so that the replica's other process can `hear` of them.
    admit: verifies a workload's token that is not known yet and lets it count, or raises Unauthorized; None = no token
    counts. granted: what the groups of people who sign in give them; a person's session has no other scopes.
    """

    def __init__(
        self,
        client: Client,
        cache_size: int,
        prompt: Client | None = None,
        tell: Callable[[bytes], None] = lambda _: None,
        admit: Callable[[str], Awaitable[None]] | None = None,
        granted: GroupGrants = GroupGrants(),  # noqa: B008 - it cannot be changed
    ) -> None:
        self._client = client
        self._prompt = prompt or client
        self._cache_size = cache_size
        self._tell = tell
        self._admit = admit
        self._granted = granted
        self._remembered: OrderedDict[str, Caller] = OrderedDict()
        self._heard_of: OrderedDict[str, None] = OrderedDict()
        self._looked_up: dict[str, asyncio.Task[Caller]] = {}

    def __len__(self) -> int:
        return len(self._remembered)

    def cached(self, raw_key: str) -> Caller | None:
        """The caller as last seen, without asking the store; None if it is not cached."""
        return self.recall(digest_of(raw_key))

    def recall(self, digest: str) -> Caller | None:
        """As `cached`, by the digest of the raw key."""
        caller = self._remembered.get(digest)
        if caller is not None:
            self._remembered.move_to_end(digest)
        return caller

    def has_worked(self, raw_key: str) -> bool:
        """True if the key has worked on this replica, in this process or in its other one, and not failed since."""
        digest = digest_of(raw_key)
        return digest in self._remembered or digest in self._heard_of

    def hear(self, told: bytes) -> None:
        """Keys with these digests have worked in the other process."""
        self._heard_of.update(dict.fromkeys(told.decode().split()))
        while len(self._heard_of) > self._cache_size:
            self._heard_of.popitem(last=False)

    def tell_all(self) -> None:
        """Tell the other process which keys have worked on this replica: the latest, as many as one message takes."""
        known = [*self._heard_of, *self._remembered][-_TOLD_MAX:]
        self._tell(" ".join(known).encode())

    def forget(self, raw_key: str) -> None:
        """Remove a key from the cache because it has been revoked or has expired."""
        self._drop(digest_of(raw_key))

    async def authenticate_once(self, raw_key: str) -> Caller:
        """The caller, as the store had it at some moment of this call; concurrent calls share one read of the store.

        This is enough before a commit, which checks again. Raises as `authenticate` does.
        """
        digest = digest_of(raw_key)
        task = self._looked_up.get(digest)
        if task is None:
            task = self._looked_up[digest] = asyncio.create_task(self.authenticate(raw_key, promptly=True))
            task.add_done_callback(lambda _: self._looked_up.pop(digest, None))
        return await asyncio.shield(task)

    async def authenticate(self, raw_key: str, *, promptly: bool = False) -> Caller:
        """The caller, whose key is valid now according to the store; its use is recorded.

        promptly: within the time limit of a decision.
        Raises Unauthorized if the key is unknown or revoked, or gives nothing any more; ApiKeyExpired.
        """
        caller, _ = await self._look_up(raw_key, self._prompt if promptly else self._client)
        return caller

    async def still_valid(self, raw_key: str) -> Caller:
        """As `authenticate`, for an open stream: that alone is not a use of the key."""
        caller, _ = await self._look_up(raw_key, self._client, is_use=False)
        return caller

    async def seconds_left(self, raw_key: str) -> float | None:
        """Seconds until the key expires, by the store's clock; None if it never does.

        Checks the key and raises as `authenticate` does.
        """
        _, seconds = await self._look_up(raw_key, self._client)
        return seconds

    async def _look_up(self, raw_key: str, client: Client, *, is_use: bool = True) -> tuple[Caller, float | None]:
        """The caller, and the seconds until its key expires; None = never."""
        digest = digest_of(raw_key)
        pointer = await pointed(client, key_pointer(digest))
        if self._admit is not None and raw_key.startswith(TOKEN_TYPE) and not await _has_record(client, pointer):
            await self._admit(raw_key)
            pointer = await pointed(client, key_pointer(digest))
        if pointer is not None:
            workspace_id, record, *workload = pointer.split(" ")
            key_id = workload[0] if workload else record
            keyspace = Keyspace(workspace_id)
            reply = await client.run(CHECK_KEY, [keyspace.key(record)], ["", "1" if is_use else ""])
            status, scopes, agents, session_from, time_us, expires_ms, *named = check_reply(CHECK_KEY, reply)
            if status == "valid":
                with decoding_record(f"The record of API key {key_id}"):
                    granted = frozenset(Scope(scope) for scope in scopes.split(","))
                    session = SessionFrom(session_from) if session_from else None
                    left_s = number_of(expires_ms) / 1e3 - int(time_us) / 1e6 if expires_ms else None
                    name, root, via, person, issuer, groups = named
                    used = Via(via or Via.KEY)
                if person:
                    granted = await self._left(client, workspace_id, granted, issuer, groups.split("\n"))
                    if not granted:
                        self._drop(digest)
                        raise Unauthorized(_NO_SCOPE)
                bound = frozenset(agents.split(",")) if agents else None
                caller = Caller(
                    workspace_id, key_id, granted, bound, session,
                    name=name, root=root, via=used, person=person, record=record,
                )  # fmt: skip
                if raw_key.startswith(SESSION_TYPE) and digest not in self._remembered:
                    asyncio.get_running_loop().call_later(_SESSION_CACHED_S, self._remembered.pop, digest, None)
                self._remember(digest, caller)
                return caller, left_s
            if status == "expired":
                self._drop(digest)
                raise ApiKeyExpired(f"The {_kind(raw_key)} has expired")
        self._drop(digest)
        raise Unauthorized(f"The {_kind(raw_key)} is unknown or has been revoked")

    async def elsewhere(self, workspace_id: str, session: SignIn, via: Via) -> Caller:
        """The caller that the person of a session is where another service vouches for them. Raises Unauthorized."""
        granted = await self._left(self._client, workspace_id, session.scopes, session.issuer, session.groups)
        if not session.person or not granted:
            raise Unauthorized(_NO_SCOPE)
        return Caller(workspace_id, session.id, granted, name=session.name, via=via, person=session.person)

    async def _left(
        self, client: Client, workspace_id: str, scopes: Iterable[Scope], issuer: str, groups: Iterable[str]
    ) -> frozenset[Scope]:
        """The scopes of a person's session that the settings of this service still give it."""
        called = await client.call("HGET", keyspace_of(workspace_id).workspace, "name") or ""
        return self._granted.left_of(scopes, issuer, called, groups)

    def _drop(self, digest: str) -> None:
        self._remembered.pop(digest, None)
        self._heard_of.pop(digest, None)

    def _remember(self, digest: str, caller: Caller) -> None:
        if digest not in self._remembered:
            self._tell(digest.encode())
        self._remembered[digest] = caller
        self._remembered.move_to_end(digest)
        while len(self._remembered) > self._cache_size:
            self._remembered.popitem(last=False)


async def _has_record(client: Client, pointer: str | None) -> bool:
    """True if the token that the pointer leads to counts; it may have ended with another signature of it."""
    if pointer is None:
        return False
    workspace_id, record = pointer.split(" ")[:2]
    return bool(await client.call("EXISTS", Keyspace(workspace_id).key(record)))


def _kind(raw_key: str) -> str:
    return "session" if raw_key.startswith(SESSION_TYPE) else "token" if raw_key.startswith(TOKEN_TYPE) else "API key"
