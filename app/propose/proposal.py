"""A whole proposal: policies, how they judge the calls that they were made from, tests of them, and what to know."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from app.model.catalog import Consequence
from app.model.comparisons import PolicyComparison
from app.model.decisions import Result
from app.model.policies import Policy
from app.model.proposals import (
    HostileCall,
    HostileCalls,
    LearnedCalls,
    Proposal,
    ProposedChange,
    ProposedTool,
    ProposeTask,
    ResultCounts,
    RuleEvidence,
    ToolUse,
)
from app.model.times import rfc3339
from app.propose.judged_calls import Judge, Tried, of_unseen_users, policies_of, tried
from app.propose.observed_calls import Observations, ObservedCall, by_tool, units_of
from app.propose.policy_changes import Change, applied, changes_of, grants_a_pattern, is_in_force
from app.propose.proposed_policies import KnownTool, Proposed, is_nameable, propose, shortly

_EXAMPLES = 6
_NAMED = 5
_FEWEST_UNITS = 5
_MAX_CLAIMS = 100
_SHOWN = 300
_UNUSED_MS = 90 * 86_400_000
"""A tool is unused if nobody called it for so long."""
Compare = Callable[[Sequence[Policy], Sequence[Policy]], PolicyComparison]


def proposal_of(
    task: ProposeTask,
    seen: Observations,
    catalog: Mapping[str, KnownTool],
    warnings: Sequence[str] = (),
    current: Sequence[Mapping[str, Any]] = (),
    since_ms: int = 0,
    compare: Compare | None = None,
) -> Proposal:
    """The proposal that these calls and these tools make. seen: with a call, at least. warnings: what to say first.

    current: the agent's own policies, which are changed if they name all tools that they grant. since_ms: when they
    last changed. compare: says what a change means; without it nothing is changed, and all is made anew.
    """
    catalog = {tool: known for tool, known in catalog.items() if is_nameable(tool)}
    proposed = _without_refused(seen, catalog, task)
    calls = seen.calls
    units = units_of(calls)
    policies, evidence, tools = proposed.policies, proposed.evidence, list(_tools(proposed, calls))
    varied, changes = [*proposed.bounded, *proposed.disclosing], None
    if compare is not None and any(map(is_in_force, current)) and not grants_a_pattern(current):
        is_long = task.to_ms - max(task.from_ms, since_ms) >= _UNUSED_MS and not warnings
        made = changes_of(current, calls, proposed, seen.called if is_long else None)
        policies, changes = _meant(current, made, compare)
        evidence, varied = _moved(proposed, policies), [each.tool for each in changes]
        tools = [each for each in tools if each.name in varied]
    found = tried(policies, calls, varied)
    is_whole = changes is None and len(units) >= _FEWEST_UNITS
    return Proposal(
        from_=rfc3339(task.from_ms),
        to=rfc3339(task.to_ms),
        policies=policies,
        evidence=evidence,
        tools=tools,
        learned=LearnedCalls(
            calls=len(calls),
            units=len(units),
            sessions=len({call.session for call in calls if call.session}),
            unnamed=sum(not call.unit for call in calls),
            failed=seen.failed,
            sessions_left_out=seen.sessions_left_out,
            calls_left_out=seen.calls_left_out,
            unreadable=seen.unreadable,
        ),
        replay=_counts(found.counts),
        unseen=_counts(of_unseen_users(calls, catalog, task.reads)) if is_whole else None,
        hostile=_hostile(found),
        tests=list(_tests(proposed, found)) if changes is None else [],
        never=list(_claims(catalog)) if changes is None else [],
        warnings=[
            *warnings,
            *_warnings(proposed, catalog, seen, is_changed=changes is not None),
            *(_left_out(current) if changes is None else ()),
        ],
        changes=changes,
    )


def _claims(catalog: Mapping[str, KnownTool]) -> Iterator[dict[str, Any]]:
    """Yield a claim for each tool that cannot be undone, or of which nobody has said that it can."""
    final = [tool for tool, known in sorted(catalog.items()) if known.consequence in (Consequence.IRREVERSIBLE, None)]
    for tool in final[:_MAX_CLAIMS]:
        yield {
            "name": f"no call of {shortly(tool)} is allowed without a person",
            "call": {"tool": tool},
            "result": "allowed",
        }


def _meant(
    current: Sequence[Mapping[str, Any]], made: Iterable[Change], compare: Compare
) -> tuple[list[dict[str, Any]], list[ProposedChange]]:
    """The policies after all changes that change an answer, and each with what it means by itself."""
    before, kept, changes = policies_of(current), list[Change](), list[ProposedChange]()
    for each in made:
        meaning = compare(before, policies_of(applied(current, [each])))
        if meaning.flips or meaning.limits or not meaning.complete:
            kept.append(each)
            changes.append(
                ProposedChange(kind=each.kind, tool=each.tool, calls=each.calls, units=each.units, meaning=meaning)
            )
    return applied(current, kept), changes


def _moved(proposed: Proposed, policies: Sequence[Mapping[str, Any]]) -> list[RuleEvidence]:
    """What the rules that are the proposal's were made from, by their places among these policies."""
    found = []
    for each in proposed.evidence:
        number, _, below = each.path.removeprefix("policies[").partition("]")
        policy = proposed.policies[int(number)]
        same = (at for at, other in enumerate(policies) if policy.items() <= other.items())
        if (place := next(same, None)) is not None:
            found.append(replace(each, path=f"policies[{place}]{below}"))
    return found


def _without_refused(seen: Observations, catalog: Mapping[str, KnownTool], task: ProposeTask) -> Proposed:
    """The proposal that allows no call that a person denied: tools of which it would allow one ask instead."""
    asking: dict[str, str] = {}
    while True:
        proposed = propose(seen.calls, catalog, task.reads, asking)
        judge = Judge(policies_of(proposed.policies))
        allowed = [call for call in seen.refused if call.tool not in asking and judge.may_allow(call)]
        if not allowed:
            return proposed
        asking |= {call.tool: f"a person denied such a call: entry {call.id}" for call in reversed(allowed)}


def _tools(proposed: Proposed, calls: Sequence[ObservedCall]) -> Iterator[ProposedTool]:
    seen = by_tool(calls)
    used = {
        **dict.fromkeys(proposed.free, ToolUse.FREE),
        **dict.fromkeys(proposed.disclosing, ToolUse.NAMED),
        **dict.fromkeys(proposed.bounded, ToolUse.BOUNDED),
        **dict.fromkeys(proposed.asking, ToolUse.ASKS),
        **dict.fromkeys(proposed.unseen, ToolUse.UNSEEN),
        **dict.fromkeys(proposed.unknown, ToolUse.UNKNOWN),
    }
    for tool, use in sorted(used.items()):
        made = seen.get(tool, [])
        yield ProposedTool(
            name=tool, use=use, calls=len(made), units=len(units_of(made)), why=proposed.asking.get(tool)
        )


def _counts(found: Counter[Result]) -> ResultCounts:
    return ResultCounts(allowed=found[Result.ALLOWED], escalated=found[Result.ESCALATED], denied=found[Result.DENIED])


def _hostile(found: Tried) -> HostileCalls:
    varied = found.varied
    allowed = [each for each in varied if each.result is Result.ALLOWED]
    return HostileCalls(
        calls=len(varied),
        kinds=len({each.kind for each in varied}),
        allowed=len(allowed),
        examples=[
            HostileCall(kind=each.kind, tool=each.call.tool, parameters=_as_json(each.call.parameters)[:_SHOWN])
            for each in allowed[:_EXAMPLES]
        ],
    )


def _tests(proposed: Proposed, found: Tried) -> Iterator[dict[str, Any]]:
    """Yield examples: what a bounded tool allows after what comes before it, what asks, what is free."""
    passing = {*proposed.bounded, *proposed.free}
    made = {
        tool: call
        for (tool, result), call in found.first.items()
        if result is (Result.ALLOWED if tool in passing else Result.ESCALATED) and not call.hidden
    }
    first = {tool: at for at, tool in enumerate((*proposed.bounded, *proposed.asking, *proposed.disclosing))}
    chosen = sorted(made, key=lambda tool: (first.get(tool, len(first)), tool))[:_EXAMPLES]
    before = {
        rule["tools"][0]: rule["sequence"]["requiresBefore"][0]
        for policy in proposed.policies
        for rule in policy["rules"]
        if rule["type"] == "sequence"
    }
    for tool in chosen:
        call = made[tool]
        context = {name: "one" for name in ("session", "user") if call.context.get(name)}
        test: dict[str, Any] = {
            "name": f"{shortly(tool)}, as users made it, {'is allowed' if tool in passing else 'asks'}"
        }
        if tool in before:
            test["before"] = [{"tool": before[tool], "context": context}]
        test["call"] = {"tool": tool, "parameters": call.parameters, "context": context}
        test["want"] = str(Result.ALLOWED if tool in passing else Result.ESCALATED)
        yield test


def _warnings(
    proposed: Proposed, catalog: Mapping[str, KnownTool], seen: Observations, *, is_changed: bool
) -> Iterator[str]:
    """Yield what to know beside the policies. is_changed: they are the agent's own, with some changes."""
    unmarked = [tool for tool, known in sorted(catalog.items()) if known.consequence is None]
    ask, are_denied = (", so no change allows more",) * 2 if is_changed else (" and will ask", ", and will be denied")
    if unmarked:
        yield f"{_many(unmarked, 'is not marked', 'are not marked')}{ask}: {_listed(unmarked)}"
    if proposed.unknown:
        unknown, why = proposed.unknown, "not in the catalogue, or named as a pattern of tools is"
        yield f"{_many(unknown, 'is', 'are')} {why}{are_denied}: {_listed(unknown)}"
    unnamed = sum(not call.unit for call in seen.calls)
    if unnamed:
        yield f"{unnamed} calls name neither `context.user` nor `context.session`; they count as one user's"
    if seen.unreadable:
        yield f"{seen.unreadable} entries could not be read"


def _left_out(current: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which guardrails a whole file does not have."""
    names = [str(each["name"]) for each in current if each.get("kind") == "guardrail"]
    if names:
        many = "1 guardrail of the agent is" if len(names) == 1 else f"{len(names)} guardrails of the agent are"
        yield f"{many} not in the file, and --prune deletes what is not: {_listed(names)}"


def _many(tools: Sequence[str], one: str, many: str) -> str:
    return f"1 tool {one}" if len(tools) == 1 else f"{len(tools)} tools {many}"


def _listed(tools: Sequence[str]) -> str:
    return ", ".join(tools[:_NAMED]) + (", …" if len(tools) > _NAMED else "")


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
