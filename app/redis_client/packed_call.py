"""Script calls whose fixed arguments are packed only once, and what runs them: a connection or a client."""

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
"""Takes the varying arguments, which are the script's first, and returns its reply."""


class PackedCall:
    """A prepared call that caches its fixed arguments in the wire format.

    Packing the 30 words of a commit costs a replica as much as deciding; five of them change from call to call.
    """

    def __init__(self, send: Send, script: Script, keys: Sequence[str], varying: int, settled: Sequence[Value]) -> None:
        self._send = send
        self._script = script
        self._begin = b"*%d\r\n" % (3 + len(keys) + varying + len(settled))
        self._by_name = self._begin + words("EVALSHA", script.sha)
        self._keys = words(len(keys), *keys)
        self._settled = words(*settled)
        self._varying_at = len(b"*%d\r\n" % varying)

    async def __call__(self, *varying: Value) -> Any:
        """The reply; if the store has lost the script (restart, failover), the script is sent in full once."""
        rest = (self._keys, pack(varying)[self._varying_at :], self._settled)
        try:
            return await self._send(b"".join((self._by_name, *rest)))
        except NoScript:
            return await self._send(b"".join((self._begin, words("EVAL", self._script.text), *rest)))


def pack(command: Sequence[Value]) -> bytes:
    """The command in the wire format."""
    try:
        packed: bytes = hiredis.pack_command(tuple(command))  # type: ignore[arg-type]  # its stub knows one argument only
    except UnicodeEncodeError as error:  # bytes that are not UTF-8 are read as surrogates
        raise ForeignData("A record of the store holds text that is not UTF-8; nothing was done") from error
    return packed


def words(*values: Value) -> bytes:
    """The words of a command in the wire format, without the number of words that precedes them."""
    return pack(values).partition(b"\r\n")[2]


class ScriptRunner(Protocol):
    """Runs a script or a command and gives its reply. Raises StoreUnavailable if there is no reply.

    prepare: returns a function that calls the script with `varying` arguments, followed by the `settled` ones.
    distrust: replies no longer match commands; give up the connections and open new ones.
    """

    def prepare(self, script: Script, keys: Sequence[str], varying: int, settled: Sequence[Value]) -> ScriptCall: ...

    def call(self, *args: Value) -> Awaitable[Any]: ...

    async def distrust(self) -> None: ...
