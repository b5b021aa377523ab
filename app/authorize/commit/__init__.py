"""The commit: the one call of the store that turns a plan into a decision."""

from app.authorize.commit.decision import CommitDecision
from app.authorize.commit.question import ApprovalStep, CommitQuestion
from app.authorize.commit.reply import CommitAnswer, Escalates, Overtaken, Stale, require_stale

__all__ = [
    "ApprovalStep",
    "CommitAnswer",
    "CommitDecision",
    "CommitQuestion",
    "Escalates",
    "Overtaken",
    "Stale",
    "require_stale",
]
