"""Lists without `limit`: built in small steps, with the same bytes as if built at once."""

import asyncio

import msgspec
import pytest
from litestar.response import Stream

from app.errors import StoreUnavailable
from app.http.api.agents import AgentView
from app.http.json_array import _STEP_BYTES, answer_list
from app.model.agents import Agent

LONG = 2_000


def agent(number, description=None):
    return Agent(
        id=f"id {number}", name=f"Bücher {number}", description=description, created_ms=0, updated_ms=0, version=""
    )


async def each(items):
    for item in items:
        yield item


async def body_of(answer):
    """What the answer sends."""
    if isinstance(answer, Stream):
        return b"".join([piece async for piece in answer.iterator])
    return answer.content


@pytest.mark.parametrize("count", [0, 1, 2, 200, 3_000])
async def test_a_list_built_in_steps_has_the_same_bytes(count):
    """Whether in one chunk or many; its length is known beforehand."""
    agents = [agent(number, "d" * (number % 100)) for number in range(count)]
    answer = await answer_list(each(agents), AgentView.of)
    wanted = msgspec.json.encode([AgentView.of(one) for one in agents])
    assert await body_of(answer) == wanted
    if isinstance(answer, Stream):
        assert answer.headers["content-length"] == str(len(wanted))
    assert isinstance(answer, Stream) == (len(wanted) > _STEP_BYTES)


async def test_a_list_lets_others_have_their_turn():
    """Between two turns of the loop, at most one step and the item that fills it are encoded."""
    made, most = [], 0

    def view(item):
        made.append(item)
        return AgentView.of(item)

    async def others():
        nonlocal most
        before = 0
        while True:
            await asyncio.sleep(0)
            most, before = max(most, len(made) - before), len(made)

    waiting = asyncio.create_task(others())
    await asyncio.sleep(0)
    agents = [agent(number, "d" * LONG) for number in range(1_000)]
    await answer_list(each(agents), view)
    waiting.cancel()
    assert len(made) == 1_000
    assert 1 < most <= _STEP_BYTES // LONG + 1


async def test_a_store_that_fails_halfway_gives_an_error_and_no_partial_list():
    """Nothing is sent before the whole list is there."""

    async def failing():
        for number in range(1_000):
            yield agent(number, "d" * LONG)
        raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable):
        await answer_list(failing(), AgentView.of)


def test_a_list_of_many_pieces_is_as_its_pages_are(tenant):
    """Over HTTP, with its length in the head; although read and encoded in several steps, nothing is missing."""
    for number in range(70):
        tenant.new_agent(name=f"Bücher {number}", description="d" * LONG)
    answer = tenant.reader.get("/v1/agents")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert int(answer.headers["content-length"]) == len(answer.content) > 2 * _STEP_BYTES
    pages = [tenant.reader.get("/v1/agents", params={"limit": 30, "offset": offset}).json() for offset in (0, 30, 60)]
    assert answer.json() == [one for page in pages for one in page]
    assert len(answer.json()) == 70
