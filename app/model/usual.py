"""What an agent's calls of a tool usually have, beside the values of a call that waits for a person."""

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from app.model.fields import Count

Number = Annotated[Raw, Meta(extra_json_schema={"type": "number"})]


class Difference(StrEnum):
    """How a value differs from what earlier calls had there, the gravest first."""

    LOOK_ALIKE = "look_alike"
    OTHER_PAIRING = "other_pairing"
    OTHER_UNIT = "other_unit"
    NEW = "new"
    MORE = "more"


GRAVE = frozenset({Difference.LOOK_ALIKE, Difference.OTHER_PAIRING, Difference.OTHER_UNIT})
"""What honest calls hardly ever have."""


class UsualText(Struct, frozen=True):
    """A value that other calls had.

    value: The text; anything but a text as JSON.
    count: How often they had it.
    """

    value: str
    count: Count


class UsualValue(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value of the call, and what other calls had there. All elements of a list count as one place.

    path: Where it is, such as `amount`, `payment.amount` or `recipients[0]`; an unusual name stands in brackets.
    calls: How many of the other calls had a value there.
    unusual: What is unusual about it, in words; left out if nothing is, or if it cannot be compared because the log
    hides it.
    difference: The same for programs, left out with it. `look_alike` = nearly the value of earlier calls, `nearest`;
    `other_pairing` = another value of this call always came with `nearest` here; `other_unit` = another type, sign or
    currency, or 100 times the usual; `new` = in no earlier call; `more` = at least twice the most so far.
    nearest: The value of earlier calls that it is to be held against.
    least: The least number there; left out, like the next two, if there was none.
    median: The middle one of the numbers there; of two, the lower.
    most: The most.
    top: The most frequent other values there, at most five, the most frequent first; none with over 200 characters.
    """

    path: str
    calls: Count
    unusual: str | UnsetType = UNSET
    difference: Difference | UnsetType = UNSET
    nearest: UsualText | UnsetType = UNSET
    least: Number | UnsetType = UNSET
    median: Number | UnsetType = UNSET
    most: Number | UnsetType = UNSET
    top: list[UsualText] = []


class Usual(Struct, frozen=True):
    """A call that waits or did, compared with what its agent was allowed to do with the tool besides.

    calls: How many other calls it is compared with: the latest allowed ones of this agent and tool, at most 50, and as
    many that the same rule asked about and people approved; the first 1,000 values of each.
    asked: How many of them people approved. If there are three, numbers and new values are compared with these alone.
    values: Every value of its parameters, in their order, at most 200.
    omitted: How many more values it has.
    """

    calls: Count
    asked: Count
    values: list[UsualValue]
    omitted: Count
