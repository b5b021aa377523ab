"""Differences and replays as comments on a pull request."""

from app.cli.replay_report import markdown_lines
from app.model.decisions import Result
from app.model.policies import Owner
from app.model.policy_sets import PolicyEntry, settle
from app.model.replays import Decider, Flip, FlipSample, ReplayReport
from app.model.rules import ToolDenylist
from app.policy_tools.files.comparison import as_markdown, compare

LONGEST = 65_536
DECIDER = Decider(policy_id=None, policy_name="p" * 255, rule=None)


def created(owner, file, *entries):
    """What applying the entries to an owner without policies would change."""
    return compare(owner, file, settle([], entries, Owner("a"), prune=False), len(entries))


def test_a_comment_is_short_enough_however_much_changes():
    """It says how much was left out, and its code fence is closed."""
    rules = [ToolDenylist(tools=[f"tool.{number}"]) for number in range(50)]
    entries = [PolicyEntry(name=f"policy {number}", rules=rules) for number in range(500)]
    lines = list(as_markdown([created("agent a", "a.yaml", *entries)]))
    assert [line for line in lines if line.startswith("`")] == ["````diff", "````"]
    assert lines[-1] == "500 created"
    assert lines[-4].startswith("… and 51,")

    samples = [FlipSample(id="i", agent_id="a", timestamp="t", reason="-" * 500, new_reason="-" * 500)] * 3
    flip = Flip(was=Result.DENIED, becomes=Result.ALLOWED, tool_name="t" * 255, by=DECIDER, now_by=DECIDER, count=3)
    flip.samples = samples
    flips = list(markdown_lines(ReplayReport(from_="then", to="now", flipped=1500, flips=[flip] * 500)))
    assert flips[-1] == "</details>"
    assert len("\n".join(lines + flips)) < LONGEST


def test_an_owners_name_cannot_mention_anybody():
    """Because anyone may have sent the file with its name."""
    entry = PolicyEntry(name="p", rules=(ToolDenylist(tools=["x"]),))
    told = "\n".join(as_markdown([created("agent @org/team <b> `", "a`.yaml", entry)]))
    assert "@" not in told
    assert "<b>" not in told
    assert "a`" not in told
