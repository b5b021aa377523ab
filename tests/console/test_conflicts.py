"""Two people change a policy at once: who saved is named, and both changes can be kept where they do not touch."""

import pytest

from tests.console.browsing import until

pytestmark = pytest.mark.slow

GRANT = {"type": "tool_grant", "tools": ["order.read"]}
LIMIT = {"type": "rate_limit", "tools": ["order.read"], "rateLimit": {"maxCalls": 5, "windowSeconds": 60}}
NEVER = {"type": "tool_denylist", "tools": ["order.delete"]}
MERGED = """async (cases) => {
  const {merged} = await import(
    document.querySelector('script[type=module]').src.replace('main.js', 'parts/rule_changes.js'));
  return cases.map((each) => merged(...each));
}"""


def limit(most):
    return {**LIMIT, "rateLimit": {"maxCalls": most, "windowSeconds": 60}}


def policy(*rules, **fields):
    return {"name": "Orders", **fields, "rules": list(rules)}


BASE = policy(GRANT, LIMIT)
CASES = [
    # (theirs, mine), what comes of it, and what of mine does not
    ((policy(GRANT, LIMIT, priority=5), policy(GRANT, limit(9))), policy(GRANT, limit(9), priority=5), []),
    (
        (policy(GRANT, LIMIT, priority=5), policy(GRANT, LIMIT, priority=7)),
        policy(GRANT, LIMIT, priority=5),
        ["priority"],
    ),
    ((policy(NEVER, GRANT, LIMIT), policy(GRANT, limit(9))), policy(NEVER, GRANT, limit(9)), []),
    ((policy(GRANT, limit(3)), policy(GRANT, LIMIT, NEVER)), policy(GRANT, limit(3), NEVER), []),
    ((policy(GRANT, limit(3)), policy(NEVER, GRANT, limit(9))), policy(NEVER, GRANT, limit(3)), ["rule 3"]),
    ((policy(GRANT), policy(GRANT, limit(9))), policy(GRANT), ["rule 2"]),
    ((policy(GRANT, limit(3)), policy(GRANT)), policy(GRANT, limit(3)), ["the removal of rate_limit"]),
    ((policy(GRANT, LIMIT, name="Theirs"), policy(GRANT)), policy(GRANT, name="Theirs"), []),
    ((policy(GRANT, LIMIT, NEVER), policy(GRANT, LIMIT, NEVER)), policy(GRANT, LIMIT, NEVER), []),
    ((policy(GRANT, LIMIT, name="Theirs"), policy(LIMIT, GRANT)), policy(LIMIT, GRANT, name="Theirs"), []),
    ((policy(LIMIT, GRANT), policy(GRANT, limit(9))), policy(limit(9), GRANT), []),
]


def test_what_others_did_not_touch_is_kept(visit):
    """Fields and whole rules; where both changed one, theirs stays, and mine is named by the number that I see."""
    page = visit("policies").open("/console/policies", "Policies")
    results = page.evaluate(MERGED, [[BASE, *versions] for versions, _, _ in CASES])
    assert [(each["policy"], each["lost"]) for each in results] == [(wanted, lost) for _, wanted, lost in CASES]


def test_a_conflict_names_who_saved_and_keeps_both_changes(visit, scene):
    """With their reason; the draft goes on with their version, and saving it then replaces nothing of theirs."""
    admin = scene.tenant.admin
    body = {"agent_id": "mail-bot", "name": "Orders", "rules": [GRANT, LIMIT]}
    path = f"/v1/policies/{admin.post('/v1/policies', json=body).json()['id']}"
    carol = scene.tenant.new_key(["policies"], name="carol")["key"]
    visitor = visit("policies")
    page = visitor.open(f"/console{path.removeprefix('/v1')}", "Orders")
    page.get_by_label("Max calls").fill("9")
    page.get_by_label("Priority").fill("3")
    until(page, "!document.querySelector('main .primary').disabled")
    saved = admin.patch(
        path,
        json={"priority": 5, "rules": [NEVER, GRANT, LIMIT]},
        headers={"Authorization": f"Bearer {carol}", "Change-Reason": "cleanup before audit"},
    )
    assert saved.status_code == 200, saved.text
    page.get_by_role("button", name="Save…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("order.read: at most 9 calls in 1 min").wait_for()
    dialog.get_by_text("order.read: at most 5 calls in 1 min").wait_for()
    dialog.get_by_label("Reason").fill("more orders")
    dialog.get_by_role("button", name="Save", exact=True).click()
    conflict = page.get_by_label("Saved meanwhile")
    conflict.get_by_text("carol saved version 2").wait_for()
    conflict.get_by_text("cleanup before audit").wait_for()
    conflict.get_by_text("You both changed priority: theirs stays there.").wait_for()
    conflict.get_by_role("button", name="What each of us changed").click()
    conflict.get_by_text("Never order.delete").wait_for()
    assert visitor.violations() == []
    conflict.get_by_role("button", name="Take theirs, keep mine where we do not touch").click()
    conflict.wait_for(state="detached")
    page.reload()
    page.get_by_text("Your changes are not saved yet.").wait_for()
    page.get_by_role("button", name="Save…").click()
    dialog.get_by_label("Reason").fill("more orders")
    dialog.get_by_role("button", name="Save", exact=True).click()
    dialog.wait_for(state="detached")
    now = admin.get(path).json()
    assert (now["version"], now["priority"]) == (3, 5)
    assert now["rules"] == [NEVER, GRANT, limit(9)]
    visitor.forgive("status of 412", "status of 429")  # the second dialog compares while the first one's may go on
    assert admin.delete(path).status_code == 204
