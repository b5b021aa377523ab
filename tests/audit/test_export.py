"""The exported log: every entry once, in order, and complete only with its last record."""

import csv
import gzip
import io
import re

import msgspec
import pytest
from audit_entries import AGENTS, START_MS, Writer, entry_of
from hypothesis import example, given
from hypothesis import strategies as st

from app.audit.log import AuditLog
from app.audit.read import forward_reader
from app.audit.read.export import export
from app.audit.seal.sealer import Sealer
from app.http.answers import accepts_gzip
from app.http.api.audit_export import gzipped
from app.http.views.audit_log import with_code
from app.model.audit import AuditEntry, AuditQuery, Format
from app.model.decisions import Result
from app.model.exports import COLUMNS, _cell, _rows, escaped_cell


@pytest.fixture
async def writer(client, workspace_id):
    """Five segments of 16 and 10 entries in the stream; agents, results and times vary."""
    writer = Writer(client, workspace_id)
    results = [each.value for each in Result]
    await writer.append_each(
        {"agentId": AGENTS[number % 4], "result": results[number % 3], "timeMs": START_MS + number}
        for number in range(90)
    )
    sealer = Sealer(client, 16, 100)
    for _ in range(5):
        await sealer.seal_next(workspace_id)
    return writer


async def exported(client, workspace_id, query=None, kind=Format.NDJSON):
    return b"".join([piece async for piece in export(client, workspace_id, query or AuditQuery(), kind)])


QUERIES = [
    AuditQuery(),
    AuditQuery(agent_id=AGENTS[2]),
    AuditQuery(agent_id=AGENTS[2], result=Result.DENIED),
    AuditQuery(tool_name="never.heard"),
    AuditQuery(from_ms=START_MS + 20, to_ms=START_MS + 70),
]


@pytest.mark.parametrize("query", QUERIES, ids=["all", "agent", "agent and result", "nothing", "times"])
async def test_a_file_holds_every_match_once_oldest_first_and_ends_with_its_count(client, writer, workspace_id, query):
    """Across segments and stream, with the same filters as a query."""
    *records, end = [msgspec.json.decode(line) for line in (await exported(client, workspace_id, query)).splitlines()]
    everything = AuditQuery(**{name: getattr(query, name) for name in query.__struct_fields__} | {"limit": 1000})
    assert records == list(reversed(writer.expected(everything)))
    assert end == {"end": {"entries": len(records), "firstSequence": 1, "lastSequence": 90}}


async def test_csv_has_a_row_an_entry_and_reads_back(client, writer, workspace_id):
    """Parameters stay JSON in one cell."""
    text = (await exported(client, workspace_id, kind=Format.CSV)).decode()
    header, *rows, end = list(csv.reader(io.StringIO(text, newline="")))
    assert tuple(header) == COLUMNS
    first = entry_of(writer.written[0])
    assert rows[0][:4] == [first["id"], first["timestamp"], first["agentId"], first["keyId"]]
    assert msgspec.json.decode(rows[0][COLUMNS.index("parameters")]) == first["parameters"]
    assert len(rows) == 90
    assert end == ["#end", "", "entries=90", "firstSequence=1", "lastSequence=90"]


PLACES = (
    "id,timestamp,agentId,keyId,action,toolName,result,policyId,ruleIndex,ruleType,reason,latencyMs,parameters,context,"
    "policyVersion,code,type,approvalId,decisionId,shadow,suspendedBy,agentName,keyName,policyName,decidedBy,trippedBy,"
    "subject,records,filling"
)
"""The columns by their places, which programs may rely on: a new one is added at the end, here too."""


def test_every_field_of_an_entry_has_a_column():
    """A rule has two; columns keep their places."""
    fields = {field.encode_name for field in msgspec.structs.fields(AuditEntry)} - {"rule"} | {"ruleIndex", "ruleType"}
    fields |= {"agentName", "keyName", "policyName"}
    assert sorted(COLUMNS) == sorted(fields)
    assert ",".join(COLUMNS) == PLACES


def test_a_cell_is_text_a_number_or_json():
    """Whatever type a field has: a list is not written as Python would."""
    values = ["a", 1.5, None, msgspec.Raw(b'{"a": 1}'), ["a", 1]]
    assert [*map(_cell, values)] == ["a", 1.5, "", '{"a": 1}', '["a",1]']


async def test_a_row_says_by_which_version_and_with_which_code_it_was_decided(client, workspace_id):
    """The code is not in the log's lines, except for entries that are not decisions."""
    writer = Writer(client, workspace_id)
    await writer.append(policyVersion="7", approvalId=AGENTS[1])
    await writer.append(type="outcome", code="executed", decisionId=AGENTS[0])
    _, *rows, _ = csv.reader(io.StringIO((await exported(client, workspace_id, kind=Format.CSV)).decode(), newline=""))
    decided, reported = (dict(zip(COLUMNS, row, strict=True)) for row in rows)
    line = msgspec.json.decode(with_code(msgspec.json.encode(entry_of(writer.written[0]))))
    told = {"policyVersion": "7", "code": line["code"], "type": "", "approvalId": AGENTS[1], "decisionId": ""}
    assert decided.items() >= told.items()
    told = {"policyVersion": "", "code": "executed", "type": "outcome", "approvalId": "", "decisionId": AGENTS[0]}
    assert reported.items() >= told.items()


@pytest.mark.parametrize("code", ["approval_approved", "executed"])
async def test_entries_other_than_decisions_are_exported_too(client, workspace_id, code):
    """Entries about approvals and outcomes have codes of their own."""
    writer = Writer(client, workspace_id)
    await writer.append(type="outcome", code=code, decisionId=AGENTS[0])
    _, row, _ = csv.reader(io.StringIO((await exported(client, workspace_id, kind=Format.CSV)).decode(), newline=""))
    page = await AuditLog(client).query(workspace_id, AuditQuery())
    assert (row[0], page.entries[0].code) == (page.entries[0].id, code)


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-2", "@SUM(A1)", "\uff1d1"])
async def test_a_cell_that_a_spreadsheet_would_run_is_neutralised(client, workspace_id, name):
    """An apostrophe makes it text; nothing else changes."""
    await Writer(client, workspace_id).append(toolName=name, reason=name, action=name)
    text = (await exported(client, workspace_id, kind=Format.CSV)).decode()
    row = list(csv.reader(io.StringIO(text, newline="")))[1]
    assert [row[4], row[5], row[10]] == [f"'{name}"] * 3
    assert escaped_cell("file.read") == "file.read"


FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@given(st.text(alphabet=";|\t\r\n\x0b\u2028\", =+-@\uff1d'a", max_size=12))
@example(";=1+1")
@example('a;"=1')
@example("a\n=1")
@example("a;\t =1")
@example(';""=1;x')
def test_no_reader_of_cells_finds_a_formula(text):
    """Whatever it splits cells at, with quotes or without, and if it strips blanks; and text and JSON stay readable."""
    structured = [{text: text}, "x"]
    cells = [escaped_cell(text), _cell(structured)]
    assert msgspec.json.decode(cells[1]) == structured
    file = _rows([["id", *cells, "end"]]).decode()
    assert list(csv.reader(io.StringIO(file, newline=""))) == [["id", *cells, "end"]]
    lines = re.split("[\r\n]", file)
    quoted = [csv.reader(lines, delimiter=mark) for mark in ";\t|"]
    plain = [csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_NONE) for mark in ";\t|"]
    read = [*cells, *(cell for reader in (*quoted, *plain) for row in reader for cell in row)]
    assert [cell for cell in read if cell.strip().strip('"').strip().startswith(FORMULAS)] == []


async def test_entries_sealed_during_an_export_are_in_it_once(client, writer, workspace_id, monkeypatch):
    """A segment may be sealed between any two pieces; entries appended meanwhile are not in the file."""
    monkeypatch.setattr(forward_reader, "_TAIL_CHUNK", 2)
    sealer = Sealer(client, 4, 100)
    pieces = []
    async for piece in export(client, workspace_id, AuditQuery(), Format.NDJSON):
        pieces.append(piece)
        await sealer.seal_next(workspace_id)
        await writer.append()
    *records, end = [msgspec.json.decode(line) for line in b"".join(pieces).splitlines()]
    assert [entry["id"] for entry in records] == [fields["id"] for fields in writer.written[:90]]
    assert end["end"]["entries"] == 90


async def test_an_interrupted_export_does_not_look_complete(client, writer, workspace_id):
    """Without the last chunk there is no end record, and no gzip trailer."""
    pieces = [piece async for piece in export(client, workspace_id, AuditQuery(), Format.NDJSON)]
    cut = b"".join(pieces[:-1])
    assert b'"end"' not in cut.splitlines()[-1]

    async def given():
        for piece in pieces:
            yield piece

    packed = [piece async for piece in gzipped(given())]
    assert gzip.decompress(b"".join(packed)) == b"".join(pieces)
    with pytest.raises(EOFError):
        gzip.decompress(b"".join(packed[:-1]))


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("*;q=0, gzip", True),
    ],
)
def test_gzip_is_used_only_for_those_who_accept_it(header, wanted):
    """As Accept-Encoding says."""
    assert accepts_gzip(header) is wanted
