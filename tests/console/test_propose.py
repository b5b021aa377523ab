"""An agent's Propose: what its log and its tools' marks make, what each rule was made from, in shadow or as a file."""

import msgspec
import pytest

from app.model.proposals import ProposalLine
from app.policy_tools.files.policy_file import FileAgent, read_policy_file
from app.propose.proposed_file import in_shadow
from tests.console.browsing import press

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(scene):
    """An agent of which four users asked for the same, and one for more; it is deleted at the end."""
    admin = scene.tenant.admin
    agent = scene.tenant.new_agent(name="Front desk", alias="desk")["id"]
    scene.tenant.new_policy(agent, {"type": "tool_grant", "tools": ["seat.*"]}, name="everything")
    marks = {"seat.find": {"consequence": "none", "foreign": False}, "seat.take": {"consequence": "reversible"}}
    marks["seat.take"]["foreign"] = False
    for name in marks:
        assert admin.put(f"/v1/catalog/tool/{name}", json={}).status_code == 200
    assert admin.patch("/v1/catalog", json={"tools": marks}).status_code == 200
    for user, row in (("ann", 3), ("bob", 3), ("cleo", 3), ("dan", 3), ("eve", 99)):
        for tool, parameters in (("seat.find", {}), ("seat.take", {"row": row})):
            context = {"user": user, "session": f"of {user}"}
            call = {"agent_id": agent, "tool_name": tool, "parameters": parameters, "context": context}
            assert scene.runtime.post("/v1/authorize", json=call).json()["result"] == "allowed"
    yield agent
    for name in marks:
        assert admin.delete(f"/v1/catalog/tool/{name}").status_code == 204
    assert admin.delete(f"/v1/agents/{agent}").status_code == 204


def test_a_proposal_shows_what_each_rule_was_made_from_and_is_put_in_shadow(visit, scene, desk, tmp_path):
    """What too few users did is named, with a link to its entry; the file is one that the command line reads; put in
    shadow twice, the policies are there once, and nothing that was enforced is gone.
    """
    visitor = visit("admin")
    page = visitor.open("/console/agents/desk?tab=propose", "Front desk")
    propose = page.get_by_role("button", name="Propose", exact=True)
    press(propose)
    page.get_by_role("heading", name="10 calls of 5 users in 5 sessions").wait_for()
    tools = page.get_by_role("region", name="Tools", exact=True)
    words = tools.inner_text()
    assert (
        words.index("only reads") < words.index("seat.find") < words.index("can be undone") < words.index("seat.take")
    )
    rule = page.locator(".item", has_text="seat.take: row")
    assert "5 calls, 5 users; 1 value left out" in rule.inner_text()
    press(rule.locator("summary"))
    link = rule.get_by_text("left out, because too few users did it:").locator("..").get_by_role("link", name="99")
    entry = link.get_attribute("href").partition("entry=")[2]
    assert scene.tenant.admin.get(f"/v1/audit-logs/{entry}").json()["parameters"] == {"row": 99}
    assert "none would be allowed" in page.get_by_role("region", name="How it was tried").inner_text()
    assert visitor.violations() == []

    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    press(page.get_by_role("button", name="Copy as file"))
    path = tmp_path / "desk.yaml"
    path.write_text(page.evaluate("window.copied"))
    assert f"left out: 99 (entry {entry})" in path.read_text()
    read = read_policy_file(path)
    assert read.file.agent_ref == "desk"

    stored = f"/v1/agents/{desk}/policies"
    answer = scene.tenant.admin.post("/v1/policies/propose", json={"agent_id": "desk"}).text
    proposal = msgspec.json.decode(answer.splitlines()[-1], type=ProposalLine).proposal
    wanted = [(each["name"], each["priority"], each["rules"]) for each in in_shadow(proposal.policies, proposal.tools)]
    for _ in range(2):
        press(page.get_by_role("button", name="Put in shadow…"))
        press(page.get_by_role("dialog").get_by_role("button", name="Put in shadow"))
        page.wait_for_url("**tab=policies")
        found = scene.tenant.admin.get(stored).json()["policies"]
        assert len(found) == len(read.file.policies) + 2
        assert [each["name"] for each in found if each["mode"] == "enforce"] == ["everything"]
        shadows = [(each["name"], each["priority"], each["rules"]) for each in found if each["mode"] == "shadow"]
        assert sorted(shadows, key=str) == sorted(wanted, key=str)
        visitor.open("/console/agents/desk?tab=propose", "Front desk")
        press(propose)
        page.get_by_role("heading", name="10 calls of 5 users in 5 sessions").wait_for()


def test_the_file_of_an_agent_without_an_alias_gives_it_none(visit, scene, desk, tmp_path):
    """By one word it would name an agent that has the word as its alias, too, if another workspace makes it."""
    changed = scene.tenant.admin.patch(f"/v1/agents/{desk}", json={"name": "night-bot", "alias": None})
    assert changed.status_code == 200
    page = visit("view").open(f"/console/agents/{desk}?tab=propose", "night-bot")
    press(page.get_by_role("button", name="Propose", exact=True))
    page.get_by_role("heading", name="10 calls of 5 users in 5 sessions").wait_for()
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    press(page.get_by_role("button", name="Copy as file"))
    path = tmp_path / "night-bot.yaml"
    path.write_text(page.evaluate("window.copied"))
    assert read_policy_file(path).file.new_agent == FileAgent(name="night-bot")


def test_a_session_that_nobody_vouches_for_teaches_nothing(visit, desk):
    """Left out by its name, nothing of it is learned; a period without calls is an error and no proposal."""
    visitor = visit("view")
    page = visitor.open("/console/agents/desk?tab=propose", "Front desk")
    page.get_by_label("Without these sessions").fill("of eve, of nobody")
    press(page.get_by_role("button", name="Propose", exact=True))
    page.get_by_role("heading", name="8 calls of 4 users in 4 sessions").wait_for()
    assert page.get_by_role("button", name="Put in shadow…").is_disabled()
    page.get_by_label("Only these sessions").fill("of nobody")
    press(page.get_by_role("button", name="Propose", exact=True))
    page.get_by_role("alert").wait_for()
    visitor.forgive("status of 409")


def test_an_agent_that_has_policies_gets_changes_of_them(visit, scene, desk):
    """Here none: nothing is granted for 90 days, and nobody has approved anything. They are not put in shadow."""
    owned = f"/v1/agents/{desk}/policies?prune=true"
    rules = [{"type": "tool_grant", "tools": ["seat.find", "seat.take"]}]
    assert scene.tenant.admin.put(owned, json={"policies": [{"name": "seats", "rules": rules}]}).status_code == 200
    visitor = visit("admin")
    page = visitor.open("/console/agents/desk?tab=propose", "Front desk")
    press(page.get_by_role("button", name="Propose", exact=True))
    assert "They need none" in page.get_by_role("region", name="Changes").inner_text()
    assert page.get_by_role("button", name="Put in shadow…").is_disabled()
    assert "as it is" in page.get_by_role("region", name="seats").inner_text()
    assert visitor.violations() == []
