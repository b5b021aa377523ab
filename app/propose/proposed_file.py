"""Proposed policies as files have them: with what each rule was made from, or in shadow mode."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.model.proposals import ProposedTool, RuleEvidence, ToolUse
from app.model.text import counted, with_hidden_shown

SHADOW_PRIORITY = 1000
_ENTRIES = 3
_rule = re.compile(r"^( {6})- type: ").match
_policy = re.compile(r"^  - (?:key|name): ").match


def in_shadow(policies: Iterable[Mapping[str, Any]], tools: Iterable[ProposedTool]) -> list[dict[str, Any]]:
    """The policies so that divergence counts every call which they would answer otherwise; they change no answer.

    Above all others, and with a guardrail in shadow mode, too, which denies what none of them grants. Their names are
    others than those of the proposal, whose policies may be enforced: they would become shadows.
    """
    known = [each.name for each in tools if each.use is not ToolUse.UNKNOWN]
    fence = {
        "name": "no other tool",
        "kind": "guardrail",
        "rules": [{"type": "tool_allowlist", "tools": known}],
    }
    order = ("name", "kind", "priority", "mode", "rules")
    shadow = {"priority": SHADOW_PRIORITY, "mode": "shadow"}
    made = ({**each, "name": f"Proposed: {each['name']}", **shadow} for each in (*policies, fence))
    return [{name: each[name] for name in order if name in each} for each in made]


def as_commented_yaml(text: str, evidence: Sequence[RuleEvidence], tools: Iterable[ProposedTool]) -> str:
    """A file of policies with a comment above each rule: what it was made from and left out, what nobody called."""
    unseen = [each.name for each in tools if each.use is ToolUse.UNSEEN]
    of_rule: dict[tuple[int, int], list[RuleEvidence]] = {}
    for each in evidence:
        policy, rule = (int(found) for found in re.findall(r"\[(\d+)\]", each.path)[:2])
        of_rule.setdefault((policy, rule), []).append(each)
    lines: list[str] = []
    policy, rule = -1, 0
    for line in text.split("\n"):
        if _policy(line) is not None:
            policy, rule = policy + 1, 0
        elif (found := _rule(line)) is not None:
            lines += (f"{found[1]}# {each}" for each in _comments(of_rule.get((policy, rule), []), unseen))
            rule += 1
        lines.append(line)
    return "\n".join(lines)


def _comments(evidence: Sequence[RuleEvidence], unseen: Sequence[str]) -> Iterator[str]:
    for each in evidence:
        _, inside, name = each.path.partition(".parameters.")
        if inside and not each.left_out:
            continue
        made = f"{name}: {each.form}" if inside else f"{counted(each.calls, 'call')}, {counted(each.units, 'user')}"
        example = f", e.g. entry {each.examples[0].entry}" if each.examples and not inside else ""
        left_out = ", ".join(f"{value.value} (entry {value.entry})" for value in each.left_out[:_ENTRIES])
        more = ", …" if len(each.left_out) > _ENTRIES else ""
        never = f"; never called: {', '.join(unseen)}" if unseen and each.form == "marked" else ""
        yield with_hidden_shown(made + example + (f"; left out: {left_out}{more}" if left_out else "") + never)
