"""Limits over a sliding window, by calls or by an argument's sum, and denial breakers, which count denials likewise."""

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.constraints import require_name
from app.model.text import FieldError, counted
from app.model.time_windows import Zone, require_zone

MAX_LIVE = 10_000
"""The most buckets in use that an agent may have under one rule, and the most entries in one budget's bucket."""

MAX_REFUNDABLE = 10_000
"""The most calls in a window if calls can be given back, because each must then be found again."""

MICRO = 1_000_000
MAX_AMOUNT = 1_000_000_000
_WORDS = ("tool", "key", "agent")
_PREFIXES = ("parameters.", "context.")
_SPELLED = r"^(tool|key|agent|(parameters|context)\..+)$"
Per = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=266, extra_json_schema={"pattern": _SPELLED})]],
    Meta(
        min_length=1,
        max_length=3,
        description="Counts separately for each value of these: tool, key, agent, or paths.",
        extra_json_schema={"uniqueItems": True},
    ),
]


class CalendarPeriod(StrEnum):
    """A period of the calendar; a week begins on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


FOREVER_SECONDS = (1 << 52) // 1_000_000
"""A window that never ends, in seconds: 142 years, so that a time and it are a number that Lua represents exactly."""

_PERIOD_SECONDS = {CalendarPeriod.DAY: 86_400, CalendarPeriod.WEEK: 604_800, CalendarPeriod.MONTH: 2_678_400}
"""The seconds of a period; clocks that change, and shorter months, do not count here."""


class Span(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The time over which admitted calls are counted: a window that ends now, the current period of a calendar, or all.

    window_seconds: The span, 1 to 2,678,400 seconds (31 days); it ends now and does not start on the minute. Or
    `forever`: what was admitted counts for good; without `per` and `refundable`.
    calendar: In place of `windowSeconds`: the current day, week (from Monday) or month of the calendar.
    timezone: The IANA time zone of the calendar; UTC if left out.
    """

    window_seconds: Annotated[int, Meta(ge=1, le=2_678_400)] | Literal["forever"] | UnsetType = UNSET
    calendar: CalendarPeriod | UnsetType = UNSET
    timezone: Zone | UnsetType = UNSET
    per: Per | UnsetType = UNSET
    refundable: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.window_seconds is UNSET) is (self.calendar is UNSET):
            raise FieldError("windowSeconds", "give either windowSeconds or calendar")
        if self.timezone is not UNSET and self.calendar is UNSET:
            raise FieldError("timezone", "is that of a calendar; windowSeconds needs none")
        if self.refundable is True and self.calendar is not UNSET:
            raise FieldError(
                "refundable", "goes with windowSeconds; calls of a calendar all count until the period ends"
            )
        if self.is_forever and self.refundable is True:
            raise FieldError("refundable", 'goes with a window that ends; with "forever" calls count for good')
        if self.is_forever and self.per is not UNSET:
            raise FieldError("per", 'goes with a window that ends; with "forever" the values would be kept for good')
        require_zone(self.timezone)
        require_per("per", self.per)

    @property
    def is_forever(self) -> bool:
        """True if what was admitted counts for good."""
        return self.window_seconds == "forever"

    @property
    def seconds(self) -> int:
        """The length of the span, of a calendar's periods that of an ordinary one."""
        if isinstance(self.window_seconds, int):
            return self.window_seconds
        if self.is_forever:
            return FOREVER_SECONDS
        return _PERIOD_SECONDS[CalendarPeriod(str(self.calendar))]

    @property
    def longest_seconds(self) -> int:
        """The longest that a call can count: in a period in which clocks go back, by up to three hours."""
        return self.seconds if self.calendar is UNSET else self.seconds + 10_800

    @property
    def zone(self) -> str:
        """The name of the calendar's zone."""
        return "UTC" if isinstance(self.timezone, UnsetType) else self.timezone

    @property
    def in_words(self) -> str:
        """The span in a sentence."""
        if self.is_forever:
            return "in all"
        if isinstance(self.calendar, UnsetType):
            return f"in {self.seconds} s"
        return f"in a {self.calendar} ({self.zone})"

    @property
    def set_apart(self) -> str:
        """The part of its counter's name that differs from other limits on the same tools and window."""
        of_calendar = "" if isinstance(self.calendar, UnsetType) else f"\n\ncalendar {self.zone}"
        return f"{of_calendar}{_per_text(self.per)}"


class RateLimit(Span, frozen=True, rename="camel", forbid_unknown_fields=True):
    """At most `max_calls` admitted calls in any span of `window_seconds`, in a period of the calendar, or in all.

    Only admitted calls count, so a client that keeps retrying while denied does not extend its own penalty.

    max_calls: The most admitted calls in any span, 1 to 1,000,000.
    refundable: A call reported as not executed no longer counts; only with up to 10,000 calls.
    """

    max_calls: Annotated[int, Meta(ge=1, le=1_000_000)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refundable is True and self.max_calls > MAX_REFUNDABLE:
            raise FieldError("maxCalls", f"must be at most {MAX_REFUNDABLE} where calls are refundable")


class Budget(Span, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """At most `max` of an amount, summed over the admitted calls of any span of `window_seconds`, of a period, or all.

    parameter: The name of the parameter that is the amount; with `[*]` the sum of all elements.
    context: In place of `parameter`: the name of the field of the context, for what the caller knows of a call's cost.
    max: The largest sum in any span, up to 1,000,000,000 with six decimal places.
    refundable: What a call took is given back if the call is reported as not executed.
    """

    parameter: Annotated[str, Meta(min_length=1, max_length=255)] | UnsetType = UNSET
    context: Annotated[str, Meta(min_length=1, max_length=255)] | UnsetType = UNSET
    max: Annotated[int, Meta(ge=0, le=MAX_AMOUNT)] | Annotated[float, Meta(ge=0, le=MAX_AMOUNT)]

    def __post_init__(self) -> None:
        if (self.parameter is UNSET) is (self.context is UNSET):
            raise FieldError("parameter", "give either parameter or context, for the amount of a call")
        field = "context" if self.parameter is UNSET else "parameter"
        require_name(field, self.name)
        for prefix in _PREFIXES:
            if self.name.startswith(prefix):
                plain, right = self.name.removeprefix(prefix)[:80], prefix.removesuffix("s.").removesuffix(".")
                raise FieldError(field, f'names it without "{prefix}": write "{right}": "{plain}"')
        if micros_of(self.max) is None:
            raise FieldError("max", f"{self.max} has more than six decimal places")
        super().__post_init__()

    @property
    def of(self) -> str:
        """Where the amount is: `parameters` or `context`."""
        return "context" if self.parameter is UNSET else "parameters"

    @property
    def name(self) -> str:
        """The name of the amount there."""
        return str(self.context if self.parameter is UNSET else self.parameter)

    @property
    def amount_in_words(self) -> str:
        """The amount in a sentence."""
        return f'"{self.name}"' if self.context is UNSET else f'"context.{self.name}"'

    @property
    def max_micros(self) -> int:
        return micros_of(self.max) or 0

    @property
    def set_apart(self) -> str:
        amount = self.name if self.context is UNSET else f"context.{self.name}"
        return f"\n\nbudget {amount}{super().set_apart}"


def _per_text(per: Per | UnsetType) -> str:
    return "" if isinstance(per, UnsetType) else "\n\nper " + "\n".join(per)


def micros_of(value: float) -> int | None:
    """The number in millionths, or None if it is not a multiple of one millionth.

    Exact: a double is taken as the shortest decimal that parses to it.
    """
    exact = Decimal(repr(value)) * MICRO
    return int(exact) if exact == exact.to_integral_value() else None


def require_per(field: str, per: Iterable[str] | UnsetType) -> None:
    """Raise FieldError unless each entry names a single value of the call, and names it once."""
    if isinstance(per, UnsetType):
        return
    seen: set[str] = set()
    for index, name in enumerate(per):
        path = f"{field}[{index}]"
        if name in seen:
            raise FieldError(path, f'"{name}" is named twice')
        seen.add(name)
        prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
        if prefix is None and name not in _WORDS:
            raise FieldError(path, f'"{name}" is none of tool, key, agent, parameters.<path> and context.<path>')
        if name == prefix:
            raise FieldError(path, f'names no value; write a path after the dot, as in "{prefix}user"')
        if prefix is not None:
            require_name(path, name.removeprefix(prefix))
            if "[*]" in name:
                raise FieldError(path, "`[*]` stands for many values; `per` needs one")


MAX_DENIALS = 1_000
"""The most denials a breaker can count; as many of an agent's newest denials are kept."""

MAX_WINDOW_SECONDS = 86_400


class BreakerAction(StrEnum):
    """What a full breaker does: `suspend` the agent, or `deny` calls that would be allowed, or `escalate` them."""

    SUSPEND = "suspend"
    DENY = "deny"
    ESCALATE = "escalate"


class DenialBreaker(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Full once `max_denials` calls of one agent were denied in the last `window_seconds`, for whatever reason.

    max_denials: Denied calls of one agent, or of one value of `per`, 1 to 1,000.
    window_seconds: The span, 1 to 86,400 seconds (a day); it ends now and does not start on the minute.
    action: Whether the denial that fills it suspends the agent; or, while it is full, calls that would be allowed are
    denied, or people are asked about them. Only the last two go with `per`, because they concern no other value.
    """

    max_denials: Annotated[int, Meta(ge=1, le=MAX_DENIALS)]
    window_seconds: Annotated[int, Meta(ge=1, le=MAX_WINDOW_SECONDS)]
    action: BreakerAction
    per: Per | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_per("per", self.per)
        if self.per is not UNSET and self.action is BreakerAction.SUSPEND:
            raise FieldError("action", "suspends the agent for every value; with per it must be deny or escalate")

    @property
    def seconds(self) -> int:
        """The length of the window, for which a denial counts."""
        return self.window_seconds

    longest_seconds = seconds

    @property
    def set_apart(self) -> str:
        return f"\n\ndenials{_per_text(self.per)}"

    @property
    def reached(self) -> str:
        """The reason given when it is full."""
        of = "" if isinstance(self.per, UnsetType) else f" with the same {' and '.join(self.per)}"
        return f"Denial breaker: {counted(self.max_denials, 'denial')}{of} in {self.window_seconds} s"
