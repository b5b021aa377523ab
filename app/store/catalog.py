"""The stored catalogue: tools as their servers describe them, and tool names seen in the log."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heapreplace

import msgspec
from msgspec import Struct

from app.errors import LimitReached, ToolNotFound, VersionConflict
from app.model.actors import ChangedBy
from app.model.catalog import (
    CatalogChange,
    CatalogState,
    CatalogTool,
    ToolEntry,
    ToolMarks,
    marked,
    shown_in_trail,
    without,
    written,
)
from app.model.text import FieldError, require_tool_name
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, decoding_record
from app.runtime.fairness.loop_turns import take_turn
from app.store.catalog_writes import CatalogWrite, write_catalog
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, Versions, contended, require_version

MAX_SEEN = 1_000
"""The number of names from the log that are kept; beyond that, the oldest are dropped of the key that has most."""

_REMEMBERED = 16
_Make = Callable[[CatalogState, int], CatalogChange]
_encode = msgspec.json.encode
_STEP_BYTES = 256 * 1024
"""The bytes decoded before the loop gets a turn: about a millisecond."""
_decode = msgspec.json.Decoder(CatalogTool).decode


class Listing(Struct, frozen=True):
    """Every known tool. seen: names that appear in the log but not in the catalogue, sorted.

    has_all_seen: False if names were dropped because there were too many.
    """

    catalog: CatalogState
    seen: Sequence[str]
    has_all_seen: bool

    @property
    def names(self) -> list[str]:
        """Every name, sorted."""
        return sorted({*self.catalog.tools, *self.seen})


class Catalog:
    """The tools of a workspace. Every change replaces the version and takes effect as a whole.

    The last version read is cached until the stored version differs.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._latest: OrderedDict[str, CatalogState] = OrderedDict()

    async def read(self, workspace_id: str) -> CatalogState:
        """The catalogue as it is now."""
        return (await self.listing(workspace_id)).catalog

    async def listing(self, workspace_id: str) -> Listing:
        """The catalogue now, and further names seen in the log."""
        keyspace = Keyspace(workspace_id)
        version, noted = await self._client.read_pipelined(
            [("HGET", keyspace.catalog, "version"), ("ZRANGE", keyspace.seen_tools, 0, -1)]
        )
        state = self._latest.get(workspace_id)
        if state is None or state.version != (version or ""):
            state = await self._read(workspace_id)
        names = {each.partition(" ")[2] for each in noted}
        seen = sorted(name for name in names if name not in state.tools and _is_tool(name))
        return Listing(state, seen, len(noted) < MAX_SEEN)

    async def get(self, workspace_id: str, name: str) -> CatalogTool:
        """The tool of this name. Raises ToolNotFound."""
        record = await self._client.call("HGET", Keyspace(workspace_id).catalog_tools, name)
        if record is None:
            raise _unknown()
        with decoding_record(f"The description of tool {name}"):
            return _decode(record)

    async def put(
        self,
        workspace_id: str,
        entries: Sequence[ToolEntry],
        *,
        prune: bool = False,
        if_match: frozenset[str] | None = None,
        by: ChangedBy,
    ) -> tuple[CatalogState, CatalogChange]:
        """Put all these entries or none, and return the catalogue. Tools without an entry stay, or are deleted with
        `prune`.

        Raises VersionConflict, LimitReached.
        """

        def make(state: CatalogState, now_ms: int) -> CatalogChange:
            _require_tag(state, if_match)
            return written(state.tools, entries, now_ms, prune=prune)

        return await self._change(workspace_id, make, by)

    async def mark(
        self,
        workspace_id: str,
        marks: Mapping[str, ToolMarks],
        *,
        if_match: frozenset[str] | None = None,
        by: ChangedBy,
    ) -> tuple[CatalogState, CatalogChange]:
        """Keep what a person says of these tools, of all or of none, and return the catalogue.

        Raises ToolNotFound, VersionConflict.
        """

        def make(state: CatalogState, now_ms: int) -> CatalogChange:
            _require_tag(state, if_match)
            if unknown := next((name for name in marks if name not in state.tools), None):
                raise ToolNotFound(f'The catalogue has no tool "{unknown}": import it before you mark it')
            return marked(state.tools, marks, now_ms)

        return await self._change(workspace_id, make, by)

    async def put_tool(
        self,
        workspace_id: str,
        entry: ToolEntry,
        *,
        if_match: Versions = None,
        by: ChangedBy,
    ) -> CatalogTool:
        """Put the tool that the entry describes.

        Raises LimitReached; VersionConflict, also if the tool does not exist.
        """

        def make(state: CatalogState, now_ms: int) -> CatalogChange:
            current = state.tools.get(entry.name)
            require_version(0 if current is None else current.version, if_match)
            return written(state.tools, [entry], now_ms, prune=False)

        state, _ = await self._change(workspace_id, make, by)
        return state.tools[entry.name]

    async def delete_tool(self, workspace_id: str, name: str, *, if_match: Versions = None, by: ChangedBy) -> None:
        """Delete the tool. Raises ToolNotFound, VersionConflict."""

        def make(state: CatalogState, _now_ms: int) -> CatalogChange:
            current = state.tools.get(name)
            if current is None:
                raise _unknown()
            require_version(current.version, if_match)
            return without(state.tools, name)

        await self._change(workspace_id, make, by)

    async def _change(self, workspace_id: str, make: _Make, by: ChangedBy) -> tuple[CatalogState, CatalogChange]:
        """Change the catalogue and return it; `make` is called again whenever another change came first."""
        keyspace = Keyspace(workspace_id)
        for _ in range(ATTEMPTS):
            current = await self._read(workspace_id)
            try:
                change = make(current, await store_time_ms(self._client))
            except FieldError as error:
                raise LimitReached(f"{error.message}; delete tools to make room") from None
            if not change.names:
                return current, change
            before, after = (shown_in_trail(tools, change.names) for tools in (current.tools, change.tools))
            records: list[Value] = []
            for name in change.names:
                records += (name, _encode(change.tools[name]) if name in change.tools else "")
            write = CatalogWrite(change.kind, before, after, current.version, records)
            version = await write_catalog(
                self._client, workspace_id, keyspace.catalog, keyspace.catalog_tools, write, by
            )
            if version is not None:
                return CatalogState(version if change.tools else "", change.tools), change
        return contended()

    async def _read(self, workspace_id: str) -> CatalogState:
        """Read the catalogue at one moment."""
        keyspace = Keyspace(workspace_id)
        version, records = await self._client.read_snapshot(
            ("HGET", keyspace.catalog, "version"), ("HGETALL", keyspace.catalog_tools)
        )
        records_by_name = as_record(records)
        tools: dict[str, CatalogTool] = {}
        decoded_bytes = 0
        for name in sorted(records_by_name):
            with decoding_record(f"The description of tool {name}"):
                tools[name] = _decode(records_by_name[name])
            decoded_bytes += len(records_by_name[name])
            if decoded_bytes > _STEP_BYTES:
                decoded_bytes = 0
                await take_turn()
        state = CatalogState(version or "", tools)
        self._latest[workspace_id] = state
        self._latest.move_to_end(workspace_id)
        while len(self._latest) > _REMEMBERED:
            self._latest.popitem(last=False)
        return state


async def note_seen(client: Client, workspace_id: str, asked_by: Mapping[str, str], seen_ms: int) -> None:
    """Record these tool names as seen in the log, each with the id of the key that asked.

    Beyond MAX_SEEN, the key that has most loses its oldest: names that one key invents take no other key's place.
    """
    key = Keyspace(workspace_id).seen_tools
    pairs: list[Value] = []
    for name, key_id in asked_by.items():
        pairs += (seen_ms, f"{key_id} {name}")
    await client.call("ZADD", key, *pairs)
    excess = _beyond(await client.call("ZRANGE", key, 0, -1))
    if excess:
        await client.call("ZREM", key, *excess)


def _beyond(noted: Sequence[str]) -> list[str]:
    """What must go of the names that are noted, the oldest first."""
    by_key: dict[str, list[str]] = {}
    for each in reversed(noted):
        by_key.setdefault(each.partition(" ")[0], []).append(each)
    held = [(-len(names), key_id) for key_id, names in by_key.items()]
    heapify(held)
    excess = []
    for _ in range(len(noted) - MAX_SEEN):
        count, key_id = held[0]
        excess.append(by_key[key_id].pop())
        heapreplace(held, (count + 1, key_id))
    return excess


def _is_tool(name: str) -> bool:
    """True if a call can name this tool. The log may contain entries that something other than a commit wrote."""
    try:
        require_tool_name("name", name)
    except FieldError:
        return False
    return True


def _require_tag(state: CatalogState, if_match: frozenset[str] | None) -> None:
    if if_match is not None and state.version not in if_match:
        raise VersionConflict("The catalogue has another version now than If-Match names; read it again")


def _unknown() -> ToolNotFound:
    return ToolNotFound("No tool of this name is in the catalogue")
