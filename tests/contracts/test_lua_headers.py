"""A script's header is its only declaration: `app/redis_client/scripts.py` reads it, and the body agrees with it."""

import re
from functools import cache
from pathlib import Path

import pytest

from app.authorize.commit.reply import CommitReply
from app.redis_client.scripts import (
    COMMIT_ASKING,
    COMMIT_DECISION,
    COMMIT_PARTS,
    COMMIT_WITH_PARTS,
    COMMITS,
    DELETE_POLICIES,
    LUA,
    SCRIPTS,
    parse_part,
    parse_script,
    read_parts,
)

FILES = sorted(LUA.glob("*.lua"))
INVARIANTS = (Path(__file__).parents[2] / "docs/invariants.md").read_text()
CALL = re.compile(r"\bcall\(\s*'([A-Z]+)'(?:\s*,\s*([^,)]+))?")
KEYLESS = {"TIME"}
FORBIDDEN = {"KEYS", "SCAN", "HSCAN", "SSCAN", "ZSCAN", "RANDOMKEY", "EVAL", "EVALSHA", "FLUSHDB", "FLUSHALL", "SELECT"}


def header(text):
    """The text between `--[[` and `]]`."""
    return re.search(r"--\[\[\n(.*?)\n\]\]\n", text, re.DOTALL)[1]


def body(text):
    """The code, without comments."""
    code = re.sub(r"--\[\[\n.*?\n\]\]\n", "", text, flags=re.DOTALL)
    return re.sub(r"--[^\n]*", "", code)


def section(text, name):
    """One section of a header: its line and the lines that continue it."""
    found = re.search(rf"^{name}\s+(.*(?:\n[ ]+.*)*)", header(text), re.MULTILINE)
    assert found, f"the header has no {name}"
    return found[1]


def test_no_script_or_part_writes_a_number_with_tostring():
    """From 10^14 on, it writes 1e+14: sequence numbers, times and sums go through a format."""
    texts = {path.name: body(path.read_text()) for path in [*FILES, *sorted((LUA / "commit_decision").glob("*.lua"))]}
    assert [name for name, text in texts.items() if "tostring" in text] == []


scripts = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)


def test_every_script_of_the_folder_is_read():
    """Nothing in lua/ that nobody can run; parts of a script are in a folder, and it is there with and without."""
    whole = [script.name for script in SCRIPTS if script not in (COMMIT_ASKING, COMMIT_WITH_PARTS, DELETE_POLICIES)]
    assert whole == [path.stem for path in FILES]
    assert all(script.replies and script.elements for script in SCRIPTS)


HEADER = """#!lua flags=no-writes
--[[
look_up: say what is there.

KEYS[1]       first           string
KEYS[1+i]     other           string
KEYS[#KEYS]   last            string; may be left out

ARGV[1]       limit           how many
ARGV[2i]      field           of other i
ARGV[1+2i]    value           of it

RETURNS       {status, count}
  found       count of them
  missing     nothing is there
WRITES        nothing
]]
return {'found', 1}
"""


def test_a_header_says_everything_that_a_caller_must_know():
    """Names in order, those that repeat, the one that may come last, statuses, width and flags."""
    script = parse_script("look_up", HEADER)

    assert (script.keys, script.repeated_keys, script.last_keys) == (("first",), ("other",), ("last",))
    assert (script.args, script.repeated_args) == (("limit",), ("field", "value"))
    assert (script.replies, script.elements) == (("found", "missing"), ("status", "count"))
    assert script.flags == "no-writes"
    assert not script.is_change


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("#!lua", "#! lua"),
        ("look_up:", "other_name:"),
        ("KEYS[1] ", "KEYS[2] "),
        ("KEYS[1+i]", "KEYS[2+i]"),
        ("ARGV[1] ", "ARGV[0] "),
        ("ARGV[1+2i]", "ARGV[2+2i]"),
        ("RETURNS", "GIVES"),
    ],
)
def test_a_header_that_counts_wrong_is_refused(was, is_now):
    """A slip must not shift every argument after it."""
    with pytest.raises(ValueError, match=r"lua/look_up\.lua: "):
        parse_script("look_up", HEADER.replace(was, is_now, 1))


@scripts
def test_every_argument_is_named_before_its_first_use(script):
    """`ARGV[7]` in the middle of a body tells a reader nothing."""
    lines = body(script.text).splitlines()
    assert [line for line in lines if re.search(r"(ARGV|KEYS)\[\d+\]", line) and not line.startswith("local ")] == []


@scripts
def test_the_body_gives_the_replies_that_the_header_names(script):
    """It returns every declared status, and no other."""
    code = body(script.text)
    given = set(re.findall(r"(?:return \{|refuse\(|status = )'(\w+)'", code))
    assert given <= set(script.replies)
    assert set(script.replies) <= set(re.findall(r"'(\w+)'", code))


@scripts
def test_the_header_says_what_is_written_what_it_costs_and_what_it_holds(script):
    """WRITES, TIME and HOLDS; HOLDS names invariants that docs/invariants.md has."""
    assert section(script.text, "WRITES")
    assert section(script.text, "TIME").startswith("O(")
    held = re.findall(r"\bI\d+\b", section(script.text, "HOLDS"))
    assert held
    for number in held:
        assert f"**{number}. " in INVARIANTS


@scripts
def test_keys_are_taken_from_keys_and_never_made(script):
    """A key built by a script would not be declared by the caller, and could be in another slot of a cluster."""
    code = body(script.text)
    declared = COMMIT_WITH_PARTS if script in COMMITS else script
    names = {*declared.keys, *declared.repeated_keys, *declared.last_keys}
    for command, key in CALL.findall(code):
        assert command not in FORBIDDEN
        if command not in KEYLESS:
            assert key.startswith("KEYS[") or key.rpartition(".")[2] in names, f"{command} {key}"
    assert "remit" not in code
    assert not re.search(r"['\"][^'\"]*:[^'\"]*['\"]", code), "a name with a colon is a key that is being built"


@cache
def sources():
    """The text of every module of the service."""
    return {path: path.read_text() for path in (LUA.parent / "app").rglob("*.py")}


@scripts
def test_one_module_calls_a_script(script):
    """It is the only place that knows the order of keys and arguments and what a reply means."""
    name = script.name.upper()
    calls = re.compile(rf"\b(run|prepare)\(\s*{name}\b|\breturn {name}\b")
    modules = [path for path, text in sources().items() if name in text and calls.search(text)]
    assert len(modules) == 1
    rooms = {"store", "audit", "transparency", "authorize", "approvals", "webhooks", "explain", "redis_client"}
    assert not rooms.isdisjoint(modules[0].parts)


@scripts
def test_lua_parses_no_json(script):
    """Lua's JSON turns [] into {} and loses digits, so callers' bytes pass through unparsed."""
    assert not re.search(r"\b(cjson|cmsgpack|struct|loadstring)\b", body(script.text))


@scripts
def test_no_script_goes_on_after_an_error(script):
    """Except the one whose purpose is to provoke errors, which writes nothing, and the one that notes how far a batch
    has come; it decides nothing more.
    """
    assert "pcall" not in body(script.text) or script.name in {"probe_commit", "commit_batch"}


def test_only_the_commit_appends_to_the_audit_stream_and_only_sealing_trims_it():
    """I5: there is no other way for an entry to come or go, and none at all to change one."""
    touching = {
        (script.name, command)
        for script in SCRIPTS
        for command, key in CALL.findall(body(script.text))
        if key == "audit_stream" and (command.startswith("X") or command == "DEL")
    }
    reading = {"XLEN", "XRANGE", "XREVRANGE"}
    assert {each for each in touching if each[1] not in reading} == {
        ("commit_decision", "XADD"),
        ("commit_asking", "XADD"),  # the same line
        ("commit_with_parts", "XADD"),  # the same line
        ("commit_batch", "XADD"),  # the same line
        ("decide_approval", "XADD"),
        ("end_approval", "XADD"),
        ("note_mismatch", "XADD"),
        ("record_outcome", "XADD"),
        ("submit_access_request", "XADD"),
        ("seal_segment", "XTRIM"),
        ("quarantine_entries", "XDEL"),  # of what no commit made
        ("free_stream", "XDEL"),  # the same
        ("free_stream", "DEL"),  # when nothing of a commit is in it
    }
    written = re.compile(r'"(XADD|XDEL|XTRIM|XSETID)"')
    found = {path.name: set(written.findall(path.read_text())) for path in (LUA.parent / "app").rglob("*.py")}
    reads_it_in_files = {"lost_at_restart.py": {"XADD"}}
    assert {name: commands for name, commands in found.items() if commands} == reads_it_in_files


PART = """--[[
look_twice: see whether it has changed.

KEYS[p+1]     before          string
KEYS[p+1+i]   others          strings

ARGV[p+1]     wanted          what it was

RETURNS
  changed     it is another
]]
--@ names
local wanted = ARGV[arg_before.look_twice + 1]
--@ judge
if wanted ~= first then return {'changed', 0} end
"""


def test_a_part_says_what_it_adds_to_its_script():
    """Keys, arguments and statuses of its own, and code for each place where it has some."""
    part = parse_part("look_twice", PART)

    assert (part.words("KEYS"), part.words("ARGV"), part.replies) == (("before", "others"), ("wanted",), ("changed",))
    assert part.sections["names"] == "local wanted = ARGV[arg_before.look_twice + 1]\n"
    assert [*part.sections] == ["names", "judge"]


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("look_twice:", "look:"),
        ("p+1] ", "p+2] "),
        ("p+1+i]", "p+2+i]"),
        ("ARGV[p+1]", "ARGV[p+0]"),
        ("--@ names\n", ""),
    ],
)
def test_a_part_whose_header_counts_wrong_is_refused(was, is_now):
    """As with a script's."""
    with pytest.raises(ValueError, match=r"look_twice\.lua: "):
        parse_part("look_twice", PART.replace(was, is_now, 1))


@pytest.mark.parametrize(
    ("parts", "place", "found"),
    [
        ("look_twice", "judge", True),
        ("look_twice other", "judge", False),
        ("", "judge", False),
        ("look_twice", "x", False),
    ],
    ids=["as it is", "one has no file", "it is not named", "it has a section for no place"],
)
def test_a_scripts_parts_are_the_files_of_its_folder(tmp_path, parts, place, found):
    """An unnamed file would never run, nor would a section for a missing place."""
    (tmp_path / "look_twice.lua").write_text(PART)
    text = f"--[[\nPARTS         {parts}\n]]\n--@ names: of things\n--@ {place}: says no\n"
    if found:
        assert [*read_parts(tmp_path, text)] == ["look_twice"]
    else:
        with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
            read_parts(tmp_path, text)


@pytest.mark.parametrize(
    ("script", "parts"), [(COMMIT_WITH_PARTS, [*COMMIT_PARTS]), (COMMIT_ASKING, ["parts", "approvals"])]
)
def test_every_line_of_a_script_with_parts_stands_in_one_file(script, parts):
    """The script's own lines and each part's code, in a scope of its own; nothing else is repeated."""
    plain = [line for line in body(COMMIT_DECISION.text).splitlines() if line.strip()]
    whole = [line for line in body(script.text).splitlines() if line.strip()]
    of_parts = []
    for place, section in (each for name in parts for each in COMMIT_PARTS[name].sections.items()):
        of_parts += [line for line in body(section).splitlines() if line.strip()]
        of_parts += [] if place in {"names", "state"} else ["do ", "end"]
    assert sorted(whole) == sorted(plain + of_parts)
    left = iter(whole)
    assert all(line in left for line in plain)


def statements(code):
    """The lines of code, with those that a statement continues on joined to its first."""
    return re.sub(r"([,=(])\n\s*", r"\1 ", code).splitlines()


NAMED = re.compile(
    r"\s*(local function \w+\(KEYS, ARGV\)$|local function \w+\([\w, ]*\) return |(local )?\w+(, \w+)* = )"
)


@pytest.mark.parametrize("script", COMMITS, ids=lambda script: script.name)
def test_a_commit_names_whatever_it_takes_from_a_position(script):
    """Also if the position is computed: `ARGV[11 + 6 * i]` in the middle of a body tells a reader even less."""
    taking = [line for line in statements(body(script.text)) if re.search(r"\b(KEYS|ARGV)\b", line)]
    assert [line for line in taking if not NAMED.match(line)] == []


def words(code):
    """The names that the code uses, without strings and the names of fields."""
    return set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", re.sub(r"'[^']*'", "''", body(code))))


def declared(code):
    """The names that the code declares."""
    found = re.findall(r"\b(?:local|local function|for) (\w+(?:, \w+)*)", body(code))
    return {name for names in found for name in names.split(", ")}


PRIVATE = {name: declared(part.sections.get("names", "")) for name, part in COMMIT_PARTS.items() if name != "parts"}


@pytest.mark.parametrize("name", PRIVATE)
def test_a_part_reads_no_name_of_another_part(name):
    """What a part has to tell to others is in `state`; what else it knows is its own business."""
    own = "".join(COMMIT_PARTS[name].sections.values())
    others = set().union(*(names for other, names in PRIVATE.items() if other != name))
    assert not others & PRIVATE[name]
    assert words(own) & others - declared(own) == set()


OUTCOME = {"result", "policy", "rule", "reason", "full", "retry_us", "extras", "custom"}


@pytest.mark.parametrize("name", COMMIT_PARTS)
def test_a_part_changes_only_its_own_names_and_the_state(name):
    """And reads the outcome only there: the script's own names may be those of an earlier moment."""
    own = "".join(COMMIT_PARTS[name].sections.values()).replace("reply[", "state.reply[")
    changed = re.findall(
        r"^ *(?:if .* then )?([\w.]+(?:\[.*?\])?(?:, [\w.]+)*) = ", "\n".join(statements(body(own))), re.MULTILINE
    )
    changed = {each for names in changed for each in re.findall(r"(?<![.\w])[a-z]\w*", re.sub(r"\[.*?\]", "", names))}
    may_change = (
        declared(own) | {"state"} | ({"last_key", "last_arg", "custom", "shared_version"} if name == "parts" else set())
    )
    assert changed <= may_change
    assert words(re.sub(r"\w+ = ", "", own)) & OUTCOME - declared(own) == set()


def test_the_header_says_what_the_state_is_made_of():
    """Every field that the script or a part uses."""
    known = set(re.findall(r"\w+", section(COMMIT_DECISION.text, "STATE")))
    assert set(re.findall(r"\bstate\.(\w+)", body(COMMIT_WITH_PARTS.text))) <= known


def test_the_reply_of_a_commit_is_read_by_name():
    """What each has, in the header's order; then what parts may add."""
    fields, count = CommitReply.__struct_fields__, len(COMMIT_DECISION.elements)
    assert COMMIT_WITH_PARTS.elements == COMMIT_DECISION.elements == fields[:count]
    assert sorted(COMMIT_WITH_PARTS.adds) == sorted(fields[count:])
    assert len(CommitReply.__struct_defaults__) == len(fields) - count
    added = re.findall(r"reply\[#reply \+ 2\] = '(\w+)'", body(COMMIT_WITH_PARTS.text))
    assert sorted(added) == sorted(COMMIT_WITH_PARTS.adds)
