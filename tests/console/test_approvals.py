"""How the console shows what people decide on: compared before it can be approved, and marked where it is forged."""

import json
import random
import re

import pytest

from app.language.confusables import mixed_scripts
from tests.console.browsing import PHONE, press, until

pytestmark = pytest.mark.slow

SHIFTS = """(() => {
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) window.shifted += each.value;
  }).observe({type: "layout-shift", buffered: true});
})()"""
PIECES = """async (texts) => {
  const {pieces} = await import(document.querySelector('script[type=module]').src.replace('main.js', 'exact.js'));
  return texts.map((text) => pieces(text).filter((each) => each.code).map((each) => each.text));
}"""
IBAN = "DE89370400440532013000"
OTHERS = {"Acme GmbH": IBAN, "Nordwind AG": "FR7630006000011234567890189", "Kessel KG": "NL91ABNA0417164300"}


@pytest.fixture(scope="module")
def payments(scene):
    """Payments of an agent who asks above 1,000; every creditor was paid four times, and three large ones approved."""
    admin = scene.tenant.admin
    agent = admin.post("/v1/agents", json={"name": "Invoice bot", "alias": "invoice-bot"}).json()["id"]
    large = {"type": "parameter_constraint", "tools": ["payment.send"], "parameters": {"amount": {"max": 1000}}}
    rules = [{"type": "tool_allowlist", "tools": ["payment.send"]}, {**large, "effect": "escalate"}]
    assert admin.post("/v1/policies", json={"agent_id": agent, "name": "Pay", "rules": rules}).status_code == 201

    def pay(amount, name="Acme GmbH", iban=None, currency="EUR"):
        parameters = {"creditor": name, "iban": iban or OTHERS.get(name, IBAN), "amount": amount, "currency": currency}
        body = {"agent_id": agent, "tool_name": "payment.send", "parameters": parameters}
        return scene.runtime.post("/v1/authorize", json=body).json()

    for number in range(12):
        assert pay(100 + number, [*OTHERS][number % 3])["result"] == "allowed"
    for amount in (1200, 1500, 1800):
        approval = pay(amount)["approval"]["id"]
        assert admin.post(f"/v1/approvals/{approval}/approve", json={}).status_code == 200
        assert pay(amount)["result"] == "allowed"
    return pay


@pytest.fixture
def waiting(payments, scene):
    """Makes a payment that waits; it is denied at the end."""
    made = []

    def wait(*args, **fields):
        made.append(payments(*args, **fields)["approval"]["id"])
        return made[-1]

    yield wait
    for each in made:
        scene.tenant.admin.post(f"/v1/approvals/{each}/deny", json={})


def card_of(page, scene, approval):
    return page.get_by_role("article").filter(has=page.locator(f'a[href$="/approvals/{approval}"]'))


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 820}])
def test_nothing_is_approved_before_it_is_compared(waiting, visit, size):
    """However long the comparison takes; what it says then moves no button."""
    approval = waiting(1890.5, iban=IBAN[:-1] + "1")
    visitor = visit("approve", "view", viewport=size)
    page, held = visitor.page, []
    page.add_init_script(SHIFTS)
    page.route("**/usual", lambda route: held.append(route))  # noqa: PLW0108 - it looks at signatures
    visitor.open(f"/console/approvals/{approval}", "Approval")
    approve = page.get_by_role("button", name="Approve payment.send 1890.5 EUR for Invoice bot")
    deny = page.get_by_role("button", name="Deny payment.send 1890.5 EUR for Invoice bot")
    until(page, "document.body.innerText.includes('Invoice bot asks')")
    assert (approve.inner_text(), approve.is_disabled(), deny.is_enabled()) == ("Comparing…", True, True)
    places = [each.bounding_box() for each in (approve, deny)]
    while not held:
        page.wait_for_timeout(30)
    held[0].continue_()
    page.get_by_text("looks like").wait_for()
    assert (approve.inner_text(), approve.is_enabled()) == ("Approve", True)
    assert [each.bounding_box() for each in (approve, deny)] == places
    assert page.evaluate("window.shifted") <= 0.02


def test_the_name_of_a_button_has_its_words_while_a_call_is_compared(waiting, visit):
    """Whoever speaks to a browser says what is written on a button; axe wants it of every screen."""
    approval = waiting(1600)
    visitor = visit("approve", "view")
    page, held = visitor.page, []
    page.route("**/usual", lambda route: held.append(route))  # noqa: PLW0108 - it looks at signatures
    visitor.open(f"/console/approvals/{approval}", "Approval")
    page.get_by_role("button", name="Approve payment.send 1600 EUR for Invoice bot: Comparing…").wait_for()
    assert visitor.violations() == []
    while not held:
        page.wait_for_timeout(30)
    held[0].continue_()
    page.get_by_role("button", name="Approve payment.send 1600 EUR for Invoice bot", exact=True).wait_for()


def test_a_comparison_that_fails_is_acknowledged(waiting, visit):
    """By a box to tick; it says why."""
    approval = waiting(1700)
    visitor = visit("approve", "view")
    page = visitor.page
    refused = {"error": {"code": "AUDIT_LOG_DAMAGED", "message": "Segment 7 is damaged", "details": []}}
    page.route("**/usual", lambda route: route.fulfill(status=500, json=refused))
    visitor.open(f"/console/approvals/{approval}", "Approval")
    approve = page.get_by_role("button", name="Approve payment.send")
    page.get_by_text("Segment 7 is damaged").wait_for()
    assert approve.is_disabled()
    page.get_by_label("I decide without.").check()
    assert approve.is_enabled()
    visitor.forgive("status of 500")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"iban": IBAN[:-1] + "1"}, "looks like DE89…013000 (7 calls)"),
        ({"name": "Acm\u0435 GmbH"}, "looks like Acme GmbH (7 calls)"),
        ({"name": "W\u043elff Ltd"}, "a letter of another script within a word: U+043E"),
        ({"iban": OTHERS["Kessel KG"]}, "never with creditor Acme GmbH, which had DE89370400440532013000 (7 calls)"),
        ({"currency": "USD"}, "3 calls had EUR here"),
        ({"amount": 150_000}, "100 times the usual 1500; the most so far was 1800"),
    ],
)
def test_what_is_forged_is_marked(waiting, visit, fields, words):
    """In the line below the value, in the colour of danger; the honest values have no mark."""
    approval = waiting(**{"amount": 1700, **fields})
    page = visit("approve", "view").open(f"/console/approvals/{approval}", "Approval")
    grave = page.locator(".grave")
    grave.first.wait_for()
    assert words in [each.inner_text() for each in grave.all()]


def test_the_differing_characters_are_marked_in_both(waiting, visit):
    """And a letter of another script has its code."""
    approval = waiting(1700, name="N\u043erdwind AG", iban=IBAN[:12] + "5" + IBAN[13:])
    page = visit("approve", "view").open(f"/console/approvals/{approval}", "Approval")
    page.get_by_text("looks like").first.wait_for()
    assert [each.inner_text() for each in page.locator("dd mark").all()] == ["o", "5", "0"]
    assert page.locator(".foreign").first.inner_text() == "\u043eU+043E"
    page.get_by_role("button", name=re.compile("looks like DE")).click()
    page.get_by_text("one character differs").wait_for()


def test_an_honest_call_has_no_mark(waiting, visit):
    page = visit("approve", "view").open(f"/console/approvals/{waiting(1650, name='Nordwind AG')}", "Approval")
    page.get_by_text("Compared with the 15 latest allowed calls, 3 of them approved by people.").wait_for()
    assert page.locator(".unusual").count() == 0
    assert page.get_by_text("Unverified: no value is from the user's request.").count() == 1


def test_both_readers_find_the_same_letters(visit):
    """Of words of several alphabets, the page and the service name the same letters."""
    draw = random.Random(20)
    letters = "abcABC\u0430\u0431\u0410\u03b1\u03b2\u0561\u05d0\uff41\U0001d41a\u30c4\u4e2d1-_ \u00fc\u00df"
    texts = ["".join(draw.choices(letters, k=draw.randint(1, 9))) for _ in range(3000)]
    page = visit("view").open("/console/decisions", "Decisions")
    found = page.evaluate(PIECES, texts)
    wrong = [(text, got) for text, got in zip(texts, found, strict=True) if got != mixed_scripts(text)]
    assert json.dumps(wrong) == "[]"


def test_the_calls_that_wait_are_a_list_before_their_cards(waiting, visit, scene):
    """Twelve on two screens of a phone; the two forged ones are grave, and at most two others have a mark. A row leads
    to its card, and nothing is decided from the list.
    """
    names = [*OTHERS]
    made = [waiting(1100 + 37 * number, names[number % 3]) for number in range(10)]
    forged = [waiting(1650, iban=IBAN[:-1] + "1"), waiting(1700, name="N\u043erdwind AG", iban=OTHERS["Nordwind AG"])]
    visitor = visit("approve", "view", viewport=PHONE)
    page = visitor.open("/console/approvals", "Approvals")
    rows = page.get_by_role("navigation", name="Calls that wait")
    rows.get_by_label("Agent").select_option(label="Invoice bot")
    until(page, "document.querySelectorAll('.waiting-calls li').length === 12")
    until(page, "!document.querySelector('.waiting-calls .unknown')")
    assert rows.bounding_box()["height"] <= 2 * PHONE["height"]
    grave = {each.get_attribute("href").split("/")[-1] for each in rows.locator("a.grave").all()}
    assert grave == set(forged)
    assert rows.locator("a.other").count() <= 2
    assert rows.get_by_role("button").count() == 0
    rows.get_by_label("Mark").select_option("grave")
    assert rows.get_by_role("listitem").count() == 2
    rows.get_by_label("Mark").select_option("")
    rows.locator(f'a[href$="{made[7]}"]').click()
    until(page, f"document.activeElement.id === 'approval-{made[7]}'")
    assert {method for method, _ in visitor.requests} == {"GET"}
    late = waiting(1999)
    page.get_by_role("status").filter(has_text="A call arrived: payment.send 1999 EUR").wait_for(state="attached")
    card_of(page, scene, late).wait_for()
    assert page.locator(".waiting-calls li").count() == 12


def test_what_was_approved_is_withdrawn(waiting, visit, scene):
    """From its own page, with a note, by somebody who may decide; on a phone the button has room."""
    approval_id = waiting(1700)
    assert scene.tenant.admin.post(f"/v1/approvals/{approval_id}/approve", json={}).status_code == 200
    visitor = visit("approve", viewport=PHONE)
    page = visitor.open(f"/console/approvals/{approval_id}", "Approval")
    page.get_by_label("Note").fill("the order was wrong")
    button = page.get_by_role("button", name="Withdraw payment.send 1700 EUR for Invoice bot")
    assert visitor.violations() == []
    press(button)
    page.locator(".pill", has_text="cancelled").first.wait_for()
    assert button.count() == 0
    shown = scene.tenant.admin.get(f"/v1/approvals/{approval_id}").json()
    assert (shown["status"], shown["approvals"][-1]["note"]) == ("cancelled", "the order was wrong")


def test_who_may_not_decide_sees_no_button_and_why(visit, scene):
    """Whoever is not in the group, and whoever has approved it already while another person must, too."""
    agent = scene.tenant.new_agent()["id"]
    allow = {"type": "tool_allowlist", "tools": ["*"]}
    for tool, terms in (("pay.finance", {"approvers": {"groups": ["finance"]}}), ("pay.two", {"approvals": 2})):
        scene.tenant.new_policy(agent, allow, {"type": "approval_required", "tools": [tool], "approval": terms})
    ids = {tool: scene.tenant.authorize(agent, tool)["approval"]["id"] for tool in ("pay.finance", "pay.two")}
    page = visit("approve").open(f"/console/approvals/{ids['pay.finance']}", "Approval")
    page.get_by_text(
        "Only a person in finance decides this; you have not signed in with the identity provider."
    ).wait_for()
    assert page.get_by_role("button", name=re.compile("Approve|Deny")).count() == 0
    page = visit("approve").open(f"/console/approvals/{ids['pay.two']}", "Approval")
    approve = page.get_by_role("button", name=re.compile("^Approve pay.two"))
    until(page, "document.querySelector('.approve:not(:disabled)')")
    press(approve)
    page.get_by_text("You have approved it; another person must, too.").wait_for()
    assert page.get_by_role("button", name=re.compile("Approve|Deny")).count() == 0
    for each in ids.values():
        scene.tenant.reader.post(f"/v1/approvals/{each}/cancel", json={})


def test_what_cannot_be_undone_is_said_to_whoever_decides(visit, scene):
    """On the card, also for who may read no catalogue, and in the agent's list of tools; once a person said so."""
    agent, admin = scene.tenant.new_agent(name="Wire bot", alias="wire")["id"], scene.tenant.admin
    rules = [{"type": "tool_grant", "tools": ["wire.send"]}, {"type": "approval_required", "tools": ["wire.send"]}]
    scene.tenant.new_policy(agent, *rules)
    assert admin.put("/v1/catalog/tool/wire.send", json={}).status_code == 200
    asked = scene.tenant.authorize(agent, "wire.send")["approval"]["id"]
    page = visit("approve").open(f"/console/approvals/{asked}", "Approval")
    page.get_by_role("article").wait_for()
    assert page.get_by_text("cannot be undone").count() == 0
    marks = {"tools": {"wire.send": {"consequence": "irreversible"}}}
    assert admin.patch("/v1/catalog", json=marks).status_code == 200
    visitor = visit("approve")
    page = visitor.open(f"/console/approvals/{asked}", "Approval")
    page.get_by_role("article").get_by_text("cannot be undone").wait_for()
    assert visitor.violations() == []
    page = visit("view").open("/console/agents/wire", "Wire bot")
    page.locator(".item", has_text="wire.send").get_by_text("cannot be undone").wait_for()
    assert admin.delete(f"/v1/agents/{agent}").status_code == 204
    assert admin.delete("/v1/catalog/tool/wire.send").status_code == 204


def test_mine_shows_what_the_visitor_may_decide(visit, scene):
    """With the names of agent and policy, which the scope `approve` suffices to see; the address keeps the choice."""
    agent = scene.tenant.new_agent(name="Travel bot")["id"]
    allow = {"type": "tool_allowlist", "tools": ["*"]}
    for tool, terms in (("trip.finance", {"approvers": {"groups": ["finance"]}}), ("trip.book", {})):
        rule = {"type": "approval_required", "tools": [tool], "approval": terms}
        scene.tenant.new_policy(agent, allow, rule, name=f"Asks about {tool}")
    ids = [scene.tenant.authorize(agent, tool)["approval"]["id"] for tool in ("trip.finance", "trip.book")]
    page = visit("approve").open("/console/approvals", "Approvals")
    cards = [page.locator(f"#approval-{each}") for each in ids]
    cards[0].wait_for()
    press(page.get_by_role("button", name="mine", exact=True))
    cards[0].wait_for(state="detached")
    assert "mine=1" in page.url
    shown = cards[1].inner_text()
    assert "Travel bot asks" in shown
    assert "under Asks about trip.book" in shown
    press(page.get_by_role("button", name="mine", exact=True))
    cards[0].wait_for()
    for each in ids:
        scene.tenant.reader.post(f"/v1/approvals/{each}/cancel", json={})


def test_a_shell_line_is_marked_by_its_program(visit, scene):
    """Which usual one it looks like; no letters of the whole line are held against a program's name."""
    agent = scene.tenant.new_agent(name="Coding bot")["id"]
    allowed = {"root": {"context": "project"}, "allow": [{"run": ["ls"], "flags": "usual", "paths": "inside"}]}
    judged = {"type": "parameter_constraint", "tools": ["Bash"], "parameters": {"command": {"command": allowed}}}
    scene.tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["Bash"]}, {**judged, "effect": "escalate"})

    def call(line):
        where = {"cwd": "/w/shop", "project": "/w/shop"}
        return scene.tenant.authorize(agent, "Bash", parameters={"command": line}, context=where)

    assert [call(f"ls -la {folder}")["result"] for folder in ("src", "docs", "tests")] == ["allowed"] * 3
    asked = call("1s -la src")["approval"]["id"]
    page = visit("approve").open(f"/console/approvals/{asked}", "Approval")
    page.get_by_text("looks like ls (3 calls)").wait_for()
    assert page.locator("dd mark").count() == 0
    scene.tenant.reader.post(f"/v1/approvals/{asked}/cancel", json={})


def test_a_phone_scrolls_the_screen_and_nothing_beyond_it(waiting, visit):
    """What only screen readers have, such as the name of a field, makes the page no longer."""
    waiting(1700)
    page = visit("approve", viewport=PHONE).open("/console/approvals", "Approvals")
    page.get_by_role("article").first.wait_for()
    page.get_by_role("article").first.evaluate("each => each.scrollIntoView()")
    assert page.evaluate("document.scrollingElement.scrollHeight - innerHeight") == 0
    assert page.evaluate("document.scrollingElement.scrollTop") == 0
