"""The commit's part for denial breakers: where denials count, and what is recorded when one trips a breaker."""

from app.authorize.commit_arguments import CommitArguments
from app.model.decisions import DenialCount, Plan
from app.store.keyspace import Keyspace

TRIPPED = "tripped"
"""The last element of the script's reply if the denial has suspended the agent."""

_ACTIVE, _SUSPENDED = '{"status":"active","version":%.0f}', '{"status":"suspended","version":%.0f}'
"""The agent before and after, in the form of `snapshots.snapshots`, with a placeholder for the version."""


def add_breakers(words: CommitArguments, keyspace: Keyspace, agent_id: str, plan: Plan) -> None:
    """Add the breakers that count the call if it is denied."""
    denials = (denials_of(keyspace, agent_id, breaker) for breaker in plan.breakers)
    lines = "".join(_breaker_lines(breaker, plan) for breaker in plan.breakers)
    words.add_part("breakers", (keyspace.changes, *denials), (_ACTIVE, _SUSPENDED, lines))


def denials_of(keyspace: Keyspace, agent_id: str, breaker: DenialCount) -> str:
    """The key in which the breaker counts the agent's denials."""
    return keyspace.denials(agent_id, breaker.since, breaker.policy_id, breaker.fingerprint)


def _breaker_lines(breaker: DenialCount, plan: Plan) -> str:
    acts: str | int = "suspend"
    if not breaker.suspends:
        acts = plan.quotas.index(breaker) + 1 if breaker in plan.quotas else 0
    return f"{breaker.max_denials} {breaker.window_us} {acts} {breaker.policy_id}\n{breaker.when_full.reason}\n"
