"""Script calls whose fixed arguments are packed only once, and the protocol of their runners."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import hiredis

from app.errors import StoreUnavailable
from app.redis_client.client import Value
from app.redis_client.replies import ForeignData
from app.redis_client.scripts import Script

Send = Callable[[bytes], Awaitable[Any]]


class NoScript(StoreUnavailable):
    """The store does not know the script, so it certainly did not run."""


ScriptCall = Callable[..., Awaitable[Any]]
"""Takes the arguments that differ from call to call, which are the script's first, and returns its reply."""


class PackedCall:
    """A prepared call that caches its fixed arguments in the wire format.

    Packing the 30 arguments of a commit costs a replica as much as deciding; five of them change from call to call.
    """

    def __init__(self, send: Send, script: Script, keys: Sequence[str], per_call: int, fixed: Sequence[Value]) -> None:
        self._send = send
        self._script = script
        self._begin = b"*%d\r\n" % (3 + len(keys) + per_call + len(fixed))
        self._by_name = self._begin + encode_arguments("EVALSHA", script.sha)
        self._keys = encode_arguments(len(keys), *keys)
        self._fixed = encode_arguments(*fixed)
        self._per_call_at = len(b"*%d\r\n" % per_call)

    async def __call__(self, *per_call: Value) -> Any:
        """The reply; if the store has lost the script (restart, failover), the script is sent in full once."""
        arguments = (self._keys, pack(per_call)[self._per_call_at :], self._fixed)
        try:
            return await self._send(b"".join((self._by_name, *arguments)))
        except NoScript:
            return await self._send(b"".join((self._begin, encode_arguments("EVAL", self._script.text), *arguments)))


def pack(command: Sequence[Value]) -> bytes:
    """The command in the wire format."""
    try:
        packed: bytes = hiredis.pack_command(tuple(command))  # type: ignore[arg-type]  # its stub knows one argument only
    except UnicodeEncodeError as error:  # bytes that are not UTF-8 are read as surrogates
        raise ForeignData("A record of the store holds text that is not UTF-8; nothing was done") from error
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
