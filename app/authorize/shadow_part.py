"""The commit's part for shadow policies: its keys and arguments, and the meaning of the reply."""

from collections.abc import Mapping

import msgspec

from app.authorize.commit_arguments import CommitArguments
from app.model.decisions import Check, Plan, Result, SessionRoom, ShadowOutcome, ShadowPlan
from app.store.keyspace import Keyspace

Versions = Mapping[str, int]


def add_shadow(
    words: CommitArguments, keyspace: Keyspace, plan: Plan, shadow: ShadowPlan, versions: Versions
) -> tuple[Check | SessionRoom, ...]:
    """Add the part, and return the quotas that it needs besides the plan's own; they are numbered after these."""
    enforced = {quota: number for number, quota in enumerate(plan.quotas, 1)}
    aside: list[Check | SessionRoom] = []
    asks = ""
    for quota, own in zip(shadow.quotas, shadow.own, strict=True):
        number = None if isinstance(quota, SessionRoom) else enforced.get(quota)
        if number is None:
            aside.append(quota)
            number = len(plan.quotas) + len(aside)
        asks += f"{number}={quota.session if isinstance(quota, SessionRoom) else 'take' if own else '-'} "
    policies = list(dict.fromkeys(each.policy_id for each in shadow.outcomes))
    outcomes = (_outcome(each, policies.index(each.policy_id) + 1, versions) for each in shadow.outcomes)
    counters = [keyspace.divergence(policy_id) for policy_id in policies]
    words.add_part("shadow", counters, (len(plan.quotas), asks, *outcomes))
    return tuple(aside)


def shadow_outcome(shadow: ShadowPlan, reply: str) -> ShadowOutcome:
    """What would have been decided, from the end of the reply."""
    place, _, result = reply.partition(" ")
    outcome = shadow.outcomes[int(place)]
    return msgspec.structs.replace(outcome, result=Result(result))


def _outcome(outcome: ShadowOutcome, number: int, versions: Versions) -> str:
    text = msgspec.json.encode(outcome).decode()
    return f"{outcome.result} {number} {versions.get(outcome.policy_id, 0)} {text}"
