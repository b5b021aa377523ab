"""Events as cards for a channel of Teams, with a link to the approval: nobody decides there.

A workflow "when a webhook request is received" posts the card. Callers' strings appear only as text runs, which no
client interprets, so they can contain no link, mention or markup.
"""

from collections.abc import Sequence
from typing import Any

from app.webhooks.told import calls_of, facts_of, listings_of, page_of, shown, title_of

_CARD = "application/vnd.microsoft.card.adaptive"


def teams_message(kind: str, data: dict[str, Any], pages_url: str | None = None) -> dict[str, Any]:
    """The body for the workflow: one adaptive card. pages_url: as for `slack_message`."""
    title = title_of(kind, data)
    body = [_text([{"text": title, "weight": "Bolder", "size": "Large"}])]
    body += [_fact(name, value) for name, value in facts_of(data)]
    plan = calls_of(data)
    for number, call in enumerate(plan, 1):
        if len(plan) > 1:
            body.append(_fact(f"Call {number} of {len(plan)}", shown(str(call["toolName"]))))
        for heading, lines in listings_of(call):
            body.append(_text([{"text": heading, "weight": "Bolder"}]))
            body += [_text([{"text": line, "fontType": "Monospace"}], spacing="None") for line in lines]
    card: dict[str, Any] = {"type": "AdaptiveCard", "version": "1.4", "fallbackText": title, "body": body}
    card["msteams"] = {"width": "Full"}
    if pages_url is not None and (page := page_of(data)):
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Decide in the console", "url": pages_url + page[0]}]
    attachment = {"contentType": _CARD, "contentUrl": None, "content": card}
    return {"type": "message", "summary": title, "attachments": [attachment]}


def _fact(name: str, value: str) -> dict[str, Any]:
    return _text([{"text": f"{name}: ", "weight": "Bolder"}, {"text": value}], spacing="Small")


def _text(runs: Sequence[dict[str, Any]], **layout: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", **run} for run in runs], **layout}
