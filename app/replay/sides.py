"""The two sides of a replay: the policies that governed an agent then, and those that would now.

They are compiled once per change.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest, DenialCount, Plan, Quota
from app.model.marks import longest_shared, shared_marks
from app.model.policies import Owner, Policy
from app.pdp import compile_agent, decide
from app.pdp.constraints import IsSecret
from app.replay.history import History
from app.replay.spans import Place, Span

_KEPT = 1024
_SideName = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], bool]
_TOOLS = 4096


class Side:
    """An agent's compiled policies, and the plans of tools for which the call's values do not matter."""

    def __init__(self, policies: Sequence[Policy], shared: Mapping[str, int], is_secret: IsSecret) -> None:
        agent = Agent(id="", name="", created_ms=0, updated_ms=0, version="")
        self.compiled = compile_agent(agent, policies, is_secret, shared)
        self._settled: dict[str, Plan | None] = {}

    def settled(self, tool: str) -> Plan | None:
        """The plan of every call of this tool, if neither the call's values nor the time matter."""
        try:
            return self._settled[tool]
        except KeyError:
            if len(self._settled) >= _TOOLS:
                self._settled.clear()
            found = self._settled[tool] = self._settle(tool)
            return found

    def _settle(self, tool: str) -> Plan | None:
        view = self.compiled.view(tool)
        if view.judged or view.varying or view.marks:
            return None
        for policy in view.asked:
            if any(condition.checks or condition.time for condition in policy.conditions):
                return None
            if not all(isinstance(quota, Quota | DenialCount) for quota in policy.quotas):
                return None
        return decide(self.compiled, AuthorizeRequest("", tool, "", {}, b""), 0)


class GovernedSpan:
    """What governed an agent in one span of time (`then`), and what would have (`now`).

    is_asked: whether its calls are replayed. Other agents' calls count only in what is shared: they have the same
    policies on both sides, but may leave other marks.
    """

    __slots__ = ("is_asked", "now", "span", "then")

    def __init__(self, span: Span, then: Side, now: Side, *, is_asked: bool) -> None:
        self.span = span
        self.is_asked = is_asked
        self.then = then
        self.now = now


class Sides:
    """Both sides for every agent, compiled on demand.

    owner: whose policies the draft replaces. draft: None = nothing is replaced.
    """

    def __init__(self, history: History, owner: Owner, draft: Sequence[Policy] | None, is_secret: IsSecret) -> None:
        self._history = history
        self._owner = owner
        self._draft = draft
        self._is_secret = is_secret
        self._latest: dict[str, GovernedSpan | None] = {}
        self._sides: OrderedDict[_SideName, Side] = OrderedDict()

    def at(self, agent_id: str, entry: Place) -> GovernedSpan | None:
        """Both sides when an entry was made; None if it is not recorded what governed the agent."""
        held = self._latest.get(agent_id)
        if held is not None and held.span.has(entry):
            return held
        span = self._history.span(agent_id, entry)
        if span.policies is None:
            return None
        if len(self._latest) >= _KEPT:
            self._latest.clear()
        found = self._latest[agent_id] = self._governed(agent_id, span, span.policies)
        return found

    def _governed(self, agent_id: str, span: Span, policies: tuple[Policy, ...]) -> GovernedSpan:
        marks_then = _marks(span.marking)
        then = self._side(policies, marks_then, drafted=False)
        is_asked = self._owner.governs(agent_id, span.groups)
        if self._draft is None:
            return GovernedSpan(span, then, then, is_asked=is_asked)
        marks_now = _marks((*self._without_owner(span.marking), *self._draft))
        if not is_asked:
            return GovernedSpan(span, then, self._side(policies, marks_now, drafted=False), is_asked=False)
        return GovernedSpan(
            span, then, self._side(self._without_owner(policies), marks_now, drafted=True), is_asked=True
        )

    def _without_owner(self, policies: Iterable[Policy]) -> tuple[Policy, ...]:
        return tuple(policy for policy in policies if policy.owner != self._owner)

    def _side(self, policies: tuple[Policy, ...], marks: Mapping[str, int], *, drafted: bool) -> Side:
        name = (tuple((policy.id, policy.version) for policy in policies), tuple(sorted(marks.items())), drafted)
        side = self._sides.get(name)
        if side is None:
            everything = (*policies, *(self._draft or ())) if drafted else policies
            side = self._sides[name] = Side(everything, marks, self._is_secret)
            if len(self._sides) > _KEPT:
                self._sides.popitem(last=False)
        return side


def _marks(policies: Iterable[Policy]) -> dict[str, int]:
    """The marks that these policies need from every agent's calls."""
    return longest_shared(frozenset[str]().union(*map(shared_marks, policies)))
