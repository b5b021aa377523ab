"""Plays AgentDojo's ground truths through a guard, and judges what became of the environment."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

# AgentDojo is not a dependency of the service; bench/agentdojo-requirements.txt installs it.
from agentdojo.functions_runtime import FunctionsRuntime  # type: ignore[import-not-found, unused-ignore]
from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found, unused-ignore]

from bench.dojo.guards import READS, Guard, Made, Played, Session, described

VERSION = "v1.2.2"


def play(suite: Any, task: Any, guard: Guard, session: Session, environment: Any, *, attack: bool = False) -> Played:
    """Play the ground truth of a task on `environment`; a call that does not run is skipped.

    If calls that are made together are one question, the agent reads first, and makes all calls that change something
    in one plan. For an attack, `done` means that it succeeded.
    """
    before = environment.model_copy(deep=True)
    truth = task.ground_truth(before.model_copy(deep=True))
    played, made = Played(), []
    for calls in steps(truth) if guard.plans else [[call] for call in truth]:
        permitted = guard.permits([call_of(each) for each in calls], session, played, wanted=not attack)
        made += run(suite, [call for call, may_run in zip(calls, permitted, strict=True) if may_run], environment)
    played.ran = [described(*call_of(each)) for each in made]
    output = getattr(task, "GROUND_TRUTH_OUTPUT", "") or ""
    if attack and not made:
        output = ""  # what the model merely says needs no tool
    judged = "security" if attack else "utility"
    traces = getattr(task, f"{judged}_from_traces", None)
    said = traces(output, before, environment, made) if traces else None
    played.done = bool(getattr(task, judged)(output, before, environment) if said is None else said)
    return played


def steps(truth: Sequence[Any]) -> list[list[Any]]:
    """The calls in the order of an agent that plans: reads that follow each other, then all that changes something."""
    reads = [call for call in truth if call.function.startswith(READS)]
    changes = [call for call in truth if not call.function.startswith(READS)]
    return [each for each in (reads, changes) if each]


def run(suite: Any, calls: Sequence[Any], environment: Any) -> list[Any]:
    """Run the calls; return them."""
    runtime = FunctionsRuntime(suite.tools)
    for call in calls:
        runtime.run_function(environment, call.function, call.args)
    return list(calls)


def call_of(call: Any) -> Made:
    """A call of AgentDojo, as a guard is asked about it."""
    return call.function, json.loads(json.dumps(dict(call.args), default=str))


def fresh(suite: Any, user: Any) -> Any:
    """The environment at the start of a user task."""
    return user.init_environment(_default(suite.name).model_copy(deep=True))


@cache
def _default(suite: str) -> Any:
    """The suite's environment, read once because that takes half a second."""
    return get_suites(VERSION)[suite].load_and_inject_default_environment({})
