"""Script calls whose fixed arguments are packed only once, and the protocol of their runners."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol

import hiredis

from app.errors import StoreUnavailable
from app.redis_client.client import Value
from app.redis_client.replies import ForeignData
from app.redis_client.scripts import COMMIT_BATCH, COMMIT_DECISION, Script

Send = Callable[[bytes], Awaitable[Any]]
CALLS_AT_ONCE, _KEYS_AT_ONCE = 48, 288
"""The most calls in one script, and keys: about two milliseconds of the store."""


class NoScript(StoreUnavailable):
    """The store does not know the script, so it certainly did not run."""


ScriptCall = Callable[..., Awaitable[Any]]
"""Takes the arguments that differ from call to call, which are the script's first, and returns its reply."""


class PackedCall:
    """A prepared call that caches its fixed arguments in the wire format.

    Packing the 30 arguments of a commit costs a replica as much as deciding; five of them change from call to call.
    """

    def __init__(self, send: Send, script: Script, keys: Sequence[str], per_call: int, fixed: Sequence[Value]) -> None:
        self.send = send
        self._script = script
        self.key_count, self.argument_count, self.per_call = len(keys), per_call + len(fixed), per_call
        self._begin = b"*%d\r\n" % (3 + len(keys) + per_call + len(fixed))
        self._by_name = self._begin + encode_arguments("EVALSHA", script.sha)
        self._keys = encode_arguments(len(keys), *keys)
        self._fixed = encode_arguments(*fixed)
        self._per_call_at = len(b"*%d\r\n" % per_call)

    @property
    def is_plain(self) -> bool:
        """True if it is a commit without parts."""
        return self._script is COMMIT_DECISION

    @property
    def same_each_time(self) -> tuple[str, int, bytes, bytes]:
        """All of it but the arguments that differ from call to call."""
        return self._script.sha, self.per_call, self._keys, self._fixed

    def wired_keys(self) -> bytes:
        """Its keys in the wire format."""
        return self._keys.split(b"\r\n", 2)[2]  # without their number

    def wired(self, per_call: Sequence[Value], *, again: bool) -> bytes:
        """Its arguments in the wire format. again: only those that differ from call to call."""
        return pack(per_call)[self._per_call_at :] + (b"" if again else self._fixed)

    async def __call__(self, *per_call: Value) -> Any:
        """The reply; if the store has lost the script (restart, failover), the script is sent in full once."""
        arguments = (self._keys, pack(per_call)[self._per_call_at :], self._fixed)
        try:
            return await self.send(b"".join((self._by_name, *arguments)))
        except NoScript:
            return await self.send(b"".join((self._begin, encode_arguments("EVAL", self._script.text), *arguments)))


class NotTaken(StoreUnavailable):
    """Another call of a batch that is written as a whole or not at all stands in the way, so nothing was written."""


_Waiting = tuple[PackedCall, Sequence[Value], "asyncio.Future[Any]"]


class BatchedCalls:
    """Commits that are sent together, as many in one script as take the store about two milliseconds.

    whole: if not 0, this many are sent in one script, in this mode; it commits all of them or, because of one, none:
    that one gets its reply, the others NotTaken.
    """

    def __init__(self, whole: int = 0, mode: str = "each") -> None:
        self._whole = whole
        self._mode = mode
        self.refused: int | None = None
        """The place of the call because of which nothing was written."""
        self._waiting: list[_Waiting] = []

    def joined(self, call: ScriptCall) -> ScriptCall:
        """A prepared call, sent with the others of this pass of the loop. All go to one workspace, so to one slot."""
        if isinstance(call, PackedCall):
            return partial(self.call, call)
        if self._whole:
            raise StoreUnavailable("All or nothing is not possible with a client that sends each call by itself")
        return call

    def call(self, packed: PackedCall, *per_call: Value) -> asyncio.Future[Any]:
        """The reply of this call, which is sent with all others of this pass of the loop, in their order."""
        loop = asyncio.get_running_loop()
        if not self._whole and not self._waiting:
            loop.call_soon(self._flush)
        future = loop.create_future()
        self._waiting.append((packed, per_call, future))
        if len(self._waiting) == self._whole:
            _run(self._send_together(self._waiting))
        return future

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        some: list[_Waiting] = []
        keys = 0
        for each in waiting:
            if some and (len(some) == CALLS_AT_ONCE or keys + each[0].key_count > _KEYS_AT_ONCE):
                _run(self._send_together(some))
                some, keys = [], 0
            some.append(each)
            keys += each[0].key_count
        _run(self._send_together(some))

    async def _send_together(self, some: Sequence[_Waiting]) -> None:
        try:
            status, *replies = await self._reply(some)
            if status == "refused":
                place, reply = replies
                self.refused = place - 1
                replies = [reply if number == place else None for number in range(1, len(some) + 1)]
            elif status != "done":
                raise StoreUnavailable("The store answered another batch than the one that was sent")  # noqa: TRY301
            for (_, _, future), reply in zip(some, replies, strict=True):
                _settle(future, reply)
        except Exception as error:  # noqa: BLE001 - those who wait get it
            for _, _, future in some:
                if not future.done():
                    future.set_exception(error)

    async def _reply(self, some: Sequence[_Waiting]) -> Any:
        counts, keys, wired = "", list[bytes](), list[bytes]()
        key_count, argument_count = 0, 0
        before: tuple[str, int, bytes, bytes] | None = None
        for packed, per_call, _ in some:
            again = packed.same_each_time == before
            if again:
                counts += f"again 0 {packed.per_call} "
            else:
                counts += f"{'plain' if packed.is_plain else 'parts'} {packed.key_count} {packed.argument_count} "
                keys.append(packed.wired_keys())
                key_count += packed.key_count
            argument_count += packed.per_call if again else packed.argument_count
            wired.append(packed.wired(per_call, again=again))
            before = packed.same_each_time
        total = 5 + key_count + argument_count
        mode = encode_arguments(self._mode, counts)
        rest = b"".join((encode_arguments(key_count), *keys, mode, *wired))
        begin, send = b"*%d\r\n" % total, some[0][0].send
        try:
            return await send(begin + encode_arguments("EVALSHA", _script_of_batches().sha) + rest)
        except NoScript:
            return await send(begin + encode_arguments("EVAL", _script_of_batches().text) + rest)


def _script_of_batches() -> Script:
    return COMMIT_BATCH


def _settle(future: asyncio.Future[Any], reply: Any) -> None:
    if future.done():
        return
    if reply is None:
        future.set_exception(NotTaken("Another call of the batch is not allowed; nothing was decided"))
    elif reply[0] == "failed":
        future.set_exception(StoreUnavailable(f"The store could not decide a call: {reply[2]}"))
    else:
        future.set_result(reply)


_background: set[asyncio.Task[None]] = set()


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run it as a task that is kept until it ends."""
    task = asyncio.get_running_loop().create_task(work)
    _background.add(task)
    task.add_done_callback(_background.discard)


def pack(command: Sequence[Value]) -> bytes:
    """The command in the wire format."""
    try:
        packed: bytes = hiredis.pack_command(tuple(command))  # type: ignore[arg-type]  # its stub knows one argument only
    except UnicodeEncodeError as error:  # bytes that are not UTF-8 are read as surrogates
        raise ForeignData("A record of the store contains text that is not UTF-8; nothing was done") from error
    return packed


def encode_arguments(*values: Value) -> bytes:
    """The arguments in the wire format, without the number of arguments that precedes them in a command."""
    return pack(values).partition(b"\r\n")[2]


class ScriptRunner(Protocol):
    """Runs a script or a command and gives its reply. Raises StoreUnavailable if there is no reply.

    prepare: returns a function that calls the script with `per_call` further arguments, followed by the `fixed` ones.
    reset_connections: replies no longer match commands; give up the connections and open new ones.
    """

    def prepare(self, script: Script, keys: Sequence[str], per_call: int, fixed: Sequence[Value]) -> ScriptCall: ...

    def call(self, *args: Value) -> Awaitable[Any]: ...

    async def reset_connections(self) -> None: ...
