"""/v1/policies/test: runs tests of policies, as files have them. Nothing is stored or counted."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from app.cancellation import raise_if_cancelled
from app.errors import AgentNotFound
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, Body
from app.http.endpoint import endpoint
from app.http.references import require_references
from app.model.agents import AgentRef, agent_reference
from app.model.api_keys import Caller, Scope
from app.model.claims import Claim, ClaimResult
from app.model.drafts import with_drafts
from app.model.explanations import MAX_DRAFTS
from app.model.fields import Count
from app.model.policies import Policy
from app.model.policy_sets import PolicyEntry
from app.model.text import FieldError
from app.model.times import parse_time_ms
from app.policy_tools.compare.claims import judge_claim
from app.policy_tools.compare.combinations import Effort
from app.policy_tools.files.test_file import DEFAULT_START, MAX_CALLS, MAX_CLAIMS, MAX_TESTS, PolicyTest
from app.policy_tools.files.test_run import ActualResult, judge_tests
from app.replica import Services
from app.validation_messages import refusing_fields

_CLAIM_SECONDS = 2.0


class TestPolicies(Body, frozen=True):
    """Tests, in the form of those in files, and the agent that makes their calls.

    agent_id: The agent, by its id or its alias: all policies that govern it are tested.
    tests: The tests, with up to 10,000 calls in all. Each starts with empty counters and no history.
    never: Claims: results that no call of some kind ever gets.
    policies: Drafts. A draft with the id of a policy that governs the agent replaces it; one without an id is added.
    start: The time at which each test begins.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id"}
    max_bytes: ClassVar[int] = MAX_SET_BYTES
    max_nested: ClassVar[int] = MAX_SET_NESTED

    agent_id: AgentRef
    tests: Annotated[tuple[PolicyTest, ...], Meta(max_length=MAX_TESTS)] = ()
    never: Annotated[tuple[Claim, ...], Meta(max_length=MAX_CLAIMS)] = ()
    policies: Annotated[list[PolicyEntry], Meta(max_length=MAX_DRAFTS)] | UnsetType = UNSET
    start: Annotated[str, Meta(max_length=100, extra_json_schema={"format": "date-time"})] = DEFAULT_START

    def __post_init__(self) -> None:
        require_references(self.agent_id, None)
        if not self.tests and not self.never:
            raise FieldError("tests", f"give 1 to {MAX_TESTS} tests, or claims in `never`")
        if sum(1 + sum(earlier.times for earlier in test.before) for test in self.tests) > MAX_CALLS:
            raise FieldError("tests", f"have more than {MAX_CALLS} calls in all")
        try:
            parse_time_ms(self.start)
        except ValueError as error:
            raise FieldError("start", str(error)) from None


class PolicyTestResult(Struct, frozen=True):
    """The result of one test.

    name: The test's name.
    passed: Whether the result was as wanted.
    problem: What differs, in words; null if it passed.
    got: What the call got, or the earlier call that did not get what the test wants.
    """

    name: str
    passed: bool
    problem: str | None
    got: ActualResult


class PolicyTestResults(Struct, frozen=True):
    """The results of all tests and claims.

    passed: How many tests passed.
    failed: How many did not.
    tests: The result of each, in the order of the request.
    never: What was found about each claim, in the order of the request.
    """

    passed: Count
    failed: Count
    tests: list[PolicyTestResult]
    never: list[ClaimResult]


@endpoint(
    "POST",
    "/v1/policies/test",
    reads_only=True,
    tag="Policies",
    scopes=(Scope.READ, Scope.VIEW, Scope.POLICIES),
    errors=(AgentNotFound,),
)
async def run_policy_tests(data: TestPolicies, caller: Caller, services: Services) -> PolicyTestResults:
    """Run tests, and judge claims, against the policies in force or against drafts.

    As `remit policy test` runs those in files: limits and sessions are simulated, so nothing is counted, logged or
    stored. What takes more than five seconds is answered 503; past two of them a claim is no longer proved.
    """
    called = agent_reference(data.agent_id) or ""
    agent_id = await services.records.agents.id_of(caller.workspace_id, called)
    governed = await services.records.agents.load(caller.workspace_id, agent_id)
    with refusing_fields():
        policies = with_drafts(governed.agent, governed.policies, data.policies or [])
        return await services.pool.run(caller.workspace_id, _run, policies, data)


def _run(policies: Sequence[Policy], data: TestPolicies) -> PolicyTestResults:
    judged = judge_tests(policies, data.tests, data.start, raise_if_cancelled)
    tests = [
        PolicyTestResult(test.name, problem is None, problem, got)
        for test, (problem, got) in zip(data.tests, judged, strict=True)
    ]
    passed = sum(each.passed for each in tests)
    effort = Effort(seconds=_CLAIM_SECONDS)
    never = []
    for claim in data.never:
        raise_if_cancelled()
        never.append(judge_claim(policies, claim, effort))
    return PolicyTestResults(passed, len(tests) - passed, tests, never)
