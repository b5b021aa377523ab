"""Plans: what `pdp.decide` makes of a call, and the questions that it leaves open to the store."""

from typing import NamedTuple

from msgspec import Struct

from app.model.decisions import Outcome, Result, RuleRef, ShadowOutcome

FOREVER_US = 1 << 53  # the largest integer that a Lua number represents exactly


class Quota(Struct, frozen=True):
    """One rate limit or budget applied in one decision.

    fingerprint: names the bucket within its policy; it survives edits that leave tools and window unchanged.
    max_calls: the most admitted calls in the window; for a budget, millionths. when_full: the outcome if it is full.
    amount: millionths that the call takes from a budget; None for a rate limit, of which it takes one call.
    bucket: for a rule with a bucket per value, names this call's bucket within the rule; "" if there is only one.
    refundable: True if a call reported as not executed gives back what it took.
    counted_us: the time under which the call counts, so that all of a calendar's period leave the window together when
    it ends; 0 = when it is committed.
    """

    policy_id: str
    fingerprint: str
    max_calls: int
    window_us: int
    when_full: Outcome
    amount: int | None = None
    bucket: str = ""
    refundable: bool = False
    counted_us: int = 0


class HistoryCheck(Struct, frozen=True):
    """A sequence rule's look-up in the session's past for one decision; it takes nothing.

    forbids: if True, it fails once one of the marks exists; otherwise it fails until one does.
    marks: names of the marks. window_us: how long each counts. session: the digest of the session they belong to.
    when_full: the outcome if it fails.
    spends: True if the marks count no more once a call is allowed. asks: False = people have approved its failure.
    """

    policy_id: str
    forbids: bool
    marks: tuple[str, ...]
    window_us: int
    when_full: Outcome
    session: str
    spends: bool = False
    asks: bool = True


class Target(NamedTuple):
    """A value of a parameter that people may have approved before: its MACs, the newest secret's first.

    in_part: True if only its host counts.
    """

    parameter: str
    within_ms: int
    macs: tuple[str, ...]
    in_part: bool = False


class RememberedCheck(Struct, frozen=True):
    """A rule's look-up of values that people have approved before: full unless all of them are remembered.

    memory: names what the rule remembers for the agent. window_us: the longest time for which it does.
    asks: False = people have approved the rule's failure. renews: True = a call that uses an approval is remembered.
    pinned_for: instead of values, the user's request is looked up: whether it is the one that was pinned for the
    session with this digest; "" = no.
    """

    policy_id: str
    memory: str
    rule: RuleRef
    window_us: int
    when_full: Outcome
    targets: tuple[Target, ...] = ()
    asks: bool = True
    renews: bool = False
    pinned_for: str = ""


class DenialCount(Struct, frozen=True):
    """A denial breaker that counts a call if it is denied; unless it suspends, it acts like a quota that takes nothing.

    fingerprint: names the rule within its policy, as a quota's does. bucket: as a quota's; "" = it counts all values.
    max_denials: how many denied calls of the agent fill it. when_full: the outcome while it is full.
    suspends: True if the denial that fills it suspends the agent; such a breaker is never found full.
    since: the revision that made the agent active; earlier denials do not count.
    """

    policy_id: str
    fingerprint: str
    max_denials: int
    window_us: int
    when_full: Outcome
    suspends: bool
    since: int
    bucket: str = ""

    @property
    def action(self) -> str:
        """What it does once it is full, in the rule's words."""
        if self.suspends:
            return "suspend"
        return "deny" if self.when_full.result is Result.DENIED else "escalate"


class FieldTests(NamedTuple):
    """What a field of a record must pass, in the form of `RecordField.tests`. is_secret: its value is not shown."""

    name: str
    tests: tuple[str, ...]
    is_secret: bool = False


class RecordCheck(Struct, frozen=True):
    """A rule's look-up of what a runtime reported in the session: full unless the record is there and fits.

    of: the record's name as the rule has it; record: its digest for the call. session: the session's digest.
    tools: the digests of those whose results it may come from. window_us: how old it may be.
    when_full: the outcome if it does not fit. asks: False = people have approved the rule's failure.
    """

    policy_id: str
    of: str
    tools: tuple[str, ...]
    fields: tuple[FieldTests, ...]
    window_us: int
    when_full: Outcome
    record: str = ""
    session: str = ""
    asks: bool = True


Check = Quota | HistoryCheck | RememberedCheck | RecordCheck | DenialCount
"""Questions about a call that only the store can answer."""


class Mark(Struct, frozen=True):
    """A trace that an allowed call of a tool leaves in its session.

    name: identifies a pattern. shared_us: how far back the workspace's forbidding rules look for it, at most; 0 if none
    does. own_us: the same for the agent's own requiring rules.
    soft: only shadow policies use it; if there is no room for it, the call is allowed without leaving it.
    """

    name: str
    shared_us: int
    own_us: int
    soft: bool = False


class Tokens(Struct, frozen=True):
    """The version tokens a plan was made from; each is replaced when what it identifies changes.

    agent: for the agent and its own policies. workspace: for the policies of every agent and the shared marks that
    rules of the workspace demand; "" if there are none.
    groups: for each group's policies, by the group's digest, in the order of the agent's groups.
    """

    agent: str
    workspace: str = ""
    groups: tuple[tuple[str, str], ...] = ()


class SessionRoom(Struct, frozen=True):
    """A check for room for a mark in a call's session; it is full if too many of the agent's sessions have the mark."""

    mark: str
    session: str


class ShadowPlan(Struct, frozen=True):
    """The plan as it would be if the shadow policies were enforced, too.

    quotas: as in a plan; the first without room decides. Only those of shadow policies are ever taken.
    outcomes: first the outcome if all have room, then, for each quota, the outcome if it is the first without room.
    own: for each quota, True if it belongs to a shadow policy.
    """

    quotas: tuple[Check | SessionRoom, ...]
    outcomes: tuple[ShadowOutcome, ...]
    own: tuple[bool, ...]


class Plan(Struct, frozen=True):
    """The outcome of `decide` with its quotas still open.

    The first quota without room decides; if all have room, `outcome` does. The quotas are taken only if `outcome` is
    allowed and all have room. Conditions on the clock were evaluated for store times in [holds_from_us,
    holds_until_us). A sequence rule is among the quotas: it is full when it fails.

    may_escalate: True if the outcome, or a full quota, asks for a person.
    session, marks: what the call leaves in its session (by digest) if it is allowed.
    shadow: the plan with shadow policies enforced; None if they could not change the result.
    breakers: those that count the call if it is denied; breakers that do not suspend are among the quotas, too.
    """

    outcome: Outcome
    quotas: tuple[Check, ...] = ()
    holds_from_us: int = 0
    holds_until_us: int = FOREVER_US
    may_escalate: bool = False
    session: str = ""
    marks: tuple[Mark, ...] = ()
    shadow: ShadowPlan | None = None
    breakers: tuple[DenialCount, ...] = ()
