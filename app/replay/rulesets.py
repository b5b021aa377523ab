"""Rulesets of a replay: the policies that governed an agent then, and those that would now.

They are compiled once per change.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest
from app.model.marks import longest_shared, shared_marks
from app.model.plans import DenialCount, Plan, Quota
from app.model.policies import Owner, Policy
from app.pdp import compile_agent, decide
from app.pdp.constraints import IsSecret
from app.replay.history import History
from app.replay.spans import LogPosition, Span

_KEPT = 1024
_RulesetName = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], bool]
_TOOLS = 4096


class Ruleset:
    """An agent's compiled policies, and the plans of tools for which the call's values do not matter."""

    def __init__(self, policies: Sequence[Policy], shared: Mapping[str, int], is_secret: IsSecret) -> None:
        agent = Agent(id="", name="", created_ms=0, updated_ms=0, version="")
        self.compiled = compile_agent(agent, policies, is_secret, shared)
        self.marks_for = lru_cache(maxsize=_TOOLS)(self.compiled.marks_for)
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


class PolicySpan:
    """The policies that governed an agent in one span of time (`then`), and those that would have (`now`).

    is_asked: its calls are replayed. Other agents' calls count only in what is shared: they have the same
    policies on both rulesets, but may leave other marks.
    """

    __slots__ = ("is_asked", "now", "span", "then")

    def __init__(self, span: Span, then: Ruleset, now: Ruleset, *, is_asked: bool) -> None:
        self.span = span
        self.is_asked = is_asked
        self.then = then
        self.now = now


class Rulesets:
    """Both rulesets for every agent, compiled on demand.

    owner: whose policies the draft replaces. draft: None = nothing is replaced.
    """

    def __init__(self, history: History, owner: Owner, draft: Sequence[Policy] | None, is_secret: IsSecret) -> None:
        self._history = history
        self._owner = owner
        self._draft = draft
        self._is_secret = is_secret
        self._latest: dict[str, PolicySpan | None] = {}
        self._rulesets: OrderedDict[_RulesetName, Ruleset] = OrderedDict()

    def at(self, agent_id: str, entry: LogPosition) -> PolicySpan | None:
        """Both rulesets when an entry was made; None if the policies of that time are not recorded."""
        latest = self._latest.get(agent_id)
        if latest is not None and latest.span.has(entry):
            return latest
        span = self._history.span(agent_id, entry)
        if span.policies is None:
            return None
        if len(self._latest) >= _KEPT:
            self._latest.clear()
        governed = self._latest[agent_id] = self._governed(agent_id, span, span.policies)
        return governed

    def _governed(self, agent_id: str, span: Span, policies: tuple[Policy, ...]) -> PolicySpan:
        marks_then = _marks(span.marking)
        then = self._ruleset(policies, marks_then, drafted=False)
        is_asked = self._owner.governs(agent_id, span.groups)
        if self._draft is None:
            return PolicySpan(span, then, then, is_asked=is_asked)
        marks_now = _marks((*self._without_owner(span.marking), *self._draft))
        if not is_asked:
            return PolicySpan(span, then, self._ruleset(policies, marks_now, drafted=False), is_asked=False)
        return PolicySpan(
            span, then, self._ruleset(self._without_owner(policies), marks_now, drafted=True), is_asked=True
        )

    def _without_owner(self, policies: Iterable[Policy]) -> tuple[Policy, ...]:
        return tuple(policy for policy in policies if policy.owner != self._owner)

    def _ruleset(self, policies: tuple[Policy, ...], marks: Mapping[str, int], *, drafted: bool) -> Ruleset:
        name = (tuple((policy.id, policy.version) for policy in policies), tuple(sorted(marks.items())), drafted)
        ruleset = self._rulesets.get(name)
        if ruleset is None:
            everything = (*policies, *(self._draft or ())) if drafted else policies
            ruleset = self._rulesets[name] = Ruleset(everything, marks, self._is_secret)
            if len(self._rulesets) > _KEPT:
                self._rulesets.popitem(last=False)
        return ruleset


def _marks(policies: Iterable[Policy]) -> dict[str, int]:
    """The marks that these policies need from every agent's calls."""
    return longest_shared(frozenset[str]().union(*map(shared_marks, policies)))
