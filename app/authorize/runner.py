"""What runs the commit: the link that decisions share, or a client."""

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from app.redis_client.client import Value
from app.redis_client.packed_call import ScriptCall
from app.redis_client.scripts import Script


class Runner(Protocol):
    """Runs a script or a command and gives its reply. Raises StoreUnavailable if there is no reply.

    prepare: what calls the script with the arguments that it is given, `varying` of them, before the `settled` ones.
    distrust: its replies are not those of its commands any more; it goes on with new connections.
    """

    def prepare(self, script: Script, keys: Sequence[str], varying: int, settled: Sequence[Value]) -> ScriptCall: ...

    def call(self, *args: Value) -> Awaitable[Any]: ...

    async def distrust(self) -> None: ...
