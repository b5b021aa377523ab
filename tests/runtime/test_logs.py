"""Log lines: one line per event whatever was sent, without raw keys, as text or as JSON."""

import json
import logging
import re
import subprocess
import sys

import pytest

from app.model.agents import Agent
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Decision, Outcome, Result
from app.runtime.logs import REQUEST_ID, JsonLines, TerminalLines, TextLines, decision_noter

RAW_KEY = "svc_0123456789abcdef0123456789abcdef"


def record(message: str, *arguments: object, exc_info=None, **extra: object) -> logging.LogRecord:
    return logging.getLogger("app.test").makeRecord(
        "app.test", logging.WARNING, "file.py", 1, message, arguments, exc_info, extra=extra
    )


def test_a_line_of_text_has_time_level_place_and_the_events_own_fields():
    """For people."""
    line = TextLines().format(record("lost %s", "it", status=503))
    assert line[4] == "-"
    assert line.endswith("Z WARNING app.test: lost it status=503")


@pytest.mark.parametrize(
    "tool", ["rm result=allowed agent=other", 'rm" result=allowed', "rm\tresult=allowed", "rm\u00a0result=x", "", "a\\"]
)
def test_a_value_forges_no_field(tool):
    """It is quoted as JSON if it is anything but a plain word."""
    line = TextLines().format(record("decided", tool=tool, result="denied"))
    assert line.endswith(f"decided tool={json.dumps(tool, ensure_ascii=False)} result=denied")


def test_a_line_of_json_has_the_same_as_fields():
    """For programs; `pid` tells the processes of one machine apart."""
    line = json.loads(JsonLines().format(record("lost %s", "it", status=503)))
    assert line.keys() == {"time", "level", "logger", "message", "pid", "status"}
    assert (line["level"], line["logger"], line["message"], line["status"]) == ("warning", "app.test", "lost it", 503)


def failure(message: str):
    """The exception info that `logging` gets."""
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        fail(message)
    return caught._excinfo


def fail(message: str) -> None:
    raise ValueError(message)


@pytest.mark.parametrize("style", [TextLines, JsonLines])
def test_a_line_carries_the_id_of_the_request_it_was_written_in(style):
    """So everything that one request caused can be found by its X-Request-ID."""
    outer = REQUEST_ID.set("req-1")
    line = style().format(record("lost it"))
    REQUEST_ID.reset(outer)
    assert "req-1" in line
    assert "req-1" not in style().format(record("lost it"))


@pytest.mark.parametrize("style", [TextLines, JsonLines])
def test_callers_input_cannot_start_a_log_line(style):
    """Against log injection: line ends and control characters are escaped."""
    sent = "x\r\n2026-11-20T12:34:56.789Z INFO app.test: forged\x1b[2J\u2028\x85"
    line = style().format(record("no such path %s", sent, path=sent))
    assert not any(sign in line for sign in "\r\n\x1b\x85\u2028") or json.loads(line)["path"] == sent
    assert len(line.split("\n")) == 1


@pytest.mark.parametrize("style", [TextLines, JsonLines])
def test_a_raw_key_is_cut_wherever_it_stands(style):
    """In messages, fields and tracebacks; its prefix stays, to identify it."""
    line = style().format(record("refused %s", RAW_KEY, exc_info=failure(RAW_KEY), given=RAW_KEY))
    assert RAW_KEY not in line
    assert line.count("svc_01234567...") == 3


def test_a_traceback_is_indented_in_text_and_a_field_in_json():
    """So none of its lines can be taken for an event."""
    failed = record("unexpected", exc_info=failure("first\nsecond"))
    _, *rest = TextLines().format(failed).split("\n")
    assert len(rest) > 2
    assert all(line.startswith("  ") for line in rest)
    assert "ValueError: first\nsecond" in json.loads(JsonLines().format(failed))["exception"]


def test_lines_go_to_stderr_from_the_level_on():
    """Standard output is for results; libraries log from warning on."""
    program = (
        "import logging; from app.runtime.logs import configure_logging; configure_logging('info', 'json');"
        "logging.getLogger('app.x').debug('no'); logging.getLogger('app.x').info('yes');"
        "logging.getLogger('litestar').info('no')"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == ""
    assert [json.loads(line)["message"] for line in ran.stderr.splitlines()] == ["yes"]


def decided(**changes: object) -> logging.LogRecord:
    told = {
        "result": "denied",
        "agent_id": "01a1fb57-7395-719c-bde6-56b7f85185ba",
        "tool": "refund.create",
        "reason": 'Parameter "amount" is 900, above the maximum 500',
        "ms": 0.612,
        "decision_id": "01a1fb57-73a0-7a1a-a700-2fd2546c3e80",
    } | changes
    return logging.getLogger("app.decisions").makeRecord(
        "app.decisions", logging.INFO, "file.py", 1, "decided", (), None, extra=told
    )


def test_a_decision_on_a_terminal_is_one_line_with_its_result_in_colour(monkeypatch):
    """Time, result, agent, tool, reason, milliseconds."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in TerminalLines().format(decided())
    monkeypatch.setenv("NO_COLOR", "")
    line = TerminalLines().format(decided())
    clock, rest = line[:12], line[12:]
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}", clock)
    assert rest == (
        "  \x1b[31mdenied   \x1b[0m  01a1fb57-7395-719c-bde6-56b7f85185ba  refund.create  "
        'Parameter "amount" is 900, above the maximum 500 (0.6 ms)'
    )


def test_a_decision_where_there_is_no_terminal_is_a_line_of_fields():
    """Such as a JSON object."""
    line = json.loads(JsonLines().format(decided()))
    assert (line["result"], line["tool"], line["ms"]) == ("denied", "refund.create", 0.612)


def test_callers_input_cannot_control_the_terminal():
    """A tool's name cannot colour, move or end the line."""
    line = TerminalLines().format(decided(tool="x\r\n\x1b[2J", reason=f"{RAW_KEY}\n"))
    assert line.count("\x1b") == 2
    assert "\n" not in line
    assert RAW_KEY not in line


def test_decisions_are_logged_only_to_a_terminal_by_default(monkeypatch):
    """If the log is not a terminal, the default writes none, and costs nothing."""
    logging.getLogger("app.decisions").setLevel(logging.INFO)
    for is_terminal, expected in ((False, {"always"}), (True, {"always", "terminal"})):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer)
        found = {when for when in ("terminal", "always", "never") if decision_noter(when, lambda *_: None)}
        assert found == expected


def test_a_decisions_line_has_the_agents_alias_or_name_beside_its_id(caplog):
    """If the replica has it cached."""
    logging.getLogger("app.decisions").setLevel(logging.INFO)
    agents = {
        "x": Agent(id="1", name="n", alias="x", created_ms=0, updated_ms=0, version=""),
        "2": Agent(id="2", name="m", created_ms=0, updated_ms=0, version=""),
    }
    note = decision_noter("always", lambda workspace_id, called: agents.get(called) if workspace_id == "w" else None)
    decision = Decision("d", Outcome(Result.ALLOWED, None, None, "reason", DecisionCode.ALLOWED), None, 1, 1)
    for called in ("x", "2", "3"):
        note("w", AuthorizeRequest(called, "tool", "authorize", {}, b"{}"), decision, 600)
    shown = [TerminalLines().format(each).split("\x1b[0m  ")[1] for each in caplog.records]
    assert shown == [
        "x (1)  tool  reason (0.6 ms)",
        "m (2)  tool  reason (0.6 ms)",
        "3  tool  reason (0.6 ms)",
    ]
