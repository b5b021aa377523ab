"""The part of a commit that is about denial breakers: where denials count, and what one that fills a breaker leaves."""

from app.authorize.commit_words import CommitWords
from app.model.decisions import DenialCount, Plan
from app.store.keyspace import Keyspace

TRIPPED = "tripped"
"""What the script says, last, of a denial that has suspended its agent."""

_ACTIVE, _SUSPENDED = '{"status":"active","version":%.0f}', '{"status":"suspended","version":%.0f}'
"""The agent in the trail, before and after: as `changes.snapshots` has it, with a place for the version."""


def add_breakers(words: CommitWords, keyspace: Keyspace, agent_id: str, plan: Plan) -> None:
    """What counts the call if it is denied is added."""
    denials = (denials_of(keyspace, agent_id, breaker) for breaker in plan.breakers)
    told = "".join(_told(breaker, plan) for breaker in plan.breakers)
    words.add_part("breakers", (keyspace.changes, *denials), (_ACTIVE, _SUSPENDED, told))


def denials_of(keyspace: Keyspace, agent_id: str, breaker: DenialCount) -> str:
    """The key in which the breaker counts the agent's denials."""
    return keyspace.denials(agent_id, breaker.since, breaker.policy_id, breaker.fingerprint)


def _told(breaker: DenialCount, plan: Plan) -> str:
    acts: str | int = "suspend"
    if not breaker.suspends:
        acts = plan.quotas.index(breaker) + 1 if breaker in plan.quotas else 0
    return f"{breaker.max_denials} {breaker.window_us} {acts} {breaker.policy_id}\n{breaker.when_full.reason}\n"
