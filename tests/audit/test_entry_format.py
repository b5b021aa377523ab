"""The lines of the log keep their bytes for ever, whatever fields later releases add."""

import asyncio
from typing import Annotated

import msgspec
import pytest
from audit_entries import AGENTS, START_MS, Writer, decoded, entry_of, fields_of

from app.audit.entry_format import JSON, NUMBER, TEXT, Unreadable, _form, columns_of, line_from, line_of
from app.audit.log import AuditLog
from app.audit.seal.sealer import Sealer
from app.audit.verify.verifier import Verifier
from app.errors import AuditEntryNotFound, Overloaded
from app.model.audit import AuditQuery, decode_entry
from app.model.decisions import Result
from app.model.ids import Ids
from app.runtime.fairness.asking_key import asking_key

LINE = (
    b'{"id":"018bcfe5-6800-7000-8000-000000000001","agentId":"018bcfe5-6800-7000-8000-000000000000",'
    b'"keyId":"018bcfe5-6800-7000-8000-0000000000ff","action":"authorize","toolName":"file.read",'
    b'"parameters":{"path":"/srv/a"},"result":"allowed","policyId":"018bcfe5-6800-7000-8000-00000000cafe",'
    b'"rule":{"index":0,"type":"tool_allowlist"},"reason":"Policy \\"p\\" allows \\"file.read\\"","latencyMs":0.25,'
    b'"timestamp":"2027-01-15T08:00:00.001Z"}'
)


def stored(**fields):
    """Alternating names and values, as the store returns them."""
    return [str(part).encode() for pair in fields_of(1, **fields).items() for part in pair]


def test_an_entry_without_further_fields_has_the_bytes_it_always_had():
    """Segments hold such lines, and the chain is made of them."""
    assert line_of(stored()) == LINE


def test_further_fields_stand_after_the_timestamp_as_they_were_written():
    """A string, a number, or JSON on one line; a field unknown to this release becomes a string."""
    further = {"session": 's"1', "policyVersion": 3, "context": '{"a":\n[1, "\\n"]}', "later": "7"}
    line = line_of(stored(**further))
    assert line == LINE[:-1] + b',"session":"s\\"1","policyVersion":3,"context":{"a": [1, "\\n"]},"later":"7"}'
    decode_entry(line)


def test_a_mapping_and_a_list_of_fields_give_the_same_line():
    """The two forms of the store's replies."""
    fields = stored(session="s", later="x")
    assert line_from(columns_of(fields)) == line_of(dict(zip(fields[::2], fields[1::2], strict=True)))


@pytest.mark.parametrize(
    "further",
    [
        {"context": "{"},
        {"policyVersion": "1.5"},
        {"latencyMs": "1"},
        {"timestamp": "x"},
    ],
    ids=str,
)
def test_a_field_that_would_break_a_line_makes_the_entry_unreadable(further):
    """No line is invalid JSON or has a field twice."""
    with pytest.raises(Unreadable):
        line_of(stored(**further))


def test_only_an_entry_of_another_type_may_have_no_result():
    """A decision always has one."""
    assert b'"result":null' in line_of(stored(result="", type="approval"))
    with pytest.raises(Unreadable, match="result"):
        line_of(stored(result=""))


async def test_entries_other_than_decisions_are_found_sealed_or_not(client, workspace_id):
    """By agent and by tool, but not by result; the index includes them and verifies."""
    writer = Writer(client, workspace_id)
    for number in range(12):
        further = {"type": "outcome", "result": ""} if number % 3 == 0 else {}
        await writer.append(agentId=AGENTS[number % 2], **further)
    log, sealer = AuditLog(client), Sealer(client, 5, 100)
    queries = [AuditQuery(agent_id=AGENTS[0]), AuditQuery(tool_name="file.read"), AuditQuery(agent_id=AGENTS[1])]
    for _ in range(3):
        for query in queries:
            assert decoded(await log.query(workspace_id, query)) == writer.expected(query)
        assert len((await log.query(workspace_id, AuditQuery(result=Result.ALLOWED))).lines) == 8
        await sealer.seal_next(workspace_id)
    assert (await Verifier(client, workspace_id).verify()).finding is None


@pytest.mark.parametrize("sealed", [False, True], ids=["unsealed", "sealed"])
async def test_an_entry_is_found_by_its_id_even_if_the_clock_has_stepped(client, workspace_id, sealed):
    """The id encodes the call's time; a wrong time only makes the search longer."""
    writer, ids = Writer(client, workspace_id), Ids()
    honest, stepped = ids.new(START_MS + 7), ids.new(START_MS - 7_200_000)
    await writer.append(6)
    await writer.append(id=honest)
    await writer.append(id=stepped)
    await writer.append(6)
    if sealed:
        for _ in range(4):
            await Sealer(client, 4, 100).seal_next(workspace_id)
    log = AuditLog(client)
    for place, entry_id in ((6, honest), (7, stepped)):
        _, line = await log.entry(workspace_id, entry_id)
        assert msgspec.json.decode(line) == entry_of(writer.written[place])
    for unknown in (ids.new(START_MS), "ffffffff-ffff-4fff-bfff-ffffffffffff"):
        with pytest.raises(AuditEntryNotFound):
            await log.entry(workspace_id, unknown)


async def test_looking_for_entries_that_do_not_exist_leaves_room_for_other_keys(client, workspace_id):
    """Each such search may read the whole log, so those of one key wait in its own line."""
    log, unknown = AuditLog(client), Ids().new(START_MS)
    asking_key.set("greedy")
    greedy = [asyncio.create_task(log.entry(workspace_id, unknown)) for _ in range(100)]
    asking_key.set("another")
    await asyncio.sleep(0)
    assert (await log.query(workspace_id, AuditQuery())).lines == []
    found = await asyncio.gather(*greedy, return_exceptions=True)
    assert {type(each) for each in found} == {AuditEntryNotFound, Overloaded}


def test_the_form_of_an_optional_field_follows_from_its_type():
    """A string of an enum is text, too; as JSON it would make each entry that has it unreadable."""
    forms = {str: TEXT, Result: TEXT, Annotated[str, "of some length"]: TEXT, int: NUMBER, float: JSON, list[str]: JSON}
    assert {kind: _form(kind | msgspec.UnsetType) for kind in forms} == forms
