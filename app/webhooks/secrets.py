"""Signing secrets: derived from REMIT_SECRET and stored nowhere, unless the caller supplied them."""

import base64
import secrets

from app.model.webhooks import Webhook, WebhookSecret
from app.redaction.signer import Purpose, Signer

_BYTES = 32


class Secrets:
    """The signing secrets of a workspace's webhooks."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    def new(self, number: int, given: str | None) -> WebhookSecret:
        """The secret with this number. Without REMIT_SECRET to derive it from, the store must keep it."""
        if given is None and self._signer.mac(Purpose.WEBHOOK, b"") is None:
            given = _written(secrets.token_bytes(_BYTES))
        return WebhookSecret(number, given)

    def signing(self, workspace_id: str, webhook: Webhook, now_ms: int) -> list[str]:
        """Every secret that signs now, in the form of Standard Webhooks, the newest first.

        A derived secret appears once for each value in REMIT_SECRET, so receivers keep working when that is replaced.
        """
        held = []
        for each in reversed(webhook.secrets):
            if each.until_ms is not None and now_ms >= each.until_ms:
                continue
            held += [each.given] if each.given is not None else self._derived(workspace_id, webhook.id, each.number)
        return held

    def _derived(self, workspace_id: str, webhook_id: str, number: int) -> list[str]:
        macs = self._signer.macs(Purpose.WEBHOOK, f"{workspace_id} {webhook_id} {number}".encode())
        return [_written(bytes.fromhex(each)) for each in macs]


def _written(secret: bytes) -> str:
    return f"whsec_{base64.b64encode(secret).decode()}"
