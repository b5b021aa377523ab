"""Proposals: policies made from the log, what each of their rules was made from, and how they were tried."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from app.model.fields import Count, Id
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
