"""What an agent's calls of a tool usually have, beside the values of a call that waits for a person."""

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from app.model.fields import Count

Number = Annotated[Raw, Meta(extra_json_schema={"type": "number"})]


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
    least: The least number there; left out, like the next two, if there was none.
    median: The middle one of the numbers there; of two, the lower.
    most: The most.
    top: The most frequent other values there, at most five, the most frequent first; none with over 200 characters.
    """

    path: str
    calls: Count
    unusual: str | UnsetType = UNSET
    least: Number | UnsetType = UNSET
    median: Number | UnsetType = UNSET
    most: Number | UnsetType = UNSET
    top: list[UsualText] = []


class Usual(Struct, frozen=True):
    """A call that waits or did, compared with what its agent was allowed to do with the tool besides.

    calls: How many other calls it is compared with: the latest allowed ones of this agent and tool, at most 50, and the
    first 1,000 values of each.
    values: Every value of its parameters, in their order, at most 200.
    omitted: How many more values it has.
    """

    calls: Count
    values: list[UsualValue]
    omitted: Count
