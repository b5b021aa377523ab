"""The commits of one agent that recur, packed once."""

from collections.abc import Callable

from msgspec import Struct

from app.model.decisions import Plan
from app.redis_client.packed_call import ScriptCall


class _Kept(Struct, frozen=True):
    """A packed commit of this plan. It holds the plan, so that what is compared with its parts can be no other."""

    plan: Plan
    call: ScriptCall
    size: int


class PreparedCalls:
    """Packed commits by tool and API key; those made first leave when there are too many.

    They live as long as the agent's cache entry: any change to the agent drops them.
    grown: told by how many bytes this is larger than before.
    """

    def __init__(self, grown: Callable[[int], None] = lambda _bytes: None, max_bytes: int = 256 * 1024) -> None:
        self._grown = grown
        self._max_bytes = max_bytes
        self._kept: dict[tuple[str, str], _Kept] = {}
        self.bytes_held = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, tool: str, key_id: str, plan: Plan) -> ScriptCall | None:
        """The packed commit of this very plan."""
        kept = self._kept.get((tool, key_id))
        if (
            kept is None
            or kept.plan.outcome is not plan.outcome
            or kept.plan.quotas is not plan.quotas
            or kept.plan.holds_from_us != plan.holds_from_us
            or plan.marks
        ):
            return None
        return kept.call

    def keep(self, tool: str, key_id: str, plan: Plan, call: ScriptCall, size: int) -> None:
        """`get` gives this call for this plan, and none that was kept before for the tool and the key."""
        before = self.bytes_held
        self._drop((tool, key_id))
        self._kept[tool, key_id] = _Kept(plan, call, size)
        self.bytes_held += size
        while self.bytes_held > self._max_bytes:
            self._drop(next(iter(self._kept)))
        self._grown(self.bytes_held - before)

    def _drop(self, name: tuple[str, str]) -> None:
        kept = self._kept.pop(name, None)
        if kept is not None:
            self.bytes_held -= kept.size
