"""What is written in the console and not saved yet: fields show what would be sent, and nothing written is lost."""

import json
import re

import pytest

from tests.console.browsing import LATE_EFFECTS, press

pytestmark = pytest.mark.slow

RULES = [
    {"type": "tool_allowlist", "tools": ["paper.read", "paper.list"]},
    {"type": "rate_limit", "tools": ["paper.write"], "rateLimit": {"maxCalls": 5, "windowSeconds": 60}},
]


@pytest.fixture
def make(scene):
    """Makes a policy, deleted however the test ends: it would change what is said of others. Tests name it before
    `visit`, so that no page has a draft of one that is gone.
    """
    made = []

    def make(name, rules):
        body = {"agent_id": "research-bot", "name": name, "rules": rules}
        made.append(scene.tenant.admin.post("/v1/policies", json=body).json()["id"])
        return made[-1]

    yield make
    for each in made:
        assert scene.tenant.admin.delete(f"/v1/policies/{each}").status_code == 204


@pytest.fixture
def policy(make):
    """A policy with two rules."""
    return make("Papers", RULES)


@pytest.fixture
def visit(visit):
    """Whatever is pressed next is pressed before the effects of what was drawn."""

    def late(*scopes):
        visitor = visit(*scopes)
        visitor.page.add_init_script(LATE_EFFECTS)
        return visitor

    return late


def test_a_field_shows_its_own_rule_and_takes_a_number_digit_by_digit(policy, visit):
    """A rule that has moved takes its tools along; `1.` on the way to 1.5 does not turn the form into JSON."""
    page = visit("policies").open(f"/console/policies/{policy}", "Papers")
    tools = page.get_by_label("Tools")
    tools.first.wait_for()
    assert [each.input_value() for each in tools.all()] == ["paper.read, paper.list", "paper.write"]
    page.get_by_label("Move down").first.click()
    assert [each.input_value() for each in tools.all()] == ["paper.write", "paper.read, paper.list"]
    most = page.get_by_label("Max calls")
    most.fill("")
    most.press_sequentially("1.5")
    assert most.input_value() == "1.5"
    page.get_by_label("Remove the rule").first.click()
    assert [each.input_value() for each in tools.all()] == ["paper.read, paper.list"]
    tools.first.press("End")
    tools.first.press_sequentially(", ")
    tools.first.press_sequentially("paper.find")
    page.get_by_role("button", name="JSON", exact=True).click()
    page.locator(".cm-line").get_by_text('"paper.find"').wait_for()


def test_of_fields_of_which_one_must_be_given_the_first_is_there(make, visit):
    """A new limit has a window, a budget an amount. Directories are a list; those that the context names are JSON."""
    folders = ["/srv/papers", "/srv/notes"]
    paths = {"a": {"path": {"under": folders}}, "b": {"path": {"under": [{"context": "project"}, "/tmp"]}}}
    rules = [{"type": "parameter_constraint", "tools": ["paper.read"], "parameters": paths}]
    page = visit("policies").open(f"/console/policies/{make('Folders', rules)}", "Folders")
    under = page.get_by_label("Under", exact=True)
    under.first.wait_for()
    assert [each.input_value() for each in under.all()] == [
        "/srv/papers, /srv/notes",
        '[{"context":"project"},"/tmp"]',
    ]
    page.get_by_label("Type of rule").first.select_option("rate_limit")
    page.get_by_label("Window seconds").wait_for()
    assert page.get_by_label("Max calls").count() == 1
    page.get_by_label("Type of rule").first.select_option("budget")
    page.get_by_label("Parameter", exact=True).fill("amount")
    page.get_by_label("Window seconds").fill("forever")
    page.get_by_role("button", name="JSON", exact=True).click()
    page.locator(".cm-line").get_by_text('"windowSeconds": "forever"').wait_for()


def test_an_allowlist_that_fences_another_is_made_a_grant(make, visit):
    """The warning names the cure and the form has its button; a grant is offered no allowlist, a guardrail no grant."""
    fences = [{"type": "tool_allowlist", "tools": [tool]} for tool in ("paper.read", "paper.list")]
    page = visit("policies").open(f"/console/policies/{make('Fences', fences)}", "Fences")
    page.get_by_text("make each a tool_grant").first.wait_for()
    page.get_by_role("button", name="Make it a tool_grant").last.click()
    page.get_by_text("make that a tool_grant").first.wait_for()
    page.get_by_role("button", name="Make it a tool_grant").click()
    page.locator(".policy-form .warned").wait_for(state="detached")
    types = page.get_by_label("Type of rule")
    assert [each.input_value() for each in types.all()] == ["tool_grant", "tool_grant"]
    page.get_by_label("Kind").select_option("guardrail")
    page.locator(".error").get_by_text("a guardrail never allows").first.wait_for()
    page.get_by_label("Kind").select_option("grant")
    page.get_by_role("button", name="Add a rule").click()
    assert types.last.input_value() == "tool_grant"
    assert "tool_allowlist" not in types.last.inner_text()
    page.get_by_label("Kind").select_option("guardrail")
    page.get_by_role("button", name="Add a rule").click()
    assert "tool_allowlist" in types.last.inner_text()
    assert "tool_grant" not in types.last.inner_text()
    page.get_by_role("button", name="Discard them").click()


def test_changes_that_are_not_saved_are_kept(policy, visit, scene):
    """When another screen is opened, and when a version is restored; until discarded, they name their version."""
    admin = scene.tenant.admin
    assert admin.patch(f"/v1/policies/{policy}", json={"priority": 7}).status_code == 200
    page = visit("policies").open(f"/console/policies/{policy}", "Papers")
    page.get_by_label("Name", exact=True).fill("Mine")
    page.get_by_text("Your changes are not saved yet.").wait_for()
    page.get_by_role("link", name="Agents", exact=True).click()
    page.get_by_role("heading", name="Agents", level=1).wait_for()
    page.go_back()
    page.get_by_role("heading", name="Papers", level=1).wait_for()
    page.get_by_role("link", name="Versions").click()
    page.get_by_role("button", name="Restore…").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("as it was")
    page.get_by_role("dialog").get_by_role("button", name="Restore", exact=True).click()
    page.get_by_text("They were made from version 2; saving them as they are replaces version 3.").wait_for()
    page.get_by_role("link", name="Policy", exact=True).click()
    assert page.get_by_label("Name", exact=True).input_value() == "Mine"
    page.get_by_role("button", name="Discard mine").click()
    page.get_by_text("Your changes are not saved yet.").wait_for(state="detached")
    assert page.get_by_label("Name", exact=True).input_value() == "Papers"
    page.reload()
    page.get_by_role("heading", name="Papers", level=1).wait_for()
    assert page.get_by_text("Your changes are not saved yet.").count() == 0
    assert admin.get(f"/v1/policies/{policy}").json()["name"] == "Papers"


def test_a_draft_belongs_to_its_policy(policy, visit, scene):
    """What if goes on with what is not saved yet in Policies, and the other way round; each policy has its own."""
    page = visit("policies").open(f"/console/policies/{policy}", "Papers")
    page.get_by_label("Name", exact=True).fill("Mine")
    page.get_by_text("Your changes are not saved yet.").wait_for()
    page.get_by_role("link", name="What if…").click()
    page.get_by_text('"Mine"').wait_for()
    drafts = page.locator("label").filter(has_text="The draft").locator("select")
    drafts.select_option("")
    page.get_by_text('"Mine"').wait_for(state="detached")
    drafts.select_option(policy)
    page.get_by_text('"Mine"').wait_for()
    page.goto(f"{scene.url}/console/what-if?agent=refund-bot&draft={scene.ids['policy']}")
    page.get_by_text('"Small refunds"').wait_for()
    page.goto(f"{scene.url}/console/policies/{policy}")
    assert page.get_by_label("Name", exact=True).input_value() == "Mine"


def test_a_draft_is_judged_once_the_service_answers(policy, visit):
    """Also if it did not when the last letter was typed."""
    visitor = visit("policies")
    page, answers = visitor.page, []
    page.route("**/v1/policies/lint", lambda route: route.continue_() if answers else route.abort())
    visitor.open(f"/console/policies/{policy}", "Papers")
    page.get_by_label("Name", exact=True).fill("Read papers")
    page.get_by_text("This page cannot reach Remit").first.wait_for()
    answers.append("again")
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog", name="Save a new version").wait_for()
    visitor.forgive("ERR_FAILED")


TYPED = """async () => {
  for (const letter of "abcdefgh") {
    document.execCommand("insertText", false, letter);
    await new Promise((resolve) => setTimeout(resolve));
  }
}"""


@pytest.fixture
def granted(scene):
    """A policy of an agent of its own, which is deleted with it."""
    agent = scene.tenant.new_agent(name="Paper bot")["id"]
    papers = {
        "type": "parameter_constraint",
        "tools": ["paper.read"],
        "parameters": {"p": {"path": {"under": ["/srv"]}}},
    }
    yield scene.tenant.new_policy(agent, papers, name="Papers")["id"]
    assert scene.tenant.admin.delete(f"/v1/agents/{agent}").status_code == 204


def test_claims_over_all_calls_are_judged_with_the_tests(granted, visit):
    """One that holds, one that is broken by a call that is shown, and one without a proof; they may stand alone."""
    policy, visitor = granted, visit("policies")
    page = visitor.open(f"/console/policies/{policy}?tab=tests", "Papers")
    text = page.get_by_label("Tests, as YAML or JSON")
    claims = (
        "never:\n"
        "  - {name: nothing is deleted, call: {tool: paper.delete}, result: [allowed, escalated]}\n"
        "  - {name: nothing is read, call: {tool: paper.read}, result: allowed}\n"
        "  - {name: not from /a, call: {tool: paper.read, parameters: {p: {path: {under: [/a]}}}}, result: allowed}\n"
    )
    text.fill(claims)
    press(page.get_by_role("button", name="Run", exact=True))
    results = page.get_by_role("region", name="Results")
    results.get_by_role("heading", name="Claims over all calls").wait_for()
    said = [each.split("\n")[0] for each in results.locator(".item header").all_inner_texts()]
    assert said == ["holds", "is broken", "no proof"]
    results.get_by_text("that is no proof: ").wait_for()
    assert "paper.read" in results.locator(".item").nth(1).inner_text()
    assert visitor.violations() == []
    adds = """async ([text, item]) => {
      const load = (name) => import(document.querySelector('script[type=module]').src.replace('main.js', name));
      return (await load('test_cases.js')).withCase(text, item);
    }"""
    test = "tests:\n  - name: one  # kept\n    call: {tool: paper.read}\n    want: allowed\n"
    item = "  - name: two\n    call: {tool: paper.read}\n    want: denied\n"
    assert page.evaluate(adds, [test + claims, item]) == test + item + claims
    page.get_by_role("link", name="Policy", exact=True).click()
    page.get_by_label("Name", exact=True).fill("Papers, again")
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog").get_by_text("1 of 3 claims is broken: nothing is read").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Tests", exact=True).click()
    text.fill("never:\n  - {name: x, call: {tool: paper.read}, result: never}\n")
    press(page.get_by_role("button", name="Run", exact=True))
    page.get_by_role("alert").get_by_text("Claim 1: ").wait_for()
    visitor.forgive("status of 400")


HOURS = {"type": "time_based", "tools": ["paper.read"], "timeWindow": {"allowedDays": [5]}}


def test_tests_say_when_they_ran_and_whether_hours_were_tried_at_that_time_only(policy, visit, scene):
    """Also in the dialog that saves. Once a test of such a call says `at`, the warning is gone."""
    assert scene.tenant.admin.patch(f"/v1/policies/{policy}", json={"rules": [*RULES, HOURS]}).status_code == 200
    visitor = visit("policies")
    page = visitor.open(f"/console/policies/{policy}?tab=tests", "Papers")
    tests = "tests:\n  - name: read\n    call: {tool: paper.read%s}\n    want: allowed\n"
    page.get_by_label("Tests, as YAML or JSON").fill(tests % "")
    page.get_by_role("button", name="Run", exact=True).click()
    results = page.get_by_role("region", name="Results")
    results.get_by_text("on Fri, 20 Nov 2026 12:00:00 UTC").wait_for()
    warning = "“Papers” depends on the time, and no test says at"
    results.get_by_text(warning).wait_for()
    assert visitor.violations() == []
    page.get_by_role("link", name="Policy", exact=True).click()
    page.get_by_label("Name", exact=True).fill("Papers on Fridays")
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog").get_by_text(
        "No test says at, and this depends on the time: Papers on Fridays."
    ).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Tests", exact=True).click()
    page.get_by_label("Tests, as YAML or JSON").fill(tests % ", at: 5m")
    page.get_by_role("button", name="Run", exact=True).click()
    results.get_by_text("on Fri, 20 Nov 2026 12:05:00 UTC").wait_for()
    assert page.get_by_text("depends on the time").count() == 0


def test_what_is_typed_into_the_editor_stays(visit):
    """However fast: no letter is taken back by the drawing of the one before."""
    page = visit("policies").open("/console/policies/new?as=json", "New policy")
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+Home")
    page.evaluate(TYPED)
    assert editor.inner_text().startswith("abcdefgh{")


def test_a_call_begins_with_what_its_tool_requires(visit, scene):
    """As fields and as JSON; another tool begins anew, unless something has been written. A past call stays."""
    page = visit("view").open("/console/what-if?agent=refund-bot&tool=refund.create", "What if")
    page.get_by_label("Order").fill("")
    page.get_by_label("Tool", exact=True).fill("order.read")
    page.get_by_label("Amount").wait_for(state="detached")
    page.get_by_label("Tool", exact=True).fill("refund.create")
    page.get_by_label("Amount").fill("12")
    page.get_by_role("button", name="As JSON").click()
    written = json.loads(page.get_by_label("Parameters as JSON").input_value())
    assert written == {"order": "", "amount": 12}
    page.get_by_label("Tool", exact=True).fill("order.read")
    assert json.loads(page.get_by_label("Parameters as JSON").input_value()) == written
    entry = scene.runtime.post("/v1/authorize", json={"agent_id": "refund-bot", "tool_name": "order.read"}).json()["id"]
    page.goto(f"{scene.url}/console/what-if?entry={entry}")
    page.get_by_role("button", name="As JSON").click()
    assert page.get_by_label("Parameters as JSON").input_value() == "{}"


def test_the_list_of_agents_counts_tools_and_calls(visit, scene):
    """Tools by what the agent may do with them, and the decisions of the last 24 hours."""
    admin = scene.tenant.admin
    tools = [each["status"] for each in admin.get("/v1/agents/refund-bot/tools").json()["tools"]]
    counted = admin.get("/v1/audit-logs/counts?by=result&agent_id=refund-bot").json()["values"]
    calls = {each["value"]: each["count"] for each in counted}
    row = visit("view").open("/console/agents", "Agents").get_by_role("row").filter(has_text="Refund bot")
    statuses = [status for status in ("allowed", "conditional", "escalated", "denied") if status in tools]
    row.get_by_text(", ".join(f"{tools.count(status)} {status}" for status in statuses), exact=True).wait_for()
    decided = sum(calls.get(result, 0) for result in ("allowed", "escalated", "denied"))
    row.get_by_text(f"{decided}, {calls['denied']} denied").wait_for()


def test_a_field_that_the_schema_names_is_written_and_taken_back(policy, visit):
    """The console lists no field of its own: what is taken out of a new one is sent."""
    visitor = visit("policies")
    page, sent = visitor.page, []

    def answer(route):
        if route.request.method == "PATCH":
            sent.append(json.loads(route.request.post_data))
            route.continue_(post_data={name: value for name, value in sent[0].items() if name != "quorum"})
            return
        got = route.fetch()
        body = got.json()
        if "$defs" in body:
            body["$defs"]["PolicyEntry"]["properties"]["quorum"] = {"type": "integer", "default": 1}
        else:
            body["quorum"] = 3
        route.fulfill(response=got, json=body)

    page.route(re.compile(f"/v1/policies/(schema.json|{policy})$"), answer)
    page.route("**/v1/policies/lint", lambda route: route.fulfill(json={"warnings": []}))
    visitor.open(f"/console/policies/{policy}", "Papers")
    quorum = page.get_by_label("Quorum")
    assert quorum.input_value() == "3"
    page.get_by_label("Agent message").fill("Papers only")
    quorum.fill("1")
    page.get_by_role("button", name="JSON", exact=True).click()
    page.locator(".cm-line").get_by_text('"Papers only"').wait_for()
    assert "quorum" not in page.locator(".cm-content").inner_text()
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog").get_by_role("row").filter(has_text="quorum").wait_for()
    page.get_by_role("dialog").get_by_label("Reason").fill("one is enough")
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").wait_for(state="hidden")
    unsaid = {"quorum": 1, "kind": "grant", "priority": 0, "key": None, "keepsRequests": False}
    assert sent == [
        {**unsaid, "name": "Papers", "enabled": True, "mode": "enforce", "agentMessage": "Papers only", "rules": RULES}
    ]
