"""`*.test.yaml`: calls judged without a store, and the report of unexpected results."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from servers import clean_env

from app.model.decisions import Result
from app.policy_tools.files.policy_file import FileError, find_files, read_text
from app.policy_tools.files.test_file import read_test_file
from app.policy_tools.files.test_run import run_tests

ROOT = Path(__file__).parents[2]
POLICIES = """\
agent: {name: refund-bot, groups: [crew]}
policies:
  - name: small refunds
    priority: 100
    rules:
      - {type: tool_allowlist, tools: [refund.create]}
      - type: parameter_constraint
        tools: [refund.create]
        parameters: {amount: {min: 0, max: 500}}
        effect: escalate
      - {type: rate_limit, tools: [refund.create], rateLimit: {maxCalls: 1, windowSeconds: 60}}
      - {type: budget, tools: [refund.create], budget: {parameter: amount, max: 1000, windowSeconds: 60}}
"""
DENY = "policies: [{{name: {0}, kind: guardrail, rules: [{{type: tool_denylist, tools: [{0}.*]}}]}}]\n"
OTHERS = {
    "crew.yaml": "group: crew\n" + DENY.format("c"),
    "night.yaml": "group: night\n" + DENY.format("n"),
    "all.yml": "workspace: true\n" + DENY.format("w"),
}
ANY = "policies: [{name: any, rules: [{type: tool_allowlist, tools: ['*']}]}]\n"


@pytest.fixture
def run(tmp_path):
    """Results of one call and what is wanted of it, by the policies above."""
    (tmp_path / "refund-bot.yaml").write_text(POLICIES)
    for name, text in OTHERS.items():
        (tmp_path / name).write_text(text)

    def outcomes(*tests, **fields):
        path = tmp_path / "x.test.json"
        path.write_text(json.dumps({"tests": list(tests), **fields}))
        return list(run_tests(read_test_file(path)))

    return outcomes


def call(tool="refund.create", want="allowed", **fields):
    return {"name": "n", "call": {"tool": tool, **fields}, "want": want}


HOURS = "{{type: time_based, tools: [{0}.*], timeWindow: {{allowedDays: [5]}}}}"
WITH_HOURS = f"""\
workspace: true
policies:
  - {{name: fridays, kind: guardrail, rules: [{HOURS.format("refund")}]}}
  - {{name: in a shadow, kind: guardrail, mode: shadow, rules: [{HOURS.format("refund")}]}}
  - {{name: others, kind: guardrail, rules: [{HOURS.format("other")}]}}
"""


def test_a_result_says_when_the_call_was_made_and_whose_hours_were_tried_at_that_time_only(run, tmp_path):
    """Hours of tools that no test calls are not meant, nor those of shadows. One `at` will do, if only earlier."""
    (tmp_path / "hours.yaml").write_text(WITH_HOURS)
    plain = call(parameters={"amount": 1})
    [first] = run(plain, start="2026-11-20T09:00:00Z")
    assert (first.passed, first.got.at, first.got.untimed) == (True, "2026-11-20T09:00:00.000Z", ["fridays"])
    later = {"tool": "refund.create", "parameters": {"amount": 1}, "at": "60m"}
    [first, second] = run(plain, {**plain, "before": [later], "call": {**later, "at": "62m"}})
    assert (first.got.untimed, second.got.untimed, second.got.at) == ([], [], "2026-11-20T13:02:00.000Z")


@pytest.mark.parametrize(
    "rule",
    [
        "{type: pinned_request, tools: [send], effect: escalate}",
        (
            "{type: parameter_constraint, tools: [send], effect: escalate, "
            "parameters: {to: {approvedBefore: {withinSeconds: 60}}}}"
        ),
    ],
)
def test_nothing_was_approved_or_pinned_before_a_test(tmp_path, rule):
    """So what only an approval or a pinned request lets through asks a person, as on an empty store."""
    rules = f"[{{type: tool_allowlist, tools: [send]}}, {rule}]"
    (tmp_path / "bot.yaml").write_text(f"agent: bot\npolicies:\n  - {{name: mail, rules: {rules}}}\n")
    asked = call("send", "escalated", parameters={"to": "ann"}, context={"session": "s", "request": "write to ann"})
    (tmp_path / "x.test.json").write_text(json.dumps({"tests": [asked]}))
    assert [each.problem for each in run_tests(read_test_file(tmp_path / "x.test.json"))] == [None]


def test_denials_of_the_calls_before_fill_a_breaker(tmp_path):
    """Both a breaker that escalates and one that suspends."""
    terms = "{maxDenials: 2, windowSeconds: 60, action: %s}"
    rule = "{type: denial_breaker, tools: ['*'], denialBreaker: %s}"
    for action, want in (("escalate", "escalated"), ("suspend", {"result": "denied", "reason": "Agent is suspended"})):
        guard = f"  - {{name: guard, kind: guardrail, rules: [{rule % (terms % action)}]}}\n"
        grant = "  - {name: reads, rules: [{type: tool_allowlist, tools: [read]}]}\n"
        (tmp_path / "bot.yaml").write_text("agent: bot\npolicies:\n" + grant + guard)
        before = [{"tool": "rm", "times": 2, "want": "denied"}]
        later = [*before, {"tool": "read", "at": "61s", "want": "allowed"}] if action == "escalate" else before
        tests = [
            {"name": "once", "before": [{"tool": "rm", "want": "denied"}], "call": {"tool": "read"}, "want": "allowed"},
            {"name": "twice", "before": before, "call": {"tool": "read"}, "want": want},
            {"name": "later", "before": later, "call": {"tool": "rm"}, "want": "denied"},
        ]
        (tmp_path / "x.test.json").write_text(json.dumps({"tests": tests}))
        assert [each.problem for each in run_tests(read_test_file(tmp_path / "x.test.json"))] == [None] * 3


def test_an_expected_result_passes(run):
    """Whether only the result is expected, or also policy, rule and part of the reason."""
    large = {"result": "escalated", "policy": "small refunds", "rule": 1, "reason": "above the maximum"}
    found = run(
        call(parameters={"amount": 400}),
        call(parameters={"amount": 900}, want={**large}),
        call(parameters={"amount": 900}, want={**large, "rule": "parameter_constraint"}),
        call(parameters={"amount": 1001}, want={"result": "denied", "rule": "budget"}),
        call("other", want="denied"),
    )
    assert [each.problem for each in found] == [None] * 5
    assert found[0].got.result is Result.ALLOWED


@pytest.mark.parametrize(
    "want",
    [
        "denied",
        {"result": "allowed", "policy": "others"},
        {"result": "allowed", "rule": 1},
        {"result": "allowed", "rule": "budget"},
        {"result": "allowed", "reason": "because"},
    ],
)
def test_an_unexpected_result_fails_and_says_what_it_is(run, want):
    """For each part of the expectation."""
    [found] = run(call(parameters={"amount": 1}, want=want))
    assert found.problem.startswith("wanted ")
    assert 'but it is allowed by policy "small refunds", rule 0 (tool_allowlist): ' in found.problem


def test_guardrails_of_groups_and_workspace_deny_what_a_grant_allows(run, tmp_path):
    """Guardrails of other groups do not."""
    (tmp_path / "refund-bot.yaml").write_text("agent: {name: a, groups: [crew]}\n" + ANY)
    found = run(*(call(name, want="denied") for name in ("c.x", "n.x", "w.x")))
    assert [each.got.policy for each in found] == ["c", "any", "w"]
    found = run(*(call(name, want="denied") for name in ("c.x", "n.x", "w.x")), groups=["night"])
    assert [each.got.policy for each in found] == ["any", "n", "w"]


def test_time_and_context_are_those_of_the_call(run, tmp_path):
    """Either a time, or a span after the start."""
    window = "{type: time_based, tools: ['*'], timeWindow: {allowedHours: [12]}}"
    user = "{type: parameter_constraint, tools: ['*'], context: {user: {enum: [ann]}}}"
    (tmp_path / "refund-bot.yaml").write_text(f"agent: a\npolicies: [{{name: p, rules: [{user}, {window}]}}]\n")
    ann = {"context": {"user": "ann"}}
    found = run(
        call(**ann),
        call(at="59m", **ann),
        call(at="1h", **ann),
        call(at="2026-11-21T12:30:00+00:00", **ann),
        call(at="2026-11-21T13:00:00Z", **ann),
        call(context={"user": "bob"}),
        call(),
    )
    assert [each.passed for each in found] == [True, True, False, True, False, False, False]
    [later] = run(call(**ann), start="2026-11-20T13:00:00Z")
    assert not later.passed


def test_the_examples_pass_their_tests(run_remit):
    """As `remit policy test examples` runs them: no store, no service."""
    env = clean_env() | {"REMIT_REDIS_URL": "redis://127.0.0.1:1"}
    ran = run_remit(["policy", "test", "--json", "examples"], env, cwd=ROOT)
    assert (ran.returncode, ran.stderr) == (0, "")
    outcomes = json.loads(ran.stdout)
    assert len(outcomes) >= 20
    assert {each["passed"] for each in outcomes} == {True}


WRONG = {
    "no tests": ({"tests": []}, ":1: $.tests: give 1 to 1000 tests, or claims in `never`"),
    "want": ({"tests": [call(want="yes")]}, "$.tests[0].want"),
    "unknown field": ({"tests": [call(when="now")]}, "$.tests[0].call.when: is not a field here"),
    "at": ({"tests": [call(at="soon")]}, "or a span after the start, such as 90s or 5m"),
    "start": ({"tests": [call()], "start": "soon"}, "$.start"),
    "agent": ({"tests": [call()], "agent": "nobody"}, "no policy file belongs to nobody; there are refund-bot"),
    "policies": ({"tests": [call()], "policies": ["gone.yaml"]}, "gone.yaml: No such file"),
}


@pytest.mark.parametrize(("value", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_test_file_is_refused_with_its_place(tmp_path, value, words):
    """The message says what would be right."""
    (tmp_path / "refund-bot.yaml").write_text(POLICIES)
    path = tmp_path / "x.test.yaml"
    path.write_text(json.dumps(value))
    with pytest.raises(FileError) as refused:
        list(run_tests(read_test_file(path)))
    assert words in str(refused.value)


def test_of_several_agents_one_must_be_named(run, tmp_path):
    """The message lists them."""
    (tmp_path / "other.yaml").write_text("agent: other\n" + ANY)
    with pytest.raises(FileError, match='say whose calls these are with "agent": other, refund-bot'):
        run(call())
    [found] = run(call(), agent="other")
    assert found.got.policy == "any"


LIMITS = """\
agent: a
policies:
  - name: p
    rules:
      - {type: tool_allowlist, tools: [pay, read, "mail.*"]}
      - {type: rate_limit, tools: [pay], rateLimit: {maxCalls: 3, windowSeconds: 3600, per: [parameters.to]}}
      - {type: budget, tools: [pay], budget: {parameter: amount, max: 10.5, windowSeconds: 86400}}
      - {type: sequence, tools: [pay], sequence: {requiresBefore: [read]}, when: {context: {session: {type: string}}},
         effect: escalate}
      - {type: sequence, tools: [pay], sequence: {forbiddenAfter: ["mail.*"], withinSeconds: 60},
         when: {context: {strict: {enum: [true]}}, ifMissing: skip}}
"""


def pay(amount=1, to="ann", **fields):
    return {"tool": "pay", "parameters": {"amount": amount, "to": to}, "context": {"session": "s"}, **fields}


READ = {"tool": "read", "context": {"session": "s"}}
STRICT = {"context": {"session": "s", "strict": True}}
MAIL = {"tool": "mail.read", "context": {"session": "s"}}
EARLIER = {
    "the fourth within the hour": ([READ, pay(times=3, every="10m")], pay(at="59m"), ["denied", "rate_limit"]),
    "an hour after the first": ([READ, pay(times=3, every="10m")], pay(at="1h"), ["allowed", None]),
    "to somebody else": ([READ, pay(times=3)], pay(to="bob"), ["allowed", None]),
    "what is left of the budget": ([READ, pay(5), pay(5, to="bob")], pay(0.5, to="eve"), ["allowed", None]),
    "more than that": ([READ, pay(5), pay(5, to="bob")], pay(0.500001, to="eve"), ["denied", "budget"]),
    "the budget a day later": ([READ, pay(10)], pay(10, at="1d"), ["allowed", None]),
    "what is denied costs nothing": ([READ, pay(11, want="denied"), pay(10)], pay(0.5), ["allowed", None]),
    "before anything was read": ([], pay(), ["escalated", "sequence"]),
    "after a mail": ([READ, MAIL], pay(at="59s", **STRICT), ["denied", "sequence"]),
    "a minute after a mail": ([READ, MAIL], pay(at="1m", **STRICT), ["allowed", None]),
    "after a mail in another session": (
        [READ, {**MAIL, "context": {"session": "t"}}],
        pay(**STRICT),
        ["allowed", None],
    ),
}


@pytest.mark.parametrize(("before", "judged", "wanted"), EARLIER.values(), ids=EARLIER)
def test_calls_made_before_count_as_in_a_store(tmp_path, before, judged, wanted):
    """In limits per value, budgets and sessions; calls that are not allowed do not count."""
    (tmp_path / "a.yaml").write_text(LIMITS)
    path = tmp_path / "a.test.json"
    path.write_text(json.dumps({"tests": [{"name": "n", "before": before, "call": judged, "want": "allowed"}]}))
    [found] = run_tests(read_test_file(path))
    result, kind = wanted
    assert (found.got.result, found.got.rule_type if kind else None) == (result, kind)
    assert found.passed == (result == "allowed")


def test_an_earlier_call_that_is_not_allowed_fails_the_test(tmp_path):
    """The report says which one; a test with unexpected earlier calls proves nothing."""
    (tmp_path / "a.yaml").write_text(LIMITS)
    path = tmp_path / "a.test.json"
    path.write_text(
        json.dumps({"tests": [{"name": "n", "before": [READ, pay(times=9)], "call": READ, "want": "allowed"}]})
    )
    [found] = run_tests(read_test_file(path))
    assert found.problem.startswith("before[1], call 4 of 9: wanted allowed, but it is denied by policy")


@pytest.fixture
def remit(tmp_path, run_remit):
    """The command line, in a folder, with no store to be reached."""

    def run(*words):
        env = clean_env() | {"REMIT_REDIS_URL": "redis://127.0.0.1:1"}
        return run_remit(["policy", *words], env, cwd=tmp_path)

    return run


@pytest.mark.slow
def test_the_command_line_says_what_failed_and_ends_with_3(remit, tmp_path):
    """It ends with 0 if all pass, and with 1 if there is nothing to run."""
    (tmp_path / "a.yaml").write_text("agent: a\n" + ANY)
    text = "tests:\n  - {name: one, call: {tool: x}, want: allowed}\n  - {name: two, call: {tool: x}, want: denied}\n"
    (tmp_path / "a.test.yaml").write_text(text)
    ran = remit("test", ".")
    assert (ran.returncode, ran.stderr) == (3, "")
    assert ran.stdout.splitlines() == [
        "a.test.yaml",
        "  ok     one",
        "  failed two (line 3)",
        '         wanted denied, but it is allowed by policy "any", rule 0 (tool_allowlist): Policy "any" allows "x"',
        "1 passed, 1 failed",
    ]
    (tmp_path / "a.test.yaml").write_text(text.rpartition("  - ")[0])
    assert remit("test", "a.test.yaml").returncode == 0
    (tmp_path / "a.test.yaml").unlink()
    ran = remit("test", ".")
    assert (ran.returncode, ran.stderr) == (1, "Error: there are no tests (.test.yaml, .test.yml, .test.json) in .\n")


@pytest.mark.slow
def test_the_command_line_says_at_which_one_time_hours_were_tried(remit, tmp_path):
    """On standard error, so that what it prints stays the results."""
    (tmp_path / "a.yaml").write_text("agent: refund-bot\n" + ANY)
    (tmp_path / "hours.yaml").write_text(WITH_HOURS)
    (tmp_path / "a.test.yaml").write_text(
        "agent: refund-bot\ntests: [{name: n, call: {tool: refund.a}, want: allowed}]\n"
    )
    ran = remit("test", ".")
    note = 'note: "fridays" depends on the time, and no test says `at`: all ran at 2026-11-20T12:00:00.000Z\n'
    assert (ran.returncode, ran.stderr) == (0, note)


def test_lint_names_probable_mistakes(remit, tmp_path):
    """With their lines; with --strict it ends with 3. The workspace's guardrails count for every file."""
    limit = "{type: rate_limit, tools: ['*'], rateLimit: {maxCalls: 1, windowSeconds: 1}}"
    (tmp_path / "a.yaml").write_text(f"agent: a\npolicies:\n  - name: p\n    rules:\n      - {limit}\n")
    allowed = "{name: w, kind: guardrail, rules: [{type: tool_allowlist, tools: [x]}]}"
    (tmp_path / "w.yaml").write_text(f"workspace: true\npolicies: [{allowed}]\n")
    ran = remit("lint", ".")
    assert ran.returncode == 0
    assert ran.stdout.startswith("a.yaml:5: $.policies[0].rules[0]: grants_by_restriction: this policy grants by")
    assert ran.stdout.endswith("\n1 warning\n")
    assert remit("lint", "--strict", ".").returncode == 3
    assert json.loads(remit("lint", "--json", ".").stdout)[0]["code"] == "grants_by_restriction"
    (tmp_path / "a.yaml").write_text(
        "agent: a\npolicies:\n  - {name: p, rules: [{type: tool_allowlist, tools: [y]}]}\n"
    )
    assert "allowlists_disjoint" in remit("lint", ".").stdout
    assert remit("lint", "w.yaml").stdout == "No warnings.\n"


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    """Named by itself, by a link, or lying in a folder, where it is not left out either."""
    os.mkfifo(tmp_path / "a.yaml")
    for name, target in (("b.yaml", tmp_path / "a.yaml"), ("c.yaml", "/dev/zero"), ("d.yaml", "missing")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / ".#e.yaml").symlink_to("ann@host.1")  # an editor's lock
    found = find_files([tmp_path])
    assert [path.name for path in found] == ["a.yaml", "b.yaml", "c.yaml", "d.yaml"]
    for path, said in zip(found, ("is not a file", "is not a file", "is not a file", "No such file"), strict=True):
        with pytest.raises(FileError, match=said):
            read_text(path)


def test_of_a_file_without_end_only_the_beginning_is_read(tmp_path):
    """A file of a terabyte is refused, and so is what a shell's pipe writes without end."""
    with (tmp_path / "a.yaml").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(FileError, match="1 MiB"):
        read_text(tmp_path / "a.yaml")
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as endless:
        with pytest.raises(FileError, match="1 MiB"):
            read_text(Path(f"/dev/fd/{endless.stdout.fileno()}"))
        endless.kill()
