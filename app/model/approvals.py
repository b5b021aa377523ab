"""Approvals: the terms a rule sets, the question put to people, their verdicts, and what those permit."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from app.model.actors import Actor, Via
from app.model.call_values import CallValue, PlanPlace
from app.model.catalog import Consequence
from app.model.decisions import RecordRead, RuleRef
from app.model.fields import AgentId, Count, CreatedAt, Id, Timestamp, Uuid, VersionNumber
from app.model.query_fields import AgentFilter, IdFilter, PageLimit, QueryFields, several
from app.model.text import Name, require_visible

DEFAULT_SECONDS = 900
SAYS, NOT_APPROVED = "The agent says", "not part of what you approve"
"""What people read above what the agent says of a call."""
Seconds = Annotated[int, Meta(ge=60, le=604_800)]


class Approvers(Struct, frozen=True, forbid_unknown_fields=True):
    """Who may decide: people who have signed in with the identity provider; an API key is nobody.

    groups: A person must have been in one of these groups at the sign-in.
    """

    groups: Annotated[list[Name], Meta(min_length=1, max_length=20)]

    def __post_init__(self) -> None:
        for index, group in enumerate(self.groups):
            require_visible(f"groups[{index}]", group)


Descriptive = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^.\[\]]+$")]
"""The name of a parameter itself, not of a value within one."""


class ApprovalTerms(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a rule that escalates demands of an approval, and what the approval permits.

    expires_seconds: How long it waits for a decision, in seconds; 900 if left out.
    approvals: How many people must approve, each with a key of their own; 1 if left out.
    valid_seconds: How long an approval can be used, in seconds; 900 if left out.
    max_uses: How many calls with exactly the same arguments an approval permits; 1 if left out.
    approvers: Who may decide; if left out, whoever has the scope `approve`.
    fresh: How long ago, in seconds, the identity provider may have seen the credentials of the person who decides; if
    left out, it does not matter, and keys may decide too.
    descriptive: Parameters that only describe the call: their texts of up to 1 KiB are not part of what is approved, if
    every rule that can ask about the tool names them here and none reads them.
    """

    expires_seconds: Seconds = DEFAULT_SECONDS
    approvals: Annotated[int, Meta(ge=1, le=5)] = 1
    valid_seconds: Seconds = DEFAULT_SECONDS
    max_uses: Annotated[int, Meta(ge=1, le=1000)] = 1
    approvers: Approvers | UnsetType = UNSET
    fresh: Annotated[int, Meta(ge=30, le=28_800)] | UnsetType = UNSET
    descriptive: Annotated[list[Descriptive], Meta(min_length=1, max_length=8)] | UnsetType = UNSET

    def in_words(self) -> str:
        """Who must approve, such as "2 people in finance who have signed in within 300 seconds"."""
        return people_in_words(self.approvals, [] if self.approvers is UNSET else [self.approvers], self.fresh)


def people_in_words(required: int, approvers: Sequence[Approvers], fresh: int | UnsetType) -> str:
    """So many people, each of whom is in a group of each of the `approvers`, and has signed in that lately."""
    who = "a person" if required == 1 else f"{required} people"
    if approvers:
        who += f" in {', and in '.join(' or '.join(each.groups) for each in approvers)}"
    if fresh is not UNSET:
        who += f" who {'has' if required == 1 else 'have'} signed in within {fresh} seconds"
    return who


DEFAULT_TERMS = ApprovalTerms()


_decode_asked = msgspec.json.Decoder(dict[str, str])
_BEGINS = {"version": "1", "requests": "1"}


class ApprovalStatus(StrEnum):
    """`pending` waits for people; `approved` can be used; every other status is final."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    CONSUMED = "consumed"


OPEN = (ApprovalStatus.PENDING, ApprovalStatus.APPROVED)
"""The status of an approval that can still be decided or used, unless its time is over."""

ENDS = {ApprovalStatus.PENDING: "expires_ms", ApprovalStatus.APPROVED: "usable_until_ms"}
"""By status, the field of its record that says when that ends."""


class Person(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who asked or decided, with their name at that time.

    key_id: The API key or session that they used.
    name: Of the key, or of who had signed in.
    via: How: `console` or `cli` = in a session of a browser or of a program; `key` = with an API key; `slack` = in
    Slack, by the session that this person has here; left out = it was not recorded.
    person: Who had signed in with the identity provider, the same at every sign-in; left out = nobody.
    """

    key_id: Uuid
    name: str
    via: Via | UnsetType = UNSET
    person: Uuid | UnsetType = UNSET

    @classmethod
    def of(cls, actor: Actor) -> "Person":
        return cls(actor.id, actor.name, actor.via, actor.person or UNSET)


class Said(Struct, frozen=True):
    """One person's verdict.

    by: Who gave it.
    verdict: The verdict.
    at: When, by the store's clock.
    note: The note given with it.
    """

    by: Person
    verdict: ApprovalStatus
    at: Timestamp
    note: str


class LineCommand(Struct, frozen=True):
    """One command of a shell line that people are asked about.

    text: The command as it stands in the line, secrets redacted.
    passed: Whether it may run unasked.
    why: Why it may not; null if it may.
    """

    text: str
    passed: bool
    why: str | None


class AccessRequest(Struct, frozen=True, rename="camel"):
    """Why access is requested, in the requester's words, secrets redacted. Nothing in it binds or grants anything.

    context: What was added to the context of the call, such as a justification.
    requested_access: What is requested, such as until when, or as an emergency.
    client: Who requests it, and from where.
    """

    context: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    requested_access: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    client: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class Approval(Struct, frozen=True, kw_only=True, rename="camel"):
    """A call that waits for people, or did.

    status: Its current state.
    agent_name: Its name now; null if it was deleted.
    tool_name: The tool that the agent wants to call.
    consequence: What its calls do to the world, as a person says in the catalogue now; null if nobody does.
    action: The attempted action.
    parameters: The call's parameters, secrets redacted: whole up to 16 KiB of JSON, otherwise as logged.
    agent_says: What the agent says of the call in parameters that the rules call `descriptive`: no part of what is
    approved, nor of `parameters`. Secrets are redacted, and a text ends after 200 characters.
    records: What rules read of records when it was asked for; if they read something else later, it is asked anew.
    context: What the caller vouched for, as logged.
    bound_context: Paths of the context that it is bound to, besides who asks, agent, tool, action and `parameters`.
    hides: True if a person does not see everything that is bound: something is redacted or shortened.
    parameters_digest: A MAC of the complete call and of who asked. A call with a different one needs its own approval.
    policy_id: The policy that escalated the call.
    policy_name: Its name now; null if it was deleted.
    policies: Every policy with a rule that asked.
    rule: The rule that escalated the call.
    reason: Why a person must approve.
    requested_by: Who asked.
    requests: How often it has been requested.
    required: How many people must approve.
    needs: Who must approve, in words, such as `2 people in finance who have signed in within 300 seconds`.
    approvers: Who may decide: a person who meets all of these; left out = whoever has the scope `approve`.
    fresh: How long ago, in seconds, their sign-in may be; left out = it does not matter.
    approvals: The verdicts so far.
    access_request: Why access is requested, as whoever asked says; null if they said nothing.
    expires_at: When the time to decide ends.
    usable_until: When the approval stops being usable; null before it is approved.
    uses_left: How many more calls it permits.
    decisions: Ids of the decisions that requested or used it.
    plan: The plan that it was first requested with; left out if the call came alone.
    values: Where each value of the parameters came from when it was requested; the first 200. Empty for older ones.
    commands: Of a shell line that a rule judges: its commands, as they were judged when it was requested.
    """

    id: Id
    status: ApprovalStatus
    version: VersionNumber
    agent_id: AgentId
    agent_name: str | None = None
    tool_name: str
    consequence: Consequence | None = None
    action: str
    parameters: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    context: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    bound_context: list[str]
    hides: bool
    parameters_digest: str
    policy_id: Uuid | None
    policy_name: str | None = None
    policies: list[Uuid]
    rule: RuleRef | None
    reason: str
    requested_by: Person
    requests: Count
    required: Count
    needs: str
    approvers: list[Approvers] | UnsetType = UNSET
    fresh: Count | UnsetType = UNSET
    approvals: list[Said]
    access_request: AccessRequest | None
    created_at: CreatedAt
    expires_at: Timestamp
    usable_until: Timestamp | None
    uses_left: Count
    decisions: list[Uuid]
    values: list[CallValue]
    commands: list[LineCommand] = []
    agent_says: dict[str, str] = {}
    records: list[RecordRead] = []
    plan: PlanPlace | UnsetType = UNSET


class WaitingCall(Struct, frozen=True, rename="camel"):
    """A call that waits for people, in brief: without anything that it says.

    agent_name: The agent's name now; null if it was deleted.
    tool_name: The tool that the agent wants to call.
    """

    id: Id
    agent_id: AgentId
    agent_name: str | None
    tool_name: str
    created_at: CreatedAt


class ApprovalSummary(Struct, frozen=True, rename="camel"):
    """What waits, and how long people take.

    waiting: How many calls wait.
    oldest: Those that have waited longest, as many as were asked for.
    decided: How many of the latest that people decided the next field is about: 50 at most.
    half_within_seconds: Half of those were decided within this time; null if none was.
    """

    waiting: Count
    oldest: list[WaitingCall]
    decided: Count
    half_within_seconds: float | None


def whole_record(record: dict[str, str]) -> dict[str, str]:
    """An approval's record from the store, with every field that it has or starts with.

    The commit that creates the approval writes most of them as one field, `asked`. A separate field is one that has
    changed since.
    """
    if "asked" not in record:
        return record
    whole = {**_BEGINS, **_decode_asked.decode(record["asked"]), **record}
    if "created_ms" not in whole and "expires_ms" in whole:
        whole["created_ms"] = str(max(0, int(whole["expires_ms"]) - int(whole["lasts_ms"])))
    return whole


def policies_that_asked(record: Mapping[str, str]) -> list[str]:
    """Ids of the policies whose rules asked for the approval."""
    return record.get("policies", "").split()


class ApprovalFilters(QueryFields, frozen=True):
    """Filters on approvals; all that are given must match.

    status: Only those in this state, or in one of several, comma-separated.
    agent_id: Only those of this agent, by its id or its alias.
    tool_name: Only those of calls of this tool.
    plan_id: Only those of calls that were sent together, as this plan.
    mine: Only those that wait and that whoever asks may decide.
    """

    status: Annotated[tuple[ApprovalStatus, ...], several(ApprovalStatus)] | None = None
    agent_id: AgentFilter | None = None
    tool_name: Name | None = None
    plan_id: IdFilter | None = None
    mine: bool = False


class ApprovalQuery(ApprovalFilters, frozen=True):
    """One page of the approvals, newest first.

    limit: The most to return.
    before: X-Next-Cursor of the page before: pages chained by it neither repeat nor skip an approval. A page with this
    header may have fewer approvals than the limit, or none: it looks through at most 1,000.
    """

    limit: PageLimit = 100
    before: IdFilter | None = field(name="cursor", default=None)


class Grant(Struct, frozen=True, kw_only=True):
    """The extent of an approval; a field left out is granted as far as the rules allow."""

    uses: int | UnsetType = UNSET
    valid_seconds: int | UnsetType = UNSET


class SummaryQuery(QueryFields, frozen=True):
    """What a summary of the approvals contains.

    agent_id: Only of this agent's approvals, by its id or its alias.
    calls: How many of the calls that have waited longest it names.
    """

    agent_id: AgentFilter | None = None
    calls: Annotated[int, Meta(ge=0, le=1000)] = 3
