"""Proposals: policies made from the log, what each of their rules was made from, and how they were tried."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.model.comparisons import PolicyComparison
from app.model.fields import Count, Id, Timestamp
from app.model.replays import ReplayProgress
from app.model.text import Name

SUPPORT = 3
"""The fewest users who must have done something before a proposal allows it without asking a person."""

SHARE = 20
"""One of so many of a tool's users must have done it, too."""


def need(units: int) -> int:
    """How many of a tool's users must have done something before a proposal allows it without asking a person."""
    return max(SUPPORT, -(-units // SHARE))


class Reads(StrEnum):
    """Which of the tools that change nothing a proposal grants: `seen`, those in the log; `all` of the catalogue."""

    SEEN = "seen"
    ALL = "all"


_Listed = Meta(max_length=1000)


class ProposalFilter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The calls to learn from: those that fit every list that is given.

    key_id: Only calls made with one of these API keys.
    user: Only calls with one of these as `context.user`.
    session: Only calls with one of these as `context.session`.
    exclude_session: Only calls with none of these as `context.session`.
    """

    key_id: Annotated[list[Id], _Listed] = []
    user: Annotated[list[Name], _Listed] = []
    session: Annotated[list[Name], _Listed] = []
    exclude_session: Annotated[list[Name], _Listed] = []


class ProposedValue(Struct, frozen=True, kw_only=True, rename="camel"):
    """A value of the log, and an entry that has it.

    value: The value as JSON, shortened; the name of the tool for a rule that looks at no value.
    units: How many users, or sessions without one, had it.
    entry: The oldest entry with it.
    """

    value: str
    units: Count
    entry: Id


class RuleEvidence(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a rule, or a constraint of it, was made from.

    path: Its place, such as `policies[1].rules[0].parameters.cabin`.
    calls: How many calls it was made from.
    units: Whose they were: how many users, or sessions without one.
    form: How it was made: `seen`, `catalogue`, `list`, `pattern`, `bounds`, `items`, `length`, `type`, `absent`,
    `names`, `count`, `before`, `marked`, or why the tool asks.
    examples: Values that it lets pass, those of most users first.
    left_out: Values that it asks about, because too few users had them.
    """

    path: str
    calls: Count
    units: Count
    form: str
    examples: list[ProposedValue] = []
    left_out: list[ProposedValue] = []


class ProposeTask(Struct, frozen=True, kw_only=True, tag="propose"):
    """A request for a proposal. from_ms, to_ms: when the calls to learn from were made, both inclusive."""

    workspace_id: str
    agent_id: str
    from_ms: int
    to_ms: int
    wanted: ProposalFilter
    reads: Reads


class ToolUse(StrEnum):
    """What a proposal does about a tool.

    `free`: all its calls are allowed. `named`: those whose texts the user named. `bounded`: those within what enough
    users did. `asks`: none without a person. `unseen`: as `asks`, only because the log has no call of it. `unknown`:
    denied, because the catalogue does not have it.
    """

    FREE = "free"
    NAMED = "named"
    BOUNDED = "bounded"
    ASKS = "asks"
    UNSEEN = "unseen"
    UNKNOWN = "unknown"


class ProposedTool(Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool of the catalogue or of the log.

    name: The tool_name of its calls.
    use: What the proposal does about it.
    calls: How many of its calls were learned from.
    units: Whose they were: how many users, or sessions without one.
    why: Why it asks; null if it does not.
    """

    name: str
    use: ToolUse
    calls: Count
    units: Count
    why: str | None


class LearnedCalls(Struct, frozen=True, kw_only=True, rename="camel"):
    """The calls that a proposal was made from, and those that it was not.

    calls: How many calls.
    units: Whose they were: how many users, or sessions without one.
    sessions: In how many sessions they were made.
    unnamed: How many of them name neither a user nor a session; all of these count as one user's.
    failed: Calls that were reported as failed or not executed, and not learned.
    sessions_left_out: Sessions that were left out, because a person denied a call or a breaker tripped.
    calls_left_out: The calls of these sessions.
    unreadable: Entries that could not be read.
    """

    calls: Count
    units: Count
    sessions: Count
    unnamed: Count
    failed: Count
    sessions_left_out: Count
    calls_left_out: Count
    unreadable: Count


class ResultCounts(Struct, frozen=True, kw_only=True):
    """How many calls would get each result.

    allowed: Calls that would be allowed.
    escalated: Calls about which a person would be asked.
    denied: Calls that would be denied.
    """

    allowed: Count = 0
    escalated: Count = 0
    denied: Count = 0

    @property
    def total(self) -> int:
        return self.allowed + self.escalated + self.denied


class HostileCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """A hostile variation of a call that would be allowed.

    kind: What was changed.
    tool: The tool.
    parameters: Its parameters, as JSON.
    """

    kind: str
    tool: str
    parameters: str


class HostileCalls(Struct, frozen=True, kw_only=True, rename="camel"):
    """Hostile variations of the learned calls, judged by the proposal.

    calls: How many were judged.
    kinds: Of how many kinds they were.
    allowed: How many would be allowed.
    examples: Some of these.
    """

    calls: Count
    kinds: Count
    allowed: Count
    examples: list[HostileCall] = []


class ChangeKind(StrEnum):
    """What a proposed change does: `narrows` makes a tool ask that was granted and is unused, `widens` the opposite."""

    NARROWS = "narrows"
    WIDENS = "widens"


class ProposedChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """One change of policies that the agent has.

    kind: What it does.
    tool: The tool that it is about.
    calls: How many calls of it people approved, if it widens.
    units: Whose they were: how many users, or sessions without one.
    meaning: Which calls it would answer otherwise, made by itself.
    """

    kind: ChangeKind
    tool: str
    calls: Count
    units: Count
    meaning: PolicyComparison


class Proposal(Struct, frozen=True, kw_only=True, rename="camel"):
    """Policies for an agent, made from its log and the marks of its tools. Nothing is applied.

    from_: The start of the span that was read.
    to: The end of the span that was read.
    policies: The policies, as PUT of the agent's policies takes them.
    evidence: What each of their rules and constraints was made from.
    tools: What they do about each tool.
    learned: The calls that they were made from.
    replay: What these calls would get.
    unseen: What the calls of each fifth of the users would get from policies made of the others; null for fewer than
    five users.
    hostile: What hostile variations of the calls would get.
    tests: Examples, as a file of tests has them.
    never: Claims, as a file of tests has them: no call of a tool that cannot be undone is allowed without a person.
    warnings: What the log or the catalogue could not say.
    changes: The changes that make these policies of the agent's own; null if they were made anew, because it has none,
    or one that grants a pattern of tools such as `*`.
    """

    from_: Timestamp = field(name="from")
    to: Timestamp
    policies: list[dict[str, Any]]
    evidence: list[RuleEvidence]
    tools: list[ProposedTool]
    learned: LearnedCalls
    replay: ResultCounts
    unseen: ResultCounts | None
    hostile: HostileCalls
    tests: list[dict[str, Any]]
    never: list[dict[str, Any]]
    warnings: list[str]
    changes: list[ProposedChange] | None = None


class ProposalLine(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """One line of the answer; each has one of these fields.

    progress: How far the log has been read; about once a second.
    proposal: The whole result; the last line of a complete answer.
    error: Why there is no result; then it is the last line.
    """

    progress: ReplayProgress | UnsetType = UNSET
    proposal: Proposal | UnsetType = UNSET
    error: str | UnsetType = UNSET
