"""Remit's answers as frozen records. `raw` is the whole answer, including fields newer than this client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

Result = Literal["allowed", "denied", "escalated", "unavailable"]
Json = Mapping[str, Any]
T = TypeVar("T")


class Page(list[T]):
    """One page of a list.

    next_cursor: gets the next page; None = there is none.
    version: of the whole list, for `if_version`, if the list has one; "" before its first change.
    """

    next_cursor: str | None = None
    version: str | None = None


class NotAnAnswer(ValueError):
    """A field is missing or of the wrong type."""


@dataclass(frozen=True)
class RuleRef:
    """The rule that decided: its place in the policy's list, from 0, and its type."""

    index: int | None
    type: str


@dataclass(frozen=True)
class ApprovalRef:
    """The approval that a call waits for, as in the decision."""

    id: str
    status: str | None
    expires_at: str | None


@dataclass(frozen=True)
class Decision:
    """One decision; `id` is its entry in the audit log. Only `allowed` permits the call.

    result: `unavailable` only if `on_unavailable="allow"` let a call through without a decision; `id` is then "".
    retry_after_seconds: set if waiting alone would change the answer.
    """

    id: str
    allowed: bool
    result: Result
    reason: str
    policy_id: str | None = None
    rule: RuleRef | None = None
    retry_after_seconds: float | None = None
    latency_ms: float | None = None
    timestamp: str | None = None
    code: str | None = None
    next_action: str | None = None
    agent_message: str | None = None
    approval: ApprovalRef | None = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read_many(cls, answer: Any) -> list[Decision]:
        """The decisions in the answer to a batch; a call that was not decided is denied. Raises NotAnAnswer."""
        results = _object(answer).get("results")
        if not isinstance(results, list):
            raise NotAnAnswer("without results, it is not a decision")
        return [cls._read_result(_object(each)) for each in results]

    @classmethod
    def _read_result(cls, got: Json) -> Decision:
        if "decision" in got:
            return cls.read(got["decision"])
        error = _object(got.get("error"))
        return cls(
            id="", allowed=False, result="denied", reason=_text(error, "message"), code=_text(error, "code"), raw=got
        )

    @classmethod
    def read(cls, answer: Any) -> Decision:
        """The decision in `answer`. Raises NotAnAnswer unless it is unambiguous."""
        got = _object(answer)
        result, allowed = got.get("result"), got.get("allowed")
        if result not in ("allowed", "denied", "escalated") or allowed is not (result == "allowed"):
            raise NotAnAnswer(f"result {result!r} and allowed {allowed!r} are not a decision")
        rule, approval = got.get("rule"), got.get("approval")
        return cls(
            id=_text(got, "id"),
            allowed=allowed,
            result=result,
            reason=_text(got, "reason"),
            policy_id=got.get("policyId"),
            rule=RuleRef(rule.get("index"), str(rule.get("type"))) if isinstance(rule, dict) else None,
            retry_after_seconds=got.get("retryAfterSeconds"),
            latency_ms=got.get("latencyMs"),
            timestamp=got.get("timestamp"),
            code=got.get("code"),
            next_action=got.get("nextAction"),
            agent_message=got.get("agentMessage"),
            approval=ApprovalRef(_text(approval, "id"), approval.get("status"), approval.get("expiresAt"))
            if isinstance(approval, dict)
            else None,
            raw=got,
        )


@dataclass(frozen=True)
class Verdict:
    """One person's decision on an approval."""

    by_id: str | None
    by_name: str | None
    at: str | None
    note: str | None


@dataclass(frozen=True)
class Approval:
    """A call that a person was asked about: pending, approved, denied, expired, cancelled or consumed."""

    id: str
    status: str
    agent_id: str | None = None
    tool_name: str | None = None
    parameters: Json = field(default_factory=dict)
    context: Json = field(default_factory=dict)
    reason: str | None = None
    approvals: tuple[Verdict, ...] = ()
    required: int | None = None
    created_at: str | None = None
    expires_at: str | None = None
    usable_until: str | None = None
    version: int | None = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, answer: Any) -> Approval:
        """The approval in `answer`. Raises NotAnAnswer."""
        got = _object(answer)
        said = got.get("approvals")
        return cls(
            id=_text(got, "id"),
            status=_text(got, "status"),
            agent_id=got.get("agentId"),
            tool_name=got.get("toolName"),
            parameters=got.get("parameters") or {},
            context=got.get("context") or {},
            reason=got.get("reason"),
            approvals=tuple(_verdict(one) for one in said) if isinstance(said, list) else (),
            required=got.get("required"),
            created_at=got.get("createdAt"),
            expires_at=got.get("expiresAt"),
            usable_until=got.get("usableUntil"),
            version=got.get("version"),
            raw=got,
        )


@dataclass(frozen=True)
class Agent:
    """An agent."""

    id: str
    name: str
    status: str
    description: str | None
    version: int | None
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def read(cls, answer: Any) -> Agent:
        """The agent in `answer`. Raises NotAnAnswer."""
        got = _object(answer)
        return cls(
            _text(got, "id"),
            _text(got, "name"),
            _text(got, "status"),
            got.get("description"),
            got.get("version"),
            got,
        )


@dataclass(frozen=True)
class Policy:
    """A policy of an agent."""

    id: str
    agent_id: str | None
    name: str
    rules: list[dict[str, Any]]
    priority: int
    enabled: bool
    version: int | None
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def read(cls, answer: Any) -> Policy:
        """The policy in `answer`. Raises NotAnAnswer."""
        got = _object(answer)
        return cls(
            _text(got, "id"),
            got.get("agentId"),
            _text(got, "name"),
            got.get("rules") or [],
            got.get("priority") or 0,
            got.get("enabled") is not False,
            got.get("version"),
            got,
        )


@dataclass(frozen=True)
class ApiKey:
    """An API key. `key`, the secret itself, is set only in the answer to its creation, and never shown in `repr`."""

    id: str
    name: str
    prefix: str
    scopes: list[str]
    expires_at: str | None
    key: str | None = field(repr=False)
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def read(cls, answer: Any) -> ApiKey:
        """The key in `answer`. Raises NotAnAnswer."""
        got = _object(answer)
        return cls(
            _text(got, "id"),
            _text(got, "name"),
            _text(got, "prefix"),
            got.get("scopes") or [],
            got.get("expiresAt"),
            got.get("key"),
            {name: value for name, value in got.items() if name != "key"},
        )


@dataclass(frozen=True)
class AuditEntry:
    """One entry of the log: a decision, or what became of one; `result` is then None, and `raw` has the rest."""

    id: str
    agent_id: str
    tool_name: str
    result: str | None
    reason: str
    parameters: Json
    policy_id: str | None
    timestamp: str
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def read(cls, answer: Any) -> AuditEntry:
        """The entry in `answer`. Raises NotAnAnswer."""
        got = _object(answer)
        return cls(
            _text(got, "id"),
            _text(got, "agentId"),
            _text(got, "toolName"),
            got.get("result"),
            _text(got, "reason"),
            got.get("parameters") or {},
            got.get("policyId"),
            _text(got, "timestamp"),
            got,
        )


def tool_statuses(answer: Any) -> dict[str, str]:
    """Name and status of each tool in the answer. Raises NotAnAnswer."""
    tools = answer.get("tools") if isinstance(answer, dict) else answer
    if not isinstance(tools, list):
        raise NotAnAnswer("not a list of tools")
    found = {}
    for tool in map(_object, tools):
        found[_text(tool, "name")] = _text(tool, "status")
    return found


def _verdict(got: Any) -> Verdict:
    by = got.get("by") if isinstance(got, dict) else None
    by = by if isinstance(by, dict) else {}
    got = got if isinstance(got, dict) else {}
    return Verdict(by.get("keyId"), by.get("name"), got.get("at"), got.get("note"))


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise NotAnAnswer("not a JSON object")
    return answer


def _text(got: dict[str, Any], name: str) -> str:
    value = got.get(name)
    if not isinstance(value, str):
        raise NotAnAnswer(f"{name} is missing")
    return value
