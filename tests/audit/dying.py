"""A compactor process that kills itself at a chosen step, or one that ignores leases.

python dying.py URL WORKSPACE "at" N MODE   die at the N-th call to the store, with it `sent` and unanswered, or `after`
                                            its answer; exit code 0 if there is no N-th call
python dying.py URL WORKSPACE "grow" N MODE  the same while it brings the Merkle trees up to the chains
python dying.py URL WORKSPACE "race"        seal as fast as possible until standard input ends
"""

import asyncio
import os
import select
import signal
import sys

from app.audit.seal.compactor import Compactor
from app.audit.seal.sealer import Sealer
from app.audit.seal.tree_growth import TreeGrower
from app.redis_client.client import Client
from app.redis_client.clients import open_client
from app.settings import Settings


class DyingClient(Client):
    """Counts its calls, and dies at one of them."""

    def __init__(self, redis, at: int, mode: str) -> None:
        super().__init__(redis)
        self.left, self.mode = at, mode

    async def _dying(self, call):
        self.left -= 1
        if self.left == 0:
            task = asyncio.ensure_future(call)
            if self.mode == "after":
                await task
            else:
                await asyncio.sleep(0)  # the command is on its way, the answer is not
            os.kill(os.getpid(), signal.SIGKILL)
        return await call

    async def call(self, *args):
        return await self._dying(super().call(*args))

    async def call_bytes(self, *args):
        return await self._dying(super().call_bytes(*args))

    async def read_pipelined(self, commands, *, as_bytes=False):
        return await self._dying(super().read_pipelined(commands, as_bytes=as_bytes))

    async def run(self, script, keys, args, *, as_bytes=False):
        return await self._dying(super().run(script, keys, args, as_bytes=as_bytes))


async def die(url: str, at: int, mode: str) -> None:
    client = DyingClient(open_client(url, 2_000)._redis, at, mode)
    await Compactor(client, Settings(audit_segment_entries=16)).sweep()


async def die_growing(url: str, at: int, mode: str) -> None:
    await TreeGrower(DyingClient(open_client(url, 2_000)._redis, at, mode)).catch_up(asyncio.Event())


async def race(url: str, workspace_id: str) -> None:
    sealer = Sealer(open_client(url, 2_000), 16, 8)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        await sealer.seal_next(workspace_id)


if __name__ == "__main__":
    url, workspace_id, what, *rest = sys.argv[1:]
    dying = {"at": die, "grow": die_growing}
    asyncio.run(dying[what](url, int(rest[0]), rest[1]) if what in dying else race(url, workspace_id))
