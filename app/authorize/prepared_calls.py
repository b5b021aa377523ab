"""An agent's recurring commits, packed once."""

from msgspec import Struct

from app.model.decisions import Plan
from app.redis_client.packed_call import ScriptCall

_Name = tuple[str, str, str, int]


class _Kept(Struct, frozen=True):
    """A packed commit of a plan, without the reason, which varies.

    It keeps the plan alive, so that no other object can take over the id() of one of its parts.
    """

    plan: Plan
    call: ScriptCall
    size: int


class PreparedCalls:
    """Packed commits by tool, API key and deciding rule; the oldest are evicted when there are too many.

    They live as long as the agent's cache entry: any change to the agent drops them.
    """

    def __init__(self, max_bytes: int = 256 * 1024) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[_Name, _Kept] = {}
        self.bytes_held = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, tool: str, key_id: str, plan: Plan) -> ScriptCall | None:
        """The packed commit of this plan, whatever its reason."""
        outcome = plan.outcome
        kept = self._kept.get((tool, key_id, outcome.result, id(outcome.rule)))
        if (
            kept is None
            or kept.plan.outcome.policy_id != outcome.policy_id
            or kept.plan.quotas is not plan.quotas
            or kept.plan.holds_from_us != plan.holds_from_us
            or kept.plan.shadow is not plan.shadow
            or plan.marks
        ):
            return None
        return kept.call

    def keep(self, tool: str, key_id: str, plan: Plan, call: ScriptCall, size: int) -> int:
        """Keep this call for this plan, in place of an earlier one for the same tool, key and rule.

        Returns the number of bytes by which this has grown, which is negative if larger calls were evicted.
        """
        # The entry keeps the rule alive, so that no other object can have its id().
        before, name = self.bytes_held, (tool, key_id, plan.outcome.result, id(plan.outcome.rule))
        self._drop(name)
        self._kept[name] = _Kept(plan, call, size)
        self.bytes_held += size
        while self.bytes_held > self._max_bytes:
            self._drop(next(iter(self._kept)))
        return self.bytes_held - before

    def _drop(self, name: _Name) -> None:
        kept = self._kept.pop(name, None)
        if kept is not None:
            self.bytes_held -= kept.size
