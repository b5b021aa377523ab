"""The commit's part for shadow policies: its keys and arguments, and the meaning of the reply."""

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from app.authorize.commit.arguments import CommitArguments
from app.authorize.commit.reply import CommitReply
from app.model.decisions import RecordRead, Result, ShadowOutcome
from app.model.plans import Check, Plan, RecordCheck, SessionRoom, ShadowPlan


def add_shadow(arguments: CommitArguments, plan: Plan, shadow: ShadowPlan) -> tuple[Check | SessionRoom, ...]:
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
    # The script puts what was read in place of the empty list.
    read = list[RecordRead]() if any(isinstance(each, RecordCheck) for each in aside) else UNSET
    told = (replace(each, records=read) for each in shadow.outcomes)
    outcomes = (_outcome(arguments, each, policies.index(each.policy_id) + 1) for each in told)
    counters = [arguments.keyspace.divergence(policy_id) for policy_id in policies]
    arguments.add_part("shadow", counters, (len(plan.quotas), asks, *outcomes))
    return tuple(aside)


def shadow_outcome(shadow: ShadowPlan, reply: CommitReply) -> ShadowOutcome:
    """What would have been decided with the shadow policies, too."""
    return replace(shadow.outcomes[reply.shadow], result=Result(reply.would))


def _outcome(arguments: CommitArguments, outcome: ShadowOutcome, number: int) -> str:
    version = arguments.versions.get(outcome.policy_id, 0)
    return f"{outcome.result} {number} {version} {msgspec.json.encode(outcome).decode()}"
