"""`remit webhooks …`: the destinations of a workspace's events."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from app.admin.requests import NewSecret, NewWebhook, WebhookChanges
from app.cli.groups import CommandGroup
from app.cli.options import JSON, WORKSPACE, Duration
from app.cli.output import Share, print_table
from app.cli.session import checked, in_workspace, print_json
from app.cli.webhook_events import WEBHOOK, list_events, retry_events
from app.errors import Invalid
from app.model.actors import COMMAND_LINE
from app.model.webhooks import WebhookEvent, WebhookFormat
from app.views.webhooks import WebhookView

if TYPE_CHECKING:
    from app.replica import Services

_EVENT = click.Choice([each.value for each in WebhookEvent])
_FORMAT = click.Choice([each.value for each in WebhookFormat])
DENIED_BY = click.option("--denied-by", multiple=True, help="Only denials by rules of this type; may be repeated.")
DENIED_SAMPLE = click.option("--denied-sample", type=Share(), help="Only this share of denials.")


@click.group(cls=CommandGroup)
def webhooks() -> None:
    """Manage webhooks: events are sent to them, signed according to Standard Webhooks. WEBHOOK is an id."""


@webhooks.command("create")
@WORKSPACE
@click.argument("url")
@click.option(
    "--event", "events", multiple=True, required=True, type=_EVENT, help="The type of event to send; may be repeated."
)
@click.option("--format", "kind", type=_FORMAT, default="standard", help="Standard Webhooks, or a message for Slack.")
@DENIED_BY
@DENIED_SAMPLE
@click.option("--secret", help="The signing secret, whsec_…; generated if left out.")
@JSON
def create_webhook(
    workspace: str,
    url: str,
    events: tuple[str, ...],
    kind: str,
    denied_by: tuple[str, ...],
    denied_sample: float | None,
    secret: str | None,
    as_json: bool,
) -> None:
    """Create a webhook and print its secret, once. It receives events from now on."""
    given = {"url": url, "events": events, "format": kind, "denied": _denied(denied_by, denied_sample)}
    new = checked(NewWebhook, given | ({} if secret is None else {"secret": secret}))

    async def create(services: "Services", workspace_id: str) -> WebhookView:
        with _hinted("URL"):
            return await services.admin.webhooks.create(workspace_id, new, COMMAND_LINE)

    _print_secret(in_workspace(workspace, create), as_json=as_json)


@webhooks.command("update")
@WORKSPACE
@WEBHOOK
@click.option("--url", help="The new URL for its events.")
@click.option(
    "--event", "events", multiple=True, type=_EVENT, help="The types of events to send, replacing all others."
)
@click.option("--format", "kind", type=_FORMAT, help="Standard Webhooks, or a message for Slack.")
@DENIED_BY
@DENIED_SAMPLE
@click.option("--every-denial", is_flag=True, help="Send every denial again, if it receives denials.")
@click.option(
    "--on/--off", "enabled", default=None, help="Off: it receives nothing; on: it receives events from now on."
)
@JSON
def update_webhook(
    workspace: str,
    webhook: str,
    url: str | None,
    events: tuple[str, ...],
    kind: str | None,
    denied_by: tuple[str, ...],
    denied_sample: float | None,
    every_denial: bool,
    enabled: bool | None,
    as_json: bool,
) -> None:
    """Change a webhook; fields not given stay."""
    options: dict[str, Any] = {"url": url, "enabled": enabled, "format": kind, "events": events or None}
    given = {name: value for name, value in options.items() if value is not None}
    denied = _denied(denied_by, denied_sample)
    if every_denial and denied is not None:
        raise click.UsageError("--every-denial takes neither --denied-by nor --denied-sample")
    if every_denial or denied is not None:
        given["denied"] = denied
    if not given:
        raise click.UsageError("Nothing to change; `remit webhooks update --help` lists what can be")
    changes = checked(WebhookChanges, given)

    async def update(services: "Services", workspace_id: str) -> WebhookView:
        with _hinted("--url"):
            return await services.admin.webhooks.update(workspace_id, webhook, changes, COMMAND_LINE)

    changed = in_workspace(workspace, update)
    if as_json:
        print_json(changed)
    else:
        click.echo(f"changed {changed.id}: {'on' if changed.enabled else 'off'}, {changed.url}")


@webhooks.command("list")
@WORKSPACE
@JSON
def list_webhooks(workspace: str, as_json: bool) -> None:
    """List the webhooks, and how far each one's events have been sent."""
    found = in_workspace(workspace, lambda services, workspace_id: services.admin.webhooks.list_all(workspace_id))
    if as_json:
        print_json(found)
        return
    rows = [
        (each.id, "on" if each.enabled else "off", *map(str, (each.delivered, each.waiting, each.parked)), each.url)
        for each in found
    ]
    hint = "There are no webhooks; `remit webhooks create` creates one"
    print_table(("ID", "STATE", "DELIVERED", "WAITING", "PARKED", "URL"), rows, hint)


@webhooks.command("test")
@WORKSPACE
@WEBHOOK
@JSON
def test_webhook(workspace: str, webhook: str, as_json: bool) -> None:
    """Send one event now and print the outcome; exit code 1 if it was not delivered."""

    async def test(services: "Services", workspace_id: str) -> Any:
        return await services.admin.webhooks.test(workspace_id, webhook)

    attempt = in_workspace(workspace, test)
    if as_json:
        print_json(attempt)
    elif attempt.delivered:
        click.echo(f"delivered: the receiver answered {attempt.status} after {attempt.milliseconds} ms")
    if not attempt.delivered:
        raise click.ClickException(f"not delivered: {attempt.error}")


@webhooks.command("rotate")
@WORKSPACE
@WEBHOOK
@click.option(
    "--overlap", type=Duration(), default="24h", show_default=True, help="How long the old secrets keep signing, too."
)
@JSON
def rotate_secret(workspace: str, webhook: str, overlap: int, as_json: bool) -> None:
    """Create a new secret and print it, once; the previous ones also sign for the overlap."""
    new = checked(NewSecret, {"overlapSeconds": overlap // 1000})

    async def rotate(services: "Services", workspace_id: str) -> WebhookView:
        return await services.admin.webhooks.rotate(workspace_id, webhook, new, COMMAND_LINE)

    _print_secret(in_workspace(workspace, rotate), as_json=as_json)


@webhooks.command("delete")
@WORKSPACE
@WEBHOOK
@JSON
def delete_webhook(workspace: str, webhook: str, as_json: bool) -> None:
    """Delete a webhook and its waiting events."""

    async def delete(services: "Services", workspace_id: str) -> None:
        await services.records.webhooks.delete(workspace_id, webhook, by=COMMAND_LINE)

    in_workspace(workspace, delete)
    if as_json:
        print_json({"deleted": webhook})
    else:
        click.echo(f"deleted {webhook}")


def _denied(rule_types: tuple[str, ...], sample: float | None) -> dict[str, Any] | None:
    """The denials it receives, or None if no option was given."""
    options = {"ruleTypes": rule_types, "sample": sample}
    return {name: value for name, value in options.items() if value} or None


@contextmanager
def _hinted(hint: str) -> Iterator[None]:
    """Raise click's error in place of Invalid, if events must not be sent to the URL."""
    try:
        yield
    except Invalid as refused:
        raise click.BadParameter(refused.details[0].message, param_hint=hint) from None


def _print_secret(webhook: WebhookView, *, as_json: bool) -> None:
    if as_json:
        print_json(webhook)
    else:
        click.echo(f"id     {webhook.id}\nsecret {webhook.secret} (shown only once)")


webhooks.add_command(list_events)
webhooks.add_command(retry_events)
