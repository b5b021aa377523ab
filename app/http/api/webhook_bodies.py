"""The bodies of /v1/webhooks."""

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from app.admin.requests import NewSecret, NewWebhook, WebhookChanges
from app.http.bodies import Body
from app.model.fields import Count


class CreateWebhook(Body, NewWebhook, frozen=True):
    """A new webhook. It receives events from now on."""


class UpdateWebhook(Body, WebhookChanges, frozen=True):
    """What to change; fields that are left out stay."""


class RotateSecret(Body, NewSecret, frozen=True):
    """Another secret for a webhook."""

    aliases: ClassVar[dict[str, str]] = {"overlap_seconds": "overlapSeconds"}


class SendTest(Body, frozen=True):
    """An empty body: `{}`."""


class RetryEvents(Body, frozen=True):
    """Which events to retry.

    event: The id of one event, parked or not; all parked ones if left out.
    """

    event: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET


class Retried(Struct, frozen=True):
    """events: How many events will be tried again now."""

    events: Count
