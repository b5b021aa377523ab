"""Text in entries: found as it is, however it is spelled in JSON, and nowhere else."""

import json

import pytest
from audit_entries import AGENTS, START_MS, Writer, decoded
from hypothesis import given
from hypothesis import strategies as st

from app.audit import log as audit_log
from app.audit.log import AuditLog
from app.audit.read import counts
from app.audit.read.entry_filter import EntryFilter, EntryText
from app.audit.seal.sealer import Sealer
from app.errors import AuditEntryNotFound
from app.model.audit import AuditFilters, AuditQuery
from app.model.counts import CountQuery
from app.model.ids import Ids
from app.model.text import FieldError

WORDS = [
    "a",
    "n",
    "é",
    "\n",
    "\\",
    '"',
    "/",
    "ß",
    "\u202e",
    "<b>",
    "🦊",
    "\x1b",
    "001b",
    "u00e9",
    "7",
    "C:\\\\u",
    "\\\\u001b",
]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map("".join)
values = st.recursive(
    st.one_of(texts, st.integers(-9, 99), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


def strings_in(value):
    """Every string of a value, names included, and other scalars as JSON has them."""
    if isinstance(value, dict):
        return [*value, *(text for each in value.values() for text in strings_in(each))]
    if isinstance(value, list):
        return [text for each in value for text in strings_in(each)]
    return [value if isinstance(value, str) else json.dumps(value)]


@given(st.dictionaries(texts, values, max_size=3), texts, st.booleans(), st.booleans())
def test_a_text_is_found_if_a_string_has_it_in_any_spelling(parameters, text, escaped, slashes):
    r"""The spelling of JSON never hides it, and never invents it: `n` is not in a line feed, spelled `\n`."""
    spelled = json.dumps(parameters, ensure_ascii=escaped, separators=(",", ":"))
    line = '{{"id":"1","parameters":{}}}'.format(spelled.replace("/", r"\/") if slashes else spelled).encode()
    expected = any(text in each for each in [*strings_in(parameters), "1"])
    assert EntryText(text).is_in(line) == expected
    found = EntryFilter(AuditFilters(text=text)).select(b"{}\n" + line + b"\n" + line + b"\n")
    assert [index for index, _ in found] == ([1, 2] if expected else [])


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("1.10", True), ("1e3", True), ("12345678901234567890123", True), ("true", True), ("1,2", False), ("]", False)],
)
@pytest.mark.parametrize("beside", ["/", r"\/", r"\u00e9"])
def test_no_spelling_beside_a_number_hides_it(text, is_found, beside):
    """Numbers are found as they are written, whatever else the agent wrote; nothing between two values is text."""
    numbers = '{"a":1.10,"b":[1,2,1e3],"c":12345678901234567890123,"d":true}'
    line = f'{{"id":"9","parameters":{{"x":"{beside}","n":{numbers}}}}}'.encode()
    assert EntryText(text).is_in(line) == is_found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("agentId", False), ("path", True), ('"path"', False), ("4.50", True), ('a","b', False), ("[REDACTED]", True)],
)
def test_what_counts_as_an_entrys_text(text, is_found):
    """Values and names of parameters; not the entry's own names, and nothing across two fields."""
    line = b'{"agentId":"a","b":"c","parameters":{"path":"x","n":4.50,"password":"[REDACTED]"}}'
    assert EntryText(text).is_in(line) == is_found


async def test_text_is_found_in_every_reader_sealed_or_not(client, workspace_id):
    """Pages, streams and counts, alone and with an indexed filter; never what redaction removed."""
    writer, log = Writer(client, workspace_id), AuditLog(client)
    bodies = ['{"to":"jos\\u00e9"}', '{"to":"josé"}', '{"to":"jose","why":"a \\"b\\""}', '{"token":"[REDACTED]"}']
    await writer.append_each(
        {"parameters": bodies[number % 4], "agentId": AGENTS[number // 4 % 2]} for number in range(32)
    )

    async def found(text, **filters):
        page = await log.query(workspace_id, AuditQuery(text=text, limit=100, **filters))
        ids = [entry["id"] for entry in decoded(page)]
        counted = await log.counts(workspace_id, CountQuery(text=text, **filters))
        exported = [piece async for piece in log.export(workspace_id, AuditFilters(text=text, **filters), "ndjson")]
        assert len(ids) == counted.counts.total == b"".join(exported).count(b"\n") - 1
        return ids

    for _ in range(2):
        assert len(await found("josé")) == 16
        assert len(await found("josé", agent_id=AGENTS[0])) == 8
        assert len(await found('a "b"')) == 8
        assert await found("hunter2") == []
        while await Sealer(client, 8, 100).seal_next(workspace_id):
            pass


async def test_a_page_of_a_scan_ends_and_its_cursor_goes_on(client, workspace_id, monkeypatch):
    """However long the log, a page reads so many entries; pages together have each match once."""
    monkeypatch.setattr(audit_log, "SCANNED_MAX", 1_000)
    writer, sealer = Writer(client, workspace_id), Sealer(client, 16, 100)
    await writer.append_each(
        {"parameters": '{"a":"needle"}' if number % 500 == 7 else '{"a":"hay"}'} for number in range(2_400)
    )
    while await sealer.seal_next(workspace_id):
        pass
    log, pages, before = AuditLog(client), [], None
    while not pages or before is not None:
        page = await log.query(workspace_id, AuditQuery(text="needle", before=before))
        pages.append(decoded(page))
        before = page.next_before
    expected = [entry for entry in writer.expected(AuditQuery(limit=10_000)) if "needle" in str(entry["parameters"])]
    assert [entry for page in pages for entry in page] == expected
    assert len(expected) == 5
    assert len(pages) > 2
    absent = await log.query(workspace_id, AuditQuery(tool_name="unheard.of"))
    assert absent.next_before is None
    with pytest.raises(FieldError, match="q cannot be looked up"):
        await log.query(workspace_id, AuditQuery(text="needle", offset=3, limit=1))
    monkeypatch.undo()
    fourth = await log.query(workspace_id, AuditQuery(text="needle", offset=3, limit=1))
    assert decoded(fourth) == expected[3:4]


async def test_looking_for_an_id_far_from_its_time_ends(client, workspace_id, monkeypatch):
    """The answer says that there is more to search, and where; retention has nothing to do with it."""
    monkeypatch.setattr(audit_log, "SCANNED_MAX", 200)
    writer, sealer = Writer(client, workspace_id), Sealer(client, 16, 100)
    stepped, honest, unknown = (Ids().new(START_MS + away) for away in (-7_200_000, 0, 7_200_000))
    await writer.append_each({"id": [stepped, honest][number]} if number < 2 else {} for number in range(1_200))
    while await sealer.seal_next(workspace_id):
        pass
    log = AuditLog(client)
    assert (await log.entry(workspace_id, honest))[0] == 2
    for entry_id in (unknown, stepped):
        with pytest.raises(AuditEntryNotFound, match="among the newest 200; GET /v1/audit-logs"):
            await log.entry(workspace_id, entry_id)
    found, before = [], None
    while not found:
        page = await log.query(workspace_id, AuditQuery(id=stepped, before=before))
        found, before = page.lines, page.next_before
    assert len(found) == 1


async def test_a_count_that_would_search_too_many_entries_says_so(client, workspace_id, monkeypatch):
    """No count reads the whole of a large log; within the bound, or by what is indexed, counts are exact as before."""
    monkeypatch.setattr(counts, "SCANNED_MAX", 1_000)
    writer, sealer = Writer(client, workspace_id), Sealer(client, 16, 100)
    await writer.append_each({"agentId": AGENTS[number % 600 == 0]} for number in range(1_200))
    while await sealer.seal_next(workspace_id):
        pass
    log = AuditLog(client)
    for scan in ({"text": "x"}, {"session": "s"}):
        with pytest.raises(FieldError, match="more than 1000 entries"):
            await log.counts(workspace_id, CountQuery(**scan))
    assert (await log.counts(workspace_id, CountQuery())).counts.total == 1_200
    assert (await log.counts(workspace_id, CountQuery(text="x", agent_id=AGENTS[2]))).counts.total == 0
