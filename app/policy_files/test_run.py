"""Runs tests of policies without a store: each call is judged as the first one ever made."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import UNSET, Struct
from msgspec.structs import replace

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest, HistoryCheck, Outcome, Quota, Result
from app.model.marks import longest_shared, shared_marks
from app.model.policies import Policy
from app.model.policy_sets import settle
from app.model.text import with_hidden_shown
from app.model.times import parse_time_ms
from app.pdp import compile_agent, decide
from app.policy_files.policy_file import FileError, ReadFile, find_files, read_policy_file
from app.policy_files.test_file import ReadTests, TestedCall, Wanted, time_ms

_AGENT = "the tested agent"


class Got(Struct, frozen=True, rename="camel"):
    """What came of a call. rule: its place in the policy and its type, None of a default."""

    result: Result
    policy: str | None
    rule_index: int | None
    rule_type: str | None
    reason: str


class TestOutcome(Struct, frozen=True):
    """What came of one test. problem: what is not as wanted, None if all is."""

    file: str
    line: int
    name: str
    problem: str | None
    got: Got | None

    @property
    def passed(self) -> bool:
        return self.problem is None


class _Bench:
    """The policies in force, compiled."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._names = {policy.id: policy.name for policy in policies}
        agent = Agent(id=_AGENT, name=_AGENT, created_ms=0, updated_ms=0, version="")
        shared = longest_shared(frozenset[str]().union(*map(shared_marks, policies)))
        self._compiled = compile_agent(agent, policies, lambda _: False, shared)

    def judge(self, call: TestedCall, at_ms: int) -> Got:
        """What comes of the call at this time, if none was made before it."""
        context = None if call.context is UNSET else call.context
        request = AuthorizeRequest(_AGENT, call.tool, "authorize", call.parameters, b"", context=context)
        plan = decide(self._compiled, request, at_ms * 1000, call.key)
        full = next((quota.when_full for quota in plan.quotas if _is_full(quota)), None)
        return self._shown(full or plan.outcome)

    def _shown(self, outcome: Outcome) -> Got:
        rule = outcome.rule
        policy = None if outcome.policy_id is None else self._names[outcome.policy_id]
        index, kind = (None, None) if rule is None else (rule.index, rule.type)
        return Got(outcome.result, policy, index, kind, outcome.reason)


def _is_full(quota: Quota | HistoryCheck) -> bool:
    """Whether a quota of which nobody has taken anything has no room: too large an amount, a session without a past."""
    if isinstance(quota, HistoryCheck):
        return not quota.forbids
    return quota.amount is not None and quota.amount > quota.max_calls


def run_tests(read: ReadTests) -> Iterator[TestOutcome]:
    """What comes of each test of a file. Raises FileError if the policies cannot be found or read."""
    policies = _policies_of(read)
    bench = _Bench(policies)
    start_ms = parse_time_ms(read.file.start)
    for index, test in enumerate(read.file.tests):
        at_ms = start_ms if test.call.at is UNSET else time_ms(test.call.at, start_ms)
        got = bench.judge(test.call, at_ms)
        line = read.document.line_of(f"$.tests[{index}]")
        yield TestOutcome(str(read.path), line, test.name, _problem(test.want, got), got)


def _problem(want: Wanted | Result, got: Got) -> str | None:
    """What is other than wanted, as a sentence; None if nothing is."""
    wanted = Wanted(result=want) if isinstance(want, Result) else want
    reached = (
        wanted.result is got.result
        and wanted.policy in (UNSET, got.policy)
        and wanted.rule in (UNSET, got.rule_index, got.rule_type)
        and (wanted.reason is UNSET or wanted.reason in got.reason)
    )
    if reached:
        return None
    by = "" if wanted.policy is UNSET else f' by policy "{wanted.policy}"'
    rule = "" if wanted.rule is UNSET else f", rule {wanted.rule}"
    reason = "" if wanted.reason is UNSET else f' because of "{wanted.reason}"'
    given = "" if got.policy is None else f' by policy "{got.policy}", rule {got.rule_index} ({got.rule_type})'
    return with_hidden_shown(f"wanted {wanted.result}{by}{rule}{reason}, but it is {got.result}{given}: {got.reason}")


def _policies_of(read: ReadTests) -> list[Policy]:
    """All that governs the agent: its own policies, those of its groups, the guardrails of the workspace."""
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
    """The file of the agent whose calls are tested; None if no file is of an agent. Raises FileError."""
    if read.file.agent is UNSET:
        if len(files) > 1:
            listed = ", ".join(each.file.agent_ref or "" for each in files)
            raise FileError(f'{read.path}:1: say whose calls these are with "agent": {listed}')
        return files[0] if files else None
    agent = read.file.agent
    found = next((each for each in files if agent in (each.file.agent_ref, each.file.new_agent.name)), None)
    if found is None:
        listed = ", ".join(each.file.agent_ref or "" for each in files) or "none"
        line = read.document.line_of("$.agent")
        raise FileError(f"{read.path}:{line}: $.agent: no policy file is of {agent}; there are {listed}")
    return found


def policies_in(read: ReadFile) -> list[Policy]:
    """As they would be in a store: made one after the other."""
    made = settle([], read.file.policies, read.file.agent_ref, read.file.group_name, prune=False)
    return [
        replace(change.policy, id=f"{read.path}#{index}", created_ms=index, updated_ms=index, version=1)
        for index, change in enumerate(made)
    ]
