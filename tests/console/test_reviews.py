"""Changes of policies that wait for a second person: asked for, shown with what they mean, and decided."""

import re

import pytest
from servers import Replica
from tenants import Tenant

from app.model.api_keys import Scope
from app.model.ids import Ids
from tests.console.browsing import PHONE, settle, until
from tests.support import parts
from tests.support.actors import BY

pytestmark = pytest.mark.slow

SHADOW = {"name": "Tried", "mode": "shadow", "rules": [{"type": "tool_grant", "tools": ["order.delete"]}]}
UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-").findall


@pytest.fixture(scope="module")
def tenant(store):
    """A workspace in which changes of policies wait for a second person."""
    running = Replica(store.url, REMIT_REVIEW="policies", REMIT_SECRET="console " * 5, REMIT_COMPACT="false")
    made = Tenant(store.url, running)
    yield made
    made.close()
    running.stop()


@pytest.fixture(scope="module")
def bob_key(tenant):
    """The key of a second person, whom nobody here has made."""

    async def make(store):
        scopes = (Scope.POLICIES, Scope.AUDIT)
        return (await parts.api_keys(store, Ids()).create(tenant.id, "bob", scopes, by=BY))[1]

    return tenant.in_store(make)


@pytest.fixture
def visit(browsing, tenant):
    """Opens a visitor with this key, who must have done nothing forbidden at the end."""
    opened = []

    def visit(key):
        opened.append(browsing.visit(tenant.replica.base_url, key))
        return opened[-1]

    yield visit
    faults = [fault for visitor in opened for fault in visitor.faults]
    for visitor in opened:
        visitor.close()
    assert faults == []


def asked(tenant, agent, name, tools):
    """The review of a new policy."""
    body = {"agent_id": agent, "name": name, "rules": [{"type": "tool_grant", "tools": tools}]}
    answer = tenant.admin.post("/v1/policies", json=body, headers={"Change-Reason": "asked by sales"})
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def written(tenant, bob, agent, name):
    """A policy that bob has approved."""
    review = asked(tenant, agent, name, ["mail.read"])
    assert bob.post(f"/v1/policy-reviews/{review}/approve", json={}).status_code == 200
    return tenant.admin.get(f"/v1/policy-reviews/{review}").json()["policies"][0]["policyId"]


def changed(tenant, bob, policy, priority):
    """The policy has this priority, with bob's approval."""
    review = tenant.admin.patch(f"/v1/policies/{policy}", json={"priority": priority}).json()["id"]
    assert bob.post(f"/v1/policy-reviews/{review}/approve", json={}).status_code == 200


def test_a_policy_waits_for_a_second_person_who_sees_what_it_means(visit, tenant, bob_key):
    """Who asked can only withdraw it. Approve works once the comparison has answered, and moves nothing."""
    agent = tenant.new_agent(name="Shop bot", alias="shop-bot")["id"]
    ann, bob = visit(tenant.admin_key), visit(bob_key)
    page = ann.open("/console/policies/new?agent=shop-bot", "New policy")
    page.get_by_label("Name", exact=True).fill("Read orders")
    page.get_by_label("Tools", exact=True).fill("order.read")
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Change of policies", level=1).wait_for()
    page.get_by_text("Waits for a second person, and expires").wait_for()
    page.get_by_text("Newly allowed").wait_for()
    ann.forgive("status of 429")  # while the comparison of the dialog that was left still runs
    page.get_by_text("You asked for this yourself").wait_for()
    assert page.get_by_role("button", name="Approve").count() == 0
    assert page.get_by_role("button", name="Withdraw").count() == 1
    assert tenant.reader.get("/v1/policies", params={"agent_id": agent}).json() == []

    page, held = bob.page, []
    page.route("**/v1/policies/compare", lambda route: route.continue_() if held else held.append(route))
    bob.open("/console", "Overview").get_by_role("link", name="One change waits for a second person").click()
    page.get_by_role("region", name="Waits for a second person").get_by_role(
        "link", name='create "Read orders"'
    ).click()
    page.get_by_text("rule 1 is new").wait_for()
    approve = page.get_by_role("button", name="Comparing…")
    assert approve.is_disabled()
    until(page, "document.querySelector('.verdicts')")
    while not held:
        page.wait_for_timeout(30)
    held[0].continue_()
    page.get_by_text("Newly allowed").wait_for()
    settle(page)
    assert bob.violations() == []
    page.get_by_label("Note").fill("as agreed")
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("Approved, and in force.").wait_for()
    page.get_by_text("as agreed").wait_for()
    assert [each["name"] for each in tenant.reader.get("/v1/policies", params={"agent_id": agent}).json()] == [
        "Read orders"
    ]


def test_a_comparison_that_fails_is_acknowledged_before_a_change_is_approved(visit, tenant, bob_key):
    review = asked(tenant, tenant.new_agent()["id"], "Read mail", ["mail.read"])
    visitor = visit(bob_key)
    page = visitor.page
    refusal = {"error": {"code": "X", "message": "No answer", "details": []}}
    page.route("**/v1/policies/compare", lambda route: route.fulfill(status=500, json=refusal))
    visitor.open(f"/console/reviews/{review}", "Change of policies")
    page.get_by_text("No answer").wait_for()
    approve = page.get_by_role("button", name="Approve")
    assert approve.is_disabled()
    page.get_by_label("I decide without it").check()
    approve.click()
    page.get_by_text("Approved, and in force.").wait_for()
    visitor.forgive("status of 500")


def test_a_change_that_is_stale_says_so_and_is_asked_for_again(visit, tenant, bob_key):
    """It goes on in the editor with what was asked for. Denied ones, too."""
    agent = tenant.new_agent(name="Mail bot", alias="mail-bot")["id"]
    first, second = (asked(tenant, agent, name, ["mail.read"]) for name in ("First", "Second"))
    visitor = visit(bob_key)
    page = visitor.page
    with tenant.replica.client(bob_key) as bob:
        visitor.open(f"/console/reviews/{second}", "Change of policies")
        page.get_by_text("Newly allowed").wait_for()
        assert bob.post(f"/v1/policy-reviews/{first}/approve", json={}).status_code == 200
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("have changed since").first.wait_for()
    page.get_by_role("button", name="Ask again: edit Second").click()
    page.get_by_role("heading", name="New policy", level=1).wait_for()
    assert page.get_by_label("Name", exact=True).input_value() == "Second"
    visitor.forgive("status of 409")


def test_a_change_that_is_stale_says_what_it_was_compared_with_and_what_is_there_now(visit, tenant, bob_key):
    with tenant.replica.client(bob_key) as bob:
        policy = written(tenant, bob, tenant.new_agent()["id"], "Read invoices")
        one, two = (
            tenant.admin.patch(f"/v1/policies/{policy}", json={"priority": priority}).json()["id"]
            for priority in (1, 2)
        )
        assert bob.post(f"/v1/policy-reviews/{one}/approve", json={}).status_code == 200
        assert bob.post(f"/v1/policy-reviews/{two}/approve", json={}).status_code == 409
    page = visit(bob_key).open(f"/console/reviews/{two}", "Change of policies")
    page.get_by_text("Read invoices was version 1 and is version 2 now.").wait_for()


def test_a_deletion_that_was_denied_is_asked_for_again_of_the_present_version(visit, tenant, bob_key):
    """Also if somebody changes the policy once more while it is asked."""
    with tenant.replica.client(bob_key) as bob:
        policy = written(tenant, bob, tenant.new_agent()["id"], "Read drafts")
        deletion = tenant.admin.delete(f"/v1/policies/{policy}").json()["id"]
        assert bob.post(f"/v1/policy-reviews/{deletion}/deny", json={}).status_code == 200
        changed(tenant, bob, policy, 1)
        visitor = visit(tenant.admin_key)
        page = visitor.open(f"/console/reviews/{deletion}", "Change of policies")
        page.get_by_text("Read drafts was version 1 and is version 2 now.").wait_for()
        page.get_by_role("button", name="Ask again: delete Read drafts").click()
        dialog = page.get_by_role("dialog")
        changed(tenant, bob, policy, 2)
        dialog.get_by_label("Reason").fill("nobody drafts")
        dialog.get_by_role("button", name="Delete").click()
        dialog.get_by_text("saved version 3").wait_for()
        dialog.get_by_role("button", name="Delete").click()
        page.get_by_text("nobody drafts").wait_for()
    page.get_by_text("Waits for a second person, and expires").wait_for()
    again = tenant.admin.get("/v1/policy-reviews", params={"status": "pending"}).json()[0]
    assert [(each["kind"], each["policyId"]) for each in again["policies"]] == [("deleted", policy)]
    assert page.url.endswith(f"/console/reviews/{again['id']}")
    visitor.forgive("status of 412")


def test_what_a_change_was_to_become_of_policies_that_are_gone_is_not_asked_for_again(visit, tenant, bob_key):
    with tenant.replica.client(bob_key) as bob:
        policy = written(tenant, bob, tenant.new_agent()["id"], "Read spam")
        deletion = tenant.admin.delete(f"/v1/policies/{policy}").json()["id"]
        change = tenant.admin.patch(f"/v1/policies/{policy}", json={"priority": 7}).json()["id"]
        for review, verdict, status in ((change, "deny", 200), (deletion, "approve", 200)):
            assert bob.post(f"/v1/policy-reviews/{review}/{verdict}", json={}).status_code == status
    page = visit(bob_key).open(f"/console/reviews/{change}", "Change of policies")
    page.get_by_text("Read spam is gone.").wait_for()
    assert page.get_by_role("button", name="Ask again").count() == 0


def test_the_trail_says_in_sentences_who_asked_and_who_decided(visit, tenant, bob_key):
    """Without ids, and with the lines of a note."""
    review = asked(tenant, tenant.new_agent()["id"], "Read trails", ["trail.read"])
    with tenant.replica.client(bob_key) as bob:
        gone = written(tenant, bob, tenant.new_agent()["id"], "Read nothing")
        changed(tenant, bob, gone, 3)
        deletion = tenant.admin.delete(f"/v1/policies/{gone}").json()["id"]
        assert bob.post(f"/v1/policy-reviews/{deletion}/approve", json={}).status_code == 200
        note = {"note": "Not yet.\nAsk sales."}
        assert bob.post(f"/v1/policy-reviews/{review}/deny", json=note).status_code == 200
    page = visit(tenant.admin_key).open("/console/changes", "Changes")
    denial = page.get_by_role("listitem").filter(has_text="bob denied the change of policies").first
    denial.get_by_text("Not yet.\nAsk sales.").wait_for()
    assert denial.get_by_role("button").count() == 0
    denial.get_by_role("link").first.click()
    page.get_by_text("Denied: nothing was changed.").wait_for()
    page.go_back()
    request = page.get_by_role("listitem").filter(has_text='asked to create "Read trails"')
    assert request.get_by_role("link", name='create "Read trails"').get_attribute("href").endswith(review)
    assert UUIDS(page.locator(".timeline").inner_text()) == []


def test_what_waits_is_readable_on_a_phone(visit, tenant):
    """A line for what would change and one for who asked, not a column of letters; axe has nothing to say."""
    agent = tenant.new_agent(name="Warehouse bot of the northern region", groups=["a-group-with-a-long-name"])["id"]
    asked(tenant, agent, "Read orders that are not paid", ["order.read"])
    visitor = visit(tenant.admin_key)
    page = visitor.open("/console/policies", "Policies")
    page.set_viewport_size(PHONE)
    waiting = page.get_by_role("link", name='create "Read orders that are not paid"')
    waiting.wait_for()
    assert waiting.bounding_box()["height"] < 60
    assert visitor.violations() == []


def test_no_policy_looks_like_two_in_what_waits(visit, tenant):
    asked(tenant, tenant.new_agent()["id"], 'mail", delete "guard', ["mail.read"])
    page = visit(tenant.admin_key).open("/console/policies", "Policies")
    page.get_by_role("link", name=r'''create "mail\", delete \"guard"''').wait_for()


def test_who_may_not_decide_a_change_sees_no_button_and_why(visit, tenant):
    review = asked(tenant, tenant.new_agent()["id"], "Read files", ["file.read"])
    page = visit(tenant.new_key(["view"])["key"]).open(f"/console/reviews/{review}", "Change of policies")
    page.get_by_text("Needs the scope policies").wait_for()
    assert page.locator(".verdicts").count() == 0


def test_every_dialog_says_that_what_it_asked_for_waits(visit, tenant):
    """With a link to it, and nothing to press twice."""
    agent = tenant.new_agent()["id"]
    policy = tenant.admin.post("/v1/policies", json={"agent_id": agent, **SHADOW}).json()["id"]
    page = visit(tenant.admin_key).open(f"/console/policies/{policy}?tab=shadow", "Tried")
    page.get_by_role("button", name="Enforce…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("it works")
    dialog.get_by_role("button", name="Enforce").click()
    dialog.get_by_text("It waits for a second person.").wait_for()
    assert dialog.get_by_role("button").all_inner_texts() == ["Close"]
    dialog.get_by_role("link", name="Show what waits").click()
    page.get_by_text("it works").wait_for()
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_text("Withdrawn: nothing was changed.").wait_for()
    assert tenant.reader.get(f"/v1/policies/{policy}").json()["mode"] == "shadow"
