"""What a change of policies means: for each kind of tool, calls whose result differs, each judged by both sides.

Whatever is shown as a flip is one: the decision point gave both results. `because` says why others may have been
missed; if it is empty, there are none.
"""

from collections.abc import Sequence

from app.model.comparisons import Doubt, PolicyComparison, PolicyFlip
from app.model.decisions import Result
from app.model.policies import Policy, PolicyKind
from app.model.rules import ToolGrant
from app.policy_tools.compare.combinations import Effort
from app.policy_tools.compare.judging import Judging, kinds_of_tools

_KINDS = [
    *((Result.DENIED, Result.ALLOWED), (Result.DENIED, Result.ESCALATED), (Result.ESCALATED, Result.ALLOWED)),
    *((Result.ALLOWED, Result.ESCALATED), (Result.ALLOWED, Result.DENIED), (Result.ESCALATED, Result.DENIED)),
]
"""The kinds of flips as they are shown: newly allowed, no longer denied, no longer asked, newly asked, newly denied."""


_EVERY_TOOL = Policy(id="every tool", name="every tool", agent_id="", rules=(ToolGrant(tools=["*"]),))


def compare_shared(before: Sequence[Policy], after: Sequence[Policy], effort: Effort | None = None) -> PolicyComparison:
    """The same for policies of a group or of the workspace, whose agents may have any others.

    They are compared beside a grant of every tool, where all that they restrict shows, and, if one of them grants, also
    by themselves, where all that they allow does.
    """
    effort = effort or Effort()
    beside = compare_meaning([_EVERY_TOOL, *before], [_EVERY_TOOL, *after], effort)
    if all(each.kind is PolicyKind.GUARDRAIL for each in (*before, *after)):
        return beside
    alone = compare_meaning(before, after, effort)
    return PolicyComparison(
        _merged(alone.flips, beside.flips),
        _merged(alone.limits, beside.limits),
        max(alone.tools, beside.tools),
        max(alone.classes, beside.classes),
        alone.tried + beside.tried,
        alone.complete and beside.complete,
        list(dict.fromkeys((*alone.because, *beside.because))),
    )


def _merged(some: Sequence[PolicyFlip], others: Sequence[PolicyFlip]) -> list[PolicyFlip]:
    """One flip of each tool and kind."""
    found = {(each.was, each.becomes, each.tool): each for each in (*others, *some)}
    return sorted(found.values(), key=_shown_at)


def _shown_at(flip: PolicyFlip) -> tuple[int, str]:
    return _KINDS.index((flip.was, flip.becomes)), flip.tool


def compare_meaning(
    before: Sequence[Policy], after: Sequence[Policy], effort: Effort | None = None
) -> PolicyComparison:
    """The calls that the policies after a change answer otherwise; they are all that govern an agent, on each side.

    Policies in shadow mode change no answer, so they are left out. A policy keeps its limits if it keeps its id.
    """
    judging = Judging(before, after, effort or Effort())
    kinds = kinds_of_tools(judging.rules)
    flips: list[PolicyFlip] = []
    for tool, *like in kinds:
        if judging.is_same(tool):
            judging.classes += 1
            continue
        found: dict[tuple[Result, Result], PolicyFlip] = {}
        for call, at, limits, one, other in judging.judged(tool):
            kind = one.result, other.result
            if kind[0] is not kind[1] and kind not in found:
                values = call.parameters, call.context
                found[kind] = PolicyFlip(*kind, tool, like, *values, at, list(limits), one.reason, other.reason)
        flips += found.values()
    flips.sort(key=_shown_at)
    return PolicyComparison(
        [each for each in flips if not each.limits],
        [each for each in flips if each.limits],
        len(kinds),
        judging.classes,
        judging.tried,
        not judging.because,
        [Doubt(tool, reason) for tool, reasons in judging.because.items() for reason in reasons],
    )
