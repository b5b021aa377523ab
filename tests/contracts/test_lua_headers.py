"""A script's header is its contract: it says what `app/redis_client/scripts.py` declares and what the body does."""

import re
from pathlib import Path

import pytest

from app.redis_client.scripts import LUA, SCRIPTS

FILES = sorted(LUA.glob("*.lua"))
INVARIANTS = (Path(__file__).parents[2] / "docs/invariants.md").read_text()
LINE = re.compile(r"^(KEYS|ARGV)\[(.+?)\]\s+(\w+)", re.MULTILINE)
CALL = re.compile(r"\bcall\(\s*'([A-Z]+)'(?:\s*,\s*([^,)]+))?")
KEYLESS = {"TIME"}
FORBIDDEN = {"KEYS", "SCAN", "HSCAN", "SSCAN", "ZSCAN", "RANDOMKEY", "EVAL", "EVALSHA", "FLUSHDB", "FLUSHALL", "SELECT"}


def header(text):
    """What stands between `--[[` and `]]`."""
    return re.search(r"--\[\[\n(.*?)\n\]\]\n", text, re.DOTALL)[1]


def body(text):
    """The code, without comments."""
    code = text.split("\n]]\n", 1)[1]
    return re.sub(r"--[^\n]*", "", code)


def section(text, name):
    """One section of a header: its line and the lines that continue it."""
    found = re.search(rf"^{name}\s+(.*(?:\n[ ]+.*)*)", header(text), re.MULTILINE)
    assert found, f"the header has no {name}"
    return found[1]


def indexed(kind, fixed, repeated, last=()):
    """The lines a header must have: `KEYS[1]` and so on, `KEYS[4+i]` for what repeats, `KEYS[#KEYS]` at the end."""
    every = len(repeated)
    step = f"{every}i" if every > 1 else "i"
    lines = [(kind, str(n), name) for n, name in enumerate(fixed, 1)]
    before = len(fixed) - every
    lines += [(kind, f"{before + n}+{step}" if before + n else step, name) for n, name in enumerate(repeated, 1)]
    return lines + [(kind, f"#{kind}", name) for name in last]


scripts = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)


def test_every_file_is_declared_and_every_declaration_has_a_file():
    """Nothing in lua/ that nobody can run, and nothing declared that is not there."""
    assert [path.stem for path in FILES] == sorted(script.name for script in SCRIPTS)


@scripts
def test_the_first_line_lets_no_undeclared_key_pass(script):
    """Without `#!lua` a cluster would let a script write to other slots, and memory limits would not bind it."""
    first_line = f"#!lua flags={script.flags}" if script.flags else "#!lua"
    assert script.text.startswith(f"{first_line}\n--[[\n{script.name}: ")


@scripts
def test_keys_and_arguments_are_those_of_the_declaration(script):
    """Names, order and numbers, those that repeat included."""
    lines = LINE.findall(header(script.text))
    keys = indexed("KEYS", script.keys, script.repeated_keys, script.last_keys)
    assert lines == keys + indexed("ARGV", script.args, script.repeated_args)


@scripts
def test_replies_are_those_of_the_declaration(script):
    """Every status, and as many elements as `width` says."""
    returns = section(script.text, "RETURNS")
    assert len(re.match(r"\{([^}]*)\}", returns)[1].split(",")) == script.width
    assert tuple(re.findall(r"^  (\w+) ", returns, re.MULTILINE)) == script.replies


@scripts
def test_the_body_gives_the_replies_that_the_header_names(script):
    """No status is given that is not declared, and none declared that is never given."""
    code = body(script.text)
    given = set(re.findall(r"(?:return \{|refuse\()'(\w+)'", code))
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
    """A key that a script built would be outside what the caller declared, and in a cluster in another slot."""
    code = body(script.text)
    names = {*script.keys, *script.repeated_keys, *script.last_keys}
    for command, key in CALL.findall(code):
        assert command not in FORBIDDEN
        if command not in KEYLESS:
            assert key.startswith("KEYS[") or key in names, f"{command} {key}"
    assert "remit" not in code
    assert not re.search(r"['\"][^'\"]*:[^'\"]*['\"]", code), "a name with a colon is a key that is being built"


@scripts
def test_one_module_calls_a_script(script):
    """It is the only place that knows the order of keys and arguments and what a reply means."""
    name = script.name.upper()
    calls = re.compile(rf"\b(run|prepare)\(\s*{name}\b")
    modules = [path for path in (LUA.parent / "app").rglob("*.py") if calls.search(path.read_text())]
    assert len(modules) == 1
    assert modules[0].parent.name in {"store", "audit", "authorize", "redis_client"}


@scripts
def test_lua_parses_no_json(script):
    """It turns [] into {} and loses digits: bytes of callers pass through."""
    assert not re.search(r"\b(cjson|cmsgpack|struct|loadstring|pcall)\b", body(script.text))


def test_only_the_commit_appends_to_the_audit_stream_and_only_sealing_trims_it():
    """I5: there is no other way for an entry to come or go, and none at all to change one."""
    touching = {
        (script.name, command)
        for script in SCRIPTS
        for command, key in CALL.findall(body(script.text))
        if key == "audit_stream" and command.startswith("X")
    }
    reading = {"XLEN", "XRANGE"}
    assert {each for each in touching if each[1] not in reading} == {
        ("commit_decision", "XADD"),
        ("seal_segment", "XTRIM"),
        ("quarantine_entries", "XDEL"),  # of what no commit made
    }
    written = re.compile(r'"(XADD|XDEL|XTRIM|XSETID)"')
    found = {path.name: set(written.findall(path.read_text())) for path in (LUA.parent / "app").rglob("*.py")}
    assert {name: commands for name, commands in found.items() if commands} == {}
