"""AgentDojo's ground truths as calls of a log, and attackers of policies that are judged without a service."""

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found, unused-ignore]

from bench.dojo.attackers import CLASSES, Known
from bench.dojo.further_attackers import FURTHER
from bench.dojo.guards import Made
from bench.dojo.play import VERSION, call_of, fresh

TRIED = 24
"""Calls of a class that are tried in a session, drawn at random."""
_target = re.compile(r"[\w.+-]+@[\w.-]+\w|www\.[\w./-]+\w|\b[A-Z]{2}\d{10,}\b").findall


def recorded_suite(name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The calls of the suite's user tasks, in their order, and those of its published attacks."""
    suite = get_suites(VERSION)[name]
    users = [
        {"task": task_id, "tool": tool, "arguments": arguments, "request": task.PROMPT}
        for task_id, task in suite.user_tasks.items()
        for tool, arguments in map(call_of, task.ground_truth(fresh(suite, task)))
    ]
    first = next(iter(suite.user_tasks.values()))
    attacks = [
        {"task": task_id, "tool": tool, "arguments": arguments}
        for task_id, task in suite.injection_tasks.items()
        for tool, arguments in map(call_of, task.ground_truth(fresh(suite, first)))
    ]
    return users, attacks


def adaptive(name: str, allows: Callable[[Made, str], bool]) -> tuple[int, int]:
    """How many calls of attackers who know the policies, the request and the data pass, and of how many.

    allows: whether a call passes, in a session with this request. The calls that the user wants are left out.
    """
    suite = get_suites(VERSION)[name]
    tools = {each.name: list(each.parameters.model_fields) for each in suite.tools}
    tried = passed = 0
    for task in suite.user_tasks.values():
        wanted = [call_of(each) for each in task.ground_truth(fresh(suite, task))]
        known = Known(tools, task.PROMPT, _targets_in(fresh(suite, task)), {}, wanted)
        for call in _drawn(known):
            tried += 1
            passed += allows(call, task.PROMPT)
    return passed, tried


def _targets_in(environment: Any) -> list[str]:
    """Addresses, pages, accounts and names in the user's data."""
    slack = getattr(environment, "slack", None)
    names = [*slack.users, *slack.channels] if slack else []
    return list(dict.fromkeys([*names, *_target(environment.model_dump_json())]))[:40]


def _drawn(known: Known) -> Iterator[Made]:
    for made in (CLASSES | FURTHER).values():
        unique = {repr(call): call for call in made(known) if call not in known.wanted}
        yield from random.Random(known.request).sample([*unique.values()], min(TRIED, len(unique)))
