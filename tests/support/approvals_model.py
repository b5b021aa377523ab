"""A naive model of approvals: plain Python, one step at a time, with no state but what the specification mentions.

It shares no code with the service. Every method gives what the service must answer.
"""

import itertools
from dataclasses import dataclass, field

PENDING, APPROVED, DENIED, EXPIRED, CANCELLED, CONSUMED = (
    "pending", "approved", "denied", "expired", "cancelled", "consumed",
)  # fmt: skip
DECIDED, OWN, CHANGED, UNAUTHORIZED = "ApprovalDecided", "OwnApproval", "ApprovalChanged", "Unauthorized"


@dataclass
class Rule:
    """A rule that asks people: its policy and its terms. Equal values are the same rule."""

    policy: str
    expires_s: int
    people: int
    valid_s: int
    uses: int


@dataclass
class Approval:
    """One approval, and what people decided."""

    id: str
    agent: str
    asker: str
    call: tuple
    rules: list[Rule]
    people: int
    valid_ms: int
    uses_left: int
    expires_ms: int
    status: str = PENDING
    over: bool = False
    version: int = 1
    requests: int = 1
    said_yes: list[str] = field(default_factory=list)
    usable_until_ms: int | None = None

    def is_open(self, now_ms: int) -> bool:
        """Whether it can still be decided or used, as long as its basis exists."""
        ends = self.expires_ms if self.status == PENDING else self.usable_until_ms
        return self.status in (PENDING, APPROVED) and now_ms < ends

    def shown(self, now_ms: int) -> str:
        """Its status as shown: `expired` once its time has passed."""
        return EXPIRED if self.status in (PENDING, APPROVED) and not self.is_open(now_ms) else self.status


class Model:
    """The state of a workspace, and its answers."""

    def __init__(self) -> None:
        self.active: dict[str, bool] = {}
        self.rules: dict[str, list[Rule]] = {}
        self.keys: set[str] = set()
        self.approvals: dict[str, Approval] = {}
        self.of_call: dict[tuple, str] = {}
        self.log: list[tuple[str, str]] = []
        self.names = itertools.count()

    def ask(self, agent: str, key: str, what: int, now_ms: int) -> tuple[str, str | None, str | None]:
        """The answer to a call: an error or a result, its approval, and `new` if it has just been created."""
        if key not in self.keys:
            return UNAUTHORIZED, None, None
        if not self.active[agent]:
            self.log.append(("denied", ""))
            return "denied", None, None
        asking = self.rules[agent]
        if not asking:
            self.log.append(("allowed", ""))
            return "allowed", None, None
        call = (key, agent, what)
        held = self.approvals.get(self.of_call.get(call, ""))
        gone = held is None or held.over or not held.is_open(now_ms)
        if not gone and all(rule in held.rules for rule in asking):
            if held.status == PENDING:
                held.requests += 1
                self.log.append(("escalated", held.id))
                return "escalated", held.id, None
            held.uses_left -= 1
            held.version += 1
            if not held.uses_left:
                held.status = CONSUMED
                del self.of_call[call]
            self.log.append(("allowed", held.id))
            return "allowed", held.id, None
        made = Approval(
            id=f"new {next(self.names)}",
            agent=agent,
            asker=key,
            call=call,
            rules=list(asking),
            people=max(rule.people for rule in asking),
            valid_ms=min(rule.valid_s for rule in asking) * 1000,
            uses_left=min(rule.uses for rule in asking),
            expires_ms=now_ms + min(rule.expires_s for rule in asking) * 1000,
        )
        self.approvals[made.id] = made
        self.of_call[call] = made.id
        self.log.append(("escalated", made.id))
        return "escalated", made.id, "new"

    def log_of(self, newest: int) -> list[tuple[str, str | None]]:
        """The newest answers as callers got them."""
        return [(told, each or None) for told, each in self.log[-newest:]]

    def named(self, model_id: str, real_id: str) -> None:
        """Give the approval its name."""
        held = self.approvals.pop(model_id)
        held.id = real_id
        self.approvals[real_id] = held
        self.of_call[held.call] = real_id
        self.log[-1] = (self.log[-1][0], real_id)

    def decide(self, approval_id: str, key: str, verdict: str, version: int | None, now_ms: int) -> str:
        """The approval's new status, or why nothing was decided."""
        held = self.approvals[approval_id]
        if version is not None and version != held.version:
            return CHANGED
        if key not in self.keys:
            return UNAUTHORIZED
        withdraws = verdict == CANCELLED and held.status == APPROVED
        if not (held.status == PENDING or withdraws) or not held.is_open(now_ms) or held.over:
            return DECIDED
        if (key == held.asker) != (verdict == CANCELLED) and not withdraws:
            return OWN
        if key in held.said_yes and not withdraws:
            return DECIDED
        held.version += 1
        self.log.append((f"approval_{verdict}", approval_id))
        if verdict == APPROVED:
            held.said_yes.append(key)
            if len(held.said_yes) < held.people:
                return PENDING
            held.usable_until_ms = now_ms + held.valid_ms
        else:
            self._leave(held)
        held.status = verdict
        return verdict

    def end_approvals(self, now_ms: int) -> set[tuple[str, str]]:
        """End approvals: those past their time expire, and those without a basis are cancelled."""
        ended = set()
        for held in self.approvals.values():
            if held.status not in (PENDING, APPROVED) or (held.is_open(now_ms) and not held.over):
                continue
            held.status = CANCELLED if held.is_open(now_ms) else EXPIRED
            held.version += 1
            self._leave(held)
            ended.add((f"approval_{held.status}", held.id))
        return ended

    def suspend(self, agent: str) -> None:
        """End all its approvals so far."""
        self.active[agent] = False
        self._end(lambda held: held.agent == agent)

    def delete_policy(self, agent: str, policy: str) -> None:
        """End the approvals that its rules asked for."""
        self.rules[agent] = [rule for rule in self.rules[agent] if rule.policy != policy]
        self._end(lambda held: any(rule.policy == policy for rule in held.rules))

    def revoke(self, key: str) -> None:
        """End the approvals that it asked for."""
        self.keys.discard(key)
        self._end(lambda held: held.asker == key)

    def _end(self, rests_on_it) -> None:
        for held in self.approvals.values():
            if held.status in (PENDING, APPROVED) and rests_on_it(held):
                held.over = True

    def _leave(self, held: Approval) -> None:
        if self.of_call.get(held.call) == held.id:
            del self.of_call[held.call]
