"""A call as people are asked about it: what they see of it, and what its commit does about its approval."""

import hmac
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.authorize.commit import ApprovalStep, CommitQuestion
from app.authorize.escalation.open_approvals import CurrentApproval
from app.errors import ApprovalMismatch
from app.model.api_keys import Caller
from app.model.approvals import ApprovalStatus
from app.model.bound_call import ALWAYS_BOUND, bound_form, exact_context, without_act
from app.model.constraints import REQUEST
from app.model.decisions import AuthorizeRequest
from app.model.escalations import Escalation, together
from app.model.plans import Check, RememberedCheck
from app.pdp import CompiledAgent
from app.pdp.line_commands import line_commands
from app.pdp.value_origins import value_origins
from app.redaction.credentials import REDACTED
from app.redaction.recording import recorded
from app.redaction.redactor import Redactor
from app.redaction.signer import Purpose, Signer
from app.redaction.work import TooMuchWork

WHOLE_BYTES = 16 * 1024
"""Parameters of up to this many bytes of JSON are shown whole."""
_REASONS_SHOWN = 8
"""Reasons that follow the first one; of any others, an approval has only the number."""
_ACT = "subject.properties.act"
_SAID_MAX = 200
_BODY_BYTES = 8 * WHOLE_BYTES
"""A call with a larger body has more parameters than can be shown whole, however they are escaped."""
_shortened = re.compile(rb'"(sha256|hmac)":').search


class Bounds(Struct, frozen=True):
    """The approvals that may be open at once: of an agent, of a workspace, and of one rule about an agent."""

    agent: int = 500
    workspace: int = 10_000
    rule: int = 100


class ApprovalRequest(Struct, frozen=True):
    """A call as people are asked about it.

    question: the commit of the call, without a step. now_ms: the store's time, estimated; 0 = unknown.
    bound: the part of its context that the approval binds. digest: the MAC of everything bound.
    said: parameters whose texts are not bound. parameters: the others, as people see them. is_logged: as the log has
    them. base: what rules ask however full the quotas are, with why. checks: the plan's quotas, each with what it asks
    by itself if it is full. ended: an approval that a commit has reported as ended.
    """

    question: CommitQuestion
    agent: CompiledAgent
    now_ms: int
    bound: tuple[str, ...]
    digest: str
    said: Sequence[str]
    parameters: bytes
    is_logged: bool
    base: tuple[tuple[Escalation, str], ...]
    checks: tuple[Check, ...]
    ended: str = ""

    def other_reasons(self, full: Sequence[int]) -> str:
        """Why other rules than the one that is named ask, too: what follows its reason. full: as for `origins`."""
        plan = self.question.plan
        named = (plan.quotas[full[0] - 1].when_full if full else plan.outcome).reason
        of_checks = (self.checks[number - 1].when_full.reason for number in full)
        reasons = dict.fromkeys((*(reason for _, reason in self.base), *of_checks))
        others = [reason for reason in reasons if reason != named]
        more = f"; and {len(others) - _REASONS_SHOWN} more" if len(others) > _REASONS_SHOWN else ""
        return "".join(f"; {reason}" for reason in others[:_REASONS_SHOWN]) + more

    def origins(self, full: Collection[int]) -> bytes:
        """JSON of where the call's values come from. full: numbers of the quotas that are full."""
        looked_up = [
            (number not in full and not target.in_part, target.parameter)
            for number, check in enumerate(self.question.plan.quotas, 1)
            if isinstance(check, RememberedCheck)
            for target in check.targets
        ]
        is_unpinned = any(
            number in full and isinstance(check, RememberedCheck) and check.pinned_for
            for number, check in enumerate(self.question.plan.quotas, 1)
        )
        known = {name for is_known, name in looked_up if is_known} - {
            name for is_known, name in looked_up if not is_known
        }
        context = None if is_unpinned else self.question.request.context
        return msgspec.json.encode(value_origins(self.parameters, context, known))

    def commands(self, is_secret: Callable[[str], bool]) -> bytes:
        """JSON of what the call's shell line runs; empty if no rule judges one."""
        commands = line_commands(self.agent, self.question.request, is_secret)
        return msgspec.json.encode(commands) if commands else b""

    def texts(self, redactor: Redactor, signer: Signer, workspace_id: str) -> bytes:
        """JSON of what the agent says in the parameters that are not bound; empty if there are none."""
        if not self.said:
            return b""
        given = {name: self.question.request.parameters[name] for name in self.said}
        kept = msgspec.json.decode(recorded(given, redactor, signer, workspace_id))
        texts = {name: each if isinstance(each, str) else each["beginning"] for name, each in kept.items()}
        return msgspec.json.encode(
            {name: text if len(text) <= _SAID_MAX else f"{text[:_SAID_MAX]}…" for name, text in texts.items()}
        )

    def step(
        self, current: CurrentApproval, asking: tuple[Escalation, ...], full: tuple[int, ...], bounds: Bounds
    ) -> ApprovalStep:
        """What the commit is to do about the call's approval. asking: all conditions that people must approve.

        probe: the request names an approval that does not apply, so no person may be asked.
        """
        question = self.question
        named, decision_id, key_id = question.request.approval_id, question.decision_id, question.caller.key_id
        step = ApprovalStep(
            step="probe", approval_id=decision_id, digest=self.digest, current_id=current.id, full=full,
            current_version=current.record.get("version", "0"), asker_id=key_id,
        )  # fmt: skip
        if current.id != self.ended and named in ("", current.id) and current.covers(asking, self.agent.policy_ids):
            asked = current.record
            rules = tuple(asked.get("rules", "").split())
            found = replace(step, approval_id=current.id, asker_id=asked.get("key_id", ""), rules=rules)
            if current.is_open(ApprovalStatus.APPROVED, self.now_ms):
                return replace(found, step="use")
            if current.is_open(ApprovalStatus.PENDING, self.now_ms):
                return replace(found, step="attach")
        if named:
            return step
        return replace(
            step,
            step="ask",
            current_version="0",
            terms=together(asking),
            rules=tuple(each.fingerprint for each in asking),
            policies=tuple(dict.fromkeys(each.policy_id for each in asking)),
            bound=self.bound,
            memories=self.agent.memories,
            hides=hides(question.request, self.parameters, is_logged=self.is_logged),
            parameters=self.parameters,
            agent_max=bounds.agent,
            workspace_max=bounds.workspace,
            rule_max=bounds.rule,
        )


def bound_context(agent: CompiledAgent, request: AuthorizeRequest) -> dict[str, Any]:
    """The context fields that an approval binds: session, user, the entities, and whatever a policy of the agent reads.

    `subject.properties.act`, who acts for the subject, only if a policy reads it: AuthZEN lets it move elsewhere.
    """
    if not request.context:
        return {}
    names = {*ALWAYS_BOUND, *agent.context_names}
    names |= {re.split(r"[.\[]", name)[0] for name in names}
    exact = exact_context(request.body) | ({"session": request.session} if request.session else {})
    if not any(name.startswith(_ACT) for name in names):
        exact = without_act(exact)
    return {name: value for name, value in sorted(exact.items()) if name in names}


def form_of(asker: str, request: AuthorizeRequest, bound: Mapping[str, Any], descriptive: Collection[str]) -> bytes:
    """The form of the call. bound: the part of its context. descriptive: parameters that are not bound."""
    of_call = (request.agent_id, request.tool_name, request.action, request.body)
    return bound_form(asker, *of_call, bound, descriptive)


def is_bound(
    digest: str,
    caller: Caller,
    request: AuthorizeRequest,
    bound: Mapping[str, Any],
    descriptive: Collection[str],
    signer: Signer,
) -> bool:
    """True if the digest of an approval is that of this call by this caller. bound, descriptive: as for `form_of`."""
    form = form_of(caller.root, request, bound, descriptive)
    return any(hmac.compare_digest(each, digest) for each in signer.macs(Purpose.CALL, form))


def no_open_approval() -> ApprovalMismatch:
    """The same error whatever is wrong with the approval that a call names."""
    return ApprovalMismatch(
        "approval_id names no open approval of this very call; nothing was decided, and nobody was asked. Read the "
        "approval, or ask anew without approval_id"
    )


def may_show_more(request: AuthorizeRequest) -> bool:
    """True if people may be asked, and shown parameters whole or exact that the log shortens or rounds."""
    if request.approval_id or len(request.body) > _BODY_BYTES:
        return False
    if _shortened(request.recorded_parameters) is not None:
        return True
    # The ids beside the parameters may look like such numbers: one UUID in seven does.
    return _may_round(request.body) is not None and _may_round(_as_sent(request.body).parameters) is not None


def shown_parameters(request: AuthorizeRequest, redactor: Redactor, signer: Signer, workspace_id: str) -> bytes:
    """The parameters, whole up to 16 KiB and as in the log beyond; secrets are redacted.

    A number that JSON readers round is shown as `{"number": …}`, with its digits as the caller wrote them.
    """
    exact = _exact_question(request.body).parameters if _may_round(request.body) else request.parameters
    with suppress(TooMuchWork):
        shown = recorded(exact, redactor, signer, workspace_id, WHOLE_BYTES)
        if len(shown) <= WHOLE_BYTES:
            return shown
    return request.recorded_parameters


def without(parameters: bytes, said: Collection[str]) -> bytes:
    """The parameters, in JSON, without those whose texts are not bound."""
    if not said:
        return parameters
    return msgspec.json.encode({name: each for name, each in _members(parameters).items() if name not in said})


def hides(request: AuthorizeRequest, shown: bytes, *, is_logged: bool) -> bool:
    """True if people see less of the call than its approval binds, or see it rounded. shown: what is bound of it.

    The user's request does not count: no tool gets it, and a warning at every approval would soon be ignored.
    """
    context = request.recorded_context
    if REQUEST in (request.context or {}):
        context = msgspec.json.encode({**msgspec.json.decode(context), REQUEST: None})
    seen = shown + context
    if _CUT in seen or _shortened(seen) is not None or _cut_key(seen) is not None:
        return True
    if not _may_round(request.body):
        return False
    exact, read = _exact_question(request.body), _question(request.body)
    return (is_logged and exact.parameters != read.parameters) or exact.context != read.context


class _Question(Struct):
    parameters: dict[str, Any] = {}
    context: dict[str, Any] = {}


def _as_shown(text: str) -> float | dict[str, str]:
    number = float(text)
    try:
        return number if Decimal(repr(number)) == Decimal(text) else {"number": text}
    except InvalidOperation:
        return {"number": text}


class _AsSent(Struct):
    parameters: msgspec.Raw = msgspec.Raw(b"{}")


_CUT = msgspec.json.encode(REDACTED)[1:-1]
_cut_key = re.compile(rb"(?:svc|ses)_[0-9a-f]{8}\.\.\.").search
_may_round = re.compile(rb"[0-9.]{17}|[0-9.][eE][+-]?[0-9]{3}").search
"""A shorter number is equal to its double in all its digits."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_as_sent = msgspec.json.Decoder(_AsSent).decode
_question = msgspec.json.Decoder(_Question).decode
_exact_question = msgspec.json.Decoder(_Question, float_hook=_as_shown).decode
