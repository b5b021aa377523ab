"""`remit webhooks …`: the destinations of a workspace's events."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from app.cli.api import Api, Refused, on_api
from app.cli.groups import CommandGroup
from app.cli.option_types import Duration, Share, Uuid
from app.cli.options import JSON, REASON, checked
from app.cli.output import Shown, print_json, print_table, shows
from app.model.requests import NewSecret, NewWebhook, WebhookChanges
from app.model.text import counted
from app.model.webhooks import WebhookEvent, WebhookFormat

_PATH = "/v1/webhooks"
WEBHOOK = click.argument("webhook", type=Uuid("remit webhooks list"))
_EVENT = click.Choice([each.value for each in WebhookEvent])
_FORMAT = click.Choice([each.value for each in WebhookFormat])
_ONLY = (
    ("--agent", "agents", None, "Only events about this agent, by id or alias, or reviews of its policies"),
    ("--group", "groups", None, "Only events about agents in this group, or reviews of their policies or its own"),
    ("--tool", "tools", None, "Only events about calls of this tool, or of `prefix*`"),
    (
        "--policy",
        "policies",
        Uuid("remit policies list"),
        "Only events about this policy or reviews of it, or calls that it decided",
    ),
    ("--code", "codes", None, "Only events about entries of the log with this code"),
    ("--denied-by", "ruleTypes", None, "Only denials by rules of this type"),
)


def narrowed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that narrow the events; the command gets them as `only`, None if none is given."""

    @wraps(command)
    def with_only(*args: Any, sample: float | None, **given: Any) -> Any:
        lists = {name: list(given.pop(name.lower())) for _, name, _, _ in _ONLY}
        only = {name: value for name, value in (lists | {"sample": sample}).items() if value}
        return command(*args, only=only or None, **given)

    options = [
        click.option(flag, name.lower(), multiple=True, type=kind, help=f"{says}; may be repeated.")
        for flag, name, kind, says in _ONLY
    ]
    options.append(click.option("--denied-sample", "sample", type=Share(), help="Only this share of denials."))
    for option in reversed(options):
        with_only = option(with_only)
    return with_only


@click.group(cls=CommandGroup)
def webhooks() -> None:
    """Manage webhooks: events are sent to them, signed according to Standard Webhooks. WEBHOOK is an id."""


@webhooks.command("create")
@on_api
@click.argument("destination", metavar="URL")
@click.option(
    "--event", "events", multiple=True, required=True, type=_EVENT, help="The type of event to send; may be repeated."
)
@click.option(
    "--format",
    "kind",
    type=_FORMAT,
    default="standard",
    help="Standard Webhooks, a message for Slack, or a card for Teams.",
)
@narrowed
@click.option("--secret", help="The signing secret, whsec_…; generated if left out.")
@shows
@REASON
def create_webhook(
    api: Api,
    destination: str,
    events: tuple[str, ...],
    kind: str,
    only: dict[str, Any] | None,
    secret: str | None,
    reason: str,
) -> Shown:
    """Create a webhook and print its secret, once. It receives events from now on."""
    given: dict[str, Any] = {
        "url": destination,
        "events": events,
        "format": kind,
        "only": only,
    }
    given |= {} if secret is None else {"secret": secret}
    checked(NewWebhook, given)
    return _secret(_sent(api, "POST", _PATH, given, reason, "URL"))


@webhooks.command("update")
@on_api
@WEBHOOK
@click.option("--destination", metavar="URL", help="The new URL for its events.")
@click.option(
    "--event", "events", multiple=True, type=_EVENT, help="The types of events to send, replacing all others."
)
@click.option("--format", "kind", type=_FORMAT, help="Standard Webhooks, a message for Slack, or a card for Teams.")
@narrowed
@click.option("--no-filter", is_flag=True, help="Send all of its events again.")
@click.option(
    "--on/--off", "enabled", default=None, help="Off: it receives nothing; on: it receives events from now on."
)
@shows
@REASON
def update_webhook(
    api: Api,
    webhook: str,
    destination: str | None,
    events: tuple[str, ...],
    kind: str | None,
    only: dict[str, Any] | None,
    no_filter: bool,
    enabled: bool | None,
    reason: str,
) -> Shown:
    """Change a webhook; fields not given stay. Options that narrow its events replace all that did so before."""
    options: dict[str, Any] = {"url": destination, "enabled": enabled, "format": kind, "events": events or None}
    given = {name: value for name, value in options.items() if value is not None}
    if no_filter and only is not None:
        raise click.UsageError("--no-filter takes no option that narrows the events")
    if no_filter or only is not None:
        given["only"] = only
    if not given:
        raise click.UsageError("Nothing to change; `remit webhooks update --help` lists what can be")
    checked(WebhookChanges, given)
    changed = _sent(api, "PATCH", f"{_PATH}/{webhook}", given, reason, "--destination")
    yield changed
    click.echo(f"changed {changed['id']}: {'on' if changed['enabled'] else 'off'}, {changed['url']}")


@webhooks.command("list")
@on_api
@shows
def list_webhooks(api: Api) -> Shown:
    """List the webhooks, and how far each one's events have been sent."""
    found = api.get(_PATH)
    yield found
    counts = ("delivered", "waiting", "parked")
    rows = [
        (each["id"], "on" if each["enabled"] else "off", *(str(each[name]) for name in counts), each["url"])
        for each in found
    ]
    hint = "There are no webhooks; `remit webhooks create` creates one"
    print_table(("ID", "STATE", "DELIVERED", "WAITING", "PARKED", "URL"), rows, hint)


@webhooks.command("test")
@on_api
@WEBHOOK
@JSON
def test_webhook(api: Api, webhook: str, as_json: bool) -> None:
    """Send one event now and print the outcome; exit code 1 if it was not delivered."""
    attempt = api.call("POST", f"{_PATH}/{webhook}/test", {})
    if as_json:
        print_json(attempt)
    elif attempt["delivered"]:
        click.echo(f"delivered: the receiver answered {attempt['status']} after {attempt['milliseconds']} ms")
    if not attempt["delivered"]:
        raise click.ClickException(f"not delivered: {attempt['error']}")


@webhooks.command("events")
@on_api
@WEBHOOK
@shows
def list_events(api: Api, webhook: str) -> Shown:
    """List the events that could not be delivered, waiting and parked."""
    found = api.get(f"{_PATH}/{webhook}/events")
    yield found
    rows = [
        (each["id"], each["type"], each["status"], str(each["attempts"]), each["nextAttemptAt"] or "by hand",
         each["error"])
        for each in found
    ]  # fmt: skip
    print_table(("EVENT", "TYPE", "STATUS", "ATTEMPTS", "NEXT", "ERROR"), rows, "Everything was delivered")


@webhooks.command("deliveries")
@on_api
@WEBHOOK
@shows
def list_deliveries(api: Api, webhook: str) -> Shown:
    """List the last 50 attempts to deliver events, newest first."""
    found = api.get(f"{_PATH}/{webhook}/deliveries")
    yield found
    rows = [
        (each["at"], each["eventId"], each["type"], str(each["attempt"]), str(each["status"] or "-"),
         f"{each['milliseconds']} ms", each["error"] or "delivered")
        for each in found
    ]  # fmt: skip
    print_table(("AT", "EVENT", "TYPE", "ATTEMPT", "STATUS", "TOOK", "RESULT"), rows, "Nothing was sent yet")


@webhooks.command("retry")
@on_api
@WEBHOOK
@click.option("--event", help="Only this one, parked or not.")
@shows
def retry_events(api: Api, webhook: str, event: str | None) -> Shown:
    """Retry parked events now, and for another day."""
    retried = api.call("POST", f"{_PATH}/{webhook}/retry", {} if event is None else {"event": event})
    yield retried
    click.echo(f"{counted(retried['events'], 'event')} will be tried again")


@webhooks.command("rotate")
@on_api
@WEBHOOK
@click.option(
    "--overlap", type=Duration(), default="24h", show_default=True, help="How long the old secrets keep signing, too."
)
@shows
@REASON
def rotate_secret(api: Api, webhook: str, overlap: int, reason: str) -> Shown:
    """Create a new secret and print it, once; the previous ones also sign for the overlap."""
    new = {"overlapSeconds": overlap // 1000}
    checked(NewSecret, new)
    return _secret(api.call("POST", f"{_PATH}/{webhook}/rotate-secret", new, reason=reason))


@webhooks.command("delete")
@on_api
@WEBHOOK
@shows
@REASON
def delete_webhook(api: Api, webhook: str, reason: str) -> Shown:
    """Delete a webhook and its waiting events."""
    api.call("DELETE", f"{_PATH}/{webhook}", reason=reason)
    yield {"deleted": webhook}
    click.echo(f"deleted {webhook}")


def _sent(api: Api, method: str, path: str, body: dict[str, Any], reason: str, hint: str) -> dict[str, Any]:
    """The webhook as it is written. Raises click's error for `hint` if events must not be sent to its URL."""
    try:
        written: dict[str, Any] = api.call(method, path, body, reason=reason)
    except Refused as refused:
        if refused.details and refused.details[0]["path"] == "$.url":
            raise click.BadParameter(refused.details[0]["message"], param_hint=hint) from None
        raise
    return written


def _secret(webhook: dict[str, Any]) -> Shown:
    yield webhook
    click.echo(f"id     {webhook['id']}\nsecret {webhook['secret']} (shown only once)")
