"""A logged call, seen under the policies of one ruleset of a replay."""

from collections.abc import Collection

from msgspec import UNSET

from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Outcome, Result
from app.model.plans import Check, DenialCount, Mark, Plan, Quota, RecordCheck
from app.pdp import decide_at_length
from app.pdp.decide import failures
from app.pdp.quotas import open_quotas, settled_breakers, settled_quotas
from app.pdp.rules.denial_breaker import VaryingBreaker
from app.pdp.rules.limits import VaryingQuota
from app.pdp.rules.records import passed_as_read
from app.pdp.rules.rule_type import CompiledRule
from app.pdp.rules.sequence import SessionCheck, session_of
from app.replay.calls import (
    LoggedCall,
    ValueName,
    circumstances_read_hidden,
    decode_object,
    hidden_places,
    may_hide,
    reads_hidden,
    session_is_hidden,
)
from app.replay.rulesets import Ruleset


class ReplayedCall:
    """A logged call under the policies of one ruleset.

    id: of the decision. is_unclear: a rule reads what the log hides. is_denied: it is denied whatever is hidden.
    plan: its outcome and open quotas; if it is unclear, only a denial in it is certain.
    marks, session: the marks that the call leaves if it is allowed, and the session; "" = an unknown one.
    """

    def __init__(self, call: LoggedCall, line: bytes, ruleset: Ruleset, time_ms: int) -> None:
        self.id = call.id
        self._records = call.records
        self._ruleset = ruleset
        self._key_id = call.key_id
        self._unclear: list[tuple[str, CompiledRule]] = []
        self._is_shapeless = False
        self.marks: tuple[Mark, ...] = ()
        self.session = ""
        settled = ruleset.settled(call.tool_name)
        if settled is not None:
            self.plan = settled
            self.request = AuthorizeRequest(call.agent_id, call.tool_name, "", {}, b"")
            return
        parameters = decode_object(call.parameters)
        context = None if call.context is UNSET else decode_object(call.context)
        self.request = AuthorizeRequest(call.agent_id, call.tool_name, "", parameters, b"", context=context)
        if may_hide(line):
            hidden = hidden_places(parameters, context or {})
            if hidden:
                self._look_for(hidden)
                self._leave_marks(hides_session=session_is_hidden(hidden))
        if not self.marks:
            self._leave_marks(hides_session=False)
        now_us = time_ms * 1000
        if self._unclear:
            self.plan = Plan(self._known_outcome(now_us))
        else:
            self.plan = decide_at_length(ruleset.compiled, self.request, now_us, call.key_id)

    @property
    def is_unclear(self) -> bool:
        return bool(self._unclear)

    @property
    def is_denied(self) -> bool:
        return self.plan.outcome.result is Result.DENIED

    @property
    def breakers(self) -> tuple[DenialCount, ...]:
        """The breakers that count the call if it is denied, except those whose bucket is unknown."""
        if not self._unclear:
            return self.plan.breakers
        counting = self._ruleset.compiled.breakers_for(self.request.tool_name)
        hidden = {id(rule.demands.breaker) for _, rule in self._unclear}
        return settled_breakers([each for each in counting if id(each) not in hidden], self.request, self._key_id)

    def unclear_breakers(self) -> Collection[tuple[str, str]]:
        """Breakers that count the call in an unknown bucket if it is denied."""
        breakers = [rule.demands.breaker for _, rule in self._unclear]
        return [_limit_of(each.breaker) for each in breakers if isinstance(each, VaryingBreaker)]

    def all_quotas(self) -> tuple[Check, ...]:
        """Every quota that an allowed call takes from, except those whose amount or bucket is unknown."""
        if self._is_shapeless:
            return ()
        if not self._unclear and self.plan.outcome.result is Result.ALLOWED:
            return self.plan.quotas
        policies = self._ruleset.compiled.view_of(self.request).asked
        quotas = settled_quotas(
            open_quotas(policies, Result.ALLOWED, 0), self.request, self._key_id, self.plan.holds_from_us
        )
        unclear = set(self.unclear_limits())
        return tuple(each for each in quotas if not isinstance(each, Quota) or _limit_of(each) not in unclear)

    def unclear_limits(self) -> Collection[tuple[str, str]]:
        """Limits that may have counted the call, in an unknown bucket or amount."""
        if not self._unclear:
            return ()
        rules = self._ruleset.compiled.rules_for(self.request.tool_name) if self._is_shapeless else self._unclear
        quotas = [
            quota for _, rule in rules for quota in rule.demands.quotas if isinstance(quota, Quota | VaryingQuota)
        ]
        return [_limit_of(quota if isinstance(quota, Quota) else quota.quota) for quota in quotas]

    def unclear_ends(self) -> Collection[str]:
        """Marks that the call may have used up, in an unknown session."""
        rules = self._ruleset.compiled.rules_for(self.request.tool_name) if self._unclear else ()
        checks = (quota.check for _, rule in rules for quota in rule.demands.quotas if isinstance(quota, SessionCheck))
        return [mark for check in checks if check.spends for mark in check.marks]

    def record_fits(self, check: RecordCheck) -> bool | None:
        """Whether what the commit read of a record fits; None if the log does not say."""
        read = [each for each in self._records if each.of == check.of]
        found = {passed_as_read(check, each.fields) for each in read}
        # Several rules can read one record, and each entry has what one of them asks for.
        return next((each for each in (True, False) if each in found), None)

    def _leave_marks(self, *, hides_session: bool) -> None:
        marks = self._ruleset.marks_for(self.request.tool_name)
        if not marks:
            return
        session = session_of(self.request.context)
        if hides_session or session:
            self.marks, self.session = marks, "" if hides_session else session

    def _look_for(self, hidden: Collection[ValueName]) -> None:
        rules = self._ruleset.compiled.rules_for(self.request.tool_name)
        self._unclear = [each for each in rules if reads_hidden(each[1].rule, hidden)]
        self._is_shapeless = any(circumstances_read_hidden(rule.rule, hidden) for _, rule in self._unclear)

    def _known_outcome(self, now_us: int) -> Outcome:
        """A denial that does not depend on hidden values, or any other outcome without one."""
        if not self._is_shapeless:
            unclear = {(policy_id, rule.ref.index) for policy_id, rule in self._unclear}
            view, minute = self._ruleset.compiled.view_of(self.request), now_us // 60_000_000
            if not view.asked:
                return view.when_all_pass.outcome
            for _, policy_id, condition, reason in failures(view.asked, self.request, minute):
                if condition.when_failed is Result.DENIED and (policy_id, condition.ref.index) not in unclear:
                    return Outcome(Result.DENIED, policy_id, condition.ref, reason, condition.code)
        return Outcome(Result.ESCALATED, None, None, "", DecisionCode.APPROVAL_REQUIRED)


def _limit_of(quota: Quota | DenialCount) -> tuple[str, str]:
    return quota.policy_id, quota.fingerprint
