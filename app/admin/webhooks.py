"""Create and change webhooks; every answer shows how far their events have been sent."""

from msgspec import UNSET, UnsetType

from app.model.requests import NewSecret, NewWebhook, WebhookChanges, given
from app.errors import Invalid
from app.model.actors import ChangedBy
from app.model.webhooks import Webhook
from app.store.optimistic import Versions
from app.views.webhooks import WebhookView
from app.webhooks.delivery import Attempt, Delivery
from app.webhooks.destinations import Refused
from app.webhooks.webhooks import Webhooks


class WebhookAdmin:
    """Changes webhooks, never to a destination that events may not be sent to."""

    def __init__(self, webhooks: Webhooks, delivery: Delivery) -> None:
        self._webhooks = webhooks
        self._delivery = delivery

    async def create(self, workspace_id: str, new: NewWebhook, by: ChangedBy) -> WebhookView:
        """Create a webhook and show its secret, once. Raises Invalid, LimitReached."""
        self._require_destination(new.url)
        webhook, secret = await self._webhooks.create(
            workspace_id,
            new.url,
            new.events,
            format=new.format,
            denied=new.denied,
            secret=new.secret or None,
            by=by,
        )
        return await self._shown(workspace_id, webhook, secret)

    async def list_all(self, workspace_id: str) -> list[WebhookView]:
        """The workspace's webhooks, oldest first."""
        found = await self._webhooks.list_all(workspace_id)
        states = await self._webhooks.states(workspace_id, [each.id for each in found])
        return [WebhookView.of(webhook, state) for webhook, state in zip(found, states, strict=True)]

    async def get(self, workspace_id: str, webhook_id: str) -> WebhookView:
        """The webhook as it is now. Raises WebhookNotFound."""
        return await self._shown(workspace_id, await self._webhooks.get(workspace_id, webhook_id))

    async def update(
        self, workspace_id: str, webhook_id: str, changes: WebhookChanges, by: ChangedBy, if_match: Versions = None
    ) -> WebhookView:
        """The webhook with these changes. Raises Invalid, WebhookNotFound, VersionConflict."""
        if changes.url is not UNSET:
            self._require_destination(changes.url)
        webhook = await self._webhooks.update(workspace_id, webhook_id, **given(changes), if_match=if_match, by=by)
        return await self._shown(workspace_id, webhook)

    async def rotate(
        self, workspace_id: str, webhook_id: str, new: NewSecret, by: ChangedBy, if_match: Versions = None
    ) -> WebhookView:
        """Replace the secret and show the new one, once. Raises WebhookNotFound, VersionConflict."""
        webhook, secret = await self._webhooks.rotate(
            workspace_id, webhook_id, new.overlap_seconds * 1000, new.secret or None, if_match=if_match, by=by
        )
        return await self._shown(workspace_id, webhook, secret)

    async def test(self, workspace_id: str, webhook_id: str) -> Attempt:
        """Send one test event now, once, and return the outcome. Raises WebhookNotFound."""
        return await self._webhooks.test(workspace_id, webhook_id, self._delivery)

    async def _shown(self, workspace_id: str, webhook: Webhook, secret: str | UnsetType = UNSET) -> WebhookView:
        [state] = await self._webhooks.states(workspace_id, [webhook.id])
        return WebhookView.of(webhook, state, secret)

    def _require_destination(self, url: str) -> None:
        try:
            self._delivery.check(url)
        except Refused as refused:
            raise Invalid.at("$.url", str(refused)) from None
