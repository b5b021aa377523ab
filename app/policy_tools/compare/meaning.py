"""What a change of policies means: for each kind of tool, calls whose result differs, each judged by both sides.

Whatever is shown as a flip is one: the decision point gave both results. `because` says why others may have been
missed; if it is empty, there are none.
"""

from collections.abc import Sequence

from app.model.comparisons import Doubt, PolicyComparison, PolicyFlip
from app.model.decisions import Result
from app.model.policies import Policy
from app.policy_tools.compare.combinations import Effort
from app.policy_tools.compare.judging import Judging, kinds_of_tools

_KINDS = [
    *((Result.DENIED, Result.ALLOWED), (Result.DENIED, Result.ESCALATED), (Result.ESCALATED, Result.ALLOWED)),
    *((Result.ALLOWED, Result.ESCALATED), (Result.ALLOWED, Result.DENIED), (Result.ESCALATED, Result.DENIED)),
]
"""The kinds of flips as they are shown: newly allowed, no longer denied, no longer asked, newly asked, newly denied."""


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
    flips.sort(key=lambda each: (_KINDS.index((each.was, each.becomes)), each.tool))
    return PolicyComparison(
        [each for each in flips if not each.limits],
        [each for each in flips if each.limits],
        len(kinds),
        judging.classes,
        judging.tried,
        not judging.because,
        [Doubt(tool, reason) for tool, reasons in judging.because.items() for reason in reasons],
    )
