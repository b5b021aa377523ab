"""From a refusal to its cause: since when, by whom, and back again."""

import re

import pytest

from tests.console.browsing import settle, until

pytestmark = pytest.mark.slow

READS = [{"type": "tool_grant", "tools": ["order.read"]}]


@pytest.fixture
def bot(scene):
    """An agent of this test's own, with a policy."""
    tenant = scene.tenant
    agent = tenant.new_agent(name="Shop bot", groups=["shop"])["id"]
    policy = tenant.new_policy(agent, *READS, name="Orders")["id"]
    return agent, policy


def changed(scene, path, reason, **fields):
    answer = scene.tenant.admin.patch(f"/v1/{path}", json=fields, headers={"Change-Reason": reason})
    assert answer.status_code == 200, answer.text


def test_an_agents_changes_are_those_of_all_that_governs_it_with_what_was_answered(visit, scene, bot):
    """One list; beside it, how often its calls got which result, and why."""
    agent, policy = bot
    rules = [{"type": "tool_denylist", "tools": ["order.read"]}]
    body = {"name": "Shop is closed", "kind": "guardrail", "group": "shop", "rules": rules}
    closed = scene.tenant.admin.post("/v1/policies", json=body).json()["id"]
    changed(scene, f"policies/{policy}", "cleanup before audit", priority=7)
    scene.tenant.authorize(agent, "order.read")
    assert scene.tenant.admin.delete(f"/v1/policies/{closed}").status_code == 204
    visitor = visit("admin")
    page = visitor.open(f"/console/agents/{agent}?tab=changes", "Shop bot")
    page.get_by_text("cleanup before audit").wait_for()
    listed = [" ".join(each.split()) for each in page.locator(".timeline > li").all_inner_texts()]
    assert ["Shop is closed" in each for each in listed] == [True, False, True, False, False]
    page.get_by_role("link", name="denied 1").wait_for()
    page.get_by_text("tool_denied 1").wait_for()
    assert visitor.violations() == []
    page.get_by_role("button", name="24 h").click()
    page.get_by_text("cleanup before audit").wait_for()
    page.goto(f"{page.url}&to=2020-01-01T00:00:00Z")
    page.get_by_role("heading", name="Nothing that concerns Shop bot was changed").wait_for()
    page.get_by_text("No call was answered").wait_for()
    settle(page)


COUNT_CLICKS = "window.clicks = 0; addEventListener('click', (event) => event.isTrusted && window.clicks++, true)"


def test_from_a_refusal_to_its_cause_and_back_are_three_clicks(visit, scene, bot):
    """The refusal, Restore…, Restore: the rule says since when, by whom and why, and the dialog what differs."""
    agent, policy = bot
    deny = [*READS, {"type": "tool_denylist", "tools": ["order.read"]}]
    changed(scene, f"policies/{policy}", "cleanup before audit", rules=deny)
    changed(scene, f"policies/{policy}", "a name that says more", name="Orders of the shop")
    scene.tenant.authorize(agent, "order.read")
    visitor = visit("admin")
    page = visitor.open(f"/console/decisions?agent_id={agent}", "Decisions")
    page.evaluate(COUNT_CLICKS)
    page.get_by_role("row").nth(1).click()
    drawer = page.get_by_role("dialog", name="Why")
    said = drawer.get_by_text("In force since").inner_text
    drawer.get_by_text("cleanup before audit").wait_for()
    wanted = r"In force since \d+ \w+ \d\d:\d\d, v2 by first admin key: cleanup before audit"
    assert re.fullmatch(wanted, said()), said()
    drawer.get_by_role("button", name="Restore…").click()
    dialog = page.get_by_role("dialog", name="Restore version 1 of Orders of the shop")
    dialog.get_by_text("rule 2 is gone").wait_for()
    dialog.get_by_role("button", name="Restore").click()
    drawer.get_by_text("Restored as version 4").wait_for()
    assert page.evaluate("window.clicks") == 3
    assert scene.tenant.authorize(agent, "order.read")["result"] == "allowed"
    drawer.get_by_text(re.compile(r", until \d+ \w+ \d\d:\d\d, v4 by a key")).wait_for()
    assert drawer.get_by_role("button", name="Restore…").count() == 0
    assert visitor.violations() == []


def test_what_changed_with_a_rule_is_a_click_away_and_restoring_what_changed_meanwhile_is_refused(visit, scene, bot):
    """As everywhere: the next press is on the version that is in force then."""
    agent, policy = bot
    changed(scene, f"policies/{policy}", "no reads", rules=[{"type": "tool_denylist", "tools": ["order.read"]}, *READS])
    decision = scene.tenant.authorize(agent, "order.read")["id"]
    visitor = visit("admin")
    page = visitor.open(f"/console/decisions?entry={decision}", "Decisions")
    drawer = page.get_by_role("dialog", name="Why")
    drawer.get_by_role("button", name="What changed").click()
    drawer.get_by_text("rule 1 is new").wait_for()
    drawer.get_by_role("button", name="Restore…").click()
    changed(scene, f"policies/{policy}", "meanwhile", priority=3)
    page.get_by_role("dialog", name="Restore version").get_by_role("button", name="Restore").click()
    page.get_by_text("Makes version 4").wait_for()
    page.get_by_role("dialog", name="Restore version").get_by_role("button", name="Restore").click()
    drawer.get_by_text("Restored as version 4").wait_for()
    visitor.forgive("status of 412")


def test_a_guardrail_that_is_new_is_turned_off_where_it_refused(visit, scene, bot):
    """There is no version to go back to; who may not write policies sees why the button is disabled."""
    agent, _ = bot
    rules = [{"type": "tool_denylist", "tools": ["order.read"]}]
    body = {"name": "Shop is closed", "kind": "guardrail", "agent_id": agent, "rules": rules}
    assert scene.tenant.admin.post("/v1/policies", json=body).status_code == 201
    decision = scene.tenant.authorize(agent, "order.read")["id"]
    reader = visit("view").open(f"/console/decisions?entry={decision}", "Decisions")
    assert "scope policies" in reader.get_by_role("button", name="Turn off…").get_attribute("title")
    page = visit("admin").open(f"/console/decisions?entry={decision}", "Decisions")
    page.get_by_role("button", name="Turn off…").click()
    page.get_by_role("dialog", name="Turn off Shop is closed").get_by_role("button", name="Turn off").click()
    page.get_by_text("The guardrail is off.").wait_for()
    assert scene.tenant.authorize(agent, "order.read")["result"] == "allowed"


def test_a_refusal_without_a_policy_shows_the_last_change_before_it(visit, scene, bot):
    """Such as the deletion of the policy that had allowed the call; later changes are not its cause."""
    agent, policy = bot
    headers = {"Change-Reason": "nobody uses it"}
    assert scene.tenant.admin.delete(f"/v1/policies/{policy}", headers=headers).status_code == 204
    decision = scene.tenant.authorize(agent, "order.read")["id"]
    changed(scene, f"agents/{agent}", "renamed since", name="Shop bot 2")
    page = visit("audit").open(f"/console/decisions?entry={decision}", "Decisions")
    page.get_by_text("The last change before it").wait_for()
    assert page.get_by_role("dialog").locator(".timeline .quote").all_inner_texts() == ["nobody uses it"]


def many(scene, agent, *tools):
    for tool in tools:
        scene.tenant.authorize(agent, tool)


def test_a_decision_names_the_first_of_its_kind_and_how_many_there_were(visit, scene, bot):
    """Of the same agent, tool, result, code and policy; those before and of other kinds are none."""
    agent, _ = bot
    many(scene, agent, "order.read", "order.drop", "order.read", "order.drop", "order.drop")
    newest, _, _, first, _ = scene.tenant.log(agent_id=agent)
    page = visit("view").open(f"/console/decisions?entry={newest['id']}", "Decisions")
    drawer = page.get_by_role("dialog", name="Why")
    drawer.get_by_text(", 3 up to this one").wait_for()
    drawer.locator("dt:has-text('First of its kind') + dd button").click()
    drawer.get_by_text("this one", exact=True).wait_for()
    drawer.get_by_text(first["id"]).wait_for()


def test_decisions_are_counted_over_time_for_the_filters_in_force(visit, scene, bot):
    """With their number; a span is drawn with the mouse, chosen or typed, in UTC or here."""
    agent, policy = bot
    changed(scene, f"policies/{policy}", "cleanup before audit", priority=9)
    many(scene, agent, "order.read", "order.read", "order.drop")
    visitor = visit("admin", timezone_id="America/New_York")
    page = visitor.open(f"/console/decisions?agent_id={agent}", "Decisions")
    page.get_by_text("3 decisions in 24 h").wait_for()
    assert "cleanup before audit" in page.locator(".chart .tick title").first.text_content()
    page.get_by_role("button", name="denied").click()
    page.get_by_text("1 decision in 24 h").wait_for()
    page.get_by_role("button", name="15 min").click()
    page.get_by_role("button", name="15 min", pressed=True).wait_for()
    page.wait_for_url(lambda url: "from=" in url and "to=" not in url)
    box = page.locator(".chart svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40)
    page.locator(".chart .brush").wait_for(state="attached")
    page.mouse.up()
    page.wait_for_url(lambda url: "to=" in url)
    page.get_by_text("0 decisions").wait_for()
    page.get_by_text("up to a fixed time").wait_for()
    page.locator(".spans summary").click()
    page.get_by_label("From").fill("2026-01-02T03:04:05")
    page.get_by_label("From").press("Enter")
    page.wait_for_url(lambda url: "from=2026-01-02T03%3A04%3A05.000Z" in url)
    page.get_by_role("button", name="local").click()
    page.locator(".spans summary").get_by_text("1 Jan 22:04").wait_for()
    assert page.get_by_label("From").input_value() == "2026-01-01T22:04:05"
    page.get_by_role("columnheader", name="Time (local)").wait_for()
    page.get_by_role("button", name="Any time").click()
    page.get_by_text("1 decision in 24 h").wait_for()
    page.get_by_role("button", name="UTC").click()
    page.get_by_role("columnheader", name="Time (UTC)").wait_for()


CUT = """[...document.querySelectorAll('.table .row > span, .filters *, .histogram *, .head *')]
  .filter((each) => !each.closest('.sr'))
  .filter((each) => each.clientWidth && each.scrollWidth > each.clientWidth + 1 && !each.matches('input')
    || each.matches('.row > span') && each.scrollHeight > each.clientHeight + 4)
  .map((each) => each.textContent)"""
"""What does not fit into its place; a field scrolls."""


def test_nothing_of_a_decision_is_cut_off_on_a_desktop(visit, scene):
    """Names and reasons have two lines."""
    page = visit("view").open("/console/decisions?agent_id={refund-bot}".format(**scene.ids), "Decisions")
    page.get_by_text("above the maximum 100").first.wait_for()
    page.locator(".chart").wait_for()
    assert page.evaluate(CUT) == []


def test_nothing_of_an_agent_is_cut_off_on_a_desktop(visit):
    """With more calls than most have, and more groups than fit, which are counted."""
    busy = {"allowed": 12_345, "escalated": 0, "denied": 4_567}

    def count(route):
        result = next(each for each in busy if f"result={each}" in route.request.url)
        answer = route.fetch()
        values = [{"value": each["value"], "count": busy[result]} for each in answer.json()["values"]]
        route.fulfill(json=answer.json() | {"values": values})

    def join(route):
        answer = route.fetch()
        groups = {"refund-bot": ["support", "platform"], "mail-bot": ["support", "platform", "finance"]}
        found = [each | {"groups": groups.get(each["alias"], each["groups"])} for each in answer.json()]
        route.fulfill(json=found)

    visitor = visit("view")
    visitor.page.route("**/v1/audit-logs/counts?*", count)
    visitor.page.route("**/v1/agents?*", join)
    page = visitor.open("/console/agents?q=support", "Agents")
    row = page.get_by_role("row").filter(has_text="Refund bot")
    row.get_by_text("4,567 denied").wait_for()
    page.get_by_role("row").filter(has_text="Mail bot").get_by_text("+2").wait_for()
    settle(page)
    assert page.evaluate(CUT) == []


def test_nothing_of_a_key_is_cut_off_on_a_desktop(visit, scene):
    """Neither its scopes nor what deserves a look."""
    for name, scopes in (("pipeline of shops", ["policies", "read", "approve", "audit"]), ("pipeline", ["admin"])):
        scene.tenant.new_key(scopes, name=name)
    page = visit("admin").open("/console/keys?q=pipeline", "Keys")
    page.get_by_text("policies, read, approve, audit").wait_for()
    page.get_by_text("admin, never expires").wait_for()
    settle(page)
    assert page.evaluate(CUT) == []


def test_everything_is_found_from_anywhere_by_name_or_by_id(visit, scene, bot):
    """`/` or Ctrl+K; the keyboard chooses and opens; an id that no list has is looked for in the log."""
    agent, policy = bot
    decision = scene.tenant.authorize(agent, "order.read")["id"]
    visitor = visit("admin")
    page = visitor.open("/console", "Overview")
    page.get_by_role("button", name="Search everything").wait_for()
    page.keyboard.press("/")
    dialog = page.get_by_role("dialog", name="Search everything")
    field, found = dialog.get_by_role("combobox"), dialog.get_by_role("option")
    field.fill("refund bot")
    found.filter(has_text="refund-bot").filter(has_text="agent").wait_for()
    found.filter(has_text="Small refunds").wait_for()
    found.filter(has_text="approval, pending").wait_for()
    assert visitor.violations() == []
    field.press("ArrowDown")
    field.press("ArrowUp")
    field.press("Enter")
    page.get_by_role("heading", name="Refund bot", level=1).wait_for()
    page.keyboard.press("Control+k")
    field.fill(policy)
    found.filter(has_text="Orders").click()
    page.get_by_role("heading", name="Orders", level=1).wait_for()
    page.keyboard.press("/")
    field.fill(decision)
    found.filter(has_text="order.read").wait_for()
    field.press("Enter")
    page.get_by_role("dialog", name="Why").get_by_text(decision).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Why").wait_for(state="hidden")
    page.keyboard.press("/")
    field.fill("order.read")
    found.filter(has_text="decisions with the text").click()
    page.wait_for_url(lambda url: "q=order.read" in url)


def test_who_reads_no_policies_finds_what_they_may_read(visit, scene):
    """And nothing is asked that would be refused."""
    page = visit("approve").open("/console/approvals", "Approvals")
    page.get_by_role("button", name="Search everything").click()
    page.get_by_role("combobox", name="Search everything").fill("refund")
    page.get_by_role("option").filter(has_text="approval, pending").wait_for()
    assert page.get_by_role("option").filter(has_text="agent").count() == 0


def test_keys_and_webhooks_are_found_by_who_may_read_them(visit, scene):
    """By a part of a name, an address or an event; a choice leads to that one alone. Nobody else asks for them."""
    key = scene.tenant.new_key(["view"], name="night watch")
    for host in ("hooks", "other"):
        hook = {"url": f"http://127.0.0.1:9/{host}-night", "events": ["policy.changed"], "format": "standard"}
        answer = scene.tenant.admin.post("/v1/webhooks", json=hook)
        assert answer.status_code == 201, answer.text
    page = visit("admin").open("/console", "Overview")
    dialog = page.get_by_role("dialog", name="Search everything")
    field, found = dialog.get_by_role("combobox"), dialog.get_by_role("option")
    page.get_by_role("button", name="Search everything").wait_for()
    page.keyboard.press("/")
    field.fill("watch")
    found.filter(has_text=key["key"][:8]).click()
    page.get_by_role("heading", name="Keys", level=1).wait_for()
    page.get_by_role("gridcell", name="night watch").wait_for()
    until(page, "document.querySelectorAll('.tbody .row').length === 1")
    page.keyboard.press("/")
    field.fill("hooks-night")
    found.filter(has_text="webhook").click()
    page.get_by_role("heading", name="Webhooks", level=1).wait_for()
    page.get_by_text("http://127.0.0.1:9/hooks-night").wait_for()
    assert page.get_by_text("http://127.0.0.1:9/other-night").count() == 0
    visitor = visit("view")
    page = visitor.open("/console", "Overview")
    page.get_by_role("button", name="Search everything").click()
    page.get_by_role("combobox", name="Search everything").fill("night")
    page.get_by_role("option").filter(has_text="decisions with the text").wait_for()
    assert not {("GET", "/v1/webhooks"), ("GET", "/v1/api-keys")} & set(visitor.requests)


@pytest.mark.parametrize(
    ("path", "column", "name"),
    [("policies", "Name", ".item header b"), ("catalog", "Name", ".item header > code")],
    ids=["policies", "catalogue"],
)
def test_lists_without_columns_are_sorted_too(visit, path, column, name):
    """Up, down, and as they were; policies then stand in one list that says whose each is."""
    page = visit("view").open(f"/console/{path}")
    page.locator(name).first.wait_for()
    names = page.locator(name).all_inner_texts
    given = names()
    button = page.get_by_role("group", name="Sort by").get_by_role("button", name=column)
    button.click()
    page.wait_for_url(lambda url: f"sort={column}" in url)
    assert button.get_attribute("aria-pressed") == "true"
    assert names() == sorted(given, key=str.casefold)
    assert page.locator(".item").filter(has_text="group platform").count() == (path == "policies")
    button.click()
    page.wait_for_url(lambda url: f"sort=-{column}" in url)
    assert names() == sorted(given, key=str.casefold, reverse=True)
    button.click()
    page.wait_for_url(lambda url: "sort" not in url)
    assert (names(), button.get_attribute("aria-pressed")) == (given, "false")


def test_lists_are_sorted_by_a_column_and_the_address_has_the_order(visit, scene, bot):
    """Up, down, and as they were."""
    page = visit("admin").open("/console/agents", "Agents")
    page.get_by_role("gridcell", name="Shop bot").first.wait_for()
    names = page.locator(".row .c-tool").all_inner_texts
    given = names()
    header = page.get_by_role("columnheader", name="Name")
    header.get_by_role("button").click()
    page.wait_for_url(lambda url: "sort=Name" in url)
    assert header.get_attribute("aria-sort") == "ascending"
    assert names() == sorted(given, key=str.casefold)
    header.get_by_role("button").click()
    page.wait_for_url(lambda url: "sort=-Name" in url)
    assert names() == sorted(given, key=str.casefold, reverse=True)
    header.get_by_role("button").click()
    page.wait_for_url(lambda url: "sort" not in url)
    assert (names(), header.get_attribute("aria-sort")) == (given, None)


def test_agents_that_are_denied_more_than_usual_stand_beside_the_top_ones(visit, scene):
    """By how much, compared with the same hours of seven days; chance alone shows nobody."""

    def hours(usual, now, elsewhere=0):
        counts = [elsewhere] * 170
        for day in range(7):
            counts[24 * day] = usual
        return [*counts[:168], now // 2, now - now // 2]

    given = {
        "refund-bot": hours(20, 50),
        "mail-bot": hours(2, 40, elsewhere=0),
        "research-bot": hours(20, 25, elsewhere=90),
        "deploy-bot": [0] * 168 + [0, 9],
    }
    values = [{"value": scene.ids[name], "count": sum(counts), "counts": counts} for name, counts in given.items()]
    visitor = visit("view")
    visitor.page.route(
        re.compile(r"/v1/audit-logs/counts\?by=agent&result=denied"),
        lambda route: route.fulfill(json={"values": values}),
    )
    page = visitor.open("/console", "Overview")
    card = page.locator("section.card").filter(has_text="Denied more than usual")
    card.get_by_role("listitem").first.wait_for()
    shown = [" ".join(each.split()) for each in card.get_by_role("listitem").all_inner_texts()]
    assert shown == ["Mail bot 40 usually 2", "Refund bot 50 usually 20", "Deploy bot 9 new agent"]
    card.get_by_role("link", name="Mail bot").click()
    page.wait_for_url(lambda url: "result=denied" in url and "from=" in url and scene.ids["mail-bot"] in url)


def test_no_agent_is_denied_more_than_usual_if_nobody_is_denied(visit):
    """It says so, and what was compared."""
    visitor = visit("view")
    visitor.page.route(
        re.compile(r"/v1/audit-logs/counts\?by=agent&result=denied"), lambda route: route.fulfill(json={"values": []})
    )
    page = visitor.open("/console", "Overview")
    page.get_by_text("compared with these hours of the last 7 days").wait_for()


def test_a_span_is_drawn_on_the_overview_too(visit):
    """It leads to the decisions of these hours."""
    page = visit("view").open("/console", "Overview")
    page.locator(".chart").wait_for()
    box = page.locator(".chart svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.95, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 90)
    page.mouse.up()
    page.get_by_role("heading", name="Decisions", level=1).wait_for()
    span = re.search(r"from=(\S+?)T(\d\d)%3A00%3A00.000Z&to=(\S+?)T(\d\d)%3A59%3A59.999Z", page.url)
    assert span is not None, page.url
    assert (int(span[4]) - int(span[2])) % 24 >= 9
