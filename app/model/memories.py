"""What rules remember of approved calls: since when each does, and the name that its memory has for one agent."""

import hashlib
from collections.abc import Mapping
from operator import itemgetter

import msgspec

from app.model.agents import Agent
from app.model.policies import SHADOW_BUCKET, Policy, PolicyMode
from app.model.rule import Rule

_FORM = "action"
"""What a remembered value is bound to besides agent and tool. Another word makes all agents forget, as an upgrade must
after which values count for less: a value of a build that did not bind the action may have been approved for any.
"""


def memory_of(policy: Policy, rule: Rule) -> str:
    """What sets the rule's memory apart within its policy; "" if it remembers nothing.

    It is derived from the tools, in any order, and from the parameters with how each counts, so that an edit of any of
    these forgets what was remembered.
    """
    if not rule.remembered:
        return ""
    text = msgspec.json.encode([sorted(set(rule.tools)), sorted(rule.remembered.items(), key=itemgetter(0))])
    return hashlib.sha256(text).hexdigest()[:16] + (SHADOW_BUCKET if policy.mode is PolicyMode.SHADOW else "")


def remembering_since(before: Policy | None, after: Policy) -> dict[str, int]:
    """For each memory of an enabled policy, the version that began it: what was no longer said has been forgotten."""
    if not after.enabled:
        return {}
    known: Mapping[str, int] = {} if before is None else before.remembers
    memories = (memory for rule in after.rules if (memory := memory_of(after, rule)))
    return {memory: known.get(memory, after.version) for memory in memories}


def memory_name(agent: Agent, policy: Policy, rule: Rule) -> str:
    """The name of what the rule remembers for the agent; "" if it remembers nothing.

    It changes when the agent has been suspended, when a person makes it forget, and when the rule has not said so for a
    while; nothing has the old name then. Nor does anything have the name under which builds before `_FORM` remembered.
    """
    memory = memory_of(policy, rule)
    if not memory:
        return ""
    since = (policy.remembers.get(memory, 0), agent.active_since, agent.remembers_since)
    text = f"{_FORM} {policy.id} {memory} {' '.join(map(str, since))}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
