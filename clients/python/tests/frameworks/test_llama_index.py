"""The tool in LlamaIndex: however an agent calls it, Remit is asked, and its callbacks get results only."""

import asyncio
import json

import pytest
from cases import PATIENT, YES
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context
from service import answer
from test_adapters import KEY
from workflows.events import StopEvent
from workflows.runtime.types.results import AddWaiter, WaitingForEvent

from remit_client import Remit
from remit_client.llama_index import RemitTool

DENIED = YES | {"allowed": False, "result": "denied", "reason": "it is closed"}


def guarded(server, function, callback=None, partial_params=None, **options):
    tool = FunctionTool.from_defaults(function, callback=callback, partial_params=partial_params)
    return RemitTool(tool, Remit(server.url, KEY, **PATIENT), "desk", **options)


def asked(server):
    return [json.loads(each.partition(b"\r\n\r\n")[2]) for each in server.asked]


def pay(amount: int, currency: str = "EUR") -> str:
    """Pay back."""
    return f"paid {amount} {currency}"


async def pay_with_context(ctx: Context, amount: int) -> str:
    """Pay back."""
    return f"{type(ctx).__name__} {amount}"


WAYS = {
    "call": lambda tool: tool.call(amount=5),
    "acall": lambda tool: asyncio.run(tool.acall(amount=5)),
    "by place": lambda tool: tool(5),
    "the function, which CodeActAgent calls": lambda tool: tool.real_fn(5),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_call_it_is_judged(faulty, way):
    server = faulty(answer(200, YES))
    assert str(WAYS[way](guarded(server, pay))) == "paid 5 EUR"
    assert [each["parameters"] for each in asked(server)] == [{"amount": 5}]


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_is_an_error_and_no_callback_takes_it_for_a_result(faulty, way):
    got = []
    with pytest.raises(PermissionError, match='"pay" was not run'):
        WAYS[way](guarded(faulty(answer(200, DENIED)), pay, callback=got.append))
    assert got == []


async def test_the_workflows_context_is_no_argument_of_the_model(faulty):
    server = faulty(answer(200, YES))
    tool = guarded(server, pay_with_context)
    assert (tool.requires_context, tool.ctx_param_name) == (True, "ctx")
    assert str(await tool.acall(ctx={}, amount=5)) == "dict 5"
    assert [each["parameters"] for each in asked(server)] == [{"amount": 5}]


def test_what_the_program_has_bound_is_judged_with_the_rest(faulty):
    server = faulty(answer(200, YES))
    assert str(guarded(server, pay, partial_params={"currency": "USD"})(amount=5)) == "paid 5 USD"
    assert [each["parameters"] for each in asked(server)] == [{"amount": 5, "currency": "USD"}]


def fails(amount: int) -> str:
    """Pay back."""
    raise OSError("the bank is away")


def waits(amount: int) -> str:
    """Pay back."""
    raise WaitingForEvent(AddWaiter(waiter_id="w1", event_type=StopEvent))


@pytest.mark.parametrize(("run", "reported"), [(pay, ["executed"]), (fails, ["failed"]), (waits, [])])
@pytest.mark.parametrize("way", ["call", "acall"])
def test_how_a_call_ended_is_reported_once_it_has(faulty, way, run, reported):
    server = faulty(answer(200, YES))
    tool = guarded(server, run, report_outcome=True)
    if run is pay:
        WAYS[way](tool)
    else:
        with pytest.raises((OSError, WaitingForEvent)):
            WAYS[way](tool)
    assert [each["status"] for each in asked(server)[1:]] == reported
