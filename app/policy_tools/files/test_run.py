"""Runs tests of policies without a store: limits and sessions are simulated on a separate timeline for each test."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from app.model.claims import HOLDS, ClaimResult
from app.model.decisions import Outcome, Result
from app.model.fields import Timestamp
from app.model.marks import longest_shared, shared_marks
from app.model.policies import Owner, Policy, off_in_shadow
from app.model.policy_sets import settle
from app.model.rules import TimeBased
from app.model.sequences import covers
from app.model.text import FieldError, with_hidden_shown
from app.model.times import parse_time_ms, rfc3339
from app.policy_tools.compare.claims import judge_claim
from app.policy_tools.files.policy_file import FileError, ReadFile, find_files, read_policy_files
from app.policy_tools.files.test_file import (
    EarlierCall,
    ExpectedResult,
    PolicyTest,
    ReadTests,
    TestedCall,
    span_ms,
    time_ms,
)
from app.policy_tools.files.values import Values
from app.replay.calls import LoggedCall
from app.replay.ledger import Ledger
from app.replay.replayed_call import ReplayedCall
from app.replay.rulesets import Ruleset
from app.replay.spans import Room, Timeline

_AGENT = "the tested agent"
_END_MS = parse_time_ms("2255-01-01T00:00:00Z")
_encode = msgspec.json.encode


class ActualResult(Struct, frozen=True, rename="camel"):
    """The result of a call.

    result: What was decided.
    policy: The name of the policy that decided; null for a default deny.
    rule_index: The place of the rule that decided, from 0.
    rule_type: Its type.
    reason: A sentence for people.
    at: When the call was made, in the time of its test.
    untimed: The names of policies that have a rule for its tool that depends on the time, while no test of such a tool
    says `at`: they were judged at that one time only.
    """

    result: Result
    policy: str | None
    rule_index: int | None
    rule_type: str | None
    reason: str
    at: Timestamp
    untimed: list[str]


class TestOutcome(Struct, frozen=True):
    """The result of one test or claim. problem: the difference from the expectation; None if it passed.

    claim: what was found about a claim: that it holds, or why that is no proof; None for a test.
    """

    file: str
    line: int
    name: str
    problem: str | None
    got: ActualResult | None
    claim: str | None = None

    @classmethod
    def of_claim(cls, read: ReadTests, index: int, found: ClaimResult) -> Self:
        """The outcome of the claim with this place in the file."""
        line = read.document.line_of(f"$.never[{index}]")
        broken, problem = found.broken_by, None
        if broken is not None:
            call = f"{broken.tool} {_encode(broken.parameters).decode()}"
            beside = {name: each for name, each in broken.context.items() if name not in ("session", "request")}
            beside_it = f" context {_encode(beside).decode()}" if beside else ""
            limits = "".join(f"; while: {each}" for each in broken.limits)
            problem = with_hidden_shown(f"broken by {call}{beside_it}: {broken.result}: {broken.reason}{limits}")
        return cls(str(read.path), line, found.name, problem, None, found.in_words)

    @property
    def is_proved(self) -> bool:
        """False for a claim of which nothing is proved."""
        return self.claim is None or self.claim == HOLDS or self.problem is not None

    @property
    def passed(self) -> bool:
        return self.problem is None


class _Stage:
    """The policies in force, with the counters and history of the calls so far."""

    def __init__(
        self,
        ruleset: Ruleset,
        names: Mapping[str, str],
        untimed: Mapping[str, list[str]],
        before_each: Callable[[], None],
    ) -> None:
        self._ruleset = ruleset
        self._before_each = before_each
        self._names = names
        self._untimed = untimed
        self._timeline = Timeline()
        self._ledger = Ledger(self._timeline, remembered=Room.NO)

    def judge(self, call: TestedCall, at_ms: int) -> ActualResult:
        """Judge the call at this time; it counts if it is allowed. Raises FieldError for a time far from ours."""
        self._before_each()
        if not 0 <= at_ms < _END_MS:
            raise FieldError("call", "its time must be in the years from 1970 to 2254")
        logged = LoggedCall.without_entry(_AGENT, call.tool, call.parameters, call.context, key_id=call.key)
        self._timeline.advance(at_ms)
        replayed = ReplayedCall(logged, b"", self._ruleset, at_ms)
        # There are two outcomes if something was taken exactly one window ago, to the millisecond. In the last outcome
        # it has expired.
        outcome = self._ledger.outcomes(replayed, _AGENT)[-1]
        if outcome.result is Result.ALLOWED:
            self._ledger.take(replayed, _AGENT)
        elif outcome.result is Result.DENIED and self._ledger.denials.standing(_AGENT) is Room.YES:
            self._ledger.deny(replayed, _AGENT)
        return self._shown(outcome, at_ms, self._untimed[call.tool])

    def report(self, call: EarlierCall) -> None:
        """The runtime reports the records of a call that has just been allowed."""
        if call.records:
            self._ledger.records.report(_AGENT, call.session, call.tool, call.records)

    def _shown(self, outcome: Outcome, at_ms: int, untimed: list[str]) -> ActualResult:
        rule = outcome.rule
        policy = None if outcome.policy_id is None else self._names[outcome.policy_id]
        index, kind = (None, None) if rule is None else (rule.index, rule.type)
        return ActualResult(outcome.result, policy, index, kind, outcome.reason, rfc3339(at_ms), untimed)


def run_tests(read: ReadTests, values: Values | None = None) -> Iterator[TestOutcome]:
    """The result of each test and claim in a file. values: those that the policy files refer to.

    Raises FileError if the policies cannot be found or read.
    """
    policies = _policies_of(read, values)
    try:
        for index, (problem, got) in enumerate(judge_tests(policies, read.file.tests, read.file.start)):
            line = read.document.line_of(f"$.tests[{index}]")
            yield TestOutcome(str(read.path), line, read.file.tests[index].name, problem, got)
    except FieldError as error:
        line = read.document.line_of(f"$.{error.field}")
        raise FileError(f"{read.path}:{line}: $.{error.field}: {error.message}") from None
    for index, claim in enumerate(read.file.never):
        yield TestOutcome.of_claim(read, index, judge_claim(policies, claim))


def judge_tests(
    policies: Sequence[Policy], tests: Sequence[PolicyTest], start: str, before_each: Callable[[], None] = lambda: None
) -> Iterator[tuple[str | None, ActualResult]]:
    """What differs from each test's expectation, or None, and what the call got.

    policies: all that govern the agent. start: the time at which each test begins. before_each: run before each call,
    and each rule on hours. Raises FieldError for a test whose time is not between 1970 and 2255.
    """
    judged = [off_in_shadow(policy) for policy in policies]
    names = {policy.id: policy.name for policy in judged}
    ruleset = Ruleset(judged, longest_shared(frozenset[str]().union(*map(shared_marks, judged))), lambda _: False)
    start_ms = parse_time_ms(start)
    untimed = _untimed(judged, tests, before_each)
    for index, test in enumerate(tests):
        stage = _Stage(ruleset, names, untimed, before_each)
        try:
            yield _run(test, stage, start_ms)
        except FieldError as error:
            raise FieldError(f"tests[{index}].{error.field}", error.message) from None


def _untimed(
    policies: Sequence[Policy], tests: Sequence[PolicyTest], before_each: Callable[[], None]
) -> dict[str, list[str]]:
    """For each tool that is called, the names of policies whose hours cover it and no call that says `at`."""
    says_at: dict[str, bool] = {}
    for call in (call for test in tests for call in (*test.before, test.call)):
        says_at[call.tool] = says_at.get(call.tool, False) or call.at is not UNSET
    found: dict[str, list[str]] = {tool: [] for tool in says_at}
    enabled = [(policy.name, rule) for policy in policies if policy.enabled for rule in policy.rules]
    for name, rule in enabled:
        if isinstance(rule, TimeBased):
            before_each()
            covered = [tool for tool in says_at if covers(rule.tools, tool)]
            if not any(says_at[tool] for tool in covered):
                for tool in covered:
                    found[tool] += [] if name in found[tool] else [name]
    return found


def _run(test: PolicyTest, stage: _Stage, start_ms: int) -> tuple[str | None, ActualResult]:
    now_ms = start_ms
    for number, earlier in enumerate(test.before):
        now_ms = now_ms if earlier.at is UNSET else time_ms(earlier.at, start_ms)
        for nth in range(earlier.times):
            now_ms += span_ms(earlier.every) if nth else 0
            got = stage.judge(earlier, now_ms)
            problem = _problem(earlier.want, got)
            if problem is not None:
                which = f", call {nth + 1} of {earlier.times}" if earlier.times > 1 else ""
                return f"before[{number}]{which}: {problem}", got
            stage.report(earlier)
    got = stage.judge(test.call, now_ms if test.call.at is UNSET else time_ms(test.call.at, start_ms))
    return _problem(test.want, got), got


def _problem(want: ExpectedResult | Result, got: ActualResult) -> str | None:
    """The difference from the expectation as a sentence, or None."""
    expected = ExpectedResult(result=want) if isinstance(want, Result) else want
    reached = (
        expected.result is got.result
        and expected.policy in (UNSET, got.policy)
        and expected.rule in (UNSET, got.rule_index, got.rule_type)
        and (expected.reason is UNSET or expected.reason in got.reason)
    )
    if reached:
        return None
    by = "" if expected.policy is UNSET else f' by policy "{expected.policy}"'
    rule = "" if expected.rule is UNSET else f", rule {expected.rule}"
    reason = "" if expected.reason is UNSET else f' because of "{expected.reason}"'
    decider = "" if got.policy is None else f' by policy "{got.policy}", rule {got.rule_index} ({got.rule_type})'
    return with_hidden_shown(
        f"wanted {expected.result}{by}{rule}{reason}, but it is {got.result}{decider}: {got.reason}"
    )


def _policies_of(read: ReadTests, values: Values | None) -> list[Policy]:
    """All policies that govern the agent: its own, those of its groups, the guardrails of the workspace."""
    files = _files_of(read, values)
    own = _agents_file(read, [each for each in files if each.file.agent_ref is not None])
    groups = read.file.groups if read.file.groups is not UNSET else [] if own is None else own.file.new_agent.groups
    governing = [each for each in files if each.file.agent_ref is None and each.file.group_name in (None, *groups)]
    return [policy for each in [*([] if own is None else [own]), *governing] for policy in policies_in(each)]


def tested_agent(read: ReadTests, values: Values | None) -> str:
    """The agent whose calls are tested, as the files name it. Raises FileError."""
    if read.file.agent is not UNSET:
        return read.file.agent
    own = _agents_file(read, [each for each in _files_of(read, values) if each.file.agent_ref is not None])
    if own is None or own.file.agent_ref is None:
        raise FileError(f'{read.path}:1: say whose calls these are with "agent"')
    return own.file.agent_ref


def _files_of(read: ReadTests, values: Values | None) -> list[ReadFile]:
    folder, named = read.path.parent, read.file.policies
    paths = _beside(folder) if named is UNSET else find_files([folder / each for each in named])
    return read_policy_files(paths, values)


def _beside(folder: Path) -> list[Path]:
    return [path for path in find_files([folder]) if path.parent == folder]


def _agents_file(read: ReadTests, files: Sequence[ReadFile]) -> ReadFile | None:
    """The file of the agent whose calls are tested, or None if no file belongs to an agent. Raises FileError."""
    if read.file.agent is UNSET:
        if len(files) > 1:
            listed = ", ".join(each.file.agent_ref or "" for each in files)
            raise FileError(f'{read.path}:1: say whose calls these are with "agent": {listed}')
        return files[0] if files else None
    agent = read.file.agent
    own = next((each for each in files if agent in (each.file.agent_ref, each.file.new_agent.name)), None)
    if own is None:
        listed = ", ".join(each.file.agent_ref or "" for each in files) or "none"
        line = read.document.line_of("$.agent")
        raise FileError(f"{read.path}:{line}: $.agent: no policy file belongs to {agent}; there are {listed}")
    return own


def policies_in(read: ReadFile) -> list[Policy]:
    """The policies as they would be stored, created one after the other."""
    changes = settle([], read.file.policies, Owner(read.file.agent_ref, read.file.group_name), prune=False)
    return [
        replace(change.policy, id=f"{read.path}#{index}", created_ms=index, updated_ms=index, version=1)
        for index, change in enumerate(changes)
    ]
