"""Approvals: what a person is asked, what was said, and how far a yes goes."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from app.model.decisions import RuleRef
from app.model.fields import AgentId, Count, CreatedAt, Id, Timestamp, Uuid, VersionNumber

_asked = msgspec.json.Decoder(dict[str, str])


class ApprovalStatus(StrEnum):
    """`pending` waits for people; `approved` can be used; nothing can become of the others."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    CONSUMED = "consumed"


class Person(Struct, frozen=True, rename="camel"):
    """The key that somebody used, under the name that it had then.

    key_id: The API key.
    name: Its name.
    """

    key_id: Uuid
    name: str


class Said(Struct, frozen=True):
    """One verdict of one person.

    by: Who said it.
    verdict: What was said.
    at: When, by the store's clock.
    note: What they wrote beside it.
    """

    by: Person
    verdict: ApprovalStatus
    at: Timestamp
    note: str


class Approval(Struct, frozen=True, kw_only=True, rename="camel"):
    """One call that waits for people, or waited.

    status: What has become of it.
    tool_name: The tool that the agent wants to call.
    action: What is attempted.
    parameters: The call's parameters as the log has them: secrets redacted.
    context: What the caller vouched for, as the log has it.
    bound_context: Paths of the context that the approval is bound to, beside agent, tool and all parameters.
    hides: True if a person does not see all that is bound: something is redacted or shortened.
    parameters_digest: A MAC of the call in full. Calls that have another need an approval of their own.
    policy_id: The policy that escalated the call.
    rule: The rule of it that did.
    reason: Why a person is asked.
    requested_by: Who asked.
    requests: How often it has been asked.
    required: How many people must approve.
    approvals: Who said what.
    expires_at: Until when it can be decided.
    usable_until: Until when the yes can be used; null before there is one.
    uses_left: How many calls it is still good for.
    decisions: Ids of the decisions that asked for it or used it.
    """

    id: Id
    status: ApprovalStatus
    version: VersionNumber
    agent_id: AgentId
    tool_name: str
    action: str
    parameters: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    context: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    bound_context: list[str]
    hides: bool
    parameters_digest: str
    policy_id: Uuid | None
    rule: RuleRef | None
    reason: str
    requested_by: Person
    requests: Count
    required: Count
    approvals: list[Said]
    created_at: CreatedAt
    expires_at: Timestamp
    usable_until: Timestamp | None
    uses_left: Count
    decisions: list[Uuid]


def whole_record(record: dict[str, str]) -> dict[str, str]:
    """A record of the store with a field for each thing that was asked.

    That never changes, so the commit writes it as one field, `asked`; records of an earlier release have the fields.
    """
    return {**_asked.decode(record["asked"]), **record} if "asked" in record else record


def policies_that_asked(record: Mapping[str, str]) -> list[str]:
    """Ids of the policies of which a rule asked for the approval; a record of an older release has the first alone."""
    return record.get("policies", record.get("policy_id", "")).split()


class ApprovalQuery(Struct, frozen=True, kw_only=True):
    """Which approvals: all filters that are given must match; newest first. before: only those older than this id."""

    status: ApprovalStatus | None = None
    agent_id: str | None = None
    limit: int = 100
    before: str | None = None


class Grant(Struct, frozen=True, kw_only=True):
    """How far a person's yes goes; what is left out goes as far as the rules let it."""

    uses: int | UnsetType = UNSET
    valid_seconds: int | UnsetType = UNSET
