"""Policies from observed calls and what a person has said about the tools."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct

from app.model.catalog import Consequence
from app.model.proposals import ProposedValue, Reads, RuleEvidence
from app.propose.closed_schema import closed_schema
from app.propose.observed_calls import ObservedCall, by_tool, most_sessions_a_day, units_of, when
from app.propose.parameter_values import SeenTool, Steps, is_sayable, name_of, texts_of
from app.propose.tool_bounds import Asks, Bounded, bounded

_LONG_NAME = 180
_SESSIONS_A_DAY = 300
"""With more, the order of calls is not asked for: the rule looks back on a thousand sessions of an agent."""


READING = "Reading"
_ASKING = "A person is asked"


def is_nameable(tool: str) -> bool:
    """False for a name that a rule would take for a pattern of many tools."""
    return "*" not in tool


def bounded_name(tool: str) -> str:
    """The name of the policy that bounds a tool."""
    return f"{shortly(tool)}: as users made it"


def shortly(tool: str) -> str:
    """The tool's name, as a part of another name; long ones end in a digest, so that no two are alike."""
    if len(tool) <= _LONG_NAME:
        return tool
    return f"{tool[:_LONG_NAME]}… {hashlib.sha256(tool.encode()).hexdigest()[:8]}"


class KnownTool(NamedTuple):
    """A tool of the catalogue: what a person said of it, None = nobody did, and the JSON Schema of its parameters."""

    consequence: Consequence | None = None
    foreign: bool | None = None
    schema: Mapping[str, Any] | None = None

    @property
    def is_foreign(self) -> bool:
        """True unless a person said that no stranger writes what it returns."""
        return self.foreign is not False


class Proposed(Struct, frozen=True, kw_only=True):
    """The policies as a file has them, and what each rule was made from.

    free, disclosing, bounded: the tools that each is granted. asking: why each other tool asks that was called, or that
    would ask anyway. unseen: other tools of the catalogue that were not called; they ask. unknown: tools that were
    called and are not in the catalogue, or whose names are patterns; no policy is about them.
    """

    policies: list[dict[str, Any]]
    evidence: list[RuleEvidence]
    free: list[str]
    disclosing: list[str]
    bounded: list[str]
    asking: dict[str, str]
    unseen: list[str]
    unknown: list[str]


def propose(
    calls: Sequence[ObservedCall],
    catalog: Mapping[str, KnownTool],
    reads: Reads = Reads.SEEN,
    asking: Mapping[str, str] | None = None,
) -> Proposed:
    """The policies that these calls and the marks of the tools make. asking: tools that ask, and why."""
    calls = sorted(calls, key=when)
    catalog = {tool: known for tool, known in catalog.items() if is_nameable(tool)}
    seen = by_tool(calls)
    asks = {tool: why for tool, why in (asking or {}).items() if tool in catalog}
    known = [tool for tool in sorted(catalog) if tool not in asks]
    of = {tool: catalog[tool].consequence for tool in known}
    free = [tool for tool in known if of[tool] is Consequence.NONE and (tool in seen or reads is Reads.ALL)]
    disclosing = [tool for tool in known if of[tool] is Consequence.DISCLOSES and tool in seen]
    foreign = [tool for tool in [*free, *disclosing] if catalog[tool].is_foreign]
    sessions = _Sessions(calls, seen)
    made: dict[str, Bounded] = {}
    for tool in known:
        if of[tool] in (Consequence.IRREVERSIBLE, None):
            asks[tool] = "not marked" if of[tool] is None else Consequence.IRREVERSIBLE.in_words
        elif of[tool] is Consequence.REVERSIBLE and tool in seen:
            found = _reversible(tool, sessions, catalog, free, foreign)
            if isinstance(found, Asks):
                asks[tool] = found.why
            else:
                made[tool] = found
    writer = _Writer()
    writer.grant(free, seen)
    for tool in disclosing:
        writer.disclose(tool, seen[tool])
    for tool, rules in made.items():
        writer.bound(tool, rules)
    unseen = [tool for tool in sorted(catalog) if tool not in {*seen, *free, *asks}]
    writer.ask(sorted([*asks, *unseen]), seen)
    return Proposed(
        policies=writer.policies,
        evidence=writer.evidence,
        free=free,
        disclosing=disclosing,
        bounded=list(made),
        asking=dict(sorted(asks.items())),
        unseen=unseen,
        unknown=[tool for tool in seen if tool not in catalog],
    )


class _Sessions:
    """Which tools came first in the sessions of these calls, oldest first. seen: the same calls by tool."""

    def __init__(self, calls: Sequence[ObservedCall], seen: Mapping[str, Sequence[ObservedCall]]) -> None:
        self._calls = calls
        self.seen = seen
        self._first: dict[str, dict[str, ObservedCall]] = {}

    @cached_property
    def are_few(self) -> bool:
        return most_sessions_a_day(self._calls) <= _SESSIONS_A_DAY

    def without(self, tool: str, lookups: Iterable[str]) -> dict[str, set[str]]:
        """For each look-up, the units with a session in which the tool's first call came before it, or without it."""
        begun = self._first_of(tool)
        firsts = {lookup: self._first_of(lookup) for lookup in lookups if lookup in self.seen}
        return {
            lookup: {
                call.unit
                for session, call in begun.items()
                if (looked := first.get(session)) is None or when(looked) >= when(call)
            }
            for lookup, first in firsts.items()
        }

    def _first_of(self, tool: str) -> dict[str, ObservedCall]:
        """The tool's first call in each session."""
        if tool not in self._first:
            self._first[tool] = {call.session: call for call in reversed(self.seen[tool])}
        return self._first[tool]


def _reversible(
    tool: str,
    sessions: _Sessions,
    catalog: Mapping[str, KnownTool],
    free: Collection[str],
    foreign: Sequence[str],
) -> Bounded | Asks:
    """The rules of a tool whose calls can be undone."""
    if catalog[tool].is_foreign:
        return Asks("its own results hold text of strangers")
    if foreign:
        return Asks(f"the agent reads text of strangers: {foreign[0]}")
    calls = sessions.seen[tool]
    is_ordered = sessions.are_few and all(call.session for call in calls)
    lookups = sessions.without(tool, free) if is_ordered else None
    return bounded(tool, calls, catalog[tool].schema, lookups)


class _Writer:
    """Writes the policies, each with what its rules were made from."""

    def __init__(self) -> None:
        self.policies: list[dict[str, Any]] = []
        self.evidence: list[RuleEvidence] = []

    def grant(self, tools: Sequence[str], seen: Mapping[str, Sequence[ObservedCall]]) -> None:
        """Grant the tools, if there are any."""
        self._list(READING, "tool_grant", "seen", tools, seen)

    def ask(self, tools: Sequence[str], seen: Mapping[str, Sequence[ObservedCall]]) -> None:
        """Ask about each call of the tools, if there are any."""
        self._list(_ASKING, "approval_required", "marked", tools, seen)

    def disclose(self, tool: str, calls: Sequence[ObservedCall]) -> None:
        """Each text must be the user's own; a call with other names asks."""
        places: dict[Steps, set[str]] = defaultdict(set)
        for call in calls:
            for steps in texts_of(call.parameters):
                places[steps].add(call.id)
        name = f"{shortly(tool)}: what the user named"
        all_places = SeenTool(calls).places
        evidence = [_of_tools(f"rules[{at}]", form, [tool], {tool: calls}) for at, form in enumerate(("seen", "names"))]
        if not places or not all(map(is_sayable, all_places)):
            self._add(name, [{"type": "approval_required", "tools": [tool]}], evidence[:1])
            return
        named = {
            name_of(steps): {"fromRequest": "exact", **({} if len(ids) == len(calls) else {"required": False})}
            for steps, ids in sorted(places.items())
        }
        objects = [steps for steps, place in all_places.items() if ("object", None) in place.values]
        about = {"tools": [tool], "effect": "escalate"}
        rules = [
            {"type": "parameter_constraint", **about, "parameters": named},
            {"type": "parameter_schema", **about, "schema": closed_schema(all_places, objects)},
        ]
        self._add(name, rules, evidence)

    def bound(self, tool: str, made: Bounded) -> None:
        self._add(bounded_name(tool), made.rules, made.evidence)

    def _list(
        self, name: str, kind: str, form: str, tools: Sequence[str], seen: Mapping[str, Sequence[ObservedCall]]
    ) -> None:
        if tools:
            self._add(name, [{"type": kind, "tools": list(tools)}], [_of_tools("rules[0]", form, tools, seen)])

    def _add(self, name: str, rules: list[dict[str, Any]], evidence: Iterable[RuleEvidence]) -> None:
        at = f"policies[{len(self.policies)}]"
        self.policies.append({"name": name, "rules": rules})
        self.evidence += (_moved(each, at) for each in evidence)


def _moved(evidence: RuleEvidence, policy: str) -> RuleEvidence:
    return RuleEvidence(
        path=f"{policy}.{evidence.path}",
        calls=evidence.calls,
        units=evidence.units,
        form=evidence.form,
        examples=evidence.examples,
        left_out=evidence.left_out,
    )


def _of_tools(path: str, form: str, tools: Iterable[str], seen: Mapping[str, Sequence[ObservedCall]]) -> RuleEvidence:
    """What a list of tools was made from: the oldest call of each."""
    calls = {tool: seen[tool] for tool in tools if tool in seen}
    return RuleEvidence(
        path=path,
        calls=sum(map(len, calls.values())),
        units=len(units_of(call for each in calls.values() for call in each)),
        form=form,
        examples=[
            ProposedValue(value=tool, units=len(units_of(each)), entry=each[0].id) for tool, each in calls.items()
        ],
    )
