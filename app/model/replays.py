"""Replays: a draft of policies over the log as it was, and what it would have changed."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from app.model.decisions import Result, RuleRef
from app.model.fields import AgentId, Count, Id, Timestamp
from app.model.policies import Policy
from app.model.policy_sets import Entries, require_entries, settle

NEW = "new "
"""How the ids begin that new policies of a draft have while it is replayed."""

_YOUNGEST_MS = 1 << 52


class ReplayTask(Struct, frozen=True, kw_only=True):
    """What is to be replayed.

    agent_id, group: whose calls, and whose own policies the draft replaces; neither: those of the whole workspace.
    policies: None = as they were at the time of each call. from_ms, to_ms: both inclusive.
    """

    workspace_id: str
    agent_id: str | None = None
    group: str | None = None
    from_ms: int
    to_ms: int
    policies: Entries | None = None

    @property
    def owner(self) -> tuple[str, str]:
        """Whose policies the draft replaces, as `history.owner_of` says it."""
        if self.agent_id is not None:
            return "agent", self.agent_id
        return ("workspace", "") if self.group is None else ("group", self.group)


class Decider(Struct, frozen=True, kw_only=True, rename="camel"):
    """The policy and rule that gave a result; all null for a default deny.

    policy_id: The policy; null where the draft makes it.
    policy_name: Its name in the draft, or where the draft does not have it, as it was then.
    rule: The rule that decided.
    """

    policy_id: str | None
    policy_name: str | None
    rule: RuleRef | None


class FlipSample(Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry of the log of which a draft gives another result.

    timestamp: When it was decided.
    reason: As it was recorded.
    new_reason: What the draft says.
    """

    id: Id
    agent_id: AgentId
    timestamp: Timestamp
    reason: str
    new_reason: str


class Flip(Struct, kw_only=True, rename="camel"):
    """Calls of a tool that got one result and would get another, decided by the same rules.

    tool_name: The tool that they call.
    was: What was decided.
    becomes: What the draft decides.
    by: Who decided it.
    now_by: Who decides it in the draft.
    count: How many calls.
    samples: Some of them.
    """

    was: Result
    becomes: Result
    tool_name: str
    by: Decider
    now_by: Decider
    count: Count = 0
    samples: list[FlipSample] = []


class Unjudged(Struct, kw_only=True, rename="camel"):
    """Calls of which nobody can say what the draft would have decided. They are in no other number.

    hidden: A rule reads what the log redacts or shortens.
    limits: Whether a limit had room depends on a call that cannot be judged, or on less than a millisecond.
    edited: What governs the agent was changed in the same millisecond, by an older release.
    unknown: What governed the agent then is not kept.
    unreadable: The entry itself cannot be read.
    """

    hidden: Count = 0
    limits: Count = 0
    edited: Count = 0
    unknown: Count = 0
    unreadable: Count = 0

    @property
    def total(self) -> int:
        return self.hidden + self.limits + self.edited + self.unknown + self.unreadable


class ReplayReport(Struct, kw_only=True, rename="camel"):
    """What a draft would have changed.

    from_: The span of the log begins here.
    to: And ends here; both inclusive.
    judged: Calls of which it is certain what the draft decides.
    unchanged: Those with the same result.
    flipped: Those with another.
    flips: Calls that flip, in groups; `denied` to `allowed` first, then the largest.
    not_listed: Calls that flip and are in none of the groups, because those would be too many.
    unjudged: Calls of which nobody can say.
    approved: Calls that people had approved and that the draft asks people about, too: taken as approved.
    inactive: Calls of an agent that was not active; no policy changes that.
    trips: How often a denial breaker would have suspended an agent.
    warmed_up: Entries before the span, with which the limits' windows were filled.
    """

    from_: Timestamp = field(name="from")
    to: Timestamp
    judged: Count = 0
    unchanged: Count = 0
    flipped: Count = 0
    flips: list[Flip] = []
    not_listed: Count = 0
    unjudged: Unjudged = field(default_factory=Unjudged)
    approved: Count = 0
    inactive: Count = 0
    trips: Count = 0
    warmed_up: Count = 0


class ReplayProgress(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far a replay has come.

    entries: Entries that were looked at.
    done: How much of the log, in sequence numbers.
    of: Of how many.
    """

    entries: Count
    done: Count
    of: Count


class ReplayLine(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """One line of the answer; each has one of these.

    progress: How far it has come; about once a second.
    flip: A sample of a flip, as soon as it is found.
    report: The whole result; the last line of an answer that is whole.
    error: Why there will be no result; then it is the last line.
    """

    progress: ReplayProgress | UnsetType = UNSET
    flip: Flip | UnsetType = UNSET
    report: ReplayReport | UnsetType = UNSET
    error: str | UnsetType = UNSET


def drafted(task: ReplayTask, held: Sequence[Policy]) -> list[Policy]:
    """The draft as policies, as if it were applied and all others went. held: the owner's own, as they are now.

    One that replaces another keeps its id, and so its limits and its age; a new one is younger than all of them.
    Raises FieldError.
    """
    entries = task.policies or []
    require_entries(entries, task.agent_id, task.group)
    changes = settle(held, entries, task.agent_id, task.group, prune=True)
    made = (change.after for change in changes if change.after is not None)
    return [
        policy if policy.id else replace(policy, id=f"{NEW}{number}", created_ms=_YOUNGEST_MS)
        for number, policy in enumerate(made)
    ]
