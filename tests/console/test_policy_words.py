"""A policy in words: what a rule does, what is missing, where something is wrong, and times as people say them."""

import json
from pathlib import Path

import pytest

from tests.console.browsing import until

pytestmark = pytest.mark.slow

EXAMPLES = [
    policy
    for path in sorted(Path("examples").glob("*/*.json"))
    for policy in json.loads(path.read_text()).get("policies", [])
]
LOAD = "(name) => import(document.querySelector('script[type=module]').src.replace('main.js', name))"


@pytest.fixture
def form(visit):
    """The form of a new policy of the refund bot, and its last rule."""
    page = visit("policies").open("/console/policies/new?agent=refund-bot", "New policy")
    page.get_by_label("Name", exact=True).fill("Hours")
    return page, page.locator(".rule").last


def test_a_rule_is_chosen_by_what_it_does_and_says_so_once_it_is_complete(form):
    """With its identifier beside; until then, and while it is refused, there is no sentence."""
    rule = form[1]
    kind = rule.get_by_label("Type of rule")
    assert "So many calls at most · rate_limit" in kind.inner_text()
    kind.select_option("rate_limit")
    said = rule.locator("header + p")
    assert said.inner_text() == ""
    rule.get_by_label("Tools").fill("order.read")
    rule.get_by_text("order.read: at most 1 calls in 1 s").wait_for()
    rule.get_by_label("Max calls").fill("-5")
    rule.locator("label").filter(has_text="Max calls").locator(".error").wait_for()
    assert said.inner_text() == ""


def test_save_says_what_is_missing_and_an_error_has_the_number_of_its_card(form):
    """Also to those who cannot see that the button is off."""
    page, rule = form
    save = page.get_by_role("button", name="Save…")
    why = page.locator(f"#{save.get_attribute('aria-describedby')}")
    why.get_by_text("Missing: rule 1: tools").wait_for()
    assert save.is_disabled()
    rule.get_by_label("Tools").fill("order.read")
    page.get_by_role("button", name="Add a rule").click()
    rule.get_by_label("Type of rule").select_option("time_based")
    rule.get_by_label("Tools").fill("mail.send")
    why.get_by_text("Missing: rule 2: time window").wait_for()
    rule.get_by_role("button", name="Add hours").click()
    why.get_by_text("", exact=True).wait_for(state="attached")
    rule.get_by_label("Tools").fill(".*")
    page.locator(".marks").get_by_text("rule 2: tools").wait_for()
    rule.locator("label").filter(has_text="Tools").locator(".error").wait_for()
    why.get_by_text("The service refuses it, and says why at its field").wait_for()


def test_hours_are_from_and_to_and_zones_are_a_list(form):
    """Over midnight, too; spans with days of their own are fields, not JSON."""
    page, rule = form
    rule.get_by_label("Type of rule").select_option("time_based")
    rule.get_by_label("Tools").fill("mail.send")
    rule.get_by_role("button", name="Add hours").click()
    rule.get_by_label("From").select_option(label="22:00")
    rule.get_by_label("To", exact=True).nth(1).wait_for()
    starts = [each.input_value() for each in rule.get_by_label("From").all()]
    ends = [each.input_value() for each in rule.get_by_label("To", exact=True).all()]
    assert list(zip(starts, ends, strict=True)) == [("0", "17"), ("22", "24")]
    fields = rule.get_by_role("group", name="Time window").get_by_label("Add a field").last
    fields.select_option("timezone")
    zone = rule.get_by_label("Timezone").first
    zone.select_option("Europe/Paris")
    rule.get_by_text("mail.send: every day, 0\u201317 h, 22\u201324 h (Europe/Paris)").wait_for()
    rule.get_by_role("button", name="Remove allowedHours").click()
    fields.select_option("windows")
    rule.get_by_role("button", name="+ add…").click()
    rule.get_by_label("From").fill("09:00")
    rule.get_by_label("To", exact=True).fill("24:00")
    rule.get_by_text("mail.send: every day, 09:00\u201324:00 (Europe/Paris)").wait_for()
    until(page, "!document.querySelector('main .primary').disabled")


def test_a_rule_can_begin_as_one_of_the_examples(form, scene):
    """Each that is offered is one of examples/, and the console finds nothing missing in any example."""
    page, rule = form
    templates = page.evaluate(f"async () => (await ({LOAD})('parts/rule_templates.js')).TEMPLATES")
    known = [rule for policy in EXAMPLES for rule in policy["rules"]]
    assert [title for title, rule in templates if rule not in known] == []
    schema = scene.tenant.admin.get("/v1/policies/schema.json").json()
    found = page.evaluate(
        f"""async ([schema, policies]) => {{
          const {{lacking}} = await ({LOAD})("parts/lacking.js");
          return policies.flatMap((each) => lacking(schema, schema.$defs.PolicyEntry, each));
        }}""",
        [schema, EXAMPLES],
    )
    assert found == []
    page.get_by_label("Add a rule like one of the examples").select_option(
        label="Ids have their form · parameter_constraint"
    )
    rule.get_by_text("cancel_reservation: reservation_id matches ^[A-Z0-9]{6}$").wait_for()
    assert page.locator(".rule").count() == 2
