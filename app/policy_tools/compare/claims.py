"""Whether a claim holds: each class of the calls that it is about is judged, beside the policies."""

from collections.abc import Sequence

from msgspec import UNSET

from app.model.claims import BreakingCall, Claim, ClaimResult
from app.model.decisions import Result
from app.model.policies import Policy, PolicyMode, off_in_shadow
from app.model.rules import ParameterConstraint, PolicyRule, ToolGrant
from app.model.sequences import covers
from app.policy_tools.compare.combinations import Effort
from app.policy_tools.compare.judging import Judging, kinds_of_tools


def judge_claim(policies: Sequence[Policy], claim: Claim, effort: Effort | None = None) -> ClaimResult:
    """What is found about a claim on an agent that these policies govern; those in shadow mode are left out.

    The calls that the claim is about are those that a policy made of it would allow.
    """
    call = claim.call
    rule: PolicyRule = ToolGrant(tools=[call.tool])
    if call.parameters is not UNSET or call.context is not UNSET:
        rule = ParameterConstraint(tools=[call.tool], parameters=call.parameters, context=call.context)
    claimed = Policy(id="claim", name="claim", rules=(rule,), mode=PolicyMode.ENFORCE)
    judging = Judging(list(map(off_in_shadow, policies)), [claimed], effort or Effort())
    for tool, *_ in kinds_of_tools(judging.rules):
        if not covers([call.tool], tool):
            continue
        for made, at, limits, outcome, about in judging.judged(tool):
            if about.result is Result.ALLOWED and outcome.result in claim.results:
                values = made.parameters, made.context, at, list(limits)
                broken = BreakingCall(outcome.result, *values, outcome.reason, tool)
                return ClaimResult(claim.name, False, broken, judging.tried, [])
    reasons = list(dict.fromkeys(reason for reasons in judging.because.values() for reason in reasons))
    return ClaimResult(claim.name, None if reasons else True, None, judging.tried, reasons)
