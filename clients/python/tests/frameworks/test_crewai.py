"""The tool in CrewAI: nothing of it is cached, it can be copied and awaited, and it reports how a call ended."""

import asyncio
import json

import pytest
from cases import PATIENT, YES
from crewai.tools import BaseTool, tool
from drivers_older_mcp import CrewModel, crew_of
from scripted import PARAMETERS
from service import answer
from test_adapters import ESCALATED, KEY

from remit_client import Remit
from remit_client.crewai import RemitTool


def guarded(server, run, **options):
    """A tool of CrewAI that runs `run`."""

    class RefundCreate(BaseTool):
        name: str = "refund_create"
        description: str = "Pay back."

        def _run(self, amount: int) -> str:
            return run(amount)

        async def _arun(self, amount: int) -> str:
            return run(amount)

    return RemitTool(RefundCreate(), Remit(server.url, KEY, **PATIENT), "desk", **options)


def sent(request):
    return json.loads(request.partition(b"\r\n\r\n")[2])


async def test_each_call_is_judged_though_crewai_keeps_results(faulty):
    """A refusal that was kept would be the answer even after the approval."""
    server, ran = faulty(answer(200, ESCALATED), answer(200, YES)), []
    model = CrewModel([[("c1", PARAMETERS)], [("c2", PARAMETERS)], [("c3", PARAMETERS)]])
    await crew_of(model, [guarded(server, lambda amount: ran.append(amount) or "paid")]).kickoff_async()
    assert (len(server.asked), ran, model.read) == (3, [120, 120], "paid")


def test_a_crew_for_several_inputs_has_guarded_copies(faulty):
    server, ran = faulty(answer(200, YES)), []
    model = CrewModel([[("c1", PARAMETERS)], [], [("c1", PARAMETERS)]])
    crew = crew_of(model, [guarded(server, ran.append)])
    crew.kickoff_for_each(inputs=[{"customer": "ann"}, {"customer": "ben"}])
    assert (len(server.asked), ran) == (2, [120, 120])


@pytest.mark.parametrize("awaited", [False, True])
async def test_what_ran_is_reported(faulty, awaited):
    def fails(amount):
        raise OSError("the bank is away")

    server = faulty(answer(200, YES))
    for run, status in ((lambda amount: "paid", "executed"), (fails, "failed")):
        one = guarded(server, run, report_outcome=True)
        try:
            assert (await one.arun(amount=5) if awaited else one.run(amount=5)) == "paid"
        except OSError:
            assert run is fails
        assert sent(server.asked[-1])["status"] == status


async def test_a_function_that_is_awaited_runs_in_both_ways(faulty):
    @tool("refund_create")
    async def refund_create(amount: int) -> str:
        """Pay back."""
        return f"paid {amount}"

    server = faulty(answer(200, YES))
    one = RemitTool(refund_create, Remit(server.url, KEY, **PATIENT), "desk")
    assert (one.name, one.args_schema) == (refund_create.name, refund_create.args_schema)
    assert await one.arun(amount=5) == "paid 5"
    assert await asyncio.to_thread(one.run, amount=6) == "paid 6"
    assert [sent(each)["parameters"] for each in server.asked] == [{"amount": 5}, {"amount": 6}]
