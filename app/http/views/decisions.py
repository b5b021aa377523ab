"""The answer to an authorize call, and its JSON."""

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.decision_codes import DecisionCode, NextAction, next_action
from app.model.decisions import ApprovalRef, Decision, Outcome, Result, RuleRef
from app.model.fields import Id, Timestamp, Uuid
from app.model.times import rfc3339

_FRAMES_MAX = 1024
_ID_END = 43
"""The bytes of an answer up to the end of its id."""

_LATENCY = b'"latencyMs":'
_encode = msgspec.json.Encoder().encode


class OutcomeFrames:
    """What `encode` gives for a decision, by its outcome, which lives as long as its agent is cached."""

    __slots__ = ("_encode", "_frames")

    def __init__(self, encode: Callable[[Decision], bytes]) -> None:
        self._encode = encode
        # By the id() of an outcome. The outcome is kept, so that no other object can get the same id().
        self._frames: dict[int, tuple[Outcome, bytes]] = {}

    def of(self, decision: Decision) -> bytes:
        """The part for this decision's outcome."""
        outcome = decision.outcome
        kept = self._frames.get(id(outcome))
        if kept is not None:
            return kept[1]
        if len(self._frames) >= _FRAMES_MAX:
            self._frames.clear()
        frame = self._encode(decision)
        self._frames[id(outcome)] = outcome, frame
        return frame


class DecisionView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer, in the words of the audit entry whose id it carries; only `allowed` permits the call.

    allowed: True if and only if result is `allowed`: only then may the call be made.
    result: What was decided.
    policy_id: The policy that gave the result; null if none did: a default deny, or an agent not active.
    rule: The rule that decided; null if none did.
    reason: A sentence for people.
    code: Why it was decided this way, for programs.
    next_action: What could lead to another answer.
    retry_after_seconds: The seconds after which the same call may be answered differently; null if waiting does not
    help, or the time is unknown.
    latency_ms: From the request's arrival to the decision, in milliseconds.
    timestamp: When it was decided, by the store's clock.
    approval: The approval that waits for a person, or that made it allowed; left out if there is none.
    agent_message: The message to the agent from the policy that gave the result; left out if it has none.
    """

    id: Id
    allowed: bool
    result: Result
    policy_id: Uuid | None
    rule: RuleRef | None
    reason: str
    code: DecisionCode
    next_action: NextAction
    retry_after_seconds: float | None
    latency_ms: Annotated[float, Meta(extra_json_schema={"minimum": 0})]
    timestamp: Timestamp
    approval: ApprovalRef | UnsetType = UNSET
    agent_message: str | UnsetType = UNSET

    @classmethod
    def of(cls, decision: Decision) -> "DecisionView":
        outcome = decision.outcome
        retry_s = None if decision.retry_after_us is None else retry_seconds(decision.retry_after_us)
        return cls(
            id=decision.id,
            allowed=outcome.result is Result.ALLOWED,
            result=outcome.result,
            policy_id=outcome.policy_id,
            rule=outcome.rule,
            reason=outcome.reason,
            code=outcome.code,
            next_action=next_action(outcome.code, waiting_helps=retry_s is not None),
            retry_after_seconds=retry_s,
            latency_ms=decision.latency_us / 1000,
            timestamp=rfc3339(decision.time_us // 1000),
            approval=decision.approval or UNSET,
            agent_message=decision.agent_message or UNSET,
        )


def encode_decision(decision: Decision) -> bytes:
    """The JSON of `DecisionView.of(decision)`. The constant part of an outcome that allows calls is encoded once."""
    outcome = decision.outcome
    if (
        outcome.result is not Result.ALLOWED
        or decision.approval is not None
        or decision.agent_message
        or decision.retry_after_us is not None
    ):
        return _encode(DecisionView.of(decision))
    latency_ms, latency_us = divmod(decision.latency_us, 1000)
    timestamp = rfc3339(decision.time_us // 1000)
    return b'{"id":"%b%b%d.%03d,"timestamp":"%b"}' % (
        decision.id.encode(),
        _frames.of(decision),
        latency_ms,
        latency_us,
        timestamp.encode(),
    )


def retry_seconds(retry_after_us: int) -> float:
    """The time to wait, in seconds, rounded up, so that a client that waits this long is not refused again."""
    return -(-retry_after_us // 1000) / 1000


def _frame_of(decision: Decision) -> bytes:
    """The part between id and latency."""
    whole = _encode(DecisionView.of(decision))
    return whole[_ID_END : whole.rindex(_LATENCY) + len(_LATENCY)]


_frames = OutcomeFrames(_frame_of)
