"""Records are read in the order of their names, a few at a time."""

from app.store.records import as_record, read_records


class Counting:
    """A client that remembers how many commands ran in one step."""

    def __init__(self, client) -> None:
        self._client = client
        self.steps: list[int] = []

    async def transact(self, *commands):
        self.steps.append(len(commands))
        return await self._client.transact(*commands)


async def test_however_long_a_list_is_the_store_reads_a_few_records_in_one_step(client, workspace_id):
    """A hundred thousand policies in one step would keep every decision waiting past its deadline."""
    names = [f"remit:{{{workspace_id}}}:policy:{n}" for n in range(1_000)]
    for n, name in enumerate(names):
        if n % 3:
            await client.call("HSET", name, "n", n)
    counting = Counting(client)

    records = await read_records(counting, names)

    assert [int(record["n"]) for record in records] == [n for n in range(1_000) if n % 3]
    assert max(counting.steps) <= 256
    assert sum(counting.steps) == 1_000


async def test_no_names_are_no_question(client):
    """An empty transaction is not sent."""
    assert await read_records(Counting(client), []) == []


def test_a_record_is_a_dict_however_the_reply_came():
    """Flat from the link, already paired from redis-py."""
    assert as_record(["a", "1", "b", "2"]) == as_record({"a": "1", "b": "2"}) == {"a": "1", "b": "2"}
