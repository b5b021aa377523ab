"""An agent's recurring commits, packed once."""

from msgspec import Struct

from app.model.plans import Plan
from app.redis_client.packed_call import ScriptCall

_Name = tuple[str, str, str, int]


class _Packed(Struct, frozen=True):
    """A packed commit of a plan, without the reason, which varies.

    It keeps the plan alive, so that no other object can take over the id() of one of its parts.
    """

    plan: Plan
    call: ScriptCall
    size: int


class PackedCommits:
    """Packed commits by tool, API key and deciding rule; the oldest are evicted when there are too many.

    They live as long as the agent's cache entry: any change to the agent drops them.
    """

    def __init__(self, max_bytes: int = 256 * 1024) -> None:
        self._max_bytes = max_bytes
        self._packed: dict[_Name, _Packed] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._packed)

    def get(self, tool: str, key_id: str, plan: Plan) -> ScriptCall | None:
        """The packed commit of this plan, whatever its reason."""
        outcome = plan.outcome
        packed = self._packed.get((tool, key_id, outcome.result, id(outcome.rule)))
        if (
            packed is None
            or packed.plan.outcome.policy_id != outcome.policy_id
            or packed.plan.quotas is not plan.quotas
            or packed.plan.holds_from_us != plan.holds_from_us
            or packed.plan.shadow is not plan.shadow
            or packed.plan.breakers is not plan.breakers
            or plan.marks
        ):
            return None
        return packed.call

    def keep(self, tool: str, key_id: str, plan: Plan, call: ScriptCall, size: int) -> int:
        """Keep this call for this plan, in place of an earlier one for the same tool, key and rule.

        Returns the number of bytes by which this has grown, which is negative if larger calls were evicted.
        """
        # The entry keeps the rule alive, so that no other object can have its id().
        before, name = self.size, (tool, key_id, plan.outcome.result, id(plan.outcome.rule))
        self._drop(name)
        self._packed[name] = _Packed(plan, call, size)
        self.size += size
        while self.size > self._max_bytes:
            self._drop(next(iter(self._packed)))
        return self.size - before

    def _drop(self, name: _Name) -> None:
        packed = self._packed.pop(name, None)
        if packed is not None:
            self.size -= packed.size
