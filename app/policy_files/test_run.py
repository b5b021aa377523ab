"""Runs tests of policies without a store: limits and sessions are simulated on a separate timeline for each test."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from app.model.decisions import Outcome, Result
from app.model.marks import longest_shared, shared_marks
from app.model.policies import Owner, Policy, off_in_shadow
from app.model.policy_sets import settle
from app.model.text import with_hidden_shown
from app.model.times import parse_time_ms
from app.policy_files.policy_file import FileError, ReadFile, find_files, read_policy_file
from app.policy_files.test_file import ExpectedResult, PolicyTest, ReadTests, TestedCall, span_ms, time_ms
from app.replay.calls import LoggedCall
from app.replay.ledger import Ledger
from app.replay.replayed_call import ReplayedCall
from app.replay.rulesets import Ruleset
from app.replay.spans import Room, Timeline

_AGENT = "the tested agent"
_encode = msgspec.json.encode


class ActualResult(Struct, frozen=True, rename="camel"):
    """The result of a call. rule_index, rule_type: of the rule that decided; None for a default deny."""

    result: Result
    policy: str | None
    rule_index: int | None
    rule_type: str | None
    reason: str


class TestOutcome(Struct, frozen=True):
    """The result of one test. problem: the difference from the expectation; None if the test passed."""

    file: str
    line: int
    name: str
    problem: str | None
    got: ActualResult | None

    @property
    def passed(self) -> bool:
        return self.problem is None


class _Stage:
    """The policies in force, with the counters and history of the calls so far."""

    def __init__(self, ruleset: Ruleset, names: Mapping[str, str]) -> None:
        self._ruleset = ruleset
        self._names = names
        self._timeline = Timeline()
        self._ledger = Ledger(self._timeline)

    def judge(self, call: TestedCall, at_ms: int) -> ActualResult:
        """Judge the call at this time; it counts if it is allowed."""
        logged = LoggedCall(
            id="",
            agent_id=_AGENT,
            key_id=call.key,
            tool_name=call.tool,
            parameters=Raw(_encode(call.parameters)),
            result=None,
            policy_id=None,
            rule=None,
            reason="",
            timestamp="",
            context=UNSET if call.context is UNSET else Raw(_encode(call.context)),
        )
        self._timeline.advance(at_ms)
        replayed = ReplayedCall(logged, b"", self._ruleset, at_ms)
        # There are two outcomes if something was taken exactly one window ago, to the millisecond. In the last outcome
        # it has expired.
        outcome = self._ledger.outcomes(replayed, _AGENT)[-1]
        if outcome.result is Result.ALLOWED:
            self._ledger.take(replayed, _AGENT)
        elif outcome.result is Result.DENIED and self._ledger.denials.standing(_AGENT) is Room.YES:
            self._ledger.deny(replayed, _AGENT)
        return self._shown(outcome)

    def _shown(self, outcome: Outcome) -> ActualResult:
        rule = outcome.rule
        policy = None if outcome.policy_id is None else self._names[outcome.policy_id]
        index, kind = (None, None) if rule is None else (rule.index, rule.type)
        return ActualResult(outcome.result, policy, index, kind, outcome.reason)


def run_tests(read: ReadTests) -> Iterator[TestOutcome]:
    """The result of each test in a file. Raises FileError if the policies cannot be found or read."""
    policies = [off_in_shadow(policy) for policy in _policies_of(read)]
    names = {policy.id: policy.name for policy in policies}
    ruleset = Ruleset(policies, longest_shared(frozenset[str]().union(*map(shared_marks, policies))), lambda _: False)
    start_ms = parse_time_ms(read.file.start)
    for index, test in enumerate(read.file.tests):
        problem, got = _run(test, _Stage(ruleset, names), start_ms)
        yield TestOutcome(str(read.path), read.document.line_of(f"$.tests[{index}]"), test.name, problem, got)


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


def _policies_of(read: ReadTests) -> list[Policy]:
    """All policies that govern the agent: its own, those of its groups, the guardrails of the workspace."""
    folder, named = read.path.parent, read.file.policies
    paths = _beside(folder) if named is UNSET else find_files([folder / each for each in named])
    files = [read_policy_file(path) for path in paths]
    own = _agents_file(read, [each for each in files if each.file.agent_ref is not None])
    groups = read.file.groups if read.file.groups is not UNSET else [] if own is None else own.file.new_agent.groups
    governing = [each for each in files if each.file.agent_ref is None and each.file.group_name in (None, *groups)]
    return [policy for each in [*([] if own is None else [own]), *governing] for policy in policies_in(each)]


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
