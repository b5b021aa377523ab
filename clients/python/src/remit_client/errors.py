"""Why a tool was not run. Every message says what to do; none contains a key or a call's parameters."""

from __future__ import annotations

from collections.abc import Sequence

from remit_client.models import Approval, Decision

ADVICE = {
    "none": "The same call will be denied again, so do not repeat it.",
    "change_parameters": "Change the parameters as the reason says and call the tool again.",
    "request_approval": "A person must approve this call before it can run.",
}


class NotJson(TypeError):
    """An argument of a call has no JSON. The message names it."""


class RemitError(Exception):
    """Base class of errors after which the tool has not run."""

    def for_agent(self) -> str:
        """What a model is told in place of the tool's result."""
        return f"The tool was not run. {self}"


class NotAllowed(RemitError):
    """Remit has answered, but not with `allowed`. `decision` is in its log."""

    def __init__(self, message: str, tool: str, decision: Decision) -> None:
        super().__init__(message)
        self.tool = tool
        self.decision = decision

    def for_agent(self) -> str:
        said = self.decision.agent_message or self.decision.reason
        return f'"{self.tool}" was not run. {_sentence(said)} {self.advice()}'.rstrip()

    def advice(self) -> str:
        """What can be done about it, in one sentence; empty if the service does not say."""
        decision = self.decision
        if decision.next_action == "retry" or decision.retry_after_seconds is not None:
            seconds = decision.retry_after_seconds
            return "Try again later." if seconds is None else f"Try again in {seconds:g} seconds, not before."
        return ADVICE.get(decision.next_action or "", "")


class Denied(NotAllowed):
    """A policy, or the person who was asked, has denied the call. `approval` is what the person decided."""

    def __init__(self, tool: str, decision: Decision, approval: Approval | None = None) -> None:
        self.approval = approval
        said = decision.reason if approval is None else _said_of(approval)
        super().__init__(f'"{tool}" is denied: {said}', tool, decision)
        advice = self.advice()
        if advice:
            self.args = (f"{_sentence(str(self))} {advice}",)

    def for_agent(self) -> str:
        if self.approval is None:
            return super().for_agent()
        return f'"{self.tool}" was not run. {_sentence(_said_of(self.approval))} {self.advice()}'

    def advice(self) -> str:
        if self.approval is None:
            return super().advice()
        if self.approval.status == "expired":
            return "Calling the tool again asks for a new approval."
        return ADVICE["none"]


class ApprovalPending(NotAllowed):
    """A person must approve the call and has not yet done so; once they have, make the same request again.

    approval_id: None if the service does not say which approval the call waits for.
    """

    def __init__(self, tool: str, decision: Decision) -> None:
        self.approval_id = decision.approval.id if decision.approval else None
        self.expires_at = decision.approval.expires_at if decision.approval else None
        where = f" Approval {self.approval_id} is pending." if self.approval_id else ""
        said = _sentence(decision.reason)
        why = said if f'"{tool}"' in said else f'"{tool}" needs a person\'s approval: {said}'
        super().__init__(f"{why}{where} Repeat the same call once it is approved.", tool, decision)

    def advice(self) -> str:
        waits = f"Approval {self.approval_id} waits for a person. " if self.approval_id else ""
        return f"{waits}Repeat the very same call once it is approved; do not look for another way to do it."


class Unavailable(RemitError):
    """There is no decision: nothing listens where Remit should be, or Remit or its balancer says that it is away."""


class NotAnOutage(Unavailable):
    """There is no decision, and an agent may be why: `on_unavailable` does not apply.

    Nobody answered in time, a connection ended before the answer, Remit is overloaded or failed on this call (500), a
    proxy answered 503 (some do so to whoever asks too fast), too many calls waited for a connection of this client, or
    the call has more than 64 KiB.
    """


class Interrupted(NotAnOutage):
    """The event loop or the client was closed during the call."""


class MalformedAnswer(RemitError):
    """The answer did not come from Remit, so nothing was allowed; `on_unavailable` does not apply."""


class Refused(RemitError):
    """Remit refused the request itself (4xx): a wrong key, an unknown agent, an invalid field.

    code: one of docs/errors.md, such as UNAUTHORIZED or AGENT_NOT_FOUND. details: [{path, message}].
    """

    def __init__(self, message: str, status: int, code: str, details: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = list(details)

    def for_agent(self) -> str:
        if self.code == "PAYLOAD_TOO_LARGE":
            return "The tool was not run: its arguments are too large to be judged. Send less at a time."
        # The model can do nothing about the key or the configuration, so it is not told about them.
        return f"The tool was not run, because the authorization service refused the request ({self.code})."


class Throttled(Refused):
    """429: too many requests. Not `Unavailable`, or `on_unavailable` would let agents through that ask too fast."""

    def __init__(self, message: str, code: str, retry_after_seconds: float | None) -> None:
        super().__init__(message, 429, code)
        self.retry_after_seconds = retry_after_seconds


def _said_of(approval: Approval) -> str:
    if approval.status == "denied":
        decided = approval.approvals[-1] if approval.approvals else None
        by = f' by "{decided.by_name}"' if decided and decided.by_name else ""
        note = f": {decided.note}" if decided and decided.note else ""
        return f"the approval was denied{by}{note}"
    return f"the approval is {approval.status}"


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def for_agent(error: Exception) -> str:
    """What a model is told when an exception must not leave an adapter."""
    if isinstance(error, RemitError):
        return error.for_agent()
    if isinstance(error, NotJson):
        return f"The tool was not run. {error}"
    return f"The tool was not run, because asking for permission failed ({type(error).__name__})."
