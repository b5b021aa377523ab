"""Signing secrets: derived from REMIT_SECRET and stored nowhere, unless the caller supplied them."""

import base64
import secrets

from app.model.webhooks import Webhook, WebhookSecret
from app.redaction.signer import Purpose, Signer

_BYTES = 32


class Secrets:
    """The signing secrets of a workspace's webhooks."""

    def __init__(self, signer: Signer) -> None:
        self.signer = signer

    def new(self, number: int, supplied: str | None) -> WebhookSecret:
        """The secret with this number. Without REMIT_SECRET to derive it from, the store must keep it."""
        if supplied is None and self.signer.mac(Purpose.WEBHOOK, b"") is None:
            supplied = _written(secrets.token_bytes(_BYTES))
        return WebhookSecret(number, supplied)

    def signing(self, workspace_id: str, webhook: Webhook, now_ms: int) -> list[str]:
        """Every secret that signs at `now_ms`, in the form of Standard Webhooks, newest first.

        A derived secret appears once for each value in REMIT_SECRET, so receivers keep working when that is replaced.
        """
        signing = []
        for secret in reversed(webhook.secrets):
            if secret.until_ms is not None and now_ms >= secret.until_ms:
                continue
            signing += (
                [secret.given] if secret.given is not None else self._derived(workspace_id, webhook.id, secret.number)
            )
        return signing

    def _derived(self, workspace_id: str, webhook_id: str, number: int) -> list[str]:
        macs = self.signer.macs(Purpose.WEBHOOK, f"{workspace_id} {webhook_id} {number}".encode())
        return [_written(bytes.fromhex(each)) for each in macs]


def _written(secret: bytes) -> str:
    return f"whsec_{base64.b64encode(secret).decode()}"
