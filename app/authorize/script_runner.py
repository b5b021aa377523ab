"""What runs the commit: the connection that decisions share, or a client."""

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from app.redis_client.client import Value
from app.redis_client.packed_call import ScriptCall
from app.redis_client.scripts import Script


class ScriptRunner(Protocol):
    """Runs a script or a command and gives its reply. Raises StoreUnavailable if there is no reply.

    prepare: returns a function that calls the script with `varying` arguments, followed by the `settled` ones.
    distrust: replies no longer match commands; give up the connections and open new ones.
    """

    def prepare(self, script: Script, keys: Sequence[str], varying: int, settled: Sequence[Value]) -> ScriptCall: ...

    def call(self, *args: Value) -> Awaitable[Any]: ...

    async def distrust(self) -> None: ...
