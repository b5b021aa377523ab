"""Events as messages for Slack. Callers' strings appear only in elements that Slack does not interpret.

`rich_text` has separate elements for links, styles and lines, so a string cannot forge them. The notification names
agent and tool, without markup.
"""

from collections.abc import Sequence
from typing import Any

from app.model.usual import Usual
from app.webhooks.slack_app import APPROVE, DENY, REVIEW
from app.webhooks.told import calls_of, compared_lines, facts_of, listings_of, notified, page_of, shown, title_of

_BUTTON_MAX, _SENTENCE_MAX = 70, 2_000


def slack_message(kind: str, data: dict[str, Any], pages_url: str | None = None) -> dict[str, Any]:
    """The body of an incoming webhook: blocks, and a text for the notification.

    pages_url: where the console's pages begin; None = no link.
    """
    title = title_of(kind, data)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}},
    ]
    elements = call_elements(data)
    plan = calls_of(data)
    if len(plan) > 1:
        elements.append(_commands(f"remit approvals list --plan-id {plan[0]['plan']['id']}"))
    elif page := page_of(data):
        elements.append(_where_to_decide(*page, pages_url))
    if elements:
        blocks.append({"type": "rich_text", "elements": elements})
    return {"text": f"{title}{_notification(data)}", "mrkdwn": False, "blocks": blocks}


def call_elements(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The facts about an event, and the values of its calls, as elements of a `rich_text`."""
    facts, plan = facts_of(data), calls_of(data)
    elements = [_section(facts)] if facts else []
    for number, call in enumerate(plan, 1):
        if len(plan) > 1:
            elements.append(_section([(f"Call {number} of {len(plan)}", shown(str(call["toolName"])))]))
        for heading, lines in listings_of(call):
            elements += [_section([(heading, "")]), preformatted(lines)]
    return elements


def review_buttons(values: Sequence[str]) -> list[dict[str, Any]]:
    """A button for each call, which shows it to whoever presses it; no block without a call."""
    words = ["Decide…"] if len(values) == 1 else [f"Decide call {number}…" for number in range(1, len(values) + 1)]
    named = [f"{REVIEW}_{number}" for number in range(len(values))]
    buttons = [_button(name, word, value) for name, word, value in zip(named, words, values, strict=True)]
    return [{"type": "actions", "elements": buttons}] if buttons else []


def review_message(data: dict[str, Any], usual: Usual, decide_value: str, url: str) -> dict[str, Any]:
    """The call as it is now, for one person: compared with others, and with the buttons that decide it.

    data: as of the event `approval.requested`. url: of the approval's page.
    """
    call = data["approval"]
    told = [*call_elements(data), _section([("Compared with other calls", "")]), preformatted(compared_lines(usual))]
    what = f"{call['toolName']} for {data['agentName'] or call['agentId']}"
    buttons = [
        _button(APPROVE, f"Approve {what}", decide_value, style="primary"),
        _button(DENY, "Deny", decide_value, style="danger"),
        {**_button("remit_open", "Open in the console", ""), "url": url},
    ]
    blocks = [{"type": "rich_text", "elements": told}, {"type": "actions", "elements": buttons}]
    return {"response_type": "ephemeral", "replace_original": False, "text": "The call", "blocks": blocks}


def only_text(text: str, *, instead: bool = False) -> dict[str, Any]:
    """A sentence for one person, as it is; instead: in place of the message with the button that they pressed."""
    blocks = [{"type": "section", "text": {"type": "plain_text", "text": shown(text, _SENTENCE_MAX), "emoji": False}}]
    return {"response_type": "ephemeral", "replace_original": instead, "text": "Remit", "blocks": blocks}


def _button(action: str, text: str, value: str, **style: str) -> dict[str, Any]:
    words = {"type": "plain_text", "text": shown(text, _BUTTON_MAX, "…"), "emoji": False}
    return {"type": "button", "action_id": action, "text": words, **({"value": value} if value else {}), **style}


def _notification(data: dict[str, Any]) -> str:
    told = notified(data)
    # The three characters that Slack's markup is made of: without them, no link and no mention.
    return told and ": " + told.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _section(facts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    elements: list[dict[str, Any]] = []
    for place, (name, value) in enumerate(facts):
        line_feed = "\n" if place else ""
        elements.append({"type": "text", "text": f"{line_feed}{name}: ", "style": {"bold": True}})
        if value:
            elements.append({"type": "text", "text": value})
    return {"type": "rich_text_section", "elements": elements}


def preformatted(lines: Sequence[str]) -> dict[str, Any]:
    """These lines, exactly."""
    return {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "\n".join(lines)}]}


def _where_to_decide(page: str, words: str, command: str, pages_url: str | None) -> dict[str, Any]:
    if pages_url is None:
        return _commands(command)
    return _commands(command, {"type": "link", "url": pages_url + page, "text": words}, {"type": "text", "text": " · "})


def _commands(command: str, *before: dict[str, Any]) -> dict[str, Any]:
    shown = {"type": "text", "text": command, "style": {"code": True}}
    return {"type": "rich_text_section", "elements": [*before, shown]}
