"""Analyses of policies: what a replica asks of a process, and its answer. They read no store and no log."""

from app.model.bounds import AgentBounds, BoundsTask
from app.model.comparisons import CompareTask, PolicyComparison
from app.pdp.constraints import IsSecret
from app.policy_tools.compare.bounds import bounds_of
from app.policy_tools.compare.meaning import compare_meaning, compare_shared

AnalysisTask = CompareTask | BoundsTask
ANSWER = b'{"answer":'
"""What the line with the answer begins with."""


def analysed(task: AnalysisTask, is_secret: IsSecret) -> PolicyComparison | AgentBounds:
    """The answer."""
    if isinstance(task, CompareTask):
        return (compare_shared if task.is_shared else compare_meaning)(task.before, task.after)
    return bounds_of(task.policies, is_secret)
