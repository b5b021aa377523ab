"""`remit webhooks …`: where a workspace's events are sent."""

from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from app.cli.groups import CommandGroup
from app.cli.options import JSON, WORKSPACE, Duration
from app.cli.output import Share, print_table
from app.cli.session import print_json, with_services
from app.cli.webhook_events import WEBHOOK, list_events, retry_events
from app.model.actors import COMMAND_LINE
from app.model.webhooks import DeniedFilter, WebhookEvent, WebhookFormat
from app.views.webhooks import WebhookView

if TYPE_CHECKING:
    from app.model.webhooks import Webhook
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
    from app.model.text import FieldError
    from app.model.webhooks import require_secret

    denied = _denied(denied_by, denied_sample)
    if secret is not None:
        try:
            require_secret(secret)
        except FieldError as error:
            raise click.BadParameter(error.message, param_hint="--secret") from None

    async def create(services: "Services") -> tuple[WebhookView, str]:
        _require_destination(services, url, "URL")
        workspace_id = await services.workspaces.find(workspace)
        wanted = [WebhookEvent(each) for each in events]
        made = await services.webhooks.create(
            workspace_id, url, wanted, format=WebhookFormat(kind), denied=denied, secret=secret, by=COMMAND_LINE
        )
        return await _with_secret(services, workspace_id, *made)

    _print_secret(with_services(create), as_json=as_json)


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
    wanted: dict[str, Any] = {"url": url, "enabled": enabled, "format": kind and WebhookFormat(kind)}
    wanted["events"] = [WebhookEvent(each) for each in events] or None
    wanted["denied"] = _denied(denied_by, denied_sample)
    given = {name: value for name, value in wanted.items() if value is not None}
    if every_denial:
        if "denied" in given:
            raise click.UsageError("--every-denial takes neither --denied-by nor --denied-sample")
        given["denied"] = None
    if not given:
        raise click.UsageError("Nothing to change; `remit webhooks update --help` lists what can be")

    async def update(services: "Services") -> WebhookView:
        if url is not None:
            _require_destination(services, url, "--url")
        workspace_id = await services.workspaces.find(workspace)
        changed = await services.webhooks.update(workspace_id, webhook, by=COMMAND_LINE, **given)
        [state] = await services.webhooks.states(workspace_id, [changed.id])
        return WebhookView.of(changed, state)

    changed = with_services(update)
    if as_json:
        print_json(changed)
    else:
        click.echo(f"changed {changed.id}: {'on' if changed.enabled else 'off'}, {changed.url}")


@webhooks.command("list")
@WORKSPACE
@JSON
def list_webhooks(workspace: str, as_json: bool) -> None:
    """List the webhooks, and how far each one's events have been sent."""

    async def read(services: "Services") -> list[WebhookView]:
        workspace_id = await services.workspaces.find(workspace)
        found = await services.webhooks.list_all(workspace_id)
        states = await services.webhooks.states(workspace_id, [each.id for each in found])
        return [WebhookView.of(each, state) for each, state in zip(found, states, strict=True)]

    found = with_services(read)
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

    async def test(services: "Services") -> Any:
        return await services.webhooks.test(await services.workspaces.find(workspace), webhook, services.delivery)

    attempt = with_services(test)
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

    async def rotate(services: "Services") -> tuple[WebhookView, str]:
        workspace_id = await services.workspaces.find(workspace)
        return await _with_secret(
            services, workspace_id, *await services.webhooks.rotate(workspace_id, webhook, overlap, by=COMMAND_LINE)
        )

    _print_secret(with_services(rotate), as_json=as_json)


@webhooks.command("delete")
@WORKSPACE
@WEBHOOK
@JSON
def delete_webhook(workspace: str, webhook: str, as_json: bool) -> None:
    """Delete a webhook and its waiting events."""

    async def delete(services: "Services") -> None:
        await services.webhooks.delete(await services.workspaces.find(workspace), webhook, by=COMMAND_LINE)

    with_services(delete)
    if as_json:
        print_json({"deleted": webhook})
    else:
        click.echo(f"deleted {webhook}")


def _denied(rule_types: tuple[str, ...], sample: float | None) -> DeniedFilter | None:
    """Which denials it receives; None = no option was given."""
    if not rule_types and sample is None:
        return None
    return DeniedFilter(rule_types=list(rule_types) or UNSET, sample=sample or 1.0)


def _require_destination(services: "Services", url: str, hint: str) -> None:
    """Raise click's error unless events may be sent to the URL."""
    from app.webhooks.destinations import Refused

    try:
        services.delivery.check(url)
    except Refused as refused:
        raise click.BadParameter(str(refused), param_hint=hint) from None


async def _with_secret(
    services: "Services", workspace_id: str, webhook: "Webhook", secret: str
) -> tuple[WebhookView, str]:
    """Print the webhook and its new secret."""
    [state] = await services.webhooks.states(workspace_id, [webhook.id])
    return WebhookView.of(webhook, state, secret), secret


def _print_secret(made: tuple[WebhookView, str], *, as_json: bool) -> None:
    webhook, secret = made
    if as_json:
        print_json(webhook)
    else:
        click.echo(f"id     {webhook.id}\nsecret {secret} (shown only once)")


webhooks.add_command(list_events)
webhooks.add_command(retry_events)
