"""Puts a key of the wrong type in a script's way."""

from collections.abc import Collection
from typing import Any


class WrongTypeClient:
    """A client that, once armed, puts a value of another type where the n-th key of the next script is.

    spared: scripts that are not the ones meant. before: what the workspace of `scene` held then.
    """

    def __init__(self, client, spared: Collection[Any] = ()) -> None:
        self._client = client
        self._spared = spared
        self.nth: int | None = None
        self.scene: Any = None
        self.before: dict[str, object] | None = None
        self._replaced: tuple[str, bytes | None] | None = None

    async def run(self, script, keys, args):
        if self.nth is not None and script not in self._spared:
            name = keys[self.nth]
            self._replaced = name, await self._client.call_bytes("DUMP", name)
            await self._client.call("DEL", name)
            # The call that an approval is for is kept as a string; everything else is not.
            await self._client.call(*(("RPUSH", name, "x") if ":approvals:call:" in name else ("SET", name, "x")))
            self.before = await self.scene.everything()
        return await self._client.run(script, keys, args)

    async def put_back(self) -> None:
        """Make the key what it was."""
        name, value = self._replaced
        await self._client.call("DEL", name)
        if value is not None:
            await self._client.call("RESTORE", name, 0, value)

    def prepare(self, script, keys, _per_call, fixed):
        async def call(*per_call):
            return await self.run(script, keys, [*per_call, *fixed])

        return call

    def __getattr__(self, name):
        return getattr(self._client, name)
