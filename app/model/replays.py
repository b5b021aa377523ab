"""Replays: a draft of policies applied to the log, and what it would have changed."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from app.model.decisions import Result, RuleRef
from app.model.fields import AgentId, Count, Id, Timestamp
from app.model.policies import Owner, Policy
from app.model.policy_sets import Entries, require_entries, settle

NEW = "new "
"""The prefix of the ids that a draft's new policies have during its replay."""

_YOUNGEST_MS = 1 << 52


class ReplayTask(Struct, frozen=True, kw_only=True, tag="replay"):
    """A request for a replay.

    agent_id, group: whose calls to replay, and the owner whose policies the draft replaces; with neither, the whole
    workspace.
    policies: the draft; if None, each call is replayed with the policies of its time. from_ms, to_ms: both inclusive.
    """

    workspace_id: str
    agent_id: str | None = None
    group: str | None = None
    from_ms: int
    to_ms: int
    policies: Entries | None = None

    @property
    def owner(self) -> Owner:
        """The owner whose policies the draft replaces."""
        return Owner(self.agent_id, self.group)


class Decider(Struct, frozen=True, kw_only=True, rename="camel"):
    """The policy and rule that gave a result; all null for a default deny.

    policy_id: The policy; null for one that the draft adds.
    policy_name: Its name in the draft or, if the draft does not have it, at the time of the call.
    rule: The rule that decided.
    """

    policy_id: str | None
    policy_name: str | None
    rule: RuleRef | None


class FlipSample(Struct, frozen=True, kw_only=True, rename="camel"):
    """One logged decision whose result the draft changes.

    timestamp: When it was decided.
    reason: The recorded reason.
    new_reason: The draft's reason.
    """

    id: Id
    agent_id: AgentId
    timestamp: Timestamp
    reason: str
    new_reason: str


class Flip(Struct, kw_only=True, rename="camel"):
    """Calls of a tool whose result changes in the same way, decided by the same rules.

    tool_name: The tool that they call.
    was: The recorded result.
    becomes: The draft's result.
    by: The policy and rule that decided.
    now_by: The policy and rule that decide in the draft.
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
    """Calls for which the draft's result cannot be determined. No other number includes them.

    hidden: A rule reads a value that the log redacts or shortens.
    limits: Whether a limit had room depends on a call that cannot be judged, or on a fraction of a millisecond.
    edited: An older release changed what governs the agent in the same millisecond.
    unknown: The policies of that time are no longer kept.
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

    from_: The start of the replayed span, inclusive.
    to: The end of the replayed span, inclusive.
    judged: Calls for which the draft's result is certain.
    unchanged: Judged calls with the same result.
    flipped: Judged calls with another result.
    flips: Calls that flip, in groups; `denied` to `allowed` first, then the largest.
    not_listed: Calls that flip but are in no group, because there would be too many groups.
    unjudged: Calls for which the draft's result cannot be determined.
    approved: Calls that people had approved and that the draft escalates, too; counted as approved.
    inactive: Calls of an agent that was not active; no policy changes that.
    trips: How often a denial breaker would have suspended an agent.
    warmed_up: Entries before the span that were read to fill the limits' windows.
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

    entries: Entries read so far.
    done: How much of the log was read, in sequence numbers.
    of: How much there is to read, in sequence numbers.
    """

    entries: Count
    done: Count
    of: Count


class ReplayLine(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """One line of the answer; each has one of these fields.

    progress: How far it has come; about once a second.
    flip: A sample of a flip, as soon as it is found.
    report: The whole result; the last line of a complete answer.
    error: Why there is no result; then it is the last line.
    """

    progress: ReplayProgress | UnsetType = UNSET
    flip: Flip | UnsetType = UNSET
    report: ReplayReport | UnsetType = UNSET
    error: str | UnsetType = UNSET


def drafted(entries: Entries, owner: Owner, current: Sequence[Policy], new: str = NEW) -> list[Policy]:
    """The draft as policies, as if it were applied and all others were deleted. current: the owner's policies.

    A policy that replaces another keeps its id, and with it its limits and its age; a new one is younger than all
    others, and its id begins with `new`. Raises FieldError.
    """
    require_entries(entries, owner)
    changes = settle(current, entries, owner, prune=True)
    made = (change.after for change in changes if change.after is not None)
    return [
        policy if policy.id else replace(policy, id=f"{new}{number}", created_ms=_YOUNGEST_MS)
        for number, policy in enumerate(made)
    ]
