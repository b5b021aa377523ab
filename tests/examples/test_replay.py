"""The replay command, run as a newcomer runs it: a process, a running replica, and the README's own lines."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from servers import ADMIN_KEY

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
README = (EXAMPLES / "README.md").read_text()
SHOWN = dict(re.findall(r"```sh\n(python3 examples/replay.py[^\n]*)\n```\n\n```text\n(.*?)\n```", README, re.DOTALL))
AIRLINE = ["--policies", "examples/airline/policies.json", "--any-hour", "examples/data/airline.jsonl"]


def environment(replica, key=ADMIN_KEY):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "URL": replica.base_url, "KEY": key}


def run(replica, *arguments, key=ADMIN_KEY, url=None):
    """Run the command with these arguments in the project's root."""
    command = [
        sys.executable,
        "examples/replay.py",
        "--url",
        url or replica.base_url,
        "--key",
        key,
        *map(str, arguments),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def summary_of(replica, *arguments):
    done = run(replica, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_latencies(report):
    """The report without what varies between runs."""
    kept, mark, _ = report.partition("\nlatency in ms")
    assert mark, report
    return kept


def test_the_readme_shows_every_replay_with_its_output():
    """A command without its output beside it would be compared with nothing."""
    assert len(SHOWN) == README.count("\npython3 examples/replay.py") > 0


@pytest.mark.slow
@pytest.mark.parametrize("command", SHOWN, ids=lambda command: command.partition("--policies ")[2][:60])
def test_the_readme_shows_what_its_command_prints(replica, command):
    """Run by a shell exactly as printed."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env=environment(replica),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, without_latencies(done.stdout)) == (0, without_latencies(SHOWN[command])), done.stderr


@pytest.mark.slow
def test_the_readme_counts_what_was_wanted_and_what_passes(replica):
    """Its tables and sentences agree with the service's answers; an attacker gets only reads."""
    together = Counter()
    for suite in ("banking", "workspace"):
        policies = f"examples/assistants/{suite}.json"
        selected = ("--only", f"suite={suite}", "--by", "kind,tool", "examples/data/injections.jsonl")
        counts, reads = Counter(), set()
        for row in summary_of(replica, "--policies", policies, *selected)["rows"]:
            for result in ("allowed", "denied", "escalated"):
                counts[row["kind"], result] += row[result]
            reads |= {row["tool"]} if row["kind"] == "injection" and row["allowed"] else set()
        together += counts
        user = [counts["user", result] for result in ("allowed", "escalated", "denied")]
        attacker = [counts["injection", result] for result in ("allowed", "escalated", "denied")]
        numbers = "|".join(f" {n} " for n in (sum(user), *user, sum(attacker), sum(attacker[1:])))
        assert f"| {suite} |{numbers}| {attacker[0]}, " in README
        assert all(f"`{tool}`" in README for tool in reads)
        assert all(tool.startswith(("get_", "search_")) for tool in reads)
    users = sum(count for (kind, _), count in together.items() if kind == "user")
    asked = together["user", "escalated"]
    assert together["user", "denied"] == 0
    prose = " ".join(README.split())
    assert f"deny none of the users' {users} calls: {users - asked} are allowed, and {asked} ask a person." in prose
    passed = together["injection", "allowed"]
    stopped = together["injection", "denied"] + together["injection", "escalated"]
    assert f"Of the attacker's {passed + stopped} calls, {stopped} are stopped and {passed} pass." in prose
    assert f"The {passed} that pass" in prose
    assert sum(int(n) for n in re.findall(r"^\| `.*` \| (\d+) \|", README, re.MULTILINE)) == passed
    assert f"{asked} of the users' {users} calls wait for a person" in prose


@pytest.mark.slow
def test_many_calls_at_a_time_give_the_same_counts(replica):
    """A quota admits the same number in any order, though not always the same calls."""
    one, many = (summary_of(replica, *AIRLINE, "--concurrency", n) for n in (1, 16))
    assert without_order(many["results"]) == without_order(one["results"])
    assert [without_order(row) for row in many["rows"]] == [without_order(row) for row in one["rows"]]


def without_order(counts):
    """The counts, with what is refused in one way or the other together."""
    return counts | {"denied": counts["denied"] + counts["escalated"], "escalated": None}


@pytest.mark.slow
def test_the_log_holds_what_the_report_says(replica):
    """Each decision once, under the agent that the report names; and the outcome of each call with records."""
    summary = summary_of(replica, *AIRLINE)
    entries, cursor = [], {}
    with replica.client() as client:
        while True:
            page = client.get("/v1/audit-logs", params={"agent_id": summary["agentId"], "limit": 1000, **cursor})
            entries += page.json()
            if "X-Next-Cursor" not in page.headers:
                break
            cursor = {"cursor": page.headers["X-Next-Cursor"]}
    told, entries = [[each for each in entries if (each["action"] == "outcome") is has] for has in (True, False)]
    assert len(told) == sum('"records"' in line for line in (EXAMPLES / "data/airline.jsonl").read_text().splitlines())
    assert len({entry["id"] for entry in entries}) == len(entries) == summary["calls"]
    assert Counter(entry["result"] for entry in entries) == summary["results"]


@pytest.mark.slow
def test_latencies_of_both_sides_are_in_the_report(replica):
    """As measured by this command, and as reported by the service."""
    latency = summary_of(replica, *AIRLINE)["latency"]
    assert {side: list(values) for side, values in latency.items()} == {
        "caller": ["p50", "p99", "max"],
        "latencyMs": ["p50", "p99", "max"],
    }


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (range(1, 101), {"p50": 50, "p99": 99, "max": 100}),
        (range(1, 102), {"p50": 51, "p99": 100, "max": 101}),
        ([3, 1, 2], {"p50": 2, "p99": 3, "max": 3}),
        ([7], {"p50": 7, "p99": 7, "max": 7}),
        ([], {}),
    ],
)
def test_a_percentile_is_one_of_the_values(monkeypatch, values, wanted):
    """Nearest rank: at least that percentage of values is not above it."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    report = importlib.import_module("report")
    assert report.percentiles(values) == wanted


def test_a_calls_session_is_its_conversation_or_its_task(monkeypatch):
    """Other programs write null or an empty text for what a line does not have."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    replay = importlib.import_module("replay")
    lines = ({"task": 5}, {"conversation": None, "task": "t"}, {"conversation": "", "task": "t"}, {"task": None}, {})
    assert [replay.session_of(line) for line in lines] == ["5", "t", "t", "", ""]


@pytest.mark.slow
def test_calls_without_a_decision_are_counted_and_end_with_1(replica, tmp_path):
    """A tool name that the service refuses leaves one call unanswered, and the others are answered."""
    calls = tmp_path / "calls.jsonl"
    calls.write_text('{"tool": "think", "arguments": {}}\n\n{"tool": "", "arguments": {}}\n')
    done = run(replica, "--policies", "examples/airline/policies.json", "--json", calls)
    summary = json.loads(done.stdout)
    assert done.returncode == 1
    assert summary["results"] == {"allowed": 1, "denied": 0, "escalated": 0, "unanswered": 1}
    assert "VALIDATION_ERROR" in summary["reasons"][-1]["first"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "policies", "options", "says"),
    [
        ('{"tool": "think", "arguments": {}}\n{"tool": "think"}', "{}", [], "line 2"),
        ("not JSON", "{}", [], "line 1"),
        ("[]", "{}", [], "line 1"),
        ("", "{}", [], "has no call"),
        ('{"tool": "think", "arguments": {}}', "{}", [], '"policies"'),
        ('{"tool": "think", "arguments": {}}', '{"policies": []}', ["--enable", "Stop"], '"Stop"'),
        ('{"tool": "think", "arguments": {}}', '{"policies": []}', ["--only", "kind=user"], "kind=user"),
        (
            '{"tool": "think", "arguments": {}}',
            '{"policies": [{"name": "Odd", "rules": [{"type": "tool_denylist", "tools": ["*a"]}]}]}',
            [],
            'policy "Odd" was refused: 400 VALIDATION_ERROR',
        ),
    ],
)
def test_a_replay_that_cannot_begin_ends_with_2_and_a_sentence(replica, tmp_path, calls, policies, options, says):
    """On stderr, with nothing on stdout that a script could take for a report."""
    (tmp_path / "calls.jsonl").write_text(calls)
    (tmp_path / "policies.json").write_text(policies)
    done = run(replica, "--policies", tmp_path / "policies.json", *options, tmp_path / "calls.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("key", "says"), [("svc_" + "0" * 32, "401 UNAUTHORIZED"), ("svc_…", "--key"), ("", "--key")])
def test_a_key_that_is_not_valid_is_said_before_any_call(replica, key, says):
    """With the service's own message, if it could be asked."""
    done = run(replica, *AIRLINE, key=key)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "127.0.0.1:8080", "http://127.0.0.1:eighty"])
def test_without_a_service_it_ends_with_2_and_names_the_address(replica, url):
    """Whether nothing listens there or the address is invalid."""
    done = run(replica, *AIRLINE, url=url)
    assert done.returncode == 2
    assert url.removeprefix("http://") in done.stderr


@pytest.mark.slow
def test_the_key_can_come_from_a_file(replica, tmp_path):
    """So the key appears in no process list."""
    file = tmp_path / "key"
    file.write_text(ADMIN_KEY + "\n")
    assert run(replica, *AIRLINE, key=f"@{file}").returncode == 0


def heed_interrupts():
    """Heed interrupts even if the tests run in the background, where a shell makes them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_an_interrupt_reports_the_calls_until_then(replica, tmp_path):
    """Ctrl-C ends with 130, and earlier decisions are reported."""
    calls = tmp_path / "calls.jsonl"
    calls.write_text('{"tool": "think", "arguments": {}}\n' * 20_000)
    command = [sys.executable, "examples/replay.py", "--url", replica.base_url, "--key", ADMIN_KEY, "--json"]
    command += ["--policies", "examples/airline/policies.json", str(calls)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heed_interrupts}
    with subprocess.Popen(command, cwd=ROOT, **options) as process:
        while "calls" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert 0 < json.loads(out)["calls"] < 20_000
