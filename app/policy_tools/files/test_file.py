"""Test files for policies: calls with context, time and preceding calls, and the expected result of each."""

import re
from pathlib import Path
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.agents import Groups, require_groups
from app.model.claims import Claim
from app.model.decisions import Result
from app.model.records import Reported, require_reported
from app.model.text import FieldError, Name, ToolName, require_tool_name, require_visible
from app.model.times import parse_time_ms
from app.pdp.rules.sequence import session_of
from app.policy_tools.files.documents import Document
from app.policy_tools.files.policy_file import decoded, read_text

MAX_TESTS = 1_000
MAX_CALLS = 10_000
MAX_CLAIMS = 100
DEFAULT_START = "2026-11-20T12:00:00Z"
"""The default start of a test: a Friday, at noon UTC."""

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_span = re.compile(r"\+?([0-9]{1,9})(ms|s|m|h|d)").fullmatch
_Text = Annotated[str, Meta(min_length=1, max_length=1000)]


class ExpectedResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The expected result of a call; a field left out may be anything.

    result: allowed, denied or escalated.
    policy: The name of the policy that decides.
    rule: The type of the rule that decides, or its place in the policy, from 0.
    reason: A part of the reason.
    """

    result: Result
    policy: _Text | UnsetType = UNSET
    rule: _Text | Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    reason: _Text | UnsetType = UNSET


class TestedCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call.

    tool: The tool's name.
    parameters: The call's parameters.
    context: What the caller vouches for.
    at: When: a time, or a span after the start such as `90s`, `5m`, `1d`; the time of the preceding call if left out.
    key: The API key that asks, for limits that are per key; any string.
    """

    tool: ToolName
    parameters: dict[str, Any] = {}
    context: dict[str, Any] | UnsetType = UNSET
    at: _Text | UnsetType = UNSET
    key: _Text = "a key"

    def __post_init__(self) -> None:
        require_tool_name("tool", self.tool)
        if self.at is not UNSET:
            time_ms(self.at, 0)


class EarlierCall(TestedCall, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Preceding calls: if they are allowed, as they must be, they count in limits and leave their marks.

    times: How many such calls, one after the other.
    every: The time between them, such as `1s`; none if left out.
    want: The expected result of each, if not allowed.
    records: What the runtime reports of each one's result, as with the outcome of a call, when it is made.
    """

    times: Annotated[int, Meta(ge=1, le=MAX_CALLS)] = 1
    every: _Text = "0s"
    want: ExpectedResult | Result = Result.ALLOWED
    records: Reported = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _span(self.every):
            raise FieldError("every", "must be a span of time such as 1s, 5m or 2h")
        if self.records:
            self._require_reportable()

    @property
    def session(self) -> str:
        """The session's name in the store; "" if the call names none."""
        return session_of(None if isinstance(self.context, UnsetType) else self.context)

    def _require_reportable(self) -> None:
        """Raise FieldError if a service would refuse to take the records of such a call."""
        require_reported(self.records)
        result = self.want if isinstance(self.want, Result) else self.want.result
        if result is not Result.ALLOWED:
            raise FieldError("records", "only a call that is allowed has a result")
        if not self.session:
            raise FieldError("records", "the call must name its `session` in its context: only its rules read them")


class PolicyTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One test. Every test starts with empty counters and no history.

    name: What it claims.
    before: Calls made before it.
    call: The call that is judged.
    want: The expected result, or more details.
    """

    name: Name
    call: TestedCall
    want: ExpectedResult | Result
    before: Annotated[list[EarlierCall], Meta(max_length=100)] = []

    def __post_init__(self) -> None:
        require_visible("name", self.name)
        if sum(call.times for call in self.before) > MAX_CALLS:
            raise FieldError("before", f"are more than {MAX_CALLS} calls")


class TestFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tests of the policies in some files, and what never happens under them.

    policies: Policy files, relative to this one; those in its folder if left out.
    agent: The agent that makes the calls, as the policy files name it; if left out, their only agent.
    groups: The groups that the agent is in; those of its policy file if left out.
    start: The time at which each test begins.
    tests: The tests.
    never: Claims: results that no call of some kind ever gets.
    """

    tests: Annotated[list[PolicyTest], Meta(max_length=MAX_TESTS)] = []
    never: Annotated[list[Claim], Meta(max_length=MAX_CLAIMS)] = []
    policies: list[_Text] | UnsetType = UNSET
    agent: Name | UnsetType = UNSET
    groups: Groups | UnsetType = UNSET
    start: _Text = DEFAULT_START

    def __post_init__(self) -> None:
        if not self.tests and not self.never:
            raise FieldError("tests", f"give 1 to {MAX_TESTS} tests, or claims in `never`")
        if self.groups is not UNSET:
            require_groups("groups", self.groups)
        try:
            parse_time_ms(self.start)
        except ValueError as error:
            raise FieldError("start", str(error)) from None


class ReadTests(Struct, frozen=True):
    """A test file with its location."""

    path: Path
    file: TestFile
    document: Document


def read_test_file(path: Path) -> ReadTests:
    """The tests in a file. Raises FileError."""
    document = read_text(path)
    return ReadTests(path, decoded(path, document, TestFile), document)


def time_ms(at: str, start_ms: int) -> int:
    """The time in ms since the epoch. Raises FieldError."""
    if (match := _span(at)) is not None:
        return start_ms + int(match[1]) * _UNITS_MS[match[2]]
    try:
        return parse_time_ms(at)
    except ValueError as error:
        raise FieldError("at", f"{error}; or a span after the start, such as 90s or 5m") from None


def span_ms(every: str) -> int:
    """The length of a span such as `5m`."""
    return time_ms(every, 0)
